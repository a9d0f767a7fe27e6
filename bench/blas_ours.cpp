// SPDX-License-Identifier: BSD-3-Clause
// One matrix product by tailrace's choice and by BLAS libraries, in turn, on one thread, in CPU
// time. The first of --libraries (paths with commas between; "linked" is the one that the program
// links) is the reference, and the library that tailrace falls back on.

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dense/gemm/chooser.hpp"
#include "driver.hpp"

extern "C" void dgemm_();

namespace {

using tailrace::dense::Gemm;
using Routine = void (*)(const char*, const char*, const void*, const void*, const void*,
                         const double*, const double*, const void*, const double*, const void*,
                         const double*, double*, const void*, std::size_t, std::size_t);

/// dgemm of a library file, under one of the names that there are. Integers are passed 64 bits
/// wide, of which a library with 32-bit integers reads the first half.
Routine load(const std::string& path) {
  if (path == "linked") return reinterpret_cast<Routine>(dgemm_);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  for (const char* name : {"dgemm_", "scipy_dgemm_64_", "dgemm_64_"}) {
    if (void* const found = dlsym(handle, name)) return reinterpret_cast<Routine>(found);
  }
  throw std::runtime_error(path + " has no dgemm");
}

void call(Routine routine, const Gemm<double>& g) {
  const char transa = g.a_transposed ? 'T' : 'N', transb = g.b_transposed ? 'T' : 'N';
  const std::int64_t m = g.m, n = g.n, k = g.k, lda = g.lda, ldb = g.ldb, ldc = g.ldc;
  routine(&transa, &transb, &m, &n, &k, &g.alpha, g.a, &lda, g.b, &ldb, &g.beta, g.c, &ldc, 1, 1);
}

std::vector<double> noise_of(std::ptrdiff_t items, std::size_t shift) {
  std::vector<double> made(static_cast<std::size_t>(items));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = bench::noise(i + shift);
  return made;
}

struct Row {
  std::string entry;
  std::function<void()> run;
  std::vector<double> seconds;  ///< of a call
  double error = 0;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= list.size();) {
    const auto comma = std::min(list.find(',', from), list.size());
    words.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return words;
}

void measure(const bench::Arguments& args) {
  const std::string form = args.text("form", "NN");
  const std::ptrdiff_t m = args.number("m", 500), n = args.number("n", 500),
                       k = args.number("k", 500);
  const bool ta = form[0] == 'T', tb = form[1] == 'T';
  const auto a = noise_of(m * k, 1), b = noise_of(k * n, 2), start = noise_of(m * n, 3);
  auto c = start;
  const Gemm<double> product{ta,         tb,       m,          n,   k,        1.0, a.data(),
                             ta ? k : m, b.data(), tb ? n : k, 0.5, c.data(), m};
  const auto paths = split(args.text("libraries", "linked"));
  const auto names = split(args.text("names", "OpenBLAS"));
  std::vector<Routine> routines;
  for (const auto& path : paths) {
    try {
      routines.push_back(load(path));
    } catch (const std::runtime_error& error) {
      if (routines.empty()) throw;  // the reference
      std::fprintf(stderr, "left out: %s\n", error.what());
      routines.push_back(nullptr);
    }
  }
  tailrace::dense::GemmChooser<double> chooser(1);
  std::vector<Row> rows{
      {"tailrace", [&] { chooser.run(product, [&] { call(routines[0], product); }); }, {}, 0}};
  for (std::size_t l = 0; l < paths.size(); ++l) {
    if (routines[l] == nullptr) continue;
    rows.push_back({names[l], [&, l] { call(routines[l], product); }, {}, 0});
  }
  std::vector<double> expected;
  for (auto row = rows.rbegin(); row != rows.rend();
       ++row) {  // ours is compared with the reference
    c = start;
    row->run();
    if (row->entry == names[0]) expected = c;
  }
  const int learning = 40;
  for (int call_number = 0; call_number < learning; ++call_number) rows[0].run();
  for (auto& row : rows) {
    c = start;
    row.run();
    for (std::size_t i = 0; i < c.size(); ++i) {
      row.error = std::max(row.error, std::abs(c[i] - expected[i]) / static_cast<double>(k));
    }
  }
  const double flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k);
  const int calls = static_cast<int>(std::clamp(2e8 / flops, 1.0, 1e6));  // a few milliseconds
  for (int repeat = 0; repeat < args.number("repeats", 7); ++repeat) {
    for (auto& row : rows) {
      const double begin = bench::cpu_s(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < calls; ++i) row.run();
      row.seconds.push_back((bench::cpu_s(CLOCK_THREAD_CPUTIME_ID) - begin) / calls);
    }
  }
  for (const auto& row : rows) {
    bench::JsonLine()
        .text("entry", row.entry)
        .numbers("seconds", row.seconds)
        .flag("ours", row.entry == "tailrace")
        .flag("reference", row.entry == names[0])
        .number("m", static_cast<double>(m))
        .number("n", static_cast<double>(n))
        .number("k", static_cast<double>(k))
        .text("form", form)
        .number("flops", flops)
        .number("error", row.error)
        .print();
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(bench::Arguments(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_blas_ours: %s\n", error.what());
    return 1;
  }
  return 0;
}
