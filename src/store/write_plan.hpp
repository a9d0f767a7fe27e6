// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "file/settings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::store {

/// Who writes what of a file, decided: its settings after `auto` and zeros have been replaced.
struct WritePlan {
  bool pieces = false;          ///< each writer's boxes go to a file of its own
  bool rows = false;            ///< writers have whole indices of the slowest axis
  std::vector<int> writers;     ///< of data, ascending; rank 0 writes the metadata in any case
  std::vector<int> writer_of;   ///< of each rank: who writes its data. Empty: file domains
  std::string method;           ///< how data moves: "push" or a name of `move_methods()`
  std::ptrdiff_t stripe_bytes;  ///< large datasets start at multiples of it; 0: of 4096
  file::Settings settings;

  bool cyclic() const { return settings.cb_align == file::Alignment::owner && !grouped() && !rows; }
  bool grouped() const { return !writer_of.empty(); }
  /// What large datasets are aligned to, so that the first stripe of each is writer 0's.
  std::ptrdiff_t alignment() const {
    return cyclic() ? stripe_bytes * static_cast<std::ptrdiff_t>(writers.size()) : stripe_bytes;
  }
};

/// Decides which back end writes a file of named arrays: `posix`, or `uring` or
/// `limited` if asked for. Local.
void choose_back_end(file::Settings& settings);

/// The stripes that a file's data is aligned to, from its hints and what the program asked for;
/// notes where they come from. Throws `Errc::invalid_input` for what cannot be. Local.
std::ptrdiff_t choose_stripe(file::Settings& settings, std::ptrdiff_t asked_bytes);

/// The indices of the slowest axis that a writer has of an array, where shares are whole rows:
/// about equal ones, which begin at stripes of the array where whole rows do. Local.
Range share_of_writer(const Index& extents, int num_dims, std::ptrdiff_t item_bytes,
                      std::ptrdiff_t stripe_bytes, int writer, int num_writers);

/// The boxes that each writer writes of an array that the ranks hold as `layout` says. Local.
Layout layout_of_writers(const WritePlan& plan, const Layout& layout, std::ptrdiff_t item_bytes);

/// Boxes that are neighbours and together a box, made one, as far as that goes: what the ranks of
/// a group hold becomes few long rows. Local.
std::vector<Box> merge_boxes(std::vector<Box> boxes);

/// The plans of an `Output`: one for each folder and each set of hints that apply to a path.
class WritePlans {
 public:
  /// Throws on all ranks `Errc::invalid_input` for options out of range. Collective, blocking.
  /// `shared_memory`: the ranks can put data into each other's staging buffers.
  WritePlans(const Comm& comm, const OutputOptions& options, bool shared_memory);
  /// The number of the plan for `path`, or -1 if it must be made. `rows`: one by which writers have
  /// whole indices of the slowest axis, unless its strategy gives them what groups of ranks hold.
  /// Local; rank 0's answer counts.
  std::int64_t find(const std::string& path, bool rows) const;
  /// Makes the plan for `path` and returns its number. Throws on all ranks. Collective, blocking.
  std::int64_t make(const std::string& path, bool rows);
  const std::shared_ptr<const WritePlan>& plan(std::int64_t number) const;
  /// Prints the settings of `path` if that is asked for. Local.
  void show(const std::string& path, std::int64_t number);
  /// Plans older than this number are gone.
  std::int64_t oldest() const { return first_number_; }

 private:
  struct Entry {
    std::string folder, hints;
    bool rows = false;
    std::shared_ptr<const WritePlan> plan;
    bool shown = false;
  };
  Hints program_hints() const;
  void choose_strategy(WritePlan& plan) const;
  void choose_writers(WritePlan& plan) const;
  void choose_method(WritePlan& plan, const std::string& path) const;
  std::vector<int> groups(int group_size) const;

  const Comm& comm_;
  const OutputOptions& options_;
  NodeMap nodes_;
  bool shared_memory_;
  std::deque<Entry> entries_;
  std::int64_t first_number_ = 0;
};

}  // namespace tailrace::store
