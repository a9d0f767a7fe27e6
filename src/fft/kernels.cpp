// SPDX-License-Identifier: BSD-3-Clause
// The table of kernels of transforms. To add one: kernel_NAME.cpp, its declarations in kernel.hpp,
// a line here, its answer in `available`, and a line in CMakeLists.txt. Tests, the choice and
// benchmarks use this table.
#include <array>

#include "kernel.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {

namespace {

constexpr std::array<KernelLibrary, 4> table{{
    {"fftw", "FFTW 3, lines in cache; the reference", make_fftw_float, make_fftw_double},
    {"ducc0", "ducc0, all lanes of a panel at once", make_ducc_float, make_ducc_double},
    {"mkl", "Intel MKL (DFTI), lines in cache", make_mkl_float, make_mkl_double},
    {"wide", "our own for complex lines, with few passes; others by ducc0, FFTW or MKL",
     make_wide_float, make_wide_double},
}};

}  // namespace

bool KernelLibrary::available() const {
  if (make_double == make_fftw_double) return fftw_available();
  if (make_double == make_ducc_double) return ducc_available();
  return make_double == make_mkl_double ? mkl_available() : wide_available();
}

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
      list[i] = {table[i].name, table[i].summary, "where built in", table[i].available()};
    }
    return list;
  }();
  return infos;
}

}  // namespace tailrace::fft
