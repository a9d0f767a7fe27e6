// SPDX-License-Identifier: BSD-3-Clause
// One dense system solved by dense::gesv or dense::posv, LAPACK's double driver and its
// mixed-precision one, in turn. Times are CPU time of the process: the machine may be shared.
#include <algorithm>
#include <cmath>
#include <random>

#include "driver.hpp"
#include "tailrace/dense.hpp"

extern "C" {
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dposv_(const char*, const int*, const int*, double*, const int*, double*, const int*, int*,
            std::size_t);
void dsgesv_(const int*, const int*, double*, const int*, int*, const double*, const int*, double*,
             const int*, double*, float*, int*, int*);
void dsposv_(const char*, const int*, const int*, double*, const int*, const double*, const int*,
             double*, const int*, double*, float*, int*, int*, std::size_t);
}

namespace {

using Vector = std::vector<double>;

struct System {
  int n;
  int nrhs;
  bool definite;
  Vector a, b;
};

/// a = (1 - 2 v v^T) a, for a unit vector v.
void reflect_rows(const Vector& v, Vector& a) {
  const auto n = v.size();
  for (std::size_t j = 0; j < n; ++j) {
    double* column = a.data() + j * n;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += v[i] * column[i];
    for (std::size_t i = 0; i < n; ++i) column[i] -= 2 * sum * v[i];
  }
}

void reflect_columns(const Vector& v, Vector& a) {
  const auto n = v.size();
  Vector sum(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) sum[i] += a[i + j * n] * v[j];
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) a[i + j * n] -= 2 * sum[i] * v[j];
  }
}

/// Singular values from 1 to 1/condition in geometric steps between random reflections; condition
/// 0: independent normal items (with n on the diagonal and symmetric if definite).
System make_system(int n, int nrhs, double condition, bool definite) {
  const auto size = static_cast<std::size_t>(n);
  System system{n, nrhs, definite, Vector(size * size),
                Vector(size * static_cast<std::size_t>(nrhs))};
  std::mt19937_64 random(1234);
  std::normal_distribution<double> normal;
  if (condition == 0) {
    for (double& item : system.a) item = normal(random);
    if (definite) {
      for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t i = 0; i < j; ++i) system.a[i + j * size] = system.a[j + i * size];
        system.a[j + j * size] = 4 * std::sqrt(n);
      }
    }
  } else {
    for (std::size_t i = 0; i < size; ++i) {
      system.a[i + i * size] = std::pow(condition, -static_cast<double>(i) / std::max(1, n - 1));
    }
    for (int k = 0; k < 6; ++k) {
      Vector v(size);
      double sum = 0;
      for (double& item : v) item = normal(random);
      for (double item : v) sum += item * item;
      for (double& item : v) item /= std::sqrt(sum);
      if (k % 2 == 0 || definite) reflect_rows(v, system.a);
      if (k % 2 == 1 || definite) reflect_columns(v, system.a);
    }
  }
  for (double& item : system.b) item = normal(random);
  return system;
}

struct Solved {
  double seconds;
  Vector x;
  int info;
  tailrace::dense::Certificate certificate;
};

Solved solve_ours(const System& system, const tailrace::dense::SolveOptions& options) {
  Solved solved{0, system.b, 0, {}};
  const double start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  const int n = system.n;
  solved.certificate = system.definite ? tailrace::dense::posv('L', n, system.nrhs, system.a.data(),
                                                               n, solved.x.data(), n, options)
                                       : tailrace::dense::gesv(n, system.nrhs, system.a.data(), n,
                                                               solved.x.data(), n, options);
  solved.seconds = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
  solved.info = solved.certificate.info;
  return solved;
}

Solved solve_lapack(const System& system) {
  Solved solved{0, system.b, 0, {}};
  Vector a = system.a;
  std::vector<int> pivots(static_cast<std::size_t>(system.n));
  const int n = system.n;
  const double start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  if (system.definite) {
    dposv_("L", &n, &system.nrhs, a.data(), &n, solved.x.data(), &n, &solved.info, 1);
  } else {
    dgesv_(&n, &system.nrhs, a.data(), &n, pivots.data(), solved.x.data(), &n, &solved.info);
  }
  solved.seconds = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
  return solved;
}

