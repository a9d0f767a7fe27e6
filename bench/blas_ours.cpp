// SPDX-License-Identifier: BSD-3-Clause
// One BLAS call by tailrace's choice and by BLAS libraries, in turn, on one thread, in CPU time.
// The first of --libraries (paths with commas between; "linked" is the one that the program links)
// is the reference, and the library that tailrace takes for the program's own; the others are those
// that it may choose, too.

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "blas/chooser.hpp"
#include "driver.hpp"
#include "words.hpp"

extern "C" void dgemm_();

namespace {

using namespace tailrace::blas;

/// The library that the program links: where its dgemm is.
void* linked() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<void*>(dgemm_), &info) != 0;
  return found ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
}

template <class T>
T number(std::size_t i) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(bench::noise(i));
  } else {
    using Real = typename T::value_type;
    return {static_cast<Real>(bench::noise(2 * i)), static_cast<Real>(bench::noise(2 * i + 1))};
  }
}

template <class T>
std::vector<T> noise_of(std::int64_t items, std::size_t shift, double size = 1) {
  std::vector<T> made(static_cast<std::size_t>(items));
  const auto factor = static_cast<decltype(std::abs(T{}))>(size);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = factor * number<T>(i + shift);
  return made;
}

/// What is called, and what comes out of it.
template <class T, class Call>
struct Problem {
  Call call;
  std::vector<T>& result;
  double terms;  ///< of a sum
  double flops;
};

struct Row {
  std::string entry;
  std::function<void()> run;
  std::vector<double> seconds;  ///< of a call
  double error = 0;
};

struct Library {
  std::string name;
  void* routine;
};

/// The routine of every library that has it; the first must be there.
std::vector<Library> load(const bench::Arguments& args, const std::string& routine) {
  setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 0);  // else it wants its own OpenMP library
  const auto paths = bench::split(args.text("libraries", "linked"), ',');
  const auto names = bench::split(args.text("names", "OpenBLAS"), ',');
  std::vector<Library> found;
  std::string others;
  for (std::size_t l = 0; l < paths.size(); ++l) {
    void* const handle = paths[l] == "linked"
                             ? linked()
                             : dlopen(paths[l].c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    const char* const why = handle == nullptr ? dlerror() : "no such routine";
    void* const address = handle == nullptr ? nullptr : BlasLibrary{"", handle}.find(routine);
    if (l > 0) others += (others.empty() ? "" : ":") + paths[l];
    if (address != nullptr) {
      found.push_back({names[l], address});
    } else if (l == 0) {
      throw std::runtime_error(paths[l] + " has no " + routine);
    } else {
      std::fprintf(stderr, "left out: %s: %s\n", names[l].c_str(), why);
    }
  }
  setenv("TAILRACE_BLAS_LIBRARIES", others.empty() ? "none" : others.c_str(), 1);
  setenv("TAILRACE_TUNE_FILE", "", 1);
  return found;
}

template <class T, class Call>
void measure(const bench::Arguments& args, const Problem<T, Call>& problem) {
  const auto& [call, result, terms, flops] = problem;
  const auto start = result;
  const auto libraries = load(args, letter_of<T>() + std::string(Call::name));
  ShapeChooser chooser(1, 0);
  std::vector<Row> rows{{"tailrace", [&] { chooser.run(call, libraries[0].routine); }, {}, 0}};
  for (const auto& library : libraries) {
    rows.push_back({library.name, [&, routine = library.routine] { call.run(routine); }, {}, 0});
  }
  rows[1].run();
  const auto expected = result;
  const int learning = 36;  // own library, three methods, three libraries: five turns each
  for (int i = 0; i < learning; ++i) {
    result = start;
    rows[0].run();
  }
  const double unit = std::numeric_limits<decltype(std::abs(T{}))>::epsilon() /
                      std::numeric_limits<double>::epsilon();
  for (auto& row : rows) {
    result = start;
    row.run();
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto off = static_cast<double>(std::abs(result[i] - expected[i]));
      row.error = std::max(row.error, off / terms / unit);
    }
  }
  const int calls = static_cast<int>(std::clamp(1e8 / flops, 1.0, 1e6));  // a few milliseconds
  std::vector<Row*> order;  // another one in each turn: each finds what the one before has left
  for (auto& row : rows) order.push_back(&row);
  std::mt19937 random(1);
  for (int repeat = 0; repeat < args.number("repeats", 7); ++repeat) {
    std::shuffle(order.begin(), order.end(), random);
    for (auto* row : order) {
      result = start;
      const double begin = bench::cpu_s(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < calls; ++i) row->run();
      row->seconds.push_back((bench::cpu_s(CLOCK_THREAD_CPUTIME_ID) - begin) / calls);
    }
  }
  const auto chosen = chooser.by_variant();
  for (const auto& row : rows) {
    bench::JsonLine()
        .text("entry", row.entry)
        .numbers("seconds", row.seconds)
        .flag("ours", row.entry == "tailrace")
        .flag("reference", row.entry == libraries[0].name)
        .text("routine", letter_of<T>() + std::string(Call::name))
        .number("m", args.number("m", 500))
        .number("n", args.number("n", 500))
        .number("k", args.number("k", 500))
        .text("form", args.text("form", "NN"))
        .text("chosen", chosen.empty() ? "own" : chosen.begin()->first)
        .number("flops", flops)
        .number("error", row.error)
        .print();
  }
}

