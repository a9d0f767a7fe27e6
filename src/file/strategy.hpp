// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/back_end.hpp"
#include "file/part.hpp"
#include "file/settings.hpp"
#include "file/strategies/two_phase.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {

class FilePool::State {
 public:
  static State& of(const FilePool& pool) { return *pool.state_; }
  // Of no other object's node: a server thread may use the pool.
  explicit State(const Comm& user) : comm_(user.raw()) { comm_.node(); }
  const Comm& comm() const { return comm_; }
  Comm node() const { return comm_.node(); }
  /// The engine for `shape`, made at first use. Collective, blocking.
  file::TwoPhase& two_phase(const file::TwoPhaseShape& shape);
  /// Who is on which node. Collective at first use.
  const NodeMap& nodes();

 private:
  Comm comm_;
  std::vector<std::unique_ptr<file::TwoPhase>> engines_;
  std::optional<NodeMap> nodes_;
};

}  // namespace tailrace

namespace tailrace::file {

/// An open file as a strategy sees it.
struct StrategyRequest {
  FilePool::State& pool;
  const Comm& comm;  ///< the pool's
  std::string path;
  FileAccess access = FileAccess::read;
  Settings& settings;  ///< a strategy notes what it chose
  const BackEndEntry& back_end;
  FileStatistics& statistics;
  Trace* trace = nullptr;
};

/// Makes the file, empty unless it is there and to be updated, on the rank that `makes` it. Throws
/// `Errc::io` on all ranks. Collective, blocking.
void make_file(const StrategyRequest& request, bool makes);

/// One way to get the ranks' data into a file and back. `data` is the memory that the part's
/// segments count from. Every call is collective and ends with all ranks knowing of any failure:
/// it throws the same error on all of them.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual void write(const FilePart& part, const std::byte* data) = 0;
  virtual void read(const FilePart& part, std::byte* data) = 0;
  /// Flushes if asked to, and closes. Once.
  virtual void close(bool flush) = 0;
};

/// A line of the table of strategies.
struct StrategyEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view applies_text;
  /// May this strategy run on this back end?
  bool (*applies)(const BackEndEntry& back_end);
  /// Collective, blocking. The request outlives the strategy.
  std::unique_ptr<Strategy> (*make)(const StrategyRequest& request);
};

/// The table, plain reference (`spokesperson`) first.
std::span<const StrategyEntry> strategy_table();

std::unique_ptr<Strategy> make_spokesperson(const StrategyRequest& request);
std::unique_ptr<Strategy> make_shared_independent(const StrategyRequest& request);
std::unique_ptr<Strategy> make_collective(const StrategyRequest& request);
std::unique_ptr<Strategy> make_grouped(const StrategyRequest& request);
std::unique_ptr<Strategy> make_by_length(const StrategyRequest& request);

}  // namespace tailrace::file
