// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "../contest.hpp"
#include "../exchange_problem.hpp"

typedef struct _MPIL_Comm MPIL_Comm;

namespace bench {

/// The all-to-alls of MPI Advance (locality_aware): node-aware, locality-aware, with several
/// leaders, in batches.
class MpilExchanges {
 public:
  /// Collective.
  MpilExchanges();
  ~MpilExchanges();
  MpilExchanges(const MpilExchanges&) = delete;
  MpilExchanges& operator=(const MpilExchanges&) = delete;

  /// The arrays and the problem, an all-to-all, outlive what is returned.
  std::vector<Contender> contenders(const ExchangeProblem& problem, const std::uint64_t* source,
                                    std::uint64_t* target);

 private:
  MPIL_Comm* comm_ = nullptr;
};

}  // namespace bench
