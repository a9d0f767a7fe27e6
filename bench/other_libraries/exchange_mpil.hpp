// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "programs.hpp"

typedef struct _MPIL_Comm MPIL_Comm;

namespace bench {

/// The all-to-alls of MPI Advance (locality_aware): node-aware, locality-aware, with several
/// leaders, in batches.
class MpilExchanges : public OtherExchanges {
 public:
  /// Collective.
  MpilExchanges();
  ~MpilExchanges() override;
  MpilExchanges(const MpilExchanges&) = delete;
  MpilExchanges& operator=(const MpilExchanges&) = delete;

  /// The arrays and the problem, an all-to-all, outlive what is returned.
  std::vector<Contender> contenders(const ExchangeProblem& problem, const std::uint64_t* source,
                                    std::uint64_t* target) override;

 private:
  MPIL_Comm* comm_ = nullptr;
};

}  // namespace bench
