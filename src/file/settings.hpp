// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace::file {

enum class Switch { off, on, automatic };

/// How the boundaries between writers follow the stripes: hint `cb_align`.
enum class Alignment {
  even = 0,    ///< equal shares of the bytes
  stripe = 1,  ///< equal shares, boundaries moved to stripes
  owner = 2,   ///< stripe s belongs to writer s % writers for the life of the file
};

/// What the file system of a path is.
struct FileSystem {
  enum class Kind { memory, local, network };
  Kind kind = Kind::local;
  std::string name;                 ///< "ext4", "tmpfs", "lustre", "ceph", "fuse", ...
  std::ptrdiff_t stripe_bytes = 0;  ///< 0: it has none, or does not say
  int stripe_count = 0;             ///< 0: it does not say
};
/// Looks at `path`, or at its folder if it does not exist. Never throws. Local.
FileSystem file_system_of(const std::string& path);
/// Asks the file system to lay the new, empty file `path` out with these stripes (0 = leave). An
/// error text if it cannot, "" if done. Lustre and CephFS. Local.
std::string set_stripes(const std::string& path, std::ptrdiff_t stripe_bytes, int stripe_count);

/// The hints of one file, resolved: defaults, then the program's, then `TAILRACE_HINTS`, then what
/// the file system says, for those left open.
struct Settings {
  std::string strategy = "auto";
  std::string back_end = "auto";
  int cb_nodes = 0;                   ///< 0 = choose
  std::vector<int> cb_ranks;          ///< the writers themselves; empty = as cb_nodes says
  std::ptrdiff_t cb_buffer_size = 0;  ///< 0 = choose
  Alignment cb_align = Alignment::stripe;
  static constexpr std::ptrdiff_t open = -1;
  std::ptrdiff_t cb_longest_piece = open;  ///< of those that go through writers, of `by_length`
  std::string cb_exchange = "auto";        ///< "auto", "node" (shared memory) or "messages"
  int group_size = 0;                ///< ranks of a group of `grouped`; 0 = the ranks of a node
  std::ptrdiff_t striping_unit = 0;  ///< after resolving: the stripe to align to
  int striping_factor = 0;           ///< asked for at creation; 0 = leave
  bool set_striping = false;         ///< the user asked for unit or factor
  Switch ds_read = Switch::automatic;
  Switch ds_write = Switch::off;
  std::ptrdiff_t ind_rd_buffer_size = 0;
  std::ptrdiff_t ind_wr_buffer_size = 0;
  double ds_density = 0;  ///< sieving pays from this share of wanted bytes on (automatic)
  Switch direct_io = Switch::automatic;
  int queue_depth = 0;  ///< requests that `uring` keeps in flight
  bool sync = true;     ///< flush to disk when the file is closed
  FileSystem file_system;
  /// Everything that MPI-IO may use, by its names.
  std::vector<std::pair<std::string, std::string>> mpi_hints;
  /// For people, in the table's order.
  std::vector<HintValue> shown;
  /// Names that nobody here knows, with the nearest known one: "cb_node (did you mean cb_nodes?)".
  std::vector<std::string> unknown;
  /// Other advice about the hints, a sentence each.
  std::vector<std::string> warnings;

  /// Notes that `name` was decided here: `value`, because of `reason`.
  void choose(const std::string& name, const std::string& value, const std::string& reason);
};

/// Resolves the hints of `path`: rank 0 looks at the environment and the file system, all ranks
/// get the same. Prints the settings (`TAILRACE_HINTS_DISPLAY=1`) not yet: see `show`. Throws
/// `Errc::invalid_input` on all ranks for a value that does not parse, naming where it was given,
/// and if `hints` differ between ranks. Collective, blocking.
Settings resolve(const Comm& comm, const std::string& path, const Hints& hints);

/// The same for a program or thread that has no others to agree with, and no MPI. Local.
Settings resolve_alone(const std::string& path, const Hints& hints);

/// Says the unknown names and warnings (always) and prints the settings (if
/// `TAILRACE_HINTS_DISPLAY=1`), once for an opened file: on one rank. Local.
void show(const std::string& path, const Settings& settings);

/// Up to `per_node` ranks of each node, spread evenly over its ranks; ascending, rank 0 among them.
/// Local.
std::vector<int> spread_over_nodes(const NodeMap& nodes, int per_node);

/// Who writes for all: hint `cb_ranks`, or `cb_nodes` ranks spread evenly, or up to `per_node` of
/// each node, because of `reason`, which it notes. Ascending. Throws `Errc::invalid_input` for
/// ranks that there are not. Local.
std::vector<int> choose_writers(Settings& settings, const NodeMap& nodes, int per_node,
                                const std::string& reason);

/// "0+4+8" as rank numbers; empty if it is not such a list. Local.
std::vector<int> parse_ranks(const std::string& text);

}  // namespace tailrace::file
