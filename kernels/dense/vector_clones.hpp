// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A function marked so is compiled for several instruction sets; the processor's is taken when the
// program is loaded. (An attribute cannot be named in any other way than by a macro.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__AVX512F__)
#define TAILRACE_VECTOR_CLONES \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TAILRACE_VECTOR_CLONES
#endif
