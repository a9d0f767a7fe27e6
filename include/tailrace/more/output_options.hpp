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

/// What `OutputOptions::strategy` may be.
inline constexpr std::array<std::string_view, 6> output_strategies{
    "auto", "spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"};

/// What `Output::write` does when the staging memory is full. Every rank does the same, and a step
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

/// Something that those who write make of the variables of an output, in their idle time.
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

/// When the bytes leave, in programs of 0.1: now `OutputOptions::servers`. `of_session`: servers
/// ignore settings of the files that they do not know.
enum class OutputMode01 { synchronous, hidden, of_session };
using OutputMode [[deprecated("use OutputOptions::servers: \"none\" or \"hidden\"")]] =
    OutputMode01;

/// All settings of output: who writes (of a `Session`, or of an `Output` that has no session), the
/// files, and what is written and when (of each `Output`).
struct OutputOptions {
  /// Of programs of 0.1: for an `Output` without a session and servers = "auto", `synchronous` is
  /// "none".
  OutputMode01 mode = OutputMode01::hidden;

  // Who writes. An output that a session opens has those of the session.

  /// "none" (the ranks that compute, inside `write`), "hidden" (threads of some of these ranks),
  /// "thread" (a server in a thread on each node), "process" (a supervised process; one node only)
  /// or "auto": "hidden" for an `Output` without a session. On several nodes messages of "hidden"
  /// between its threads, and those of "thread" without MPI_THREAD_MULTIPLE, advance in calls of
  /// the outputs. A session takes also "N" and "N per node" (ranks that only serve), and its "auto"
  /// measures which is best. The environment variable TAILRACE_SERVERS overrides it; an `Output`
  /// without a session ignores there what needs one.
  std::string servers = "auto";
  /// Ranks that serve: "spread" over the nodes, or "own_nodes" (the last ones).
  std::string placement = "spread";
  /// To servers: a name of `transports()` or "auto". TAILRACE_TRANSPORT overrides it.
  std::string transport = "auto";
  /// Staging memory of all compute ranks of a node together for servers, at most: it is taken as
  /// steps need it. Receive memory of a server rank, by transports other than "node": it takes more
  /// only for a step that does not fit, at most about one step. "hidden" has `buffered_files`.
  std::ptrdiff_t memory_bytes = std::ptrdiff_t{1} << 30;
  int senders_at_once = 4;               ///< of a server (transport "credit")
  std::ptrdiff_t chunk_bytes = 4 << 20;  ///< of a message
  /// How the compute side of "credit" and "push" advances: "calls" of `progress`, or "thread" (a
  /// helper thread; needs MPI_THREAD_MULTIPLE).
  std::string progress = "calls";
  int threads = 1;  ///< of those who write, for products and compression
  /// If the other side is silent for longer, or a rank that must write, too, does not come for
  /// longer, the call fails [s]; 0: never; less: 600 for a session, else never. With messages, it
  /// must be longer than compute ranks compute without a call of MPI or of an output.
  double watchdog_s = -1;
  std::string folder = ".";  ///< where output will go; "auto" measures there

  // The files.

  /// Who writes what: "spokesperson" (rank 0 everything), "collective" (`writers` long runs of the
  /// file), "shared_independent" (each rank its own rows), "grouped" (the first rank of each group
  /// its group's rows), "file_per_rank" (pieces in PATH.pieces/, and PATH shows them as one) or
  /// "auto" (collective). Servers know "auto" and "collective". docs/files.md says when which.
  std::string strategy = "auto";
  /// Settings by their names (`hint_table()`): cb_nodes, cb_align, striping_unit, group_size,
  /// direct_io, sync, ... They override the numbers below, and `TAILRACE_HINTS` overrides them.
  Hints hints = {};
  int writers = 0;                        ///< writer ranks; 0 = up to 4 per node (docs/files.md)
  std::ptrdiff_t stripe_bytes = 1 << 20;  ///< file domains end at multiples of it (a multiple of
                                          ///< 8), unless the file system has stripes; 0 = even
                                          ///< shares
  int buffered_files = 2;                 ///< files that may be unfinished before "hidden" waits
  /// How data moves to the writers: a name of `move_methods()`, "push" (all ranks on one node: each
  /// rank copies its items straight into the writers' staging buffers, in one pass) or "auto" (push
  /// where it applies, else what measures best, see more/tune.hpp).
  std::string method = "auto";
  bool checksums = true;   ///< xxHash of each piece, kept in the file
  Trace* trace = nullptr;  ///< not owned

  // Functions of the program that products call.

  StageFunctions functions = {};
  /// Where servers = "process": the file of a program that serves with your functions, and the
  /// words that it is started with, before those that it hands on to `serve_as_process`. {}:
  /// `tailrace-server`, which has no functions.
  std::vector<std::string> server_program = {};

  // What is written, and when.

  int priority = 0;  ///< packets of an output of a higher one are moved first
  WhenFull when_full = WhenFull::wait;
  /// Share of the run time that writes may cost, e.g. 0.02: a write waits for room only as long as
  /// that allows, and then does what `when_full` says. 0: no budget. Not with `WhenFull::wait`.
  double stall_budget = 0;
  /// A wait that takes longer fails, naming what it waited for [s]; 0: none does; less: 600 for an
  /// output of a session, else none.
  double wait_limit_s = -1;
  std::string spill_folder = {};  ///< node-local, for `WhenFull::spill`; "": $TMPDIR or /tmp
  OnFailure on_failure = OnFailure::stop;
  /// A file for which the disk has no room is tried again for this long [s], while steps gather in
  /// staging memory, before it has failed.
  double retry_s = 0;
  /// Folder where a file goes that could not be written where it belongs; "": none.
  std::string fallback_path = {};
  std::string format = "auto";  ///< of the variables themselves, as in `Product`
  /// How files are compressed, those of products, too, unless these have a stage "compress":
  /// "CODEC:LEVEL key=value ...", e.g. "deflate:1", "zstd:3 digits=4", "deflate:1 chunk=16x64x64".
  /// Codecs of HDF5 are "deflate" (which every reader has) and "zstd" (filter 32015); keys are
  /// `tolerance`, `digits` or `bits` (rounding), `chunk`, `chunk_bytes`, `shuffle=no`,
  /// `fletcher32=yes` (docs/files.md). "" or "none": not.
  std::string compress = {};
  bool variables = true;  ///< false: only the products are written
  std::vector<Product> products = {};
  /// An HDF5 file, such as "fields.h5", or for steps in Zarr a store, "fields.zarr", that shows all
  /// steps as arrays with a first axis `time`: readers open it while the run writes. A restarted
  /// run continues it. Step files stay as they are, or "fields.h5 steps_per_file=100" merges them.
  /// "": none. docs/files.md says more.
  std::string series = {};
};

/// The tables of formats (`applies`: the suffix of their paths), of stages of a `Product`
/// (`applies`: settings and defaults), and of transports to servers. Local.
std::vector<MethodInfo> file_formats();
std::vector<MethodInfo> product_stages();
std::vector<MethodInfo> transports();

}  // namespace tailrace
