// SPDX-License-Identifier: BSD-3-Clause
// Every method of the table moves every case right: each destination item equals the function of
// its global index that filled the source, nothing else is touched, sources are unchanged.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "move/exchange_arrays.hpp"
#include "move/method.hpp"
#include "move/numbered_items.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {
namespace {

using testing::Arrays;
using Extents = std::vector<std::ptrdiff_t>;

struct Case {
  std::string name;
  Layout from, to;
  std::optional<std::vector<int>> from_order, to_order;  ///< with one box a rank
  Extents halo;                                          ///< of both sides
};

Memory memory_of(const std::vector<Box>& boxes, const std::optional<std::vector<int>>& order,
                 const Extents& halo) {
  if (boxes.size() != 1 || (!order && halo.empty())) return Memory::dense(boxes);
  std::vector<int> axes(static_cast<std::size_t>(boxes[0].num_dims));
  for (std::size_t d = 0; d < axes.size(); ++d) axes[d] = static_cast<int>(d);
  return Memory::ordered(boxes[0], order.value_or(axes), halo);
}

int world_ranks() {
  int num_ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  return num_ranks;
}

/// Two factors of the number of ranks, as equal as possible.
std::array<int, 2> grid2(int num_ranks) {
  int first = 1;
  for (int f = 1; f * f <= num_ranks; ++f) {
    if (num_ranks % f == 0) first = f;
  }
  return {first, num_ranks / first};
}

/// Each rank holds several columns of boxes, dealt out like cards.
Layout dealt_boxes(const Extents& extents, int num_ranks) {
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
  int dealt = 0;
  for (std::ptrdiff_t z = 0; z < extents[0]; z += 3) {
    for (std::ptrdiff_t x = 0; x < extents[2]; x += 2) {
      const Box box{3,
                    {z, 0, x},
                    {std::min<std::ptrdiff_t>(3, extents[0] - z), extents[1],
                     std::min<std::ptrdiff_t>(2, extents[2] - x)}};
      boxes[static_cast<std::size_t>(dealt++ * 7 % num_ranks)].push_back(box);
    }
  }
  return from_boxes(extents, std::move(boxes));
}

/// Ranks hold one block each, its axes stored in any order.
std::vector<Case> regular_cases(int p) {
  const auto grid = grid2(p);
  const std::vector<int> block_grid{grid[1], 1, grid[0]};
  const Extents uneven{7, 8, 9};
  const auto block = blocks(uneven, block_grid);
  const auto pencil = [&](int axis) { return pencils(uneven, axis, grid); };
  using Order = std::vector<int>;
  return {
      {"slabs to slabs", slabs(uneven, 0, p), slabs(uneven, 1, p), {}, {}, {}},
      {"x to y pencils", pencil(2), pencil(1), {}, {}, {}},
      {"permuted memory", pencil(2), pencil(0), Order{0, 1, 2}, Order{2, 1, 0}, {}},
      {"permuted both", pencil(1), pencil(0), Order{2, 0, 1}, Order{1, 2, 0}, {}},
      {"halo", block, pencil(2), Order{0, 2, 1}, {}, {2, 1, 3}},
      {"same layout", block, block, Order{1, 0, 2}, Order{2, 0, 1}, {}},
  };
}

/// Fewer items than ranks along an axis, or other numbers of axes than three.
std::vector<Case> odd_cases(int p) {
  const Extents one{1, 1, 1};
  const Extents thin{2, 5, 1};
  const Extents line{23};
  const Extents five{3, 2, 4, 3, 5};
  const std::vector<int> second{1, p, 1, 1, 1};
  const std::vector<int> last{1, 1, 1, 1, p};
  const std::vector<int> writers{p - 1};
  using Order = std::vector<int>;
  return {
      {"one item", slabs(one, 0, p), slabs(one, 2, p), {}, {}, {}},
      {"fewer rows than ranks", slabs(thin, 0, p), slabs(thin, 2, p), {}, Order{2, 1, 0}, {}},
      {"one axis", slabs(line, 0, p), file_domains(line, 4, writers, p, 16, 0), {}, {}, {}},
      {"five axes",
       blocks(five, second),
       blocks(five, last),
       Order{3, 1, 0, 4, 2},
       Order{4, 3, 2, 1, 0},
       {}},
  };
}

/// Several boxes a rank, and ranks with none.
std::vector<Case> listed_cases(int p) {
  const auto grid = grid2(p);
  const std::vector<int> block_grid{grid[1], 1, grid[0]};
  const Extents uneven{7, 8, 9};
  const auto block = blocks(uneven, block_grid);
  const std::vector<int> last{p - 1};
  std::vector<int> all;
  for (int rank = 0; rank < p; ++rank) all.push_back(rank);
  using Order = std::vector<int>;
  return {
      {"several boxes", dealt_boxes(uneven, p), block, {}, {}, {}},
      {"to several boxes", block, dealt_boxes(uneven, p), Order{2, 1, 0}, {}, {}},
      {"to one writer", block, file_domains(uneven, 8, last, p, 64, 24), {}, {}, {}},
      {"to all writers", block, file_domains(uneven, 8, all, p, 160, 8), {}, {}, {}},
      {"from one reader", file_domains(uneven, 8, last, p, 64, 24), block, {}, {}, {}},
      {"from readers", file_domains(uneven, 8, all, p, 0, 0), block, {}, Order{1, 0, 2}, {}},
  };
}

std::vector<Case> cases() {
  auto list = regular_cases(world_ranks());
  for (const auto& more : {odd_cases(world_ranks()), listed_cases(world_ranks())}) {
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

class EveryMethod : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const Extents extents{comm_.num_ranks()};
    const auto layout = slabs(extents, 0, comm_.num_ranks());
    const Plan plan(layout, file_domains(extents, 1, {0}, comm_.num_ranks(), 0, 0), comm_.rank());
    try {
      const Exchange tried(comm_, plan, Memory::dense(plan.from_boxes()),
                           Memory::dense(plan.to_boxes()), {1, 1}, GetParam());
    } catch (const Error& error) {
      const std::string text = error.what();
      ASSERT_NE(text.find("does not apply here"), std::string::npos) << text;
      GTEST_SKIP() << text;
    }
  }

  Comm comm_{MPI_COMM_WORLD};

  void check(const Case& one, const ExchangeShape& shape) const {
    SCOPED_TRACE(
        fmt::format("{}, {} bytes, {} fields", one.name, shape.item_bytes, shape.num_fields));
    const Plan plan(one.from, one.to, comm_.rank());
    const auto from = memory_of(plan.from_boxes(), one.from_order, one.halo);
    const auto to = memory_of(plan.to_boxes(), one.to_order, one.halo);
    Arrays arrays(plan, from, to, shape);
    const auto before = arrays.sources;
    Exchange exchange(comm_, plan, from, to, shape, GetParam());
    for (int repeat = 0; repeat < 3; ++repeat) {
      arrays.forget();
      if (repeat == 1) {
        exchange.start(arrays.source_pointers, arrays.destination_pointers);
        for (int polls = 0; polls < 3; ++polls) exchange.progress();
        exchange.finish();
        EXPECT_TRUE(exchange.progress());
      } else {
        exchange.run(arrays.source_pointers, arrays.destination_pointers);
      }
      EXPECT_EQ(arrays.destinations, arrays.expected) << "repeat " << repeat;
    }
    EXPECT_EQ(arrays.sources, before);
  }
};

TEST_P(EveryMethod, MovesEveryCase) {
  for (const auto& one : cases()) {
    for (const std::ptrdiff_t item_bytes : {1, 4, 8, 16, 24}) check(one, {item_bytes, 1});
    check(one, {8, 3});
    check(one, {3, 2});
  }
}

TEST_P(EveryMethod, ExchangesInPlace) {
  if (GetParam() == "alltoallw") GTEST_SKIP() << "MPI's types need two arrays";
  for (const auto& one : cases()) {
    SCOPED_TRACE(one.name);
    const Plan plan(one.from, one.to, comm_.rank());
    const auto from = memory_of(plan.from_boxes(), one.from_order, one.halo);
    const auto to = memory_of(plan.to_boxes(), one.to_order, one.halo);
    const ExchangeShape shape{8, 2, false, true};
    Arrays arrays(plan, from, to, shape);
    Exchange exchange(comm_, plan, from, to, shape, GetParam());
    const auto source = arrays.sources;
    for (int run = 0; run < 2; ++run) {
      std::vector<void*> in_and_out;
      for (std::size_t f = 0; f < source.size(); ++f) {
        arrays.sources[f] = source[f];
        arrays.sources[f].resize(std::max(source[f].size(), arrays.expected[f].size()));
        in_and_out.push_back(arrays.sources[f].data());
      }
      exchange.run(std::vector<const void*>(in_and_out.begin(), in_and_out.end()), in_and_out);
      for (const auto& box : plan.to_boxes()) {
        const auto& memory = to.boxes[static_cast<std::size_t>(&box - plan.to_boxes().data())];
        testing::for_each_item(box, [&](const Index&, const Index& local) {
          const auto at = testing::place_in_memory(memory, local) * shape.item_bytes;
          for (std::size_t f = 0; f < source.size(); ++f) {
            ASSERT_TRUE(std::equal(arrays.expected[f].begin() + at,
                                   arrays.expected[f].begin() + at + shape.item_bytes,
                                   arrays.sources[f].begin() + at));
          }
        });
      }
    }
  }
}

TEST_P(EveryMethod, SeesSourcesChangedBetweenRuns) {
  const Extents extents{5, 6, 7};
  const Plan plan(slabs(extents, 0, comm_.num_ranks()), slabs(extents, 1, comm_.num_ranks()),
                  comm_.rank());
  const auto from = Memory::dense(plan.from_boxes());
  const auto to = Memory::dense(plan.to_boxes());
  std::vector<double> source(static_cast<std::size_t>(from.num_items));
  std::vector<double> destination(static_cast<std::size_t>(to.num_items));
  const std::array<const void*, 1> sources{source.data()};
  const std::array<void*, 1> destinations{destination.data()};
  Exchange exchange(comm_, plan, from, to, {8, 1}, GetParam());
  for (int run = 0; run < 50; ++run) {
    std::fill(source.begin(), source.end(), run * 100.0 + comm_.rank());
    exchange.start(sources, destinations);
    testing::nap_if(run % 5 == 4 && comm_.rank() == run / 5 % comm_.num_ranks());
    exchange.finish();
    std::fill(source.begin(), source.end(), -1.0);  // allowed as soon as finish has returned
    for (std::size_t b = 0; b < plan.to_boxes().size(); ++b) {
      testing::for_each_item(plan.to_boxes()[b], [&](const Index& place, const Index& local) {
        const auto owner = part_of(extents[0], comm_.num_ranks(), place[0]);
        const auto at = testing::place_in_memory(to.boxes[b], local);
        ASSERT_EQ(destination[static_cast<std::size_t>(at)],
                  run * 100.0 + static_cast<double>(owner));
      });
    }
  }
}

TEST_P(EveryMethod, SeveralExchangesMayBeUnderWay) {
  const auto list = cases();
  std::vector<Exchange> exchanges;
  std::vector<Arrays> arrays;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& one = list[i];
    const Plan plan(one.from, one.to, comm_.rank());
    const auto from = memory_of(plan.from_boxes(), one.from_order, one.halo);
    const auto to = memory_of(plan.to_boxes(), one.to_order, one.halo);
    exchanges.emplace_back(comm_, plan, from, to, ExchangeShape{8, 2}, GetParam());
    arrays.emplace_back(plan, from, to, ExchangeShape{8, 2});
  }
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      arrays[i].forget();
      exchanges[i].start(arrays[i].source_pointers, arrays[i].destination_pointers);
    }
    for (auto& exchange : exchanges) exchange.progress();
    for (auto i = exchanges.size(); i-- > 0;) exchanges[i].finish();
    for (const auto& one : arrays) EXPECT_EQ(one.destinations, one.expected);
  }
}

