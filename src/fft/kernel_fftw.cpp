// SPDX-License-Identifier: BSD-3-Clause
// Kernels of FFTW (Frigo & Johnson 2005), the reference: a panel is turned into contiguous lines in
// the first-level cache, where FFTW is at its best, and back.
#include "kernel.hpp"

#ifdef TAILRACE_HAVE_FFTW

#include "chooser/cache_folder.hpp"
#include "core/whole_file.hpp"
#include "lines.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include <fftw3.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tailrace::fft {
namespace {

// FFTW's names for the two precisions.
template <class Real>
struct Api;
template <>
struct Api<double> {
  using Plan = fftw_plan;
  static constexpr auto plan_c2c = fftw_plan_many_dft;
  static constexpr auto plan_r2r = fftw_plan_many_r2r;
  static constexpr auto execute_c2c = fftw_execute_dft;
  static constexpr auto execute_r2r = fftw_execute_r2r;
  static constexpr auto destroy = fftw_destroy_plan;
  static constexpr auto import_wisdom = fftw_import_wisdom_from_string;
  static constexpr auto export_wisdom = fftw_export_wisdom_to_string;
  static constexpr auto wisdom_file = "fftw-wisdom";
};
template <>
struct Api<float> {
  using Plan = fftwf_plan;
  static constexpr auto plan_c2c = fftwf_plan_many_dft;
  static constexpr auto plan_r2r = fftwf_plan_many_r2r;
  static constexpr auto execute_c2c = fftwf_execute_dft;
  static constexpr auto execute_r2r = fftwf_execute_r2r;
  static constexpr auto destroy = fftwf_destroy_plan;
  static constexpr auto import_wisdom = fftwf_import_wisdom_from_string;
  static constexpr auto export_wisdom = fftwf_export_wisdom_to_string;
  static constexpr auto wisdom_file = "fftwf-wisdom";
};

template <class Real>
void recall_wisdom() {
  static const bool once = [] {
    const auto folder = cache_folder();
    if (folder.empty()) return true;
    try {
      Api<Real>::import_wisdom(read_whole_file(folder / Api<Real>::wisdom_file).c_str());
    } catch (const Error&) {  // none yet, or none that can be read: it is measured
    }
    return true;
  }();
  static_cast<void>(once);
}

// Every rank may write: the file is put in place whole, and the last one stays. A folder that
// cannot be written costs only the measuring next time.
template <class Real>
void keep_wisdom() {
  const auto folder = cache_folder();
  std::error_code failed;
  if (folder.empty()) return;
  std::filesystem::create_directories(folder, failed);
  const auto file = folder / Api<Real>::wisdom_file;
  const std::unique_ptr<char, decltype(&std::free)> wisdom(Api<Real>::export_wisdom(), &std::free);
  if (!wisdom) return;
  try {
    WholeFile whole(file, fmt::format(".{}", getpid()));
    whole.append(wisdom.get());
    whole.commit();
  } catch (const Error&) {  // it is measured again next time
  }
}

// FFTW's planner serves one thread at a time; a server's thread may plan beside the simulation.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

template <class Real>
class FftwLines {
 public:
  using Complex = Real[2];
  FftwLines(std::ptrdiff_t n, bool real) : real_(real) {
    const int length = static_cast<int>(n);
    const int count = static_cast<int>(lanes<Real>);
    const std::lock_guard lock(planner());
    recall_wisdom<Real>();
    Buffer lines(n * unit<Real> * static_cast<std::ptrdiff_t>(sizeof(Real)));
    for (int d = 0; d < 2; ++d) {
      if (real) {
        const fftw_r2r_kind kind = d == 0 ? FFTW_R2HC : FFTW_HC2R;
        plans_[d] = Api<Real>::plan_r2r(1, &length, count, lines.as<Real>(), nullptr, 1, length,
                                        lines.as<Real>(), nullptr, 1, length, &kind, FFTW_MEASURE);
      } else {
        plans_[d] = Api<Real>::plan_c2c(1, &length, count, lines.as<Complex>(), nullptr, 1, length,
                                        lines.as<Complex>(), nullptr, 1, length,
                                        d == 0 ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_MEASURE);
      }
    }
    keep_wisdom<Real>();
  }
  ~FftwLines() {
    const std::lock_guard lock(planner());
    for (auto plan : plans_) {
      if (plan != nullptr) Api<Real>::destroy(plan);
    }
  }
  FftwLines(const FftwLines&) = delete;
  FftwLines& operator=(const FftwLines&) = delete;

