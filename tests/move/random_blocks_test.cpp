// SPDX-License-Identifier: BSD-3-Clause
// Random problems of `BlockExchange`: blocks of any sizes, also none, in some pieces, by every
// method, several exchanges at a time, with a rank that is late anywhere. Blocks must be right from
// `wait` until `release`.
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <thread>

#include "move/block_exchange.hpp"
#include "move/numbered_items.hpp"
#include "random_problems.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {
namespace {

using testing::byte_of;
using testing::key_of;

std::vector<std::string> method_specs() {
  std::vector<std::string> specs{"auto", "pairwise:in_flight=1", "pull:chunk=64,depth=2"};
  for (const auto& method : block_methods()) specs.emplace_back(method.name);
  return specs;
}

/// Items of all blocks: [piece][from][to].
using AllItems = std::vector<std::vector<std::vector<std::ptrdiff_t>>>;

AllItems draw_items(Dice& dice, std::ptrdiff_t item_bytes, int num_ranks) {
  AllItems items(static_cast<std::size_t>(dice.between(1, 4)));
  const auto bytes = dice.one_of(std::array{40, 2'000, 70'000, 300'000});
  const auto most = std::max<std::ptrdiff_t>(bytes / item_bytes, 1);
  const bool equal = dice.chance(15);
  const auto some = dice.below(101);  // per cent of the pairs that have a block
  for (auto& piece : items) {
    piece.resize(static_cast<std::size_t>(num_ranks));
    for (auto& row : piece) {
      for (int to = 0; to < num_ranks; ++to) {
        const auto count =
            dice.below(dice.chance(30) ? most + 1 : std::min<std::ptrdiff_t>(most, 8));
        row.push_back(equal                                 ? std::min<std::ptrdiff_t>(most, 99)
                      : dice.chance(static_cast<int>(some)) ? count
                                                            : 0);
      }
    }
  }
  return items;
}

/// One block exchange of this rank.
class Mover {
 public:
  Mover(const Comm& comm, Dice& common) : rank_(comm.rank()), num_ranks_(comm.num_ranks()) {
    BlockShape shape{.item_bytes = common.between(1, 64), .send = {}, .receive = {}};
    const auto me = static_cast<std::size_t>(rank_);
    for (const auto& piece : draw_items(common, shape.item_bytes, num_ranks_)) {
      shape.send.push_back(piece[me]);
      auto& receive = shape.receive.emplace_back();
      for (const auto& row : piece) receive.push_back(row[me]);
    }
    auto methods = method_specs();
    common.shuffle(methods);
    for (const auto& method : methods) {
      try {
        exchange_ = std::make_unique<BlockExchange>(comm, shape, method);
        spec_ = method;
        break;
      } catch (const Error& error) {
        if (std::string(error.what()).find("does not apply here") == std::string::npos) throw;
      }
    }
  }

  std::string_view method() const { return exchange_->method(); }
  BlockExchange& exchange() { return *exchange_; }
  std::ptrdiff_t num_pieces() const { return exchange_->shape().num_pieces(); }

  void write(std::ptrdiff_t piece, int number) {
    for (int peer = 0; peer < num_ranks_; ++peer) {
      auto* block = exchange_->send_block(piece, peer);
      const auto key = key_of({piece, rank_, peer}, number);
      const auto bytes = bytes_of(exchange_->shape().send, piece, peer);
      for (std::ptrdiff_t i = 0; i < bytes; ++i) block[i] = std::byte{byte_of(key, i)};
    }
  }
  void check(std::ptrdiff_t piece, int number) {
    for (int peer = 0; peer < num_ranks_; ++peer) {
      const auto* block = exchange_->receive_block(piece, peer);
      const auto key = key_of({piece, peer, rank_}, number);
      const auto bytes = bytes_of(exchange_->shape().receive, piece, peer);
      std::ptrdiff_t wrong = 0;
      for (std::ptrdiff_t i = 0; i < bytes; ++i) {
        wrong += block[i] == std::byte{byte_of(key, i)} ? 0 : 1;
      }
      if (wrong == 0 || !failure.empty()) continue;
      failure = fmt::format("{}: {} wrong of {} bytes from rank {}, piece {}, {} bytes an item",
                            spec_, wrong, bytes, peer, piece, exchange_->shape().item_bytes);
    }
  }

  std::vector<std::ptrdiff_t> pieces;  ///< of the use under way, in the order of their starts
  std::string failure;

 private:
  std::ptrdiff_t bytes_of(const BlockTable& table, std::ptrdiff_t piece, int peer) const {
    return block_items(table, piece, peer) * exchange_->shape().item_bytes;
  }

  int rank_, num_ranks_;
  std::unique_ptr<BlockExchange> exchange_;
  std::string spec_;
};

class RandomBlocks : public ::testing::Test {
 protected:
  using Movers = std::vector<std::unique_ptr<Mover>>;

  std::string attempt(std::uint64_t seed) {
    Dice common(seed);
    Dice own(seed * 1009 + static_cast<std::uint64_t>(comm_.rank()) + 1);
    Movers movers;
    for (auto left = common.between(1, 2); left > 0; --left) {
      movers.push_back(std::make_unique<Mover>(comm_, common));
      ++used_[std::string(movers.back()->method())];
    }
    late_ = common.below(comm_.num_ranks() + 1) == comm_.rank();
    int number = static_cast<int>(seed % 1000) * 100;
    for (auto uses = common.between(1, 6); uses > 0; --uses) use(common, own, movers, ++number);
    for (const auto& mover : movers) {
      if (!mover->failure.empty()) return mover->failure;
    }
    return {};
  }

  void use(Dice& common, Dice& own, Movers& movers, int number) const {
    for (auto& mover : movers) {
      nap(own);
      mover->exchange().acquire();
      mover->pieces.clear();
      for (std::ptrdiff_t p = 0; p < mover->num_pieces(); ++p) {
        if (!common.chance(15)) mover->pieces.push_back(p);  // a caller may leave some out
      }
      common.shuffle(mover->pieces);
      for (const auto piece : mover->pieces) {
        mover->write(piece, number);
        nap(own);
        mover->exchange().start(piece);
        if (own.chance(30)) movers.front()->exchange().progress();
      }
    }
    for (auto& mover : movers) {
      auto order = mover->pieces;
      common.shuffle(order);
      for (const auto piece : order) {
        nap(own);
        for (auto looks = own.below(3); looks > 0; --looks) mover->exchange().progress();
        mover->exchange().wait(piece);
        mover->check(piece, number);
      }
    }
    for (auto& mover : movers) {
      nap(own);
      for (const auto piece : mover->pieces) mover->check(piece, number);
      mover->exchange().release();
    }
  }

  void nap(Dice& own) const {
    if (!late_ || !own.chance(30)) return;
    std::this_thread::sleep_for(std::chrono::microseconds(own.below(2000)));
  }

  Comm comm_{MPI_COMM_WORLD};
  bool late_ = false;
  std::map<std::string, int> used_;  ///< methods, and how often
};

TEST_F(RandomBlocks, ArriveAsTheyWere) {
  constexpr int problems = 60;
  const auto ran =
      RandomProblems(comm_, problems).run([&](std::uint64_t seed) { return attempt(seed); });
  if (comm_.rank() == 0) {
    for (const auto& [method, count] : used_) std::printf("%s %d, ", method.c_str(), count);
    std::printf("\n");
  }
  if (ran < problems) return;
  std::set<std::string> expected{"alltoallv", "alltoallw", "pairwise", "bruck", "node_aware"};
  // Not every MPI has windows between nodes.
  if (NodeMap(comm_).num_nodes() == 1) expected.insert({"node_direct", "pull"});
  for (const auto& method : expected) EXPECT_GT(used_[method], 0) << method;
}

}  // namespace
}  // namespace tailrace
