// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailrace/more/hints.hpp"
#include "tailrace/more/method_info.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace {

class Trace;

/// Values of `OutputOptions::strategy`.
inline constexpr std::array<std::string_view, 6> output_strategies{
    "auto", "spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"};

/// What `Output::write` does when the staging memory is full. All ranks do the same; a step is
/// written completely or not at all.
enum class WhenFull {
  wait,   ///< wait for room
  drop,   ///< leave this step out
  thin,   ///< leave this step out, and from now on take only every 2nd, 4th, ... step, until there
          ///< is room again
  lower,  ///< convert float64 to float32, which needs half the room; wait if that is not enough
  spill   ///< write the step to node-local disk first, and move it when there is room
};

/// What happens after a file, or a stage of a product, has failed.
enum class OnFailure {
  stop,    ///< the next call throws the error on every rank
  proceed  ///< the error is printed once and counted; the run and its output continue
};

/// The words for `WhenFull` and `OnFailure` in case files and Python. C and Fortran have constants
/// with the same names.
inline constexpr std::array<std::pair<const char*, WhenFull>, 5> when_full_words{
    {{"wait", WhenFull::wait},
     {"drop", WhenFull::drop},
     {"thin", WhenFull::thin},
     {"lower", WhenFull::lower},
     {"spill", WhenFull::spill}}};
inline constexpr std::array<std::pair<const char*, OnFailure>, 3> on_failure_words{
    {{"stop", OnFailure::stop}, {"proceed", OnFailure::proceed}, {"continue", OnFailure::proceed}}};

/// A result that the servers or writer threads compute from the variables of an output in their
/// idle time.
struct Product {
  std::string name = {};                    ///< used in file names and messages
  std::vector<std::string> variables = {};  ///< names of variables; empty: all
  /// The operations, in order: "NAME key=value ...", e.g. "coarsen factor=2", "convert
  /// type=float32". docs/servers.md lists the names.
  std::vector<std::string> stages = {};
  /// Path of the result; "{path}" is the path of the step without its suffix, "{name}" the name of
  /// the product. The suffix, or `format`, determines the file format.
  std::string path = "{path}_{name}.h5";
  std::string format = "auto";  ///< "hdf5", "zarr" or "auto" (by the suffix .h5, .nc or .zarr)
  std::int64_t every = 1;       ///< only for each `every`-th step
};

/// When data is written, in programs for version 0.1; replaced by `OutputOptions::servers`.
/// `of_session`: servers ignore file settings that they do not know.
enum class OutputMode01 { synchronous, hidden, of_session };
using OutputMode [[deprecated("use OutputOptions::servers: \"none\" or \"hidden\"")]] =
    OutputMode01;

/// All settings of output: who writes (for a `Session`, or an `Output` without a session), the
/// files, and what is written and when (for each `Output`).
struct OutputOptions {
  /// For programs written for version 0.1: for an `Output` without a session and with servers =
  /// "auto", `synchronous` means "none".
  OutputMode01 mode = OutputMode01::hidden;

  // Who writes. An output that a session opens uses the session's settings.

  /// "none" (the ranks that compute, inside `write`), "hidden" (threads of some of these ranks),
  /// "thread" (a server in a thread on each node), "process" (a supervised process; one node only)
  /// or "auto": "hidden" for an `Output` without a session. On several nodes, messages between the
  /// threads of "hidden", and those of "thread" without MPI_THREAD_MULTIPLE, make progress only in
  /// calls of the outputs. A session also accepts "N" and "N per node" (ranks that only serve), and
  /// its "auto" measures which is best. The environment variable TAILRACE_SERVERS overrides it; an
  /// `Output` without a session ignores values in it that need a session.
  std::string servers = "auto";
  /// Ranks that serve: "spread" over the nodes, or "own_nodes" (the last ones).
  std::string placement = "spread";
  /// Transport to servers: a name from `transports()` or "auto". TAILRACE_TRANSPORT overrides it.
  std::string transport = "auto";
  /// Limit of the staging memory for servers, summed over all compute ranks of a node; it is
  /// allocated as steps need it. With transports other than "node", it is also the limit of the
  /// receive memory of a server rank, which exceeds it only for a step that does not fit, by at
  /// most about one step. "hidden" uses `buffered_files` instead.
  std::ptrdiff_t memory_bytes = std::ptrdiff_t{1} << 30;
  int senders_at_once = 4;               ///< concurrent senders per server (transport "credit")
  std::ptrdiff_t chunk_bytes = 4 << 20;  ///< size of a message
  /// How the compute side of "credit" and "push" makes progress: in "calls" of `progress`, or by a
  /// "thread" (a helper thread; needs MPI_THREAD_MULTIPLE).
  std::string progress = "calls";
  int threads = 1;  ///< threads per writer or server for products and compression
  /// Timeout [s] after which a call fails because the other side does not respond, or a rank that
  /// must also write does not arrive; 0: none; negative: 600 for a session or if there are servers,
  /// otherwise none. With messages, it must exceed the time that compute ranks spend between calls
  /// of MPI or of an output.
  double watchdog_s = -1;
  std::string folder = ".";  ///< destination of the output; "auto" measures there

