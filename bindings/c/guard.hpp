// SPDX-License-Identifier: BSD-3-Clause
// What stands between a C function and the C++ call in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/c/error.h"
#include "tailrace/error.hpp"

namespace tailrace::c {

/// Keeps the exception that is being handled as the last error of this thread; returns its status.
/// `call` is the name of the C function.
int keep_error(const char* call) noexcept;

/// Runs the body of a C function; exceptions become its status.
template <class Action>
int guarded(const char* call, Action&& action) noexcept {
  try {
    std::forward<Action>(action)();
    return TAILRACE_OK;
  } catch (...) {
    return keep_error(call);
  }
}

/// Throws `Errc::invalid_input` unless `ok`.
inline void require(bool ok, const char* what) {
  if (!ok) throw Error(Errc::invalid_input, what);
}

/// Throws `Errc::invalid_input` saying that `name` is NULL if `address` is.
void require_address(const void* address, const char* name);

/// A text argument; NULL is refused.
std::string text(const char* given, const char* name);
/// The same; NULL is `otherwise`.
std::string text_or(const char* given, const char* otherwise);

/// `count` numbers at `numbers`. Throws if `count` is negative, or above 0 with NULL.
template <class T>
std::span<const T> list(const T* numbers, std::int64_t count, const char* name) {
  constexpr auto most = std::int64_t{1} << 47;  // no process has so many bytes
  if (count < 0 || count > most) {
    throw Error(Errc::invalid_input,
                std::string(name) + ": a number of " + std::to_string(count) + " is given");
  }
  if (count > 0) require_address(numbers, name);
  return {numbers, static_cast<std::size_t>(count)};
}
/// The same of addresses or texts, none of them NULL.
template <class T>
std::span<T* const> list_of(T* const* addresses, std::int64_t count, const char* name) {
  const auto all = list(addresses, count, name);
  for (T* const address : all) require_address(address, name);
  return all;
}
std::vector<std::string> texts(const char* const* given, std::int64_t count, const char* name);
/// `count` sizes, as C++ counts them.
std::vector<std::ptrdiff_t> sizes(const std::int64_t* given, std::int64_t count, const char* name);

/// A number of C as an enumerator, which there are `count` of.
template <class Enum>
Enum enumerator(int value, int count, const char* name) {
  if (value < 0 || value >= count) {
    throw Error(Errc::invalid_input, std::string(name) + ": " + std::to_string(value) +
                                         " is not one of its constants (0 to " +
                                         std::to_string(count - 1) + ")");
  }
  return static_cast<Enum>(value);
}

}  // namespace tailrace::c
