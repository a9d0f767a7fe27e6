// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.hpp"

namespace tailrace::fft {
bool mkl_available() { return false; }
std::unique_ptr<Kernel<float>> make_mkl_float(std::ptrdiff_t, bool) { return nullptr; }
std::unique_ptr<Kernel<double>> make_mkl_double(std::ptrdiff_t, bool) { return nullptr; }
}  // namespace tailrace::fft
