// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_ducc.hpp"

namespace tailrace::fft {

std::unique_ptr<Kernel<float>> make_ducc_float(std::ptrdiff_t n, bool real) {
  return make_ducc<float>(n, real);
}
std::unique_ptr<Kernel<float>> make_ducc_wave_float(std::ptrdiff_t n, AxisKind kind) {
  return make_ducc_wave<float>(n, kind);
}

}  // namespace tailrace::fft
