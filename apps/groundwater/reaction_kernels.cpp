// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chooser/environment.hpp"
#include "reaction_kernel.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

#ifdef TAILRACE_GROUNDWATER_X86
extern const ReactionKernel reaction_avx512, reaction_avx2;
#endif
extern const ReactionKernel reaction_generic, reaction_scalar;

std::size_t reaction_scratch(const ReactionTables& tables) {
  constexpr std::size_t widest = 8;
  return widest * (tables.num_slopes() + 6 * tables.num_primary + 2 * tables.activities.size() +
                   tables.surface.size());
}

std::vector<const ReactionKernel*> reaction_kernels() {
  std::vector<const ReactionKernel*> kernels;
#ifdef TAILRACE_GROUNDWATER_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    kernels.push_back(&reaction_avx512);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    kernels.push_back(&reaction_avx2);
  }
#endif
  kernels.push_back(&reaction_generic);
  kernels.push_back(&reaction_scalar);
  return kernels;
}

const ReactionKernel& choose_reaction_kernel() {
  const auto kernels = reaction_kernels();
  const char* asked = environment("TAILRACE_KERNEL", "TAILRACE_REACTION_KERNEL");
  if (asked == nullptr) return *kernels.front();
  std::vector<std::string_view> names;
  for (const auto* kernel : kernels) {
    if (kernel->name == asked) return *kernel;
    names.push_back(kernel->name);
  }
  throw Error(Errc::invalid_input,
              fmt::format("TAILRACE_KERNEL={}: this build has {}", asked, fmt::join(names, ", ")));
}

}  // namespace tailrace::groundwater
