// SPDX-License-Identifier: BSD-3-Clause
// Bytes a second that all ranks together move to and from memory: memcpy, scale and triad over
// arrays far larger than the caches, a copy past the caches, and units of 128 bytes that are
// written far apart. The limits that other benchmarks are compared with.

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "move/memory_rates.hpp"
#include "mpi_driver.hpp"

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  const bench::Arguments args(argc, argv);
  const double mebibytes = args.real("mib", 256);
  const auto items =
      static_cast<std::size_t>(mebibytes * 1048576 / sizeof(double) / program.num_ranks);
  std::vector<double> a(items, 1.0);
  std::vector<double> b(items, 2.0);
  std::vector<double> c(items, 0.5);
  tailrace::MemoryLoops touching(static_cast<std::ptrdiff_t>(items * sizeof(double)));
  struct Loop {
    const char* name;
    double arrays;  ///< arrays that cross the memory bus, not counting reads for ownership
    std::function<void()> run;
  };
  const std::vector<Loop> loops{
      {"memcpy", 2, [&] { std::memcpy(a.data(), b.data(), items * sizeof(double)); }},
      {"scale: a = s b", 2,
       [&] {
         for (std::size_t i = 0; i < items; ++i) a[i] = b[i] * 1.0000001;
       }},
      {"triad: a = b + 3 c", 3,
       [&] {
         for (std::size_t i = 0; i < items; ++i) a[i] = b[i] + 3.0 * c[i];
       }},
      {"contiguous copy, streaming", 2, [&] { touching.copy(); }},
      {"scattered, ordinary", 1, [&] { touching.scatter_ordinary(); }},
      {"scattered, streaming", 1, [&] { touching.scatter_streaming(); }}};
  for (const auto& loop : loops) {
    const auto seconds = bench::time_together(1, args.number("repeats", 5), loop.run);
    const double check = a[items / 2] + touching.check();
    if (program.rank != 0) continue;
    bench::JsonLine()
        .text("entry", loop.name)
        .numbers("seconds", seconds)
        .number("bytes",
                loop.arrays * static_cast<double>(items) * sizeof(double) * program.num_ranks)
        .number("check", check)
        .print();
  }
  return 0;
}