template <class T>
void run(const bench::Arguments& args, const std::string& routine) {
  const std::string form = args.text("form", "NN");
  const std::int64_t m = args.number("m", 500), n = args.number("n", 500),
                     k = args.number("k", 500);
  const double each = std::is_floating_point_v<T> ? 2 : 8;  // flops of a multiplication and a sum
  const auto dm = static_cast<double>(m), dn = static_cast<double>(n), dk = static_cast<double>(k);
  if (routine == "gemm") {
    const bool ta = form[0] != 'N', tb = form[1] != 'N';
    const auto a = noise_of<T>(m * k, 1), b = noise_of<T>(k * n, 2);
    auto c = noise_of<T>(m * n, 3);
    const GemmCall<T> call{form[0],    form[1],  m,          n,      k,        T(1), a.data(),
                           ta ? k : m, b.data(), tb ? n : k, T(0.5), c.data(), m};
    return measure<T>(args, Problem<T, GemmCall<T>>{call, c, dk, each * dm * dn * dk});
  }
  if (routine == "gemv") {
    const auto a = noise_of<T>(m * n, 1), x = noise_of<T>(std::max(m, n), 2);
    auto y = noise_of<T>(std::max(m, n), 3);
    const GemvCall<T> call{form[0], m, n, T(1), a.data(), m, x.data(), 1, T(0.5), y.data(), 1};
    return measure<T>(args,
                      Problem<T, GemvCall<T>>{call, y, form[0] == 'N' ? dn : dm, each * dm * dn});
  }
  if (routine == "trsm") {
    // Ones on the diagonal and little beside it: B stays as large as it is, however often.
    const auto order = form[0] == 'L' ? m : n;
    const auto a = noise_of<T>(order * order, 1, 1e-3 / static_cast<double>(order));
    auto b = noise_of<T>(m * n, 3);
    const TrsmCall<T> call{form[0], form[1],  form[2], 'U',      m, n,
                           T(1),    a.data(), order,   b.data(), m};
    return measure<T>(
        args, Problem<T, TrsmCall<T>>{call, b, 1, each / 2 * dm * dn * static_cast<double>(order)});
  }
  if (routine == "syrk") {
    const auto a = noise_of<T>(n * k, 1);
    auto c = noise_of<T>(n * n, 3);
    const SyrkCall<T> call{form[0], form[1],  n, k, T(1), a.data(), form[1] == 'N' ? n : k,
                           T(0.5),  c.data(), n};
    return measure<T>(args, Problem<T, SyrkCall<T>>{call, c, dk, each / 2 * dn * dn * dk});
  }
  const auto x = noise_of<T>(n, 1);
  auto y = noise_of<T>(n, 3);
  if (routine == "axpy") {
    const AxpyCall<T> call{n, T(0.0009765625), x.data(), 1, y.data(), 1};
    return measure<T>(args, Problem<T, AxpyCall<T>>{call, y, 1, each * dn});
  }
  if constexpr (std::is_floating_point_v<T>) {
    std::vector<T> sum(1);
    const DotCall<T> call{n, x.data(), 1, y.data(), 1, sum.data()};
    if (routine == "dot") return measure<T>(args, Problem<T, DotCall<T>>{call, sum, dn, each * dn});
  }
  throw std::runtime_error("no routine " + args.text("routine", "dgemm"));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bench::Arguments args(argc, argv);
    const std::string routine = args.text("routine", "dgemm"), rest = routine.substr(1);
    if (routine[0] == 's')
      run<float>(args, rest);
    else if (routine[0] == 'd')
      run<double>(args, rest);
    else if (routine[0] == 'c')
      run<std::complex<float>>(args, rest);
    else
      run<std::complex<double>>(args, rest);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_blas_ours: %s\n", error.what());
    return 1;
  }
  return 0;
}
