// SPDX-License-Identifier: BSD-3-Clause
// The C library's functions behind those that the recorder defines itself.
#pragma once
#include <dlfcn.h>

#include <atomic>

namespace tailrace::plugins {

// The C library's function of this name, found at the first call; needs no lock, as calls may come
// before constructors and from signal handlers.
template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  Function find() {
    Function function = at_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
      at_.store(function, std::memory_order_relaxed);
    }
    return function;
  }
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return find()(arguments...);
  }

 private:
  const char* name_;
  std::atomic<Function> at_{nullptr};
};

}  // namespace tailrace::plugins
