// SPDX-License-Identifier: BSD-3-Clause
// What `Output.write` is given in Python, as `FileContents`.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "tailrace/output.hpp"

namespace tailrace::python {

/// A variable with a layout, dimensions, attributes or compression of its own.
struct PyVariable {
  nb::object array, layout, dims, attributes, compress;
};

struct ContentsArguments {
  nb::object variables, layout, step, attributes, coordinates;
};

/// Contents of a file, with the arrays that they refer to. Made and destroyed with the GIL.
class Contents {
 public:
  /// Throws `Errc::invalid_input` that names the variable. Local.
  void take(const ContentsArguments& arguments, const Comm& comm);
  /// What is wrong with the call; all ranks raise it. Local.
  void fail(std::optional<Error> fault) { contents_.fault = std::move(fault); }
  const FileContents& get() const { return contents_; }

 private:
  void add(const std::string& name, nb::handle value, nb::handle layout, const Comm& comm);
  std::uintptr_t stream_of_all() const;
  FileContents contents_;
  std::deque<Layout> layouts_;
  std::vector<Array> arrays_;
};

std::string path_of(nb::handle path);
/// The text that Python has for a path, of any bytes.
nb::str text_of_path(const std::string& path);
Hints hints_of(nb::handle hints);

/// Whatever fields a kind of statistics has, by name.
template <class Statistics>
nb::dict statistics_of(const Statistics& statistics) {
  nb::dict dict;
#define TAILRACE_FIELD(name) \
  if constexpr (requires { +statistics.name; }) dict[#name] = statistics.name
  TAILRACE_FIELD(steps);
  TAILRACE_FIELD(complete);
  TAILRACE_FIELD(dropped);
  TAILRACE_FIELD(thinned);
  TAILRACE_FIELD(lowered);
  TAILRACE_FIELD(spilled);
  TAILRACE_FIELD(failed);
  TAILRACE_FIELD(bytes);
  TAILRACE_FIELD(written_bytes);
  TAILRACE_FIELD(writes);
  TAILRACE_FIELD(opens);
  TAILRACE_FIELD(reads);
  TAILRACE_FIELD(bytes_read);
  TAILRACE_FIELD(checked);
  TAILRACE_FIELD(run_s);
  TAILRACE_FIELD(call_s);
  TAILRACE_FIELD(agree_s);
  TAILRACE_FIELD(copy_s);
  TAILRACE_FIELD(room_s);
  TAILRACE_FIELD(end_s);
  TAILRACE_FIELD(write_s);
  TAILRACE_FIELD(writer_cpu_s);
  TAILRACE_FIELD(io_s);
  TAILRACE_FIELD(move_s);
  TAILRACE_FIELD(slowest_s);
  TAILRACE_FIELD(slowest_step);
#undef TAILRACE_FIELD
  if constexpr (requires { statistics.hidden_fraction(); }) {
    dict["stall_s"] = statistics.stall_s();
    dict["hidden_fraction"] = statistics.hidden_fraction();
  }
  return dict;
}

}  // namespace tailrace::python
