// SPDX-License-Identifier: BSD-3-Clause
// tailrace-bench NAME --option value ...: one measurement of this machine, as lines of JSON, for
// `tailrace bench`.

#include <array>
#include <cstdio>
#include <string_view>

#include "programs.hpp"

namespace {

struct Program {
  std::string_view name;
  int (*run)(int, char**);
};
constexpr std::array programs{
    Program{"bus-load", bench::run_bus_load},
    Program{"exchange", [](int argc, char** argv) { return bench::run_exchange(argc, argv); }},
    Program{"fft", bench::run_fft},
    Program{"io",
            [](int argc, char** argv) { return bench::run_io(argc, argv, bench::all_variants()); }},
    Program{"output", bench::run_output},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& program : programs) {
    if (argc > 1 && program.name == argv[1]) return program.run(argc - 1, argv + 1);
  }
  std::fprintf(stderr, "usage: tailrace-bench NAME --option value ...; NAME is one of");
  for (const auto& program : programs) std::fprintf(stderr, " %s", program.name.data());
  std::fprintf(stderr, " (`tailrace bench NAME --help`)\n");
  return 2;
}
