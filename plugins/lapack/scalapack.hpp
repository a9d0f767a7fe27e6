// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The ScaLAPACK and BLACS that a caller would have called without us. What they do with MPI is
// theirs, so this library needs none.

#include <array>
#include <complex>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "library.hpp"

namespace tailrace::lapack {

/// Routines that are called. Those of drivers, before pcgetrf, may be missing. Complex systems need
/// those before psgeqrf, least squares those from there to psgetrf, and all need the others.
inline constexpr std::array<std::string_view, 42> parallel_names{
    "pdgesv",  "pdposv",  "pdgetrf", "pdpotrf",        "pdgetrs", "pdpotrs", "pdgetri",
    "pdpotri", "pdgerfs", "pdporfs", "pdgels",         "pzgesv",  "pzposv",  "pzgetrf",
    "pzpotrf", "pzgetrs", "pzpotrs", "pzgetri",        "pzpotri", "pzgerfs", "pzporfs",
    "pcgetrf", "pcgetrs", "pcpotrf", "pcpotrs",        "pzgemm",  "pzhemm",  "psgeqrf",
    "psgelqf", "psormqr", "psormlq", "pstrsm",         "psgetrf", "psgetrs", "pspotrf",
    "pspotrs", "pdgemm",  "pdsymm",  "blacs_gridinfo", "dgsum2d", "dgamx2d", "igamx2d"};
using ParallelRoutine = NameIn<parallel_names>;

template <class S>
inline constexpr bool is_complex = std::is_same_v<S, std::complex<double>>;

/// A routine of a type of items: parallel_routine_of<double>("gesv") is pdgesv.
template <class S>
consteval ParallelRoutine parallel_routine_of(const char* name) {
  return {is_complex<S> ? "pz" : "pd", name};
}

class Scalapack {
 public:
  bool usable = true;
  bool has_complex = true;  ///< it has what complex systems need besides
  bool has_qr = true;       ///< it has what least squares need besides
  std::array<void*, parallel_names.size()> addresses{};

  /// Whether systems with items of type S can be solved with it.
  template <class S>
  bool serves() const {
    return usable && (has_complex || !is_complex<S>);
  }

  /// Calls a routine, all of whose arguments are passed as they are.
  template <class... Arguments>
  void call(ParallelRoutine routine, Arguments... arguments) const {
    reinterpret_cast<void (*)(Arguments...)>(addresses[routine.index])(arguments...);
  }
};

/// The library of a caller, by its return address. It lives as long as the process.
const Scalapack& scalapack_of(void* caller);

/// The routines that tailrace::dense calls over ranks are those of `scalapack` while this lives,
/// and calls that come back to us are passed on. ScaLAPACK is called by one thread at a time.
class UsingScalapack {
 public:
  explicit UsingScalapack(const Scalapack& scalapack);
  ~UsingScalapack();
  UsingScalapack(const UsingScalapack&) = delete;
  UsingScalapack& operator=(const UsingScalapack&) = delete;

 private:
  const Scalapack* before_;
};
/// Null outside of `UsingScalapack`.
const Scalapack* scalapack_in_use();

}  // namespace tailrace::lapack