/// The methods, and settings of theirs that make much of little data.
std::vector<std::string> method_list() {
  std::vector<std::string> names{"auto", "untimed"};
  for (const auto& method : move_methods()) {
    if (method.name != "contiguous") names.emplace_back(method.name);  // few cases are that
  }
  names.insert(names.end(), {"pairwise:in_flight=1", "pull:chunk=64,depth=2"});
  return names;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryMethod, ::testing::ValuesIn(method_list()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Contiguous, MovesWhatIsOneRunOnBothSidesAndRefusesTheRest) {
  const Comm comm(MPI_COMM_WORLD);
  int num_moved = 0;
  for (const auto& one : cases()) {
    SCOPED_TRACE(one.name);
    const Plan plan(one.from, one.to, comm.rank());
    const auto from = memory_of(plan.from_boxes(), one.from_order, one.halo);
    const auto to = memory_of(plan.to_boxes(), one.to_order, one.halo);
    for (const std::ptrdiff_t item_bytes : {3, 8}) {
      const ExchangeShape shape{item_bytes, 2};
      Arrays arrays(plan, from, to, shape);
      try {
        Exchange exchange(comm, plan, from, to, shape, "contiguous");
        exchange.run(arrays.source_pointers, arrays.destination_pointers);
        EXPECT_EQ(arrays.destinations, arrays.expected);
        arrays.forget();
        exchange.start(arrays.source_pointers, arrays.destination_pointers);
        exchange.finish();
        EXPECT_EQ(arrays.destinations, arrays.expected);
        ++num_moved;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("one contiguous run of bytes"), std::string::npos);
      }
    }
  }
  EXPECT_GT(num_moved, 0);
  if (comm.num_ranks() > 1) {
    EXPECT_LT(num_moved, 2 * std::ssize(cases()));
  }
}

