// SPDX-License-Identifier: BSD-3-Clause
#include "move/block_exchange.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/last_resort.hpp"
#include "core/method_table.hpp"
#include "core/same_on_all.hpp"
#include "move/method.hpp"
#include "move/tuned.hpp"

namespace tailrace {

namespace {

/// Items of all pieces, by peer.
std::vector<Correspondence> correspondence(const BlockTable& table, int num_ranks) {
  std::vector<Correspondence> list;
  for (int peer = 0; peer < num_ranks; ++peer) {
    auto& one = list.emplace_back(Correspondence{peer});
    for (std::ptrdiff_t piece = 0; piece < std::ssize(table); ++piece) {
      const auto items = block_items(table, piece, peer);
      one.digest = add_to_digest(one.digest, static_cast<std::uint64_t>(items));
      one.num_items += items;
    }
  }
  return list;
}

/// All ranks ask for the same, and for blocks that fit together.
void require_agreement(const Comm& comm, const BlockShape& shape, std::string_view method) {
  const auto ranks = static_cast<std::size_t>(comm.num_ranks());
  const auto fits = [ranks](const auto& piece) {
    return piece.size() == ranks &&
           std::ranges::none_of(piece, [](std::ptrdiff_t items) { return items < 0; });
  };
  const bool right = shape.item_bytes >= 1 && shape.send.size() == shape.receive.size() &&
                     std::ranges::all_of(shape.send, fits) &&
                     std::ranges::all_of(shape.receive, fits);
  require_all(
      comm.raw(), right,
      fmt::format("BlockExchange: item_bytes {} must be positive, and each of the {} pieces "
                  "sent and {} received must have a size, not negative, for each of the {} "
                  "ranks",
                  shape.item_bytes, shape.send.size(), shape.receive.size(), ranks));
  const std::array arguments{CommonArgument{"item_bytes", std::to_string(shape.item_bytes)},
                             CommonArgument{"pieces", std::to_string(shape.num_pieces())},
                             CommonArgument{"method", std::string(method)}};
  require_same(comm, "BlockExchange", arguments);
  require_matching(comm, "BlockExchange", "both must name the same sizes",
                   correspondence(shape.send, comm.num_ranks()),
                   correspondence(shape.receive, comm.num_ranks()));
}

}  // namespace

BlockExchange::BlockExchange(const Comm& comm, BlockShape shape, std::string_view method)
    : comm_(comm.duplicate()),
      machine_(comm_),
      shape_(std::move(shape)),
      awaited_(comm_, "a BlockExchange"),
      started_(shape_.send.size(), false) {
  require_agreement(comm_, shape_, method);
  std::string wanted(method);
  if (wanted == "auto") {
    const auto choice = choose_block_method(comm_, comm_, shape_, machine_);
    wanted = choice.name;
    why_ = choice.why;
  }
  const auto spec = parse_agreed(comm_, wanted);
  const auto* found = find_line(block_method_table(), spec.name);
  require_all(comm_.raw(), found != nullptr,
              fmt::format("unknown exchange method '{}': use one of {}", spec.name,
                          names_instead(spec.name, block_method_table())));
  const BlockProblem problem{comm_, shape_, machine_, spec.settings};
  require_all(comm_.raw(), found->blocks.applies(problem),
              fmt::format("exchange method '{}' does not apply here; it needs: {}; or use auto",
                          spec.name, found->applies_text));
  runner_ = make_together(comm_, "BlockExchange", [&] { return found->blocks.make(problem); });
  name_ = found->name;
}

BlockExchange::~BlockExchange() {
  if (std::ranges::find(started_, true) != started_.end()) {
    end_operation(comm_, machine_.waiting, "a BlockExchange", exceptions_when_made_, [this] {
      runner_->progress();
      for (std::size_t piece = 0; piece < started_.size(); ++piece) {
        if (started_[piece] && !runner_->served(static_cast<std::ptrdiff_t>(piece))) return false;
      }
      return true;
    });
  }
  leave();
  if (!in_use_ || detail::mpi_is_finalized()) return;
  // Peers may wait for pieces that will never be started, or for this rank to have read.
  if (num_started_ < shape_.num_pieces() && std::uncaught_exceptions() > exceptions_when_made_) {
    meet_to_free(comm_, machine_.waiting, "a BlockExchange", exceptions_when_made_);
  }
  try {
    runner_->release();
  } catch (const Error& error) {
    end_job(comm_, std::string("a BlockExchange cannot be ended: ") + error.what());
  }
}

void BlockExchange::start(std::ptrdiff_t piece) {
  runner_->start(piece);
  started_[static_cast<std::size_t>(piece)] = true;
  ++num_started_;
  if (runner_->needs_calls()) enter();
}

void BlockExchange::wait(std::ptrdiff_t piece) {
  started_[static_cast<std::size_t>(piece)] = false;
  leave();  // it advances itself while it waits
  const Awaited::Wait wait(awaited_);
  runner_->wait(piece);
  if (runner_->needs_calls() && std::ranges::find(started_, true) != started_.end()) enter();
}

void tune_blocks(const Comm& comm, std::ptrdiff_t bytes) {
  BlockShape shape;
  shape.send.assign(1, std::vector(static_cast<std::size_t>(comm.num_ranks()), bytes));
  shape.receive = shape.send;
  BlockExchange(comm, std::move(shape), "auto");
}

}  // namespace tailrace
