// SPDX-License-Identifier: BSD-3-Clause
// 200 dense systems of mixed size, condition and number of right-hand sides, hopeless ones among
// them, by LAPACK's drivers: a program to run as it is, and under `tailrace exec --with refine`.
// A line of JSON for each: CPU time of the process by the driver and, just before or after it, by
// the two routines that it consists of, which are LAPACK's in any case; backward error; info. The
// same of a run without us says how much the machine alone makes of it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "driver.hpp"

extern "C" {
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dposv_(const char*, const int*, const int*, double*, const int*, double*, const int*, int*,
            std::size_t);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*,
             const int*, int*, std::size_t);
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t);
void dpotrs_(const char*, const int*, const int*, const double*, const int*, double*, const int*,
             int*, std::size_t);
}

namespace {

using Vector = std::vector<double>;

struct System {
  int n = 0, nrhs = 0;
  std::string kind;
  double condition = 0;  ///< 0: whatever it is
  Vector a, b;
};

/// a = (1 - 2 v v^T / |v|^2) a, or with the reflection on the right.
void reflect(System& s, const Vector& v, bool left) {
  const auto n = static_cast<std::size_t>(s.n);
  double length = 0;
  for (double item : v) length += item * item;
  Vector sum(n);
  for (std::size_t j = 0; j < n; ++j) {
    double* column = s.a.data() + j * n;
    if (!left) {
      for (std::size_t i = 0; i < n; ++i) sum[i] += column[i] * v[j];
      continue;
    }
    double along = 0;
    for (std::size_t i = 0; i < n; ++i) along += v[i] * column[i];
    for (std::size_t i = 0; i < n; ++i) column[i] -= 2 * along / length * v[i];
  }
  for (std::size_t j = 0; !left && j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) s.a[i + j * n] -= 2 * sum[i] * v[j] / length;
  }
}

/// Singular values from 1 to 1 / condition between reflections; symmetric if `definite`.
void fill_conditioned(System& s, bool definite, std::mt19937_64& random) {
  const auto n = static_cast<std::size_t>(s.n);
  std::normal_distribution<double> normal;
  std::fill(s.a.begin(), s.a.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    s.a[i + i * n] = std::pow(s.condition, -static_cast<double>(i) / std::max(1, s.n - 1));
  }
  Vector v(n);
  for (int k = 0; k < 4; ++k) {
    for (double& item : v) item = normal(random);
    if (definite || k % 2 == 0) reflect(s, v, true);
    if (definite || k % 2 == 1) reflect(s, v, false);
  }
}

System make_system(std::mt19937_64& random, int largest) {
  std::uniform_real_distribution<double> part(0, 1);
  std::normal_distribution<double> normal;
  System s;
  s.n = static_cast<int>(20 * std::pow(largest / 20.0, part(random)));
  s.nrhs = part(random) < 0.6 ? 1 : 1 + static_cast<int>(part(random) * s.n / 10);
  const auto n = static_cast<std::size_t>(s.n);
  s.a.resize(n * n);
  s.b.resize(n * static_cast<std::size_t>(s.nrhs));
  for (double& item : s.a) item = normal(random);
  for (double& item : s.b) item = normal(random);
  const double choice = part(random);
  const double power = 1 + 13 * part(random);
  if (choice < 0.25) {
    s.kind = "normal";
  } else if (choice < 0.35) {
    s.kind = "graded";
    for (std::size_t k = 0; k < n * n; ++k) {
      s.a[k] *= std::pow(10, -power * static_cast<double>(k % n) / static_cast<double>(n));
    }
  } else if (choice < 0.42) {
    s.kind = "singular";
    for (std::size_t i = 0; i < n; ++i) s.a[i + (n - 1) * n] = 0;
  } else {
    s.kind = choice < 0.8 ? "general" : "definite";
    s.condition = std::pow(10, power);
    fill_conditioned(s, s.kind == "definite", random);
  }
  return s;
}

