// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/more/method_info.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace {

/// What `Stream::write` does when the staging memory is full. Every rank does the same, and a step
/// is written whole or not at all.
enum class WhenFull {
  wait,   ///< wait for room
  drop,   ///< leave this step out
  thin,   ///< leave this step out, and from now on take only every 2nd, 4th, ... step, until there
          ///< is room again
  lower,  ///< float64 becomes float32, which needs half the room; waits if that is not enough
  spill   ///< put the step on node-local disk, from where it is moved on when there is room
};

/// What follows a failed file, or a failed stage of a product.
enum class OnFailure {
  stop,    ///< the next call throws the error on every rank
  proceed  ///< the error is printed once and counted; the run and its output continue
};

/// The words for `WhenFull` and `OnFailure`, in case files as in Python. C and Fortran have
/// constants of the same names.
inline constexpr std::array<std::pair<const char*, WhenFull>, 5> when_full_words{
    {{"wait", WhenFull::wait},
     {"drop", WhenFull::drop},
     {"thin", WhenFull::thin},
     {"lower", WhenFull::lower},
     {"spill", WhenFull::spill}}};
inline constexpr std::array<std::pair<const char*, OnFailure>, 3> on_failure_words{
    {{"stop", OnFailure::stop}, {"proceed", OnFailure::proceed}, {"continue", OnFailure::proceed}}};

/// Something that the servers make of the variables of a stream, in their idle time.
struct Product {
  std::string name = {};                    ///< in file names and messages
  std::vector<std::string> variables = {};  ///< empty: all
  /// What is done, in order: "NAME key=value ...", e.g. "coarsen factor=2", "convert type=float32".
  /// docs/servers.md lists the names.
  std::vector<std::string> stages = {};
  /// Where the result goes; "{path}" is the path of the step without its suffix, "{name}" the
  /// product's name. The suffix, or `format`, decides the kind of file.
  std::string path = "{path}_{name}.h5";
  std::string format = "auto";  ///< "hdf5", "zarr" or "auto" (by the suffix .h5, .nc or .zarr)
  std::int64_t every = 1;       ///< only of each `every`-th step
};

struct StreamOptions {
  int priority = 0;  ///< packets of a stream of a higher one are moved first
  WhenFull when_full = WhenFull::wait;
  /// Share of the run time that writes may cost, e.g. 0.02: a write waits for room only as long as
  /// that allows, and then does what `when_full` says. 0: no budget. Not with `WhenFull::wait`.
  double stall_budget = 0;
  double wait_limit_s = 600;      ///< a wait that takes longer fails, naming what it waited for
  std::string spill_folder = {};  ///< node-local, for `WhenFull::spill`; "": $TMPDIR or /tmp
  OnFailure on_failure = OnFailure::stop;
  /// A file for which the disk has no room is tried again for this long [s], while steps gather in
  /// staging memory, before it has failed.
  double retry_s = 0;
  /// Folder where a file goes that could not be written where it belongs; "": none.
  std::string fallback_path = {};
  std::string format = "auto";  ///< of the variables themselves, as in `Product`
  bool variables = true;        ///< false: only the products are written
  std::vector<Product> products = {};
  /// Hints, stripes, checksums; without servers also strategy, method and `buffered_files`. The
  /// session says in which mode.
  OutputOptions output = {};
};

/// The tables of formats (`applies`: the suffix of their paths), of stages of a `Product`
/// (`applies`: settings and defaults), and of transports to servers. Local.
std::vector<MethodInfo> file_formats();
std::vector<MethodInfo> product_stages();
std::vector<MethodInfo> transports();

}  // namespace tailrace