Solved solve_mixed(const System& system) {
  Solved solved{0, system.b, 0, {}};
  Vector a = system.a;
  const auto size = static_cast<std::size_t>(system.n);
  const auto columns = static_cast<std::size_t>(system.nrhs);
  Vector work(size * columns);
  std::vector<float> low(size * (size + columns));
  std::vector<int> pivots(size);
  const int n = system.n;
  int iterations = 0;
  const double start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  if (system.definite) {
    dsposv_("L", &n, &system.nrhs, a.data(), &n, system.b.data(), &n, solved.x.data(), &n,
            work.data(), low.data(), &iterations, &solved.info, 1);
  } else {
    dsgesv_(&n, &system.nrhs, a.data(), &n, pivots.data(), system.b.data(), &n, solved.x.data(), &n,
            work.data(), low.data(), &iterations, &solved.info);
  }
  solved.seconds = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
  solved.certificate.steps = iterations;
  return solved;
}

/// |b - A x| / (|A| |x| + |b|) in the infinity norm, the worst column.
double backward_error(const System& system, const Vector& x) {
  const auto n = static_cast<std::size_t>(system.n);
  Vector rows(n);
  for (std::size_t k = 0; k < n * n; ++k) rows[k % n] += std::abs(system.a[k]);
  const double norm = *std::max_element(rows.begin(), rows.end());
  double worst = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(system.nrhs); ++c) {
    Vector r(system.b.begin() + static_cast<std::ptrdiff_t>(c * n),
             system.b.begin() + static_cast<std::ptrdiff_t>((c + 1) * n));
    double given = 0;
    double size = 0;
    double left = 0;
    for (double item : r) given = std::max(given, std::abs(item));
    for (std::size_t j = 0; j < n; ++j) {
      const double item = x[j + c * n];
      size = std::max(size, std::abs(item));
      for (std::size_t i = 0; i < n; ++i) r[i] -= system.a[i + j * n] * item;
    }
    for (double item : r) left = std::max(left, std::abs(item));
    if (!std::isfinite(left) || !std::isfinite(size)) return HUGE_VAL;
    worst = std::max(worst, left / (norm * size + given));
  }
  return worst;
}

struct Row {
  std::string entry;
  std::vector<double> seconds;
  Solved last;
};

void print(const Row& row, const System& system, double condition) {
  const auto& certificate = row.last.certificate;
  const bool ours = row.entry == "tailrace";
  bench::JsonLine line;
  line.text("entry", row.entry)
      .numbers("seconds", row.seconds)
      .flag("ours", ours)
      .flag("reference", row.entry == "dgesv" || row.entry == "dposv")
      .number("n", system.n)
      .number("nrhs", system.nrhs)
      .number("condition", condition)
      .number("error", backward_error(system, row.last.x));
  if (ours) {
    std::string path;
    for (const auto& attempt : certificate.attempts) {
      path += (path.empty() ? "" : " > ") + std::string(tailrace::dense::name(attempt.rung));
    }
    line.text("rung", tailrace::dense::name(certificate.rung))
        .text("attempts", path.empty() ? "fp64 at once" : path)
        .number("rcond", certificate.rcond)
        .number("steps", certificate.steps)
        .number("inner_steps", certificate.inner_steps);
  } else if (row.entry.starts_with("ds")) {
    line.number("steps", certificate.steps);
  }
  line.print();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const bool definite = args.text("kind", "ge") == "po";
  const double condition = args.real("condition", 100);
  const auto system =
      make_system(args.number("n", 1000), args.number("nrhs", 1), condition, definite);
  tailrace::dense::SolveOptions options;
  const std::string highest = args.text("highest", "");
  for (const auto rung : {tailrace::dense::Rung::bf16x1, tailrace::dense::Rung::bf16x2,
                          tailrace::dense::Rung::fp32}) {
    if (highest == tailrace::dense::name(rung)) options.highest = options.lowest = rung;
  }
  std::vector<Row> rows{{"tailrace", {}, {}},
                        {definite ? "dposv" : "dgesv", {}, {}},
                        {definite ? "dsposv" : "dsgesv", {}, {}}};
  solve_lapack(system);  // the library's threads and buffers
  for (int repeat = 0; repeat < args.number("repeats", 3); ++repeat) {
    for (auto& row : rows) {
      row.last = row.entry == "tailrace"       ? solve_ours(system, options)
                 : row.entry.starts_with("ds") ? solve_mixed(system)
                                               : solve_lapack(system);
      row.seconds.push_back(row.last.seconds);
    }
  }
  for (const auto& row : rows) print(row, system, condition);
  return 0;
}
