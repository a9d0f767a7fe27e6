// SPDX-License-Identifier: BSD-3-Clause
#include "handles.hpp"

#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::c::detail {

namespace {

struct Kept {
  const char* kind;
  std::shared_ptr<void> object;
  std::string text;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Kept> kept;
  std::uintptr_t last = 0;
};

/// Never destroyed: handles that a program leaves behind must not end after MPI.
Table& table() {
  static auto* const all = new Table;
  return *all;
}

constexpr std::uintptr_t step = 16;  // no valid address is as low as the numbers of a program

[[noreturn]] void refuse(const char* kind, const std::string& why) {
  throw Error(Errc::invalid_input, fmt::format("the {} given is {}", kind, why));
}

Kept& checked(Table& all, std::uintptr_t handle, const char* kind) {
  if (handle == 0) refuse(kind, "NULL");
  const auto found = all.kept.find(handle);
  if (found == all.kept.end()) {
    refuse(kind, handle % step == 0 && handle <= all.last
                     ? "destroyed"
                     : "not a handle of this library; set handles to NULL before you create them");
  }
  if (std::string_view(found->second.kind) != kind) {
    refuse(kind, fmt::format("a {}", found->second.kind));
  }
  return found->second;
}

}  // namespace

std::uintptr_t keep(const char* kind, std::shared_ptr<void> object) {
  auto& all = table();
  const std::scoped_lock lock(all.mutex);
  all.last += step;
  all.kept.emplace(all.last, Kept{kind, std::move(object), {}});
  return all.last;
}

std::shared_ptr<void> find(std::uintptr_t handle, const char* kind) {
  auto& all = table();
  const std::scoped_lock lock(all.mutex);
  return checked(all, handle, kind).object;
}

std::shared_ptr<void> take(std::uintptr_t handle, const char* kind) {
  auto& all = table();
  const std::scoped_lock lock(all.mutex);
  auto object = std::move(checked(all, handle, kind).object);
  all.kept.erase(handle);
  return object;
}

const char* keep_text(std::uintptr_t handle, std::string text) {
  auto& all = table();
  const std::scoped_lock lock(all.mutex);
  auto& kept = all.kept.at(handle);
  kept.text = std::move(text);
  return kept.text.c_str();
}

}  // namespace tailrace::c::detail
