// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chooser/environment.hpp"
#include "tailrace/error.hpp"

namespace tailrace::helium {

namespace {

/// Those that this processor can run, the widest first.
std::vector<const Kernel*> usable_kernels() {
  std::vector<const Kernel*> kernels;
#ifdef TAILRACE_HELIUM_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    kernels.push_back(&kernel_avx512);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    kernels.push_back(&kernel_avx2);
  }
#endif
  kernels.push_back(&kernel_generic);
  return kernels;
}

}  // namespace

std::size_t kernel_scratch(const KernelTables& tables) {
  constexpr std::size_t widest = 32;  // doubles worked on at once
  const auto channels = static_cast<std::size_t>(tables.num_channels);
  return tables.terms.size() + widest * (tables.pairs.size() + 2 * channels) + 2 * channels +
         2 * tables.links.size() + (2 * widest + 5) * tables.dipoles.size() + 256;
}

const Kernel& choose_kernel() {
  const auto kernels = usable_kernels();
  const char* asked = environment("TAILRACE_KERNEL", "TAILRACE_HELIUM_KERNEL");
  if (asked == nullptr) return *kernels.front();
  std::vector<std::string_view> names;
  for (const auto* kernel : kernels) {
    if (kernel->name == asked) return *kernel;
    names.push_back(kernel->name);
  }
  throw Error(Errc::invalid_input,
              fmt::format("TAILRACE_KERNEL={}: this build has {}", asked, fmt::join(names, ", ")));
}

}  // namespace tailrace::helium
