// SPDX-License-Identifier: BSD-3-Clause
// For functions of the C library that are defined here before its own.
#pragma once
#include <dlfcn.h>

namespace tailrace::plugins {

// The C library's function, found at the first call.
template <class Function>
Function next_call(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace tailrace::plugins

// Defined under other names, as headers declare them in several ways.
#define TAILRACE_AS(symbol) asm(#symbol)
#define TAILRACE_NEXT_CALL(own, symbol) static const auto next = next_call<decltype(&own)>(#symbol);
// A call with these arguments; `does` can call the next definition as `pass`.
#define TAILRACE_ON(result, symbol, declared, given, does) \
  result own_##symbol declared TAILRACE_AS(symbol);        \
  result own_##symbol declared {                           \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)               \
    const auto pass = [&] { return next given; };          \
    return does;                                           \
  }
