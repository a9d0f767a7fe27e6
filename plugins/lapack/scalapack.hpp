// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The ScaLAPACK and BLACS that a caller would have called without us. What they do with MPI is
// theirs, so this library needs none.

#include <array>
#include <cstddef>
#include <string_view>

#include "library.hpp"

namespace tailrace::lapack {

/// Routines that are called. Those of drivers, before psgeqrf, may be missing. Least squares need
/// those before psgetrf, and all need the others.
inline constexpr std::array<std::string_view, 26> parallel_names{
    "pdgesv",  "pdposv",         "pdgetrf", "pdpotrf", "pdgetrs", "pdpotrs", "pdgetri",
    "pdpotri", "pdgerfs",        "pdporfs", "pdgels",  "psgeqrf", "psgelqf", "psormqr",
    "psormlq", "pstrsm",         "psgetrf", "psgetrs", "pspotrf", "pspotrs", "pdgemm",
    "pdsymm",  "blacs_gridinfo", "dgsum2d", "dgamx2d", "igamx2d"};
using ParallelRoutine = NameIn<parallel_names>;

class Scalapack {
 public:
  bool usable = true;
  bool has_qr = true;  ///< it has what least squares need besides
  std::array<void*, parallel_names.size()> addresses{};

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
