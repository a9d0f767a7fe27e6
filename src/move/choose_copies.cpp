// SPDX-License-Identifier: BSD-3-Clause
// What writes least to memory depends on the processor, its caches, the strides and how many ranks
// copy at once, so it is measured: a part of the real copy, between plain memory, and one reading
// of what was copied, as somebody reads it next.
#include "move/choose_copies.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/last_resort.hpp"
#include "core/method_table.hpp"
#include "core/same_on_all.hpp"
#include "tailrace/more/tune.hpp"
#include "tune/sample.hpp"

namespace tailrace {

namespace {

/// Less stays in a cache on its way.
constexpr std::ptrdiff_t least_group_bytes = 4 << 20;
/// A copy by itself; below, a fence costs more than it gains.
constexpr std::ptrdiff_t least_copy_bytes = 64 << 10;

/// Where all trials of a group copy. Plain memory, as that of most arrays.
struct TrialMemory {
  std::vector<std::byte> from, to;

  void make(const StridedCopy& sample) {
    if (!from.empty() || sample.num_bytes() == 0) return;
    const auto [from_bytes, to_bytes] = sample.reach();
    from.resize(static_cast<std::size_t>(from_bytes));
    tune::fill_sample(from, 1);
    to.resize(static_cast<std::size_t>(to_bytes));
    forget();  // what no copy writes, such as ghost cells, looks the same after every run
  }
  /// So that one that copies nothing is found out.
  void forget() { std::ranges::fill(to, std::byte{0x5a}); }
};

class CopyTrial : public tune::Trial {
 public:
  CopyTrial(const StridedCopy& sample, const CopyKind& kind, std::shared_ptr<TrialMemory> memory)
      : copy_(sample), memory_(std::move(memory)) {
    copy_.use(kind);
  }
  void run() override {
    if (copy_.num_bytes() == 0) return;
    copy_.run(memory_->from.data(), memory_->to.data());
    sum_ = XXH3_64bits(memory_->to.data(), memory_->to.size());
  }
  std::uint64_t checksum() override {
    memory_->forget();
    return sum_;
  }

 private:
  StridedCopy copy_;
  std::shared_ptr<TrialMemory> memory_;
  std::uint64_t sum_ = 0;
};

/// A group's largest copy on this rank, and the bytes of all.
struct Largest {
  explicit Largest(const CopyGroup& group) {
    for (const auto* one : group.copies) {
      bytes += one->num_bytes();
      if (copy == nullptr || one->num_bytes() > copy->num_bytes()) copy = one;
    }
  }
  const StridedCopy* copy = nullptr;
  std::ptrdiff_t bytes = 0;
};

/// The largest of all ranks: its text, and whether it turns planes.
struct LargestOfAll {
  std::string text;
  bool turns = false;
};
LargestOfAll find_largest(const Comm& comm, const Largest& largest) {
  struct {
    long bytes;
    int rank;
  } most{largest.copy == nullptr ? 0 : static_cast<long>(largest.copy->num_bytes()), comm.rank()};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_LONG_INT, MPI_MAXLOC, comm.raw()));
  std::string text;  // behind a letter that says whether it turns
  if (comm.rank() == most.rank) {
    text = fmt::format("{:d}{}", largest.copy->turns(), largest.copy->describe());
  }
  text = broadcast_text(comm.raw(), std::move(text), most.rank);
  return {text.substr(1), text[0] == '1'};
}

/// Of rows, that are not turned, only the stores differ. Units of 8 lines have nowhere been faster
/// than those of 4, and those that are fetched differ little: 2 lines stand for them. The others
/// are there to be asked for.
bool worth_timing(const CopyKind& kind, bool turns) {
  if (turns) return kind.stores == Stores::fetched ? kind.lines == 2 : kind.lines <= 4;
  return kind.stores != Stores::fetched && kind.lines == 1;
}

const CopyKind* measure(const Comm& comm, const Largest& largest) {
  const auto sample =
      largest.copy == nullptr ? StridedCopy() : largest.copy->sample(tune::beyond_caches());
  const auto [from_bytes, to_bytes] = sample.reach();
  tune::Problem problem;
  problem.operation = "copies";
  const auto [text, turns] = find_largest(comm, largest);
  problem.key = text + ", beyond caches";
  problem.fallback = copy_kinds().front().name;
  problem.fallback_why = "not measured here";
  problem.memory_bytes = from_bytes + to_bytes;
  tune::Settings settings;
  run_agreed(comm.raw(), [&] { settings = tune::Settings::from_environment(); });
  settings.budget_s /= 6;
  auto memory = std::make_shared<TrialMemory>();
  std::vector<tune::Candidate> candidates;
  for (const auto& kind : copy_kinds()) {
    if (!worth_timing(kind, turns)) continue;
    candidates.push_back({std::string(kind.name), [&] {
                            run_agreed(comm.raw(), [&] { memory->make(sample); });
                            return std::make_unique<CopyTrial>(sample, kind, memory);
                          }});
  }
  return find_copy_kind(tune::choose(comm, problem, candidates, settings).name);
}

}  // namespace

const CopyKind* measure_copies(const Comm& comm, const CopyGroup& group) {
  const Largest largest(group);
  const auto most = largest_on_all(comm, largest.bytes);
  return most < least_group_bytes ? nullptr : measure(comm, largest);
}

void use_for_large(std::span<StridedCopy* const> copies, const CopyKind* kind) {
  for (auto* copy : copies) {
    if (kind != nullptr && copy->num_bytes() >= least_copy_bytes) copy->use(*kind);
  }
}

std::string choose_copies(const Comm& comm, std::span<const CopyGroup> groups,
                          const std::string& name) {
  const bool chosen_here = name == "auto";
  require_all(
      comm.raw(), chosen_here || find_copy_kind(name) != nullptr,
      fmt::format("unknown copies `{}`; there are: {}", name, names_instead(name, copy_kinds())));
  std::string text;
  for (const auto& group : groups) {
    const auto* kind = chosen_here ? measure_copies(comm, group) : find_copy_kind(name);
    if (kind == nullptr) continue;
    if (chosen_here) {
      use_for_large(group.copies, kind);
    } else {
      for (auto* copy : group.copies) copy->use(*kind);
    }
    text += fmt::format("{}{} by {} stores", text.empty() ? "" : ", ", group.what, kind->name);
  }
  return text;
}

}  // namespace tailrace
