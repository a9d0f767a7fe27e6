// SPDX-License-Identifier: BSD-3-Clause
#include "store/write_plan.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chooser/environment.hpp"
#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "core/round_up.hpp"
#include "core/whole_file.hpp"
#include "file/back_end.hpp"
#include "file/hints/hint_table.hpp"
#include "file/limiter.hpp"
#include "layout/holes.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::store {
namespace {

constexpr std::size_t max_plans = 64;
constexpr int writers_per_node = 4;
constexpr std::ptrdiff_t smallest_cyclic_stripe = 4096;

/// Whether the program or the environment gave hint `name`.
bool was_given(const file::Settings& settings, std::string_view name) {
  const auto line = std::ranges::find(settings.shown, name, &HintValue::name);
  return line != settings.shown.end() && line->source != "default" && line->source != "file system";
}

/// The hints of `TAILRACE_HINTS` for `path`, as one text; "" in a moment if it is not set.
std::string environment_hints(const std::string& path) {
  std::string found;
  const char* text = environment("TAILRACE_HINTS");
  if (text == nullptr) return found;
  for (const auto& hint : file::parse_environment(text)) {
    if (!file::matches(hint.pattern, path)) continue;
    found.append(hint.name).append("=").append(hint.value).append("\n");
  }
  return found;
}

void check_options(const Comm& comm, const OutputOptions& options) {
  require_all(
      comm.raw(), options.writers >= 0 && options.writers <= comm.num_ranks(),
      fmt::format("output: writers = {} must be between 0 (choose) and the number of ranks, {}",
                  options.writers, comm.num_ranks()));
  require_all(comm.raw(), options.stripe_bytes >= 0 && options.stripe_bytes % 8 == 0,
              fmt::format("output: stripe_bytes = {} must be 0 (even shares) or a multiple of 8",
                          options.stripe_bytes));
  require_all(
      comm.raw(), options.buffered_files >= 1 && options.buffered_files <= 64,
      fmt::format("output: buffered_files = {} must be between 1 and 64", options.buffered_files));
  const bool known = options.method == "auto" || options.method == "push" ||
                     find_line(move_methods(), options.method) != nullptr;
  require_all(comm.raw(), known,
              fmt::format("output: method \"{}\" is unknown; there are push, {}", options.method,
                          names_instead(options.method, move_methods())));
  require_all(comm.raw(),
              std::ranges::find(output_strategies, options.strategy) != output_strategies.end(),
              fmt::format("output: strategy \"{}\" is unknown; there are {}", options.strategy,
                          fmt::join(output_strategies, ", ")));
}

/// True if `b` continues `a` along `axis`.
bool continues(const Box& a, const Box& b, std::size_t axis) {
  Box next = a;
  next.start[axis] += a.extents[axis];
  next.extents[axis] = b.extents[axis];
  return next == b;
}

}  // namespace

std::vector<Box> merge_boxes(std::vector<Box> boxes) {
  for (std::size_t before = 0; before != boxes.size() && boxes.size() > 1;) {
    before = boxes.size();
    for (auto axis = static_cast<std::size_t>(boxes[0].num_dims); axis-- > 0;) {
      // Boxes that differ only along `axis` stand side by side.
      std::ranges::sort(boxes, {}, [axis](const Box& box) {
        Index start = box.start;
        const auto along = start[axis];
        start[axis] = 0;
        std::array<std::ptrdiff_t, max_dims + 1> order{};
        std::ranges::copy(start, order.begin());
        order[max_dims] = along;
        return order;
      });
      std::vector<Box> merged;
      for (const auto& box : boxes) {
        if (!merged.empty() && continues(merged.back(), box, axis)) {
          merged.back().extents[axis] += box.extents[axis];
        } else {
          merged.push_back(box);
        }
      }
      boxes = std::move(merged);
    }
  }
  std::ranges::sort(boxes, {}, &Box::start);
  return boxes;
}

Range share_of_writer(const Index& extents, int num_dims, std::ptrdiff_t item_bytes,
                      std::ptrdiff_t stripe_bytes, int writer, int num_writers) {
  constexpr std::ptrdiff_t least_units = 4;  // of a writer, so that shares are about equal
  // Steps that go in single precision have the same shares as others.
  auto row_bytes = item_bytes == 8 ? 4 : item_bytes;
  for (std::size_t d = 1; d < static_cast<std::size_t>(num_dims); ++d) row_bytes *= extents[d];
  // Rows that are whole stripes; or else multiples of a power of two, of which chunks can be made.
  std::ptrdiff_t unit = 1;
  if (row_bytes > 0 && stripe_bytes > 0) unit = stripe_bytes / std::gcd(row_bytes, stripe_bytes);
  if (divide_up(extents[0], unit) < least_units * num_writers || unit == 1) {
    constexpr std::ptrdiff_t more_units = 16;
    unit = 1;
    while (2 * unit * more_units * num_writers <= extents[0]) unit *= 2;
  }
  const auto units = divide_up(extents[0], unit);
  const auto mine = split_evenly(units, num_writers, writer);
  const auto start = mine.start * unit;
  return {start, std::min(extents[0], mine.end() * unit) - start};
}