// MPI_Ialltoallw of Open MPI 4.1 reads past its lists of types there.
TEST(Exchange, EveryMethodMovesOverACartesianCommunicator) {
  const int ranks = world_ranks();
  const int grid[] = {ranks}, periodic[] = {0};
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, grid, periodic, 0, &cart);
  {
    const Comm comm(cart);
    const Extents extents{8, 9};
    const auto from = slabs(extents, 0, ranks), to = slabs(extents, 1, ranks);
    for (const auto& method : move_methods()) {
      std::optional<Exchange> exchange;
      try {
        exchange.emplace(comm, from, to, ExchangeShape{.item_bytes = 8}, method.name);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("does not apply here"), std::string::npos);
        continue;
      }
      const auto items = [&](const Layout& layout) {
        return static_cast<std::size_t>(layout.num_items(comm.rank()));
      };
      std::vector<double> source(items(from)), found(items(to), -1);
      const auto first = from.box(comm.rank()), last = to.box(comm.rank());
      for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<double>(i) + static_cast<double>(first.start[0] * 9);
      }
      exchange->run(std::span<const double>(source), std::span<double>(found));
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto columns = static_cast<std::size_t>(last.extents[1]);
        const auto number = i / columns * 9 + static_cast<std::size_t>(last.start[1]) + i % columns;
        EXPECT_EQ(found[i], static_cast<double>(number)) << method.name;
      }
    }
  }
  MPI_Comm_free(&cart);
}

