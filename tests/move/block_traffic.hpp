// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "move/method.hpp"

namespace tailrace {

/// Items of the block of `piece` from one rank to another.
using BlockItems = std::function<std::ptrdiff_t(std::ptrdiff_t piece, int from, int to)>;

inline BlockShape block_shape(const Comm& comm, std::ptrdiff_t item_bytes,
                              std::ptrdiff_t num_pieces, const BlockItems& items) {
  BlockShape shape{.item_bytes = item_bytes, .send = {}, .receive = {}};
  for (std::ptrdiff_t p = 0; p < num_pieces; ++p) {
    auto& send = shape.send.emplace_back();
    auto& receive = shape.receive.emplace_back();
    for (int peer = 0; peer < comm.num_ranks(); ++peer) {
      send.push_back(items(p, comm.rank(), peer));
      receive.push_back(items(p, peer, comm.rank()));
    }
  }
  return shape;
}

/// Sizes of blocks that have got exchanges wrong before, or might.
struct BlockPattern {
  std::string name;
  BlockItems items;
};

inline std::vector<BlockPattern> block_patterns(int ranks) {
  return {
      {"equal", [](auto, int, int) { return 13; }},
      {"uneven", [](auto piece, int from, int to) { return 3 * from + 5 * to + piece; }},
      {"none", [](auto, int, int) { return 0; }},
      {"one item", [ranks](auto, int from, int to) { return from == 0 && to == ranks - 1; }},
      {"ring", [ranks](auto, int from, int to) { return to == (from + 1) % ranks ? 40 : 0; }},
      {"rank 0 gives", [](auto, int from, int to) { return from == 0 ? 20 + to : 0; }},
      {"rank 0 takes", [](auto, int from, int to) { return to == 0 ? 1 + 9 * from : 0; }},
      {"one piece is empty", [](auto piece, int from, int) { return piece == 1 ? 0 : 9 + from; }},
      {"one large", [](auto, int from, int to) { return from == 0 && to == 1 ? 5000 : 1; }}};
}

/// A runner of one method and what it is made for, with blocks of known bytes to move.
class BlockTraffic {
 public:
  BlockTraffic(const Comm& comm, const Surroundings& machine, const std::string& spec,
               BlockShape shape)
      : comm_(comm.split(0)),
        shape_(std::move(shape)),
        problem_{comm_, shape_, machine, MethodSpec::parse(spec).settings} {
    const auto name = MethodSpec::parse(spec).name;
    for (const auto& method : block_method_table()) {
      if (method.name == name && method.blocks.applies(problem_))
        runner_ = method.blocks.make(problem_);
    }
    if (!runner_) throw Error(Errc::invalid_input, name + " does not apply here");
  }

  BlockRunner& runner() { return *runner_; }
  const BlockProblem& problem() const { return problem_; }

  void write(std::ptrdiff_t piece, int peer, int run) {
    auto* block = runner_->send_block(piece, peer);
    const auto bytes = block_items(shape_.send, piece, peer) * shape_.item_bytes;
    for (std::ptrdiff_t i = 0; i < bytes; ++i) block[i] = byte_of(run, piece, rank(), peer, i);
  }
  void write_all(std::ptrdiff_t piece, int run) {
    for (int peer = 0; peer < comm_.num_ranks(); ++peer) write(piece, peer, run);
  }
  void expect_block(std::ptrdiff_t piece, int peer, int run) {
    const auto* block = runner_->receive_block(piece, peer);
    const auto bytes = block_items(shape_.receive, piece, peer) * shape_.item_bytes;
    std::ptrdiff_t wrong = 0;
    for (std::ptrdiff_t i = 0; i < bytes; ++i) {
      wrong += block[i] == byte_of(run, piece, peer, rank(), i) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << "run " << run << " piece " << piece << " from " << peer << " to "
                        << rank();
  }
  void expect_all(std::ptrdiff_t piece, int run) {
    for (int peer = 0; peer < comm_.num_ranks(); ++peer) {
      EXPECT_TRUE(runner_->arrived(piece, peer));
      expect_block(piece, peer, run);
    }
  }

  /// All pieces, started one after another, then waited for.
  void run(int run) {
    runner_->acquire();
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) {
      write_all(p, run);
      runner_->start(p);
      runner_->progress();
    }
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) {
      runner_->wait(p);
      expect_all(p, run);
    }
    runner_->release();
  }

 private:
  int rank() const { return comm_.rank(); }
  static std::byte byte_of(int run, std::ptrdiff_t piece, int from, int to, std::ptrdiff_t i) {
    return static_cast<std::byte>(run * 131 + piece * 61 + from * 31 + to * 17 + i + i / 251 + 1);
  }

  Comm comm_;
  BlockShape shape_;
  BlockProblem problem_;
  std::unique_ptr<BlockRunner> runner_;
};

}  // namespace tailrace
