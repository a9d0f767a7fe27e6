// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "file/back_end.hpp"
#include "file/part.hpp"
#include "file/settings.hpp"
#include "tailrace/more/file.hpp"

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
std::unique_ptr<Strategy> make_file_per_rank(const StrategyRequest& request);
std::unique_ptr<Strategy> make_shared_independent(const StrategyRequest& request);
std::unique_ptr<Strategy> make_collective(const StrategyRequest& request);
std::unique_ptr<Strategy> make_grouped(const StrategyRequest& request);

}  // namespace tailrace::file
