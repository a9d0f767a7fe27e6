// SPDX-License-Identifier: BSD-3-Clause
// `tailrace-bench exchange` with the all-to-alls of MPI Advance.

#include "other_libraries/exchange_mpil.hpp"
#include "programs.hpp"

int main(int argc, char** argv) {
  return bench::run_exchange(argc, argv, []() -> std::unique_ptr<bench::OtherExchanges> {
    return std::make_unique<bench::MpilExchanges>();
  });
}
