// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The routines that stand for BLAS's, in the form that all families share.

#include <array>
#include <atomic>
#include <string>
#include <type_traits>

#include "blas/chooser.hpp"
#include "library.hpp"

namespace tailrace::blas {

using lapack::Family;

/// Where a routine is called from, and what would have been called without us.
struct Site {
  void* caller;
  void* fortran;  ///< null: the caller's BLAS has none
  void* c;        ///< of CBLAS; null: none
  bool wide;      ///< integers have 64 bits
};

/// Those of one routine that called lately.
using RecentSites = std::array<std::atomic<const Site*>, 16>;

/// Looks `routine` ("dgemm") up for a new caller. It lives as long as the process.
const Site& find_site(const Family& family, void* caller, const char* routine);

inline const Site& site_of(RecentSites& recent, const Family& family, void* caller,
                           const char* routine) {
  auto& slot = recent[reinterpret_cast<std::uintptr_t>(caller) / 4 % recent.size()];
  const Site* site = slot.load(std::memory_order_acquire);
  if (site == nullptr || site->caller != caller) {
    site = &find_site(family, caller, routine);
    slot.store(site, std::memory_order_release);
  }
  return *site;
}

/// Ends the program where a routine of its BLAS was not found.
[[noreturn]] void give_up(const char* routine);

/// An integer argument of Fortran's, and of CBLAS's, which may have rubbish above its width.
inline std::int64_t read(const Site& site, const void* integer) {
  return site.wide ? *static_cast<const std::int64_t*>(integer)
                   : *static_cast<const std::int32_t*>(integer);
}
inline std::int64_t read(const Site& site, std::int64_t integer) {
  return site.wide ? integer : static_cast<std::int32_t>(integer);
}

/// Also wrong and empty calls: these are the library's, to which all are passed in the same form.
template <class Call>
void run(const Site& site, const Call& call) {
  if (site.fortran == nullptr) give_up(Call::name);
  if (call.work() < ShapeChooser::small || always_library() || !call.plain()) {
    return call.run(site.fortran);
  }
  shape_chooser().run(call, site.fortran);
}

/// A call of CBLAS's as `call`, where it can be said so (`known`); else as it was made.
template <class Call, class... Arguments>
void run_c(const Site& site, bool known, const Call& call, Arguments... arguments) {
  if (site.c == nullptr) give_up(Call::name);
  if (known && site.fortran != nullptr && call.work() >= ShapeChooser::small && !always_library() &&
      call.plain()) {
    shape_chooser().run(call, site.fortran);
  } else if constexpr (requires { call.result; }) {
    using Result = std::remove_pointer_t<decltype(call.result)>;
    *call.result = reinterpret_cast<Result (*)(Arguments...)>(site.c)(arguments...);
  } else {
    reinterpret_cast<void (*)(Arguments...)>(site.c)(arguments...);
  }
}

constexpr int row_major = 101, column_major = 102;
inline bool is_layout(int layout) { return layout == row_major || layout == column_major; }

/// CBLAS's numbers as letters; '?' for others, which no routine takes for plain.
inline char trans_of(int number) {
  return number >= 111 && number <= 113 ? "NTC"[number - 111] : '?';
}
inline char uplo_of(int number, bool other) {
  return number < 121 || number > 122 ? '?' : (number == 121) != other ? 'U' : 'L';
}
inline char diag_of(int number) { return number == 131 ? 'N' : number == 132 ? 'U' : '?'; }
inline char side_of(int number, bool other) {
  return number < 141 || number > 142 ? '?' : (number == 141) != other ? 'L' : 'R';
}

/// A scalar argument of CBLAS's: complex ones come by address.
template <class T>
using Scalar = std::conditional_t<std::is_floating_point_v<T>, T, const T*>;
template <class T>
T value_of(T scalar) {
  return scalar;
}
template <class T>
T value_of(const T* scalar) {
  return *scalar;
}

}  // namespace tailrace::blas