Layout layout_of_writers(const WritePlan& plan, const Layout& layout, std::ptrdiff_t item_bytes) {
  const auto& global = layout.global_extents();
  const std::span extents(global.data(), static_cast<std::size_t>(layout.num_dims()));
  const int num_ranks = layout.num_ranks();
  if (plan.grouped()) {
    std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
    for (int rank = 0; rank < num_ranks; ++rank) {
      auto& mine = boxes[static_cast<std::size_t>(plan.writer_of[static_cast<std::size_t>(rank)])];
      const auto more = layout.boxes(rank);
      mine.insert(mine.end(), more.begin(), more.end());
    }
    if (has_holes(layout)) {
      // Files hold all items, and checksums cover them: what nobody has is the first writer's.
      auto& first = boxes[static_cast<std::size_t>(plan.writers[0])];
      const auto holes = holes_in({layout.num_dims(), {}, global}, layout);
      first.insert(first.end(), holes.begin(), holes.end());
    }
    for (auto& mine : boxes) mine = merge_boxes(std::move(mine));
    return from_boxes(extents, std::move(boxes));
  }
  if (plan.rows) {
    std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
    const int num_writers = static_cast<int>(plan.writers.size());
    for (int w = 0; w < num_writers; ++w) {
      const auto rows =
          share_of_writer(global, layout.num_dims(), item_bytes, plan.stripe_bytes, w, num_writers);
      if (rows.count == 0) continue;
      Box box{layout.num_dims(), {}, global};
      box.start[0] = rows.start;
      box.extents[0] = rows.count;
      boxes[static_cast<std::size_t>(plan.writers[static_cast<std::size_t>(w)])] = {box};
    }
    return from_boxes(extents, std::move(boxes));
  }
  // Large datasets start on a stripe (of the first writer, if stripes go in turn), smaller ones
  // belong to the first writer wherever they start: the domains do not depend on the place in the
  // file.
  if (plan.cyclic()) {
    return cyclic_domains(extents, item_bytes, plan.writers, num_ranks, plan.stripe_bytes, 0);
  }
  const bool even = plan.settings.cb_align == file::Alignment::even;
  return file_domains(extents, item_bytes, plan.writers, num_ranks, even ? 0 : plan.stripe_bytes,
                      0);
}

WritePlans::WritePlans(const Comm& comm, const OutputOptions& options, bool shared_memory)
    : comm_(comm), options_(options), nodes_(comm), shared_memory_(shared_memory) {
  check_options(comm, options);
}