/// |b - A x| / (|A| |x| + |b|) in infinity norms, of the worst column.
double backward_error(const System& s, const Vector& x) {
  const auto n = static_cast<std::size_t>(s.n);
  Vector rows(n);
  for (std::size_t k = 0; k < n * n; ++k) rows[k % n] += std::abs(s.a[k]);
  const double norm = *std::max_element(rows.begin(), rows.end());
  double worst = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(s.nrhs); ++c) {
    std::vector<long double> r(n);
    double size = 0;
    double given = 0;
    double left = 0;
    for (std::size_t i = 0; i < n; ++i) r[i] = s.b[i + c * n];
    for (std::size_t j = 0; j < n; ++j) {
      const long double item = x[j + c * n];
      for (std::size_t i = 0; i < n; ++i) r[i] -= s.a[i + j * n] * item;
    }
    for (std::size_t i = 0; i < n; ++i) {
      left = std::max(left, static_cast<double>(std::abs(r[i])));
      size = std::max(size, std::abs(x[i + c * n]));
      given = std::max(given, std::abs(s.b[i + c * n]));
    }
    worst = std::max(worst, left / (norm * size + given));
  }
  return worst;
}

struct Solved {
  Vector x;
  int info = 0;
  double seconds = 0;
};

Solved by_driver(const System& s) {
  Solved solved{s.b, 0, 0};
  Vector a = s.a;
  std::vector<int> pivots(static_cast<std::size_t>(s.n));
  const double start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  if (s.kind == "definite") {
    dposv_("L", &s.n, &s.nrhs, a.data(), &s.n, solved.x.data(), &s.n, &solved.info, 1);
  } else {
    dgesv_(&s.n, &s.nrhs, a.data(), &s.n, pivots.data(), solved.x.data(), &s.n, &solved.info);
  }
  solved.seconds = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
  return solved;
}

Solved by_parts(const System& s) {
  Solved solved{s.b, 0, 0};
  Vector a = s.a;
  std::vector<int> pivots(static_cast<std::size_t>(s.n));
  double* const x = solved.x.data();
  int* const info = &solved.info;
  const double start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  if (s.kind == "definite") {
    dpotrf_("L", &s.n, a.data(), &s.n, info, 1);
    if (*info == 0) dpotrs_("L", &s.n, &s.nrhs, a.data(), &s.n, x, &s.n, info, 1);
  } else {
    dgetrf_(&s.n, &s.n, a.data(), &s.n, pivots.data(), info);
    if (*info == 0) dgetrs_("N", &s.n, &s.nrhs, a.data(), &s.n, pivots.data(), x, &s.n, info, 1);
  }
  solved.seconds = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
  return solved;
}

}  // namespace

/// Arguments: number of systems, rows of the largest, seed.
int main(int count, char** words) {
  const int systems = count > 1 ? std::atoi(words[1]) : 200;
  const int largest = count > 2 ? std::atoi(words[2]) : 2000;
  std::mt19937_64 random(count > 3 ? static_cast<unsigned>(std::atoi(words[3])) : 20260102U);
  for (int k = 0; k < systems; ++k) {
    const System s = make_system(random, largest);
    Solved reference;
    if (k % 2 == 0) reference = by_parts(s);
    const Solved solved = by_driver(s);
    if (k % 2 == 1) reference = by_parts(s);
    std::printf(
        "{\"n\": %d, \"nrhs\": %d, \"kind\": \"%s\", \"condition\": %.2g, \"info\": %d, "
        "\"seconds\": %.6f, \"error\": %.3g, \"reference_info\": %d, \"reference_seconds\": %.6f, "
        "\"reference_error\": %.3g}\n",
        s.n, s.nrhs, s.kind.c_str(), s.condition, solved.info, solved.seconds,
        solved.info == 0 ? backward_error(s, solved.x) : 0, reference.info, reference.seconds,
        reference.info == 0 ? backward_error(s, reference.x) : 0);
  }
}
