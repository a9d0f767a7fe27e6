// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_ducc.hpp"

#ifdef TAILRACE_HAVE_DUCC
// What is no template of ducc0.
#include "ducc0/infra/mav.cc"
#include "ducc0/infra/string_utils.cc"
#include "ducc0/infra/threading.cc"
#endif

namespace tailrace::fft {

bool ducc_available() {
#ifdef TAILRACE_HAVE_DUCC
  return true;
#else
  return false;
#endif
}

std::unique_ptr<Kernel<double>> make_ducc_double(std::ptrdiff_t n, bool real) {
  return make_ducc<double>(n, real);
}
std::unique_ptr<Kernel<double>> make_ducc_wave_double(std::ptrdiff_t n, AxisKind kind) {
  return make_ducc_wave<double>(n, kind);
}

}  // namespace tailrace::fft
