// SPDX-License-Identifier: BSD-3-Clause
// Random problems of `Exchange`: any partition to any other, in any memory, by every method,
// several at a time, with a rank that is late anywhere. Whatever is not a destination item, guards
// around all arrays included, must stay as it was.
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "move/copy_kinds.hpp"
#include "move/numbered_items.hpp"
#include "random_boxes.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {
namespace {

using testing::byte_of;
using testing::key_of;

constexpr std::ptrdiff_t guard_bytes = 64;
constexpr std::byte guard{0xEE}, spoiled{0xDD};

/// What all ranks draw alike.
struct Problem {
  std::vector<std::ptrdiff_t> extents;
  std::vector<std::vector<Box>> from, to;  ///< of each rank
  ExchangeShape shape;
  bool plain = false;                ///< dense memory on all ranks
  bool exposes = false;              ///< some sources, or all if the shape promises it
  std::vector<std::string> methods;  ///< the first that applies is taken
};

std::vector<std::string> method_specs(Dice& dice) {
  std::vector<std::string> specs{"auto", "pairwise:in_flight=1", "pull:chunk=64,depth=2"};
  for (const auto& method : move_methods()) specs.emplace_back(method.name);
  for (auto& spec : specs) {
    if (spec == "auto" || dice.chance(30)) continue;
    spec += spec.find(':') == std::string::npos ? ":" : ",";
    spec += fmt::format("copies={}", dice.one_of(copy_kinds()).name);
  }
  return specs;
}

std::vector<std::ptrdiff_t> draw_extents(Dice& dice, std::ptrdiff_t most_items) {
  auto extents = random_extents(dice, max_dims, most_items);
  if (!dice.chance(25)) return extents;
  // One long axis: planes longer than what a copy turns at a time.
  extents = {dice.between(1, std::max<std::ptrdiff_t>(most_items / 12, 1)), dice.between(1, 4),
             dice.between(1, 3)};
  dice.shuffle(extents);
  return extents;
}

Problem draw_problem(Dice& dice, int num_ranks) {
  Problem problem;
  auto& shape = problem.shape;
  shape.item_bytes =
      dice.chance(40) ? dice.one_of(std::array{1, 2, 3, 4, 6, 8, 12, 16, 24}) : dice.between(1, 64);
  shape.num_fields = dice.chance(40) ? 1 : static_cast<int>(dice.between(1, 5));
  const auto bytes = dice.one_of(std::array{5'000, 5'000, 60'000, 400'000, 2'000'000});
  const auto most_items = std::max<std::ptrdiff_t>(bytes / shape.item_bytes / shape.num_fields, 1);
  problem.extents = draw_extents(dice, most_items);
  const bool simple = dice.chance(15);  // a box a rank, side by side
  if (simple) problem.extents.resize(1);
  problem.plain = simple || dice.chance(15);
  const auto whole = whole_box(problem.extents);
  const auto boxes_of = [&] {
    const auto count = simple ? num_ranks : dice.between(1, num_ranks * dice.between(1, 10));
    auto boxes = random_partition(dice, whole, count);
    if (!simple) return deal(dice, boxes, num_ranks);
    std::ranges::sort(boxes, {}, [](const Box& box) { return box.start; });
    std::vector<std::vector<Box>> one_each(static_cast<std::size_t>(num_ranks));
    for (std::size_t b = 0; b < boxes.size(); ++b) one_each[b].push_back(boxes[b]);
    return one_each;
  };
  problem.from = boxes_of();
  problem.to = boxes_of();
  if (dice.chance(15)) {  // several ranks hold the same items, or nobody does
    for (auto& boxes : problem.to) boxes = random_boxes(dice, whole, dice.below(4));
  }
  shape.in_place = dice.chance(20);
  problem.exposes = dice.chance(50);
  shape.sources_in_node_arrays = problem.exposes && !shape.in_place && dice.chance(40);
  problem.methods = method_specs(dice);
  dice.shuffle(problem.methods);
  if (simple && dice.chance(60)) problem.methods.front() = "contiguous";  // applies to little else
  return problem;
}

/// Bytes between two guards.
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(std::ptrdiff_t bytes)
      : own_(static_cast<std::size_t>(bytes + 2 * guard_bytes)), all_(own_), bytes_(bytes) {}
  /// In memory of somebody else.
  Guarded(std::byte* memory, std::ptrdiff_t bytes)
      : all_(memory, static_cast<std::size_t>(bytes + 2 * guard_bytes)), bytes_(bytes) {}