  // The files.

  /// Who writes which part: "spokesperson" (rank 0 writes everything), "collective" (`writers`
  /// ranks write long runs of the file), "shared_independent" (each rank writes its rows),
  /// "grouped" (the first rank of each group writes the group's rows), "file_per_rank" (pieces in
  /// PATH.pieces/, which PATH shows as one file) or "auto" (collective). Servers support "auto" and
  /// "collective". docs/files.md explains when to use which.
  std::string strategy = "auto";
  /// Settings by name (`hint_table()`): cb_nodes, cb_align, striping_unit, group_size, direct_io,
  /// sync, ... They override the numbers below; `TAILRACE_HINTS` overrides them.
  Hints hints = {};
  int writers = 0;  ///< number of writer ranks; 0 = up to 4 per node (docs/files.md)
  std::ptrdiff_t stripe_bytes = 1 << 20;  ///< file domains end at multiples of it (a multiple of
                                          ///< 8), unless the file system has stripes; 0 = even
                                          ///< shares
  int buffered_files = 2;                 ///< number of unfinished files above which "hidden" waits
  /// How data moves to the writers: a name from `move_methods()`, "push" (if all ranks are on one
  /// node: each rank copies its items directly into the writers' staging buffers, in one pass) or
  /// "auto" (push where it applies, otherwise the fastest measured, see more/tune.hpp).
  std::string method = "auto";
  bool checksums = true;   ///< xxHash of each piece, stored in the file
  Trace* trace = nullptr;  ///< not owned

  // Functions of the program that products call.

  StageFunctions functions = {};
  /// For servers = "process": the path of a program that serves with your functions, and its first
  /// arguments; those that it passes to `serve_as_process` follow them. {}: `tailrace-server`,
  /// which has no functions.
  std::vector<std::string> server_program = {};

  // What is written, and when.

  int priority = 0;  ///< outputs of higher priority are moved first
  WhenFull when_full = WhenFull::wait;
  /// Share of the run time that writes may cost, e.g. 0.02: a write waits for room only within this
  /// budget, and then does what `when_full` specifies. 0: no budget. Not with `WhenFull::wait`.
  double stall_budget = 0;
  /// Timeout [s] of a wait, which then fails with a message that names the cause; 0: none;
  /// negative: 600 for an output of a session, otherwise none.
  double wait_limit_s = -1;
  std::string spill_folder = {};  ///< on a node-local disk (`WhenFull::spill`); "": $TMPDIR or /tmp
  OnFailure on_failure = OnFailure::stop;
  /// If the disk is full, a file is retried for this time [s] before it counts as failed; meanwhile
  /// steps collect in staging memory.
  double retry_s = 0;
  /// Folder for files that could not be written to their own path; "": none.
  std::string fallback_path = {};
  std::string format = "auto";  ///< format of the variables' files, as in `Product`
  /// How files are compressed, including those of products without a stage "compress": "CODEC:LEVEL
  /// key=value ...", e.g. "deflate:1", "zstd:3 digits=4", "deflate:1 chunk=16x64x64". Codecs of
  /// HDF5 are "deflate" (which every reader has) and "zstd" (filter 32015); keys are `tolerance`,
  /// `digits` or `bits` (rounding), `chunk`, `chunk_bytes`, `shuffle=no`, `fletcher32=yes`
  /// (docs/files.md). "" or "none": no compression.
  std::string compress = {};
  bool variables = true;  ///< false: only the products are written
  std::vector<Product> products = {};
  /// An HDF5 file such as "fields.h5" (for steps in Zarr: a store such as "fields.zarr") that
  /// presents all steps as arrays with a first axis `time`. Readers can open it while the run
  /// writes; a restarted run continues it. Step files are not changed unless "fields.h5
  /// steps_per_file=100" merges them. "": none. See docs/files.md.
  std::string series = {};
};

/// The tables of formats (`applies`: the path suffix), of stages of a `Product` (`applies`:
/// settings and defaults), and of transports to servers. Local.
std::vector<MethodInfo> file_formats();
std::vector<MethodInfo> product_stages();
std::vector<MethodInfo> transports();

}  // namespace tailrace
