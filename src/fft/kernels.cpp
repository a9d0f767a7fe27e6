// SPDX-License-Identifier: BSD-3-Clause
// The table of kernels of transforms. To add one: kernel_NAME.cpp, its declarations in kernel.hpp,
// a line here, its answer in `available`, and a line in CMakeLists.txt. Tests, the choice and
// benchmarks use this table.
#include <array>

#include "kernel.hpp"
#include "tailrace/error.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {

namespace {

constexpr std::array<KernelLibrary, 4> table{{
    {"fftw", "FFTW 3, lines in cache; the reference", make_fftw_float, make_fftw_double,
     make_fftw_wave_float, make_fftw_wave_double},
    {"ducc0", "ducc0, all lanes of a panel at once", make_ducc_float, make_ducc_double,
     make_ducc_wave_float, make_ducc_wave_double},
    {"mkl", "Intel MKL (DFTI), lines in cache", make_mkl_float, make_mkl_double},
    {"wide",
     "Tailrace's kernel for complex lines, with few passes; other lines by ducc0, FFTW or MKL",
     make_wide_float, make_wide_double},
}};

}  // namespace

bool KernelLibrary::available() const {
  if (make_double == make_fftw_double) return fftw_available();
  if (make_double == make_ducc_double) return ducc_available();
  return make_double == make_mkl_double ? mkl_available() : wide_available();
}

template <class Real>
std::unique_ptr<Kernel<Real>> KernelLibrary::make_wave(std::ptrdiff_t n, AxisKind kind) const {
  const auto made_by = [&](const KernelLibrary& library) -> std::unique_ptr<Kernel<Real>> {
    if (library.make_wave_double == nullptr || !library.available()) return nullptr;
    if constexpr (sizeof(Real) == 4) {
      return library.make_wave_float(n, kind);
    } else {
      return library.make_wave_double(n, kind);
    }
  };
  auto kernel = made_by(*this);
  // ducc0 takes panels as they are.
  if (!kernel) kernel = made_by(*find_kernel_library("ducc0"));
  if (!kernel) kernel = made_by(*find_kernel_library("fftw"));
  if (!kernel) {
    throw Error(Errc::invalid_input,
                "cosine and sine transforms need ducc0 or FFTW; neither is built in");
  }
  return kernel;
}
template std::unique_ptr<Kernel<float>> KernelLibrary::make_wave(std::ptrdiff_t, AxisKind) const;
template std::unique_ptr<Kernel<double>> KernelLibrary::make_wave(std::ptrdiff_t, AxisKind) const;

std::size_t num_kernel_libraries() { return table.size(); }
const KernelLibrary& kernel_library(std::size_t index) { return table[index]; }

const KernelLibrary& reference_kernel_library() {
  std::size_t index = 0;
  while (!table.at(index).available()) ++index;
  return table[index];
}

const KernelLibrary* find_kernel_library(std::string_view name) {
  for (const auto& entry : table) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::span<const KernelInfo> kernels() {
  static const auto infos = [] {
    std::array<KernelInfo, table.size()> list{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      list[i] = {table[i].name, table[i].summary, "if built in", table[i].available()};
    }
    return list;
  }();
  return infos;
}

}  // namespace tailrace::fft
