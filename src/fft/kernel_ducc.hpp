// SPDX-License-Identifier: BSD-3-Clause
// Kernels of ducc0 (M. Reinecke; its FFT part is BSD-3-Clause). Its passes are templates over the
// item type, so a panel is simply an array of SIMD items: no gather, no shuffle, every lane busy.
// Included by a source for each precision, as they take long to compile.
#pragma once

#include "kernel.hpp"

#ifdef TAILRACE_HAVE_DUCC

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "ducc0/fft/fft.h"
#include "ducc0/infra/simd.h"
#include "ducc0/infra/threading.h"

// The passes are compiled for each width that "exists": of these, panels have the widest alone.
namespace ducc0 {
template <class Real, std::size_t width>
constexpr bool is_width_of_panels = width == native_simd<Real>::size() && simd_exists<Real, width>;
}
#define simd_exists is_width_of_panels
#include "ducc0/fft/fft1d_impl.h"
#undef simd_exists
#pragma GCC diagnostic pop

namespace tailrace::fft {

template <class Real>
using DuccVector = ducc0::native_simd<Real>;

static_assert(sizeof(DuccVector<double>) == simd_bytes && sizeof(DuccVector<float>) == simd_bytes,
              "ducc0 and this library must use the same SIMD width");

template <class Real, class Pass, class Item>
class DuccKernel : public Kernel<Real> {
 public:
  DuccKernel(std::ptrdiff_t n)
      : n_(n), pass_(Pass::make_pass(static_cast<std::size_t>(n), false)) {}

  Real* run(Direction direction, Real* panel, Real* scratch) const override {
    auto* items = reinterpret_cast<Item*>(panel);
    auto* copy = reinterpret_cast<Item*>(scratch);
    void* result = pass_->exec(ducc0::detail_fft::tidx<Item*>(), items, copy, copy + n_,
                               direction == Direction::forward);
    return static_cast<Real*>(result);
  }

  std::ptrdiff_t scratch_items() const override {
    return (n_ + static_cast<std::ptrdiff_t>(pass_->bufsize())) *
           static_cast<std::ptrdiff_t>(sizeof(Item) / sizeof(Real));
  }

 private:
  std::ptrdiff_t n_;
  decltype(Pass::make_pass(std::size_t{1}, false)) pass_;
};

/// A cosine or sine transform of ducc0.
template <class Real, class Plan>
class DuccWaveKernel : public Kernel<Real> {
 public:
  DuccWaveKernel(std::ptrdiff_t n, int type, bool cosine)
      : plan_(static_cast<std::size_t>(n)), type_(type), cosine_(cosine) {}

  Real* run(Direction direction, Real* panel, Real* scratch) const override {
    const bool swaps = direction == Direction::backward && (type_ == 2 || type_ == 3);
    auto* items = reinterpret_cast<DuccVector<Real>*>(panel);
    auto* buffer = reinterpret_cast<DuccVector<Real>*>(scratch);
    return reinterpret_cast<Real*>(
        plan_.exec(items, buffer, Real(1), false, swaps ? 5 - type_ : type_, cosine_, 1));
  }

  std::ptrdiff_t scratch_items() const override {
    return static_cast<std::ptrdiff_t>(plan_.bufsize()) * lanes<Real>;
  }

 private:
  Plan plan_;
  int type_;
  bool cosine_;
};

template <class Real>
std::unique_ptr<Kernel<Real>> make_ducc_wave(std::ptrdiff_t n, AxisKind kind) {
  using ducc0::detail_fft::T_dcst23;
  using ducc0::detail_fft::T_dcst4;
  using ducc0::detail_fft::T_dct1;
  using ducc0::detail_fft::T_dst1;
  const int type = type_of(kind);
  const bool cosine = is_cosine(kind);
  if (type == 1 && cosine) {
    return std::make_unique<DuccWaveKernel<Real, T_dct1<Real>>>(n, type, cosine);
  }
  if (type == 1) return std::make_unique<DuccWaveKernel<Real, T_dst1<Real>>>(n, type, cosine);
  if (type == 4) return std::make_unique<DuccWaveKernel<Real, T_dcst4<Real>>>(n, type, cosine);
  return std::make_unique<DuccWaveKernel<Real, T_dcst23<Real>>>(n, type, cosine);
}

template <class Real>
std::unique_ptr<Kernel<Real>> make_ducc(std::ptrdiff_t n, bool real) {
  using ducc0::detail_fft::cfftpass;
  using ducc0::detail_fft::rfftpass;
  if (real) {
    return std::make_unique<DuccKernel<Real, rfftpass<Real>, DuccVector<Real>>>(n);
  }
  return std::make_unique<DuccKernel<Real, cfftpass<Real>, ducc0::Cmplx<DuccVector<Real>>>>(n);
}

}  // namespace tailrace::fft

#else

namespace tailrace::fft {
template <class Real>
std::unique_ptr<Kernel<Real>> make_ducc(std::ptrdiff_t, bool) {
  return nullptr;
}
template <class Real>
std::unique_ptr<Kernel<Real>> make_ducc_wave(std::ptrdiff_t, AxisKind) {
  return nullptr;
}
}  // namespace tailrace::fft

#endif
