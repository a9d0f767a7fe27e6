// SPDX-License-Identifier: BSD-3-Clause
// Least squares by dense::gels and by LAPACK's dgels, in turn, in CPU time of the process.
#include <algorithm>
#include <cmath>
#include <random>

#include "driver.hpp"
#include "tailrace/dense.hpp"

extern "C" void dgels_(const char*, const int*, const int*, const int*, double*, const int*,
                       double*, const int*, double*, const int*, int*, std::size_t);

namespace {

using Vector = std::vector<double>;

/// |A^T r| / (|A| |r|): 0 at the exact answer.
double error_of(int m, int n, const Vector& a, const Vector& b, const Vector& x) {
  Vector r = b;
  double squares = 0;
  const auto rows = static_cast<std::size_t>(m);
  const auto columns = static_cast<std::size_t>(n);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      r[i] -= a[i + j * rows] * x[j];
      squares += a[i + j * rows] * a[i + j * rows];
    }
  }
  double left = 0;
  double of_r = 0;
  for (const double item : r) of_r += item * item;
  for (std::size_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += a[i + j * rows] * r[i];
    left += sum * sum;
  }
  return std::sqrt(left / of_r / squares);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const int n = args.number("n", 1000);
  const int m = args.number("m", 4 * n);
  const int one = 1;
  Vector a(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
  Vector b(static_cast<std::size_t>(m));
  std::mt19937_64 random(1234);
  std::normal_distribution<double> normal;
  for (double& item : a) item = normal(random);
  for (double& item : b) item = normal(random);
  std::vector<double> ours;
  std::vector<double> theirs;
  Vector x;
  Vector y;
  tailrace::dense::Certificate certificate;
  for (int repeat = -1; repeat < args.number("repeats", 5); ++repeat) {
    x = y = b;
    Vector copy = a;
    Vector work(static_cast<std::size_t>(64 * (m + n)));
    const int length = static_cast<int>(work.size());
    int info = 0;
    double start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    certificate = tailrace::dense::gels(m, n, 1, a.data(), m, x.data(), m);
    const double taken = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
    start = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    dgels_("N", &m, &n, &one, copy.data(), &m, y.data(), &m, work.data(), &length, &info, 1);
    const double other = bench::cpu_s(CLOCK_PROCESS_CPUTIME_ID) - start;
    if (repeat < 0) continue;
    ours.push_back(taken);
    theirs.push_back(other);
  }
  bench::JsonLine line;
  line.text("entry", "tailrace").numbers("seconds", ours).flag("ours", true);
  line.text("attempts", tailrace::dense::name(certificate.rung)).number("steps", certificate.steps);
  line.number("n", n).number("m", m).number("error", error_of(m, n, a, b, x)).print();
  bench::JsonLine reference;
  reference.text("entry", "dgels").numbers("seconds", theirs).flag("ours", false);
  reference.flag("reference", true).number("n", n).number("m", m);
  reference.number("error", error_of(m, n, a, b, y)).print();
  return 0;
}
