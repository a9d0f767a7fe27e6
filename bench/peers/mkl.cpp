// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward r2c transform by MKL's DFTI, in place, on `--threads` threads.

#include <mkl_dfti.h>
#include <mkl_service.h>

#include <vector>

#include "../driver.hpp"

namespace {

void check(MKL_LONG status) {
  if (status == 0) return;
  std::fprintf(stderr, "bench_mkl: %s\n", DftiErrorMessage(status));
  std::exit(1);
}

struct Strides {
  MKL_LONG real[4];
  MKL_LONG spectrum[4];
};

DFTI_DESCRIPTOR_HANDLE plan(MKL_LONG n, const MKL_LONG* in, const MKL_LONG* out) {
  const MKL_LONG lengths[3] = {n, n, n};
  DFTI_DESCRIPTOR_HANDLE handle = nullptr;
  check(DftiCreateDescriptor(&handle, DFTI_DOUBLE, DFTI_REAL, 3, lengths));
  check(DftiSetValue(handle, DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX));
  check(DftiSetValue(handle, DFTI_PLACEMENT, DFTI_INPLACE));
  check(DftiSetValue(handle, DFTI_INPUT_STRIDES, in));
  check(DftiSetValue(handle, DFTI_OUTPUT_STRIDES, out));
  check(DftiSetValue(
      handle, DFTI_BACKWARD_SCALE,
      1.0 / (static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n))));
  check(DftiCommitDescriptor(handle));
  return handle;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const MKL_LONG n = args.number("n", 256);
  const int threads = args.number("threads", 1);
  mkl_set_num_threads(threads);
  const MKL_LONG half = n / 2 + 1;
  const Strides strides{{0, 2 * half * n, 2 * half, 1}, {0, half * n, half, 1}};
  const double plan_start = bench::now_s();
  auto* forward = plan(n, strides.real, strides.spectrum);
  auto* backward = plan(n, strides.spectrum, strides.real);
  const double plan_s = bench::now_s() - plan_start;

  const auto row = static_cast<std::size_t>(2 * half);
  const auto rows = static_cast<std::size_t>(n * n);
  auto* field = static_cast<double*>(mkl_malloc(rows * row * sizeof(double), 64));
  for (std::size_t i = 0; i < rows * row; ++i) field[i] = bench::noise(i);
  const auto seconds = bench::time_runs(args.number("warmups", 1), args.number("repeats", 5), [&] {
    check(DftiComputeForward(forward, field));
    check(DftiComputeBackward(backward, field));
  });
  double error = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = r * row; i < r * row + static_cast<std::size_t>(n); ++i) {
      error = std::max(error, std::abs(field[i] - bench::noise(i)));
    }
  }
  bench::JsonLine()
      .text("entry", args.text("label", "MKL, " + std::to_string(threads) +
                                            (threads == 1 ? " thread" : " threads")))
      .numbers("seconds", seconds)
      .number("error", error)
      .number("plan_s", plan_s)
      .print();
  return 0;
}