  /// A rank without items may have no array at all.
  std::byte* data() const { return bytes_ == 0 ? nullptr : all_.data() + guard_bytes; }
  void fill(std::byte value) const { std::ranges::fill(all_, value); }
  std::vector<std::byte> copy() const { return {all_.begin(), all_.end()}; }
  /// How many bytes are not those of `expected`.
  std::ptrdiff_t difference(const std::vector<std::byte>& expected) const {
    if (std::memcmp(all_.data(), expected.data(), expected.size()) == 0) return 0;
    std::ptrdiff_t wrong = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) wrong += all_[i] == expected[i] ? 0 : 1;
    return wrong;
  }

 private:
  std::vector<std::byte> own_;
  std::span<std::byte> all_;
  std::ptrdiff_t bytes_ = 0;
};

/// One exchange of this rank with its arrays.
class Mover {
 public:
  Mover(const Comm& comm, const Problem& problem, Dice& own)
      : problem_(problem),
        plan_(from_boxes(problem.extents, problem.from), from_boxes(problem.extents, problem.to),
              comm.rank()),
        from_(draw_memory(own, plan_.from_boxes())),
        to_(draw_memory(own, plan_.to_boxes())) {
    for (const auto& method : problem.methods) {
      try {
        exchange_.emplace(comm, plan_, from_, to_, problem.shape, method);
        method_ = method;
        break;
      } catch (const Error& error) {
        if (std::string(error.what()).find("does not apply here") == std::string::npos) throw;
      }
    }
    make_arrays(comm, own);
  }

  const std::string& method() const { return method_; }
  std::string_view method_name() const { return exchange_->method(); }
  bool under_way() const { return under_way_; }
  bool progress() { return exchange_->progress(); }

  void run(int number) {
    prepare(number);
    exchange_->run(source_pointers_, destination_pointers_);
    check();
  }
  void start(int number) {
    prepare(number);
    exchange_->start(source_pointers_, destination_pointers_);
    under_way_ = true;
  }
  void finish() {
    exchange_->finish();
    under_way_ = false;
    check();
  }

  std::string failure;

 private:
  Memory draw_memory(Dice& own, const std::vector<Box>& boxes) const {
    if (problem_.plain || own.chance(20)) return Memory::dense(boxes);
    return spread(random_memory(own, boxes, false), own.chance(20) ? own.between(2, 3) : 1);
  }

  void make_arrays(const Comm& comm, Dice& own) {
    const auto& shape = problem_.shape;
    const auto num_fields = static_cast<std::size_t>(shape.num_fields);
    auto from_items = from_.num_items;
    auto to_items = to_.num_items;
    if (shape.in_place) from_items = to_items = std::max(from_items, to_items);
    const auto from_bytes = from_items * shape.item_bytes;
    const auto room = (from_bytes + 2 * guard_bytes + 63) / 64 * 64;
    if (problem_.exposes) {
      for (auto& array : exposed_) {
        array = NodeArray(comm, room * shape.num_fields);
        exchange_->expose(array);
      }
    }
    for (std::size_t f = 0; f < num_fields; ++f) {
      const bool shown = shape.sources_in_node_arrays || (problem_.exposes && own.chance(50));
      const auto& array = exposed_[static_cast<std::size_t>(own.below(2))];
      sources_.push_back(
          shown ? Guarded(array.data() + static_cast<std::ptrdiff_t>(f) * room, from_bytes)
                : Guarded(from_bytes));
      source_pointers_.push_back(sources_[f].data());
      if (!shape.in_place) destinations_.emplace_back(to_items * shape.item_bytes);
      destination_pointers_.push_back(shape.in_place ? sources_[f].data()
                                                     : destinations_[f].data());
    }
    expected_sources_.resize(num_fields);
    expected_.resize(num_fields);
  }

  void put_items(std::vector<std::byte>& bytes, const std::vector<Box>& boxes, const Memory& memory,
                 int key_number) const {
    const auto item_bytes = problem_.shape.item_bytes;
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      for_each_item(boxes[b], memory.boxes[b], [&](const Index& place, std::ptrdiff_t at) {
        const auto key = key_of(place, key_number);
        auto* item = bytes.data() + guard_bytes + at * item_bytes;
        for (std::ptrdiff_t i = 0; i < item_bytes; ++i) item[i] = std::byte{byte_of(key, i)};
      });
    }
  }

  /// New data in all sources.
  void prepare(int number) {
    for (std::size_t f = 0; f < sources_.size(); ++f) {
      const int key_number = 8 * number + static_cast<int>(f);
      auto& bytes = expected_sources_[f];
      sources_[f].fill(guard);
      bytes = sources_[f].copy();
      put_items(bytes, plan_.from_boxes(), from_, key_number);
      if (sources_[f].data() != nullptr) {
        std::memcpy(sources_[f].data() - guard_bytes, bytes.data(), bytes.size());
      }
      auto& expected = expected_[f];
      if (problem_.shape.in_place) {
        expected = bytes;
      } else {
        destinations_[f].fill(guard);
        expected = destinations_[f].copy();
      }
      put_items(expected, plan_.to_boxes(), to_, key_number);
    }
  }

  /// Sources are spoiled at once: whoever reads them later is found out.
  void check() {
    std::ptrdiff_t wrong = 0, changed = 0;
    const bool in_place = problem_.shape.in_place;
    for (std::size_t f = 0; f < sources_.size(); ++f) {
      wrong += (in_place ? sources_[f] : destinations_[f]).difference(expected_[f]);
      if (!in_place) changed += sources_[f].difference(expected_sources_[f]);
      sources_[f].fill(spoiled);
    }
    if (wrong + changed == 0 || !failure.empty()) return;
    failure = fmt::format(
        "{} ({}): {} wrong bytes, {} changed in the sources; {} bytes an item, "
        "{} fields, in place {}, exposed {}, promised {}",
        method_, exchange_->method(), wrong, changed, problem_.shape.item_bytes,
        problem_.shape.num_fields, in_place, problem_.exposes,
        problem_.shape.sources_in_node_arrays);
  }

  Problem problem_;
  Plan plan_;
  Memory from_, to_;
  std::array<NodeArray, 2> exposed_;
  std::vector<Guarded> sources_, destinations_;
  std::vector<const void*> source_pointers_;
  std::vector<void*> destination_pointers_;
  std::vector<std::vector<std::byte>> expected_sources_, expected_;
  std::optional<Exchange> exchange_;
  std::string method_;
  bool under_way_ = false;
};

