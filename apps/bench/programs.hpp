// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The measurements of `tailrace-bench`, a function each. Programs of bench/ call some of them with
// other libraries added.

#include <cstdint>
#include <memory>
#include <vector>

#include "comparison.hpp"
#include "exchange_problem.hpp"
#include "io_variant.hpp"

namespace bench {

/// Exchanges by another library, for the problems that this program measures.
class OtherExchanges {
 public:
  virtual ~OtherExchanges() = default;
  /// The arrays and the problem outlive what is returned.
  virtual std::vector<Contender> contenders(const ExchangeProblem& problem,
                                            const std::uint64_t* source, std::uint64_t* target) = 0;
};
/// Makes them after MPI has started. Collective.
using MakeOtherExchanges = std::unique_ptr<OtherExchanges> (*)();

// Each is the `main` of a program, whose arguments are pairs `--name value`.

int run_bus_load(int argc, char** argv);
int run_exchange(int argc, char** argv, MakeOtherExchanges others = nullptr);
int run_fft(int argc, char** argv);
int run_io(int argc, char** argv, const std::vector<WriteMethod>& variants);
int run_output(int argc, char** argv);

}  // namespace bench