TEST(Exchange, RefusesAnUnknownMethodOnAllRanks) {
  const Comm comm(MPI_COMM_WORLD);
  const Extents extents{4, 4};
  const auto layout = slabs(extents, 0, comm.num_ranks());
  const Plan plan(layout, layout, comm.rank());
  const auto memory = Memory::dense(plan.from_boxes());
  try {
    Exchange exchange(comm, plan, memory, memory, {8, 1}, "alltoal");
    FAIL() << "an unknown method was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_NE(std::string(error.what()).find("'alltoal'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("alltoallv"), std::string::npos) << error.what();
  }
}

TEST(Exchange, RanksThatDoNotExchangeAreInGroupsOfTheirOwn) {
  const Comm comm(MPI_COMM_WORLD);
  const auto grid = grid2(comm.num_ranks());
  const Extents extents{8, 8, 8};
  // Between x and y pencils only ranks of equal z part exchange.
  const Plan plan(pencils(extents, 2, grid), pencils(extents, 1, grid), comm.rank());
  const Exchange exchange(comm, plan, Memory::dense(plan.from_boxes()),
                          Memory::dense(plan.to_boxes()), {8, 1});
  EXPECT_EQ(exchange.num_ranks_together(), grid[1]);
}

TEST(Exchange, RefusesWhatDoesNotFitTogether) {
  const Comm comm(MPI_COMM_WORLD);
  const Extents extents{8, 8};
  const auto layout = slabs(extents, 0, comm.num_ranks());
  const Plan plan(layout, layout, comm.rank());
  const auto memory = Memory::dense(plan.from_boxes());
  EXPECT_THROW(Exchange(comm, plan, Memory{}, memory, {8, 1}), Error);
  EXPECT_THROW(Exchange(comm, plan, memory, memory, {0, 1}), Error);
  EXPECT_THROW(Exchange(comm, plan, memory, memory, {8, 0}), Error);
  const Plan larger(slabs(extents, 0, comm.num_ranks() + 1),
                    slabs(extents, 0, comm.num_ranks() + 1), 0);
  EXPECT_THROW(Exchange(comm, larger, memory, memory, {8, 1}), Error);
  Exchange exchange(comm, plan, memory, memory, {8, 2});
  EXPECT_THROW(exchange.run({}, {}), Error);
}

TEST(Exchange, TableBeginsWithTheReferenceAndDescribesEveryEntry) {
  ASSERT_FALSE(move_methods().empty());
  EXPECT_EQ(move_methods()[0].name, "alltoallv");
  for (const auto& method : move_method_table()) {
    EXPECT_FALSE(method.summary.empty());
    EXPECT_FALSE(method.applies_text.empty());
  }
}

}  // namespace
}  // namespace tailrace
