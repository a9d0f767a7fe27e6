// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

// What the plug-ins for PETSc and for Epetra did, and the lines that they print at the end.
namespace tailrace::sparse_plugins {

/// What was done to one operation of one matrix; kept after the matrix for the lines at the end.
struct Record {
  const char* operation = "";
  std::ptrdiff_t rows = 0, items = 0;
  std::string storage;  ///< empty: the program's library continues
  double library_s = std::numeric_limits<double>::infinity();  ///< CPU time, the fastest seen
  double ours_s = std::numeric_limits<double>::infinity();
  double inspection_s = 0;
  std::int64_t ours = 0;  ///< number of calls that Tailrace computed
  bool timed() const { return library_s < std::numeric_limits<double>::infinity(); }

  double saved_s() const;
};

/// A new record in the list of all.
std::shared_ptr<Record> new_record(const char* operation);

/// Empties the list of all. Prints it before that if `shown`: the total, the lines of `between`,
/// and the records that saved most. `library` is the name of the program's library.
void finish_records(const char* library, bool shown, const std::function<void()>& between);

}  // namespace tailrace::sparse_plugins