/// What happens between two calls: a rank may be late, ranks may look at what is under way.
class Meanwhile {
 public:
  Meanwhile(Dice& common, Dice& own, int rank, int num_ranks)
      : own_(own), late_(common.below(num_ranks + 1) == rank) {}

  void pass(std::vector<std::unique_ptr<Mover>>& movers) {
    nap();
    for (auto looks = own_.below(4); looks > 0; --looks) {
      auto& mover = *movers[static_cast<std::size_t>(own_.below(std::ssize(movers)))];
      if (mover.under_way()) mover.progress();
      nap();
    }
  }
  void nap() {
    if (!late_ || !own_.chance(30)) return;
    std::this_thread::sleep_for(std::chrono::microseconds(own_.below(2000)));
  }

 private:
  Dice& own_;
  bool late_;
};

class RandomExchange : public ::testing::Test {
 protected:
  std::string attempt(std::uint64_t seed) {
    Dice common(seed);
    Dice own(seed * 1009 + static_cast<std::uint64_t>(comm_.rank()) + 1);
    std::vector<std::unique_ptr<Mover>> movers;
    const auto num_movers = common.chance(50) ? 1 : common.between(2, 3);
    for (std::ptrdiff_t m = 0; m < num_movers; ++m) {
      movers.push_back(
          std::make_unique<Mover>(comm_, draw_problem(common, comm_.num_ranks()), own));
      ++used_[std::string(movers.back()->method_name())];
    }
    Meanwhile meanwhile(common, own, comm_.rank(), comm_.num_ranks());
    int number = static_cast<int>(seed % 1000) * 100;
    for (auto rounds = common.between(1, 5); rounds > 0; --rounds) {
      run_round(common, meanwhile, movers, number);
    }
    for (const auto& mover : movers) {
      if (!mover->failure.empty()) return mover->failure;
    }
    return {};
  }

  static void run_round(Dice& common, Meanwhile& meanwhile,
                        std::vector<std::unique_ptr<Mover>>& movers, int& number) {
    std::vector<std::size_t> order(movers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    common.shuffle(order);
    for (const auto m : order) {
      meanwhile.pass(movers);
      if (common.chance(40)) {
        movers[m]->run(++number);
      } else {
        movers[m]->start(++number);
      }
    }
    common.shuffle(order);
    for (const auto m : order) {
      meanwhile.pass(movers);
      if (!movers[m]->under_way()) continue;
      const bool looks = common.chance(40);
      while (looks && !movers[m]->progress()) meanwhile.nap();
      movers[m]->finish();
    }
  }

  Comm comm_{MPI_COMM_WORLD};
  std::map<std::string, int> used_;  ///< methods, and how often
};

TEST_F(RandomExchange, MovesWhatItShould) {
  constexpr int problems = 60;
  const auto ran =
      RandomProblems(comm_, problems).run([&](std::uint64_t seed) { return attempt(seed); });
  if (comm_.rank() == 0) {
    for (const auto& [method, count] : used_) std::printf("%s %d, ", method.c_str(), count);
    std::printf("\n");
  }
  if (ran < problems) return;
  std::set<std::string> expected{"alltoallv", "alltoallw", "contiguous",
                                 "pairwise",  "bruck",     "node_aware"};
  // Not every MPI has windows between nodes.
  if (NodeMap(comm_).num_nodes() == 1) expected.insert({"node_direct", "pull"});
  for (const auto& method : expected) EXPECT_GT(used_[method], 0) << method;
}

}  // namespace
}  // namespace tailrace
