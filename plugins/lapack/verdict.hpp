// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Which calls are taken, by what earlier ones of the same place and size came to; what they gained.

#include <cstddef>
#include <cstdint>
#include <string>

#include "tailrace/dense.hpp"

namespace tailrace::lapack {

/// Why LAPACK does a call.
enum class Refusal : std::uint8_t {
  none,        ///< it is ours
  canary,      ///< to be compared with ours
  no_faster,   ///< canaries of this place were as fast as ours
  remembered,  ///< earlier systems of this place could not be refined
  guard,       ///< what failed has cost 3 % of the time of all calls
  factors,     ///< the program goes on with the factors of this place
  memory,      ///< too little to keep the matrix
  library,     ///< of another build than we can work with
  part,        ///< of a distributed matrix, or too few blocks for the ranks
  tuning,      ///< TAILRACE_TUNE=off: what would be faster is not found out
  num_refusals
};

/// Settings, from the environment.
struct Settings {
  bool summary = true;       ///< TAILRACE_REPORT=0: no lines at the end
  bool always = false;       ///< TAILRACE_REFINE=always: no canaries and no guard
  bool pairs = false;        ///< TAILRACE_REFINE=pairs: dgetrf, too
  bool factors = true;       ///< TAILRACE_REFINE=unneeded: only callers that drop them
  std::int64_t least_n = 0;  ///< TAILRACE_REFINE=least=N: in place of the ladder's own limit
};
const Settings& settings();

/// A system as far as verdicts know it.
struct Request {
  const void* caller;
  const void* library;  ///< that the caller would call, which has its own speed
  bool definite;
  std::ptrdiff_t n;
  std::ptrdiff_t nrhs;
  bool complex = false;
  bool parallel = false;    ///< ScaLAPACK's, whose calls are counted by themselves
  std::ptrdiff_t rows = 0;  ///< of least squares, n columns; 0: a square system
};

struct Verdict {
  Refusal refusal = Refusal::none;
  std::size_t site = 0;           ///< its number, for what follows
  double expected_condition = 0;  ///< of the last system of this place; 0: not known
};

/// Counts a call that is left to LAPACK or ScaLAPACK at once: n is small, or there are many
/// right-hand sides.
void count_small(bool parallel = false);
/// Counts any other call, and says who does it.
Verdict decide(const Request& request);
/// Changes the verdict after `decide`.
void refuse(const Verdict& verdict, Refusal why);

// What a call came to; `seconds` are wall time.
void took(std::size_t site, const Request& request, const dense::Certificate& certificate,
          double seconds);
void failed(std::size_t site, const dense::Certificate& certificate, double seconds);
void lapack_took(std::size_t site, const Request& request, double seconds);
/// A later solve with factors of n rows was answered by refinement, which counts against the call
/// that made them; or they were made anew.
void solved_later(std::size_t site, std::ptrdiff_t n, double seconds);
void restored(std::size_t site, double seconds);

/// The lines at the end, of LAPACK and of ScaLAPACK; empty if there was no call.
std::string summary();

}  // namespace tailrace::lapack
