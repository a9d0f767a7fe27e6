// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The LAPACK that a caller would have called without us: found by who calls and by which name, so
// that a process may hold several, under several names and with integers of both widths.

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tailrace::lapack {

// A routine reads its integers through pointers. Those that we pass are 64 bits wide, of which a
// routine with 32-bit integers reads the first half.
static_assert(std::endian::native == std::endian::little);

/// How a family names its routines: scipy_ and _64_ make scipy_dgesv_64_.
struct Family {
  const char* prefix;
  const char* suffix;
  const char* lapacke_suffix;  ///< as in scipy_LAPACKE_dgesv64_
};

/// Routines that are called, by their names without prefix and suffix. Those of drivers, before
/// sgeqrf, may be missing. Least squares need those before isamax, and all need the others.
inline constexpr std::array<std::string_view, 55> routine_names{
    "dgesv",         "dposv",         "dgetrf",        "dgetrs",        "dpotrs",
    "dgetri",        "dpotri",        "dgerfs",        "dporfs",        "zgesv",
    "zposv",         "zgetrf",        "zgetrs",        "zpotrs",        "zgetri",
    "zpotri",        "zgerfs",        "zporfs",        "dgels",         "zgels",
    "LAPACKE_dgels", "LAPACKE_zgels", "LAPACKE_dgesv", "LAPACKE_dposv", "LAPACKE_zgesv",
    "LAPACKE_zposv", "sgeqrf",        "sormqr",        "strtrs",        "strcon",
    "cgeqrf",        "cunmqr",        "ctrtrs",        "ctrcon",        "isamax",
    "sgetrf",        "sgetrs",        "spotrf",        "spotrs",        "slaswp",
    "strsm",         "dgemv",         "dsymv",         "dtrsm",         "dgemm",
    "dpotrf",        "cgetrf",        "cgetrs",        "cpotrf",        "cpotrs",
    "zgemv",         "zhemv",         "ztrsm",         "zgemm",         "zpotrf"};

/// A routine by its name in a table; a name that is not there does not compile.
template <const auto& names>
struct NameIn {
  std::size_t index = 0;
  consteval NameIn(const char* name) : NameIn("", name) {}
  consteval NameIn(std::string_view start, std::string_view rest) {
    while (!names[index].starts_with(start) || names[index].substr(start.size()) != rest) ++index;
  }
};
using Routine = NameIn<routine_names>;

/// A routine of a type of items: routine_of<double>("gesv") is dgesv.
template <class S>
consteval Routine routine_of(const char* name) {
  return {std::is_same_v<S, double> ? "d" : "z", name};
}
template <class S>
consteval Routine lapacke_of(const char* name) {
  return {std::is_same_v<S, double> ? "LAPACKE_d" : "LAPACKE_z", name};
}

class Lapack {
 public:
  bool wide = false;  ///< its integers have 64 bits
  /// Why tailrace::dense cannot work with it; empty: it can.
  const char* unusable = "";
  bool has_qr = true;  ///< it has what least squares need besides
  std::array<void*, routine_names.size()> addresses{};

  /// Calls a routine, all of whose arguments are passed as they are.
  template <class Result = void, class... Arguments>
  Result call(Routine routine, Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(addresses[routine.index])(arguments...);
  }
  /// An integer argument of a caller.
  std::int64_t read(const void* integer) const {
    return wide ? *static_cast<const std::int64_t*>(integer)
                : *static_cast<const std::int32_t*>(integer);
  }
  void write(void* integers, std::ptrdiff_t i, std::int64_t value) const {
    if (wide) {
      static_cast<std::int64_t*>(integers)[i] = value;
    } else {
      static_cast<std::int32_t*>(integers)[i] = static_cast<std::int32_t>(value);
    }
  }
  std::int64_t read(const void* integers, std::ptrdiff_t i) const {
    return wide ? static_cast<const std::int64_t*>(integers)[i]
                : static_cast<const std::int32_t*>(integers)[i];
  }
};

/// The library of a caller, by its return address. It lives as long as the process.
const Lapack& lapack_of(const Family& family, void* caller);

/// What `caller` would have called as `name` (with prefix and suffix) without us; null if nothing.
void* find_routine(void* caller, const std::string& name);
/// Whether the integers of the BLAS of `caller` have 64 bits.
bool has_wide_integers(const Family& family, void* caller);

/// The routines that tailrace::dense calls in this thread are those of `lapack` while this lives,
/// and calls that come back to us are passed on.
class Using {
 public:
  explicit Using(const Lapack& lapack);
  ~Using();
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  const Lapack* before_;
};
/// Null outside of `Using`.
const Lapack* in_use();

}  // namespace tailrace::lapack
