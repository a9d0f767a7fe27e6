// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comparison.hpp"
#include "exchange_problem.hpp"

namespace bench {

/// What a program does without us: MPI's own calls, with packing by loops where data is not
/// contiguous, and loops of messages. The first one is the reference; the second one is the same
/// once more, which shows how much of a difference is none.
class MpiExchanges {
 public:
  /// The arrays and the problem outlive this object. Collective.
  MpiExchanges(const ExchangeProblem& problem, const std::uint64_t* source, std::uint64_t* target);
  ~MpiExchanges();
  MpiExchanges(const MpiExchanges&) = delete;
  MpiExchanges& operator=(const MpiExchanges&) = delete;

  std::vector<Contender> contenders();

  class State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace bench
