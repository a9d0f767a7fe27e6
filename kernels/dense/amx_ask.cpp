// SPDX-License-Identifier: BSD-3-Clause
// Whether this process may use AMX tiles of bf16: asked of the processor and of the system.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dense/bf16_lu.hpp"

namespace tailrace::dense {

namespace {

bool processor_has_it() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool tiles = (d >> 24 & 1U) != 0 && (d >> 22 & 1U) != 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return false;
  const bool bf16 = (a >> 5 & 1U) != 0;
  return tiles && bf16 && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

bool system_lets_us() {
  constexpr long ask_for_state = 0x1023;  // ARCH_REQ_XCOMP_PERM, Linux 5.16
  constexpr long tile_data = 18;
  return syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
}

}  // namespace

bool bf16_available() {
  static const bool have = processor_has_it() && system_lets_us();
  return have;
}

}  // namespace tailrace::dense
