// SPDX-License-Identifier: BSD-3-Clause
#include "sparse/instruction_set.hpp"

namespace tailrace::sparse {

InstructionSet best_instruction_set() {
#ifdef TAILRACE_SPARSE_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    return InstructionSet::avx512;
  }
  if (__builtin_cpu_supports("avx2")) return InstructionSet::avx2;
#endif
  return InstructionSet::portable;
}

const char* name(InstructionSet set) {
  if (set == InstructionSet::avx512) return "avx512";
  return set == InstructionSet::avx2 ? "avx2" : "portable";
}

const Kernels& kernels_up_to(InstructionSet highest) {
#ifdef TAILRACE_SPARSE_X86
  static const InstructionSet best = best_instruction_set();
  const auto set = highest < best ? highest : best;
  if (set == InstructionSet::avx512) return kernels_avx512;
  if (set == InstructionSet::avx2) return kernels_avx2;
#else
  static_cast<void>(highest);
#endif
  return kernels_portable;
}

}  // namespace tailrace::sparse