  void run(Direction direction, Real* lines) const {
    const auto plan = plans_[direction == Direction::forward ? 0 : 1];
    if (real_) {
      Api<Real>::execute_r2r(plan, lines, lines);
    } else {
      Api<Real>::execute_c2c(plan, reinterpret_cast<Complex*>(lines),
                             reinterpret_cast<Complex*>(lines));
    }
  }
  static constexpr RealOrder real_order = RealOrder::halfcomplex;

 private:
  typename Api<Real>::Plan plans_[2] = {};
  bool real_;
};

/// A cosine or sine transform of FFTW: a panel becomes contiguous lines, and a panel again.
template <class Real>
class FftwWaveKernel : public Kernel<Real> {
 public:
  FftwWaveKernel(std::ptrdiff_t n, AxisKind kind) : n_(n) {
    constexpr fftw_r2r_kind kinds[2][4] = {
        {FFTW_REDFT00, FFTW_REDFT10, FFTW_REDFT01, FFTW_REDFT11},
        {FFTW_RODFT00, FFTW_RODFT10, FFTW_RODFT01, FFTW_RODFT11}};
    const int length = static_cast<int>(n);
    const int count = static_cast<int>(lanes<Real>);
    const std::lock_guard lock(planner());
    recall_wisdom<Real>();
    Buffer lines(n * lanes<Real> * static_cast<std::ptrdiff_t>(sizeof(Real)));
    for (int d = 0; d < 2; ++d) {
      const int type = type_of(kind);
      const int run = d == 1 && (type == 2 || type == 3) ? 5 - type : type;
      plans_[d] = Api<Real>::plan_r2r(1, &length, count, lines.as<Real>(), nullptr, 1, length,
                                      lines.as<Real>(), nullptr, 1, length,
                                      &kinds[is_cosine(kind) ? 0 : 1][run - 1], FFTW_MEASURE);
    }
    keep_wisdom<Real>();
  }
  ~FftwWaveKernel() override {
    const std::lock_guard lock(planner());
    for (auto plan : plans_) {
      if (plan != nullptr) Api<Real>::destroy(plan);
    }
  }
  FftwWaveKernel(const FftwWaveKernel&) = delete;
  FftwWaveKernel& operator=(const FftwWaveKernel&) = delete;

  Real* run(Direction direction, Real* panel, Real* scratch) const override {
    store_rows<Real>(panel, lanes<Real>, n_, scratch, n_);
    Api<Real>::execute_r2r(plans_[direction == Direction::forward ? 0 : 1], scratch, scratch);
    load_rows<Real>(scratch, n_, lanes<Real>, n_, panel);
    return panel;
  }
  std::ptrdiff_t scratch_items() const override { return n_ * lanes<Real>; }

 private:
  std::ptrdiff_t n_;
  typename Api<Real>::Plan plans_[2] = {};
};

}  // namespace

bool fftw_available() { return true; }
std::unique_ptr<Kernel<float>> make_fftw_float(std::ptrdiff_t n, bool real) {
  return std::make_unique<LineKernel<float, FftwLines<float>>>(n, real);
}
std::unique_ptr<Kernel<double>> make_fftw_double(std::ptrdiff_t n, bool real) {
  return std::make_unique<LineKernel<double, FftwLines<double>>>(n, real);
}
std::unique_ptr<Kernel<float>> make_fftw_wave_float(std::ptrdiff_t n, AxisKind kind) {
  return std::make_unique<FftwWaveKernel<float>>(n, kind);
}
std::unique_ptr<Kernel<double>> make_fftw_wave_double(std::ptrdiff_t n, AxisKind kind) {
  return std::make_unique<FftwWaveKernel<double>>(n, kind);
}

}  // namespace tailrace::fft

#else

namespace tailrace::fft {
bool fftw_available() { return false; }
std::unique_ptr<Kernel<float>> make_fftw_float(std::ptrdiff_t, bool) { return nullptr; }
std::unique_ptr<Kernel<double>> make_fftw_double(std::ptrdiff_t, bool) { return nullptr; }
std::unique_ptr<Kernel<float>> make_fftw_wave_float(std::ptrdiff_t, AxisKind) { return nullptr; }
std::unique_ptr<Kernel<double>> make_fftw_wave_double(std::ptrdiff_t, AxisKind) { return nullptr; }
}  // namespace tailrace::fft

#endif