std::int64_t WritePlans::find(const std::string& path, bool rows) const {
  std::string hints;
  try {
    hints = environment_hints(path);
  } catch (const Error&) {
    return -1;  // `make` says it on all ranks
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& entry = entries_[i];
    if (entry.folder == folder_of(path) && entry.hints == hints && entry.rows == rows) {
      return first_number_ + static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

const std::shared_ptr<const WritePlan>& WritePlans::plan(std::int64_t number) const {
  return entries_[static_cast<std::size_t>(number - first_number_)].plan;
}

void WritePlans::show(const std::string& path, std::int64_t number) {
  auto& entry = entries_[static_cast<std::size_t>(number - first_number_)];
  const char* display = environment("TAILRACE_REPORT", "TAILRACE_HINTS_DISPLAY");
  // Of the files of a series, warnings are printed for the first.
  const bool is_wanted = display != nullptr && std::string_view(display) == "1";
  if (!is_wanted && entry.shown) return;
  entry.shown = true;
  file::show(path, entry.plan->settings);
}

// What the options say in their own words, unless a hint says it already.
Hints WritePlans::program_hints() const {
  Hints hints;
  if (options_.strategy != "auto") hints.set("strategy", options_.strategy);
  if (options_.writers > 0) hints.set("cb_nodes", std::to_string(options_.writers));
  if (options_.stripe_bytes == 0) hints.set("cb_align", "0");
  for (const auto& [name, value] : options_.hints.pairs()) hints.set(name, value);
  return hints;
}

std::int64_t WritePlans::make(const std::string& path, bool rows) {
  Entry entry;
  entry.folder = folder_of(path);
  entry.rows = rows;
  WritePlan plan;
  plan.settings = file::resolve(comm_, path, program_hints());
  choose_strategy(plan);
  plan.stripe_bytes = choose_stripe(plan.settings, options_.stripe_bytes);
  choose_writers(plan);
  choose_method(plan, path);
  plan.rows = rows && !plan.grouped();
  entry.plan = std::make_shared<const WritePlan>(std::move(plan));
  if (comm_.rank() == 0) entry.hints = environment_hints(path);
  if (entries_.size() == max_plans) {
    entries_.pop_front();
    ++first_number_;
  }
  entries_.push_back(std::move(entry));
  return first_number_ + static_cast<std::int64_t>(entries_.size()) - 1;
}

void WritePlans::choose_strategy(WritePlan& plan) const {
  auto& settings = plan.settings;
  if (settings.strategy == "auto") {
    settings.strategy = "collective";
    settings.choose("strategy", "collective", "long runs, whatever the ranks hold");
  } else if (std::ranges::find(output_strategies, settings.strategy) == output_strategies.end()) {
    const auto reason = settings.strategy + " does not apply to files of Output";
    settings.strategy = "collective";
    settings.choose("strategy", "collective", reason);
  }
  choose_back_end(settings);
  plan.pieces = settings.strategy == "file_per_rank";
}

void choose_back_end(file::Settings& settings) {
  if (settings.back_end == "posix" || file::names_limited(settings.back_end)) return;
  if (settings.back_end == "uring") {
    if (file::uring_available()) return;
    settings.choose("back_end", "posix", "this machine has no io_uring");
  } else if (settings.back_end == "auto") {
    settings.choose("back_end", "posix", "a thread that writes waits for the disk by itself");
  } else {
    settings.choose("back_end", "posix",
                    settings.back_end + " does not apply to files of named arrays");
  }
  settings.back_end = "posix";
}

std::ptrdiff_t choose_stripe(file::Settings& settings, std::ptrdiff_t asked_bytes) {
  const OutputOptions defaults;
  const auto system_stripe = settings.file_system.stripe_bytes;
  auto stripe_bytes = asked_bytes;
  if (was_given(settings, "striping_unit") && settings.striping_unit > 0) {
    stripe_bytes = settings.striping_unit;
  } else if (asked_bytes == defaults.stripe_bytes && system_stripe > 0) {
    stripe_bytes = system_stripe;
  } else if (asked_bytes > 0) {
    settings.choose("striping_unit", std::to_string(asked_bytes), "OutputOptions::stripe_bytes");
  }
  if (stripe_bytes == 0 && settings.cb_align != file::Alignment::even) {
    stripe_bytes = defaults.stripe_bytes;
  }
  if (stripe_bytes % 8 != 0) {
    refuse_input("output: striping_unit = {} must be a multiple of 8 for files of 8-byte numbers",
                 stripe_bytes);
  }
  if (settings.cb_align == file::Alignment::owner && stripe_bytes < smallest_cyclic_stripe) {
    refuse_input("output: cb_align = 2 needs stripes of at least {} bytes, not {}",
                 smallest_cyclic_stripe, stripe_bytes);
  }
  return stripe_bytes;
}

/// The first rank of each rank's group: the node (0), or `group_size` ranks in turn.
std::vector<int> WritePlans::groups(int group_size) const {
  std::vector<int> roots;
  for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
    roots.push_back(group_size == 0 ? nodes_.ranks_on(nodes_.node_of(rank)).front()
                                    : rank / group_size * group_size);
  }
  return roots;
}

void WritePlans::choose_writers(WritePlan& plan) const {
  auto& settings = plan.settings;
  const auto& strategy = settings.strategy;
  if (strategy == "shared_independent") plan.writer_of = groups(1);
  if (strategy == "file_per_rank") plan.writer_of = groups(std::max(1, settings.group_size));
  if (strategy == "grouped") plan.writer_of = groups(settings.group_size);
  // One writer has all the data: one long run, not boxes.
  const bool one_root = std::ranges::all_of(plan.writer_of, [](int root) { return root == 0; });
  if (one_root && !plan.pieces) plan.writer_of.clear();
  if (strategy == "spokesperson" || (strategy == "grouped" && !plan.grouped())) {
    plan.writers = {0};
  } else if (plan.grouped()) {
    plan.writers = plan.writer_of;
    std::ranges::sort(plan.writers);
    const auto twice = std::ranges::unique(plan.writers);
    plan.writers.erase(twice.begin(), twice.end());
  } else {
    const bool network = settings.file_system.kind == file::FileSystem::Kind::network;
    const auto* reason = network ? "one per node: clients of a network file system that write one "
                                   "file wait for each other"
                                 : "up to 4 per node: more do not write faster";
    plan.writers = file::choose_writers(settings, nodes_, network ? 1 : writers_per_node, reason);
    return;
  }
  settings.choose("cb_nodes", std::to_string(plan.writers.size()), "writers of " + strategy);
}

void WritePlans::choose_method(WritePlan& plan, const std::string& path) const {
  const auto& exchange = plan.settings.cb_exchange;
  plan.method = options_.method;
  if (plan.method == "auto" && exchange == "messages") plan.method = "alltoallv";
  if (plan.method == "auto" && exchange == "node") plan.method = "push";
  // On one node nothing does less than one copy; between nodes each exchange asks the tuner.
  if (plan.method == "auto" && shared_memory_) plan.method = "push";
  if (plan.method == "push" && !shared_memory_) {
    refuse_input("output: {}: method \"push\" (cb_exchange = node) needs all ranks on one node",
                 path);
  }
}

}  // namespace tailrace::store
