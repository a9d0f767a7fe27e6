// SPDX-License-Identifier: BSD-3-Clause
// Kernels of Intel MKL through DFTI. The library is opened at run time, apart from everything else:
// it carries FFTW's symbols too, and both in one name space crash.
#include "kernel.hpp"

#ifdef TAILRACE_HAVE_MKL

#include <dlfcn.h>
#include <mkl_dfti.h>

#include "lines.hpp"
#include "tailrace/error.hpp"

namespace tailrace::fft {

namespace {

struct Mkl {
  using Create = MKL_LONG (*)(DFTI_DESCRIPTOR_HANDLE*, DFTI_CONFIG_VALUE, MKL_LONG);
  Create create_s = nullptr, create_d = nullptr;
  decltype(&DftiSetValue) set_value = nullptr;
  decltype(&DftiCommitDescriptor) commit = nullptr;
  decltype(&DftiComputeForward) forward = nullptr;
  decltype(&DftiComputeBackward) backward = nullptr;
  decltype(&DftiFreeDescriptor) free = nullptr;
  bool found = false;
};

const Mkl& mkl() {
  static const Mkl library = [] {
    Mkl m;
    void* handle = nullptr;
    for (const char* name :
         {TAILRACE_MKL_LIBRARY, "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"}) {
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == nullptr) return m;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    int (*set_layer)(int) = nullptr;
    constexpr int sequential = 1;  // a panel is one thread's work
    if (find(set_layer, "MKL_Set_Threading_Layer")) set_layer(sequential);
    m.found = find(m.create_s, "DftiCreateDescriptor_s_1d") &&
              find(m.create_d, "DftiCreateDescriptor_d_1d") && find(m.set_value, "DftiSetValue") &&
              find(m.commit, "DftiCommitDescriptor") && find(m.forward, "DftiComputeForward") &&
              find(m.backward, "DftiComputeBackward") && find(m.free, "DftiFreeDescriptor");
    return m;
  }();
  return library;
}

template <class Real>
class MklLines {
 public:
  MklLines(std::ptrdiff_t n, bool real) {
    const auto create = sizeof(Real) == 4 ? mkl().create_s : mkl().create_d;
    const auto length = static_cast<MKL_LONG>(n);
    check(create(&plan_, real ? DFTI_REAL : DFTI_COMPLEX, length));
    check(mkl().set_value(plan_, DFTI_NUMBER_OF_TRANSFORMS, static_cast<MKL_LONG>(lanes<Real>)));
    check(mkl().set_value(plan_, DFTI_FWD_DISTANCE, real ? length / 2 * 2 + 2 : length));
    check(mkl().set_value(plan_, DFTI_BWD_DISTANCE, real ? length / 2 + 1 : length));
    if (real) {
      check(mkl().set_value(plan_, DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX));
    }
    check(mkl().commit(plan_));
  }
  ~MklLines() { mkl().free(&plan_); }
  MklLines(const MklLines&) = delete;
  MklLines& operator=(const MklLines&) = delete;

  void run(Direction direction, Real* lines) const {
    direction == Direction::forward ? mkl().forward(plan_, lines) : mkl().backward(plan_, lines);
  }
  static constexpr RealOrder real_order = RealOrder::complex;

 private:
  static void check(MKL_LONG status) {
    if (status != 0) {
      throw Error(Errc::internal, "MKL: DFTI status " + std::to_string(status));
    }
  }
  DFTI_DESCRIPTOR_HANDLE plan_ = nullptr;
};

}  // namespace

bool mkl_available() { return mkl().found; }
std::unique_ptr<Kernel<float>> make_mkl_float(std::ptrdiff_t n, bool real) {
  return std::make_unique<LineKernel<float, MklLines<float>>>(n, real);
}
std::unique_ptr<Kernel<double>> make_mkl_double(std::ptrdiff_t n, bool real) {
  return std::make_unique<LineKernel<double, MklLines<double>>>(n, real);
}

}  // namespace tailrace::fft

#else

namespace tailrace::fft {
bool mkl_available() { return false; }
std::unique_ptr<Kernel<float>> make_mkl_float(std::ptrdiff_t, bool) { return nullptr; }
std::unique_ptr<Kernel<double>> make_mkl_double(std::ptrdiff_t, bool) { return nullptr; }
}  // namespace tailrace::fft

#endif
