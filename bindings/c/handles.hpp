// SPDX-License-Identifier: BSD-3-Clause
// Handles of C: numbers in the shape of addresses, never used twice and never followed. So one that
// is destroyed, of another kind, or no handle at all, is found to be so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tailrace::c {

/// The object behind handles of a C type, and its name in messages.
template <class Handle>
struct Behind;
template <class Handle>
using Object = typename Behind<Handle>::Object;
/// The object of a handle that a body is called with, and one that a body makes for a new handle.
template <class Handle>
using Ref = const std::shared_ptr<Object<Handle>>&;
template <class Handle>
using Made = std::shared_ptr<Object<Handle>>;

/// Names the C++ object that is behind a C type.
#define TAILRACE_BEHIND(handle, object)          \
  template <>                                    \
  struct Behind<handle> {                        \
    using Object = object;                       \
    static constexpr const char* name = #handle; \
  };

namespace detail {
/// A new handle of the kind `kind`. Local.
std::uintptr_t keep(const char* kind, std::shared_ptr<void> object);
/// The object, which lives as long as it is held. Throws `Errc::invalid_input`. Local.
std::shared_ptr<void> find(std::uintptr_t handle, const char* kind);
/// The same, and ends the handle.
std::shared_ptr<void> take(std::uintptr_t handle, const char* kind);
/// A text that lives until the next one of that handle, or its end.
const char* keep_text(std::uintptr_t handle, std::string text);
}  // namespace detail

template <class Handle>
std::uintptr_t number_of(const Handle* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// The object of a handle. Throws `Errc::invalid_input` if it is NULL or refused. Local.
template <class Handle>
std::shared_ptr<Object<Handle>> get(const Handle* handle) {
  return std::static_pointer_cast<Object<Handle>>(
      detail::find(number_of(handle), Behind<Handle>::name));
}

/// A new handle in `*result`. Local.
template <class Handle>
void put(Handle** result, std::shared_ptr<Object<Handle>> object) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never followed
  *result = reinterpret_cast<Handle*>(detail::keep(Behind<Handle>::name, std::move(object)));
}

/// Ends a handle and sets it to NULL, if it is not that already.
template <class Handle>
void end(Handle** handle) {
  if (*handle == nullptr) return;
  const auto last = detail::take(number_of(*handle), Behind<Handle>::name);
  *handle = nullptr;
}

/// A text of a handle, for C.
template <class Handle>
const char* text_of(const Handle* handle, std::string text) {
  return detail::keep_text(number_of(handle), std::move(text));
}

}  // namespace tailrace::c
