// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/plan.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace {

struct Found {
  Piece piece;
  int from_box = 0;
  int to_box = 0;
};

/// What the boxes `own` of one side share with the layout `other` of the other side.
std::vector<Piece> pieces_between(const std::vector<Box>& own, const Layout& other, bool sending) {
  std::vector<Found> found;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto mine = static_cast<int>(i);
    for (const auto& overlap : other.overlaps(own[i])) {
      found.push_back({{overlap.rank, mine, overlap.shared},
                       sending ? mine : overlap.local_box,
                       sending ? overlap.local_box : mine});
    }
  }
  std::ranges::sort(found, {},
                    [](const Found& f) { return std::tuple(f.piece.peer, f.from_box, f.to_box); });
  std::vector<Piece> pieces;
  pieces.reserve(found.size());
  for (const auto& one : found) pieces.push_back(one.piece);
  return pieces;
}

}  // namespace

Plan::Plan(const Layout& from, const Layout& to, int rank)
    : rank_(rank), num_ranks_(from.num_ranks()) {
  const Box source{from.num_dims(), {}, from.global_extents()};
  const Box destination{to.num_dims(), {}, to.global_extents()};
  if (!(source == destination) || from.num_ranks() != to.num_ranks()) {
    refuse_input(
        "a plan needs two layouts of the same extents and ranks, not {} on {} and {} on {}",
        source.describe(), from.num_ranks(), destination.describe(), to.num_ranks());
  }
  from_boxes_ = from.boxes(rank);
  to_boxes_ = to.boxes(rank);
  sends_ = pieces_between(from_boxes_, to, true);
  receives_ = pieces_between(to_boxes_, from, false);
}

Plan Plan::among(const std::vector<int>& ranks) const {
  const auto place = [&](int rank) {
    const auto found = std::ranges::lower_bound(ranks, rank);
    if (found == ranks.end() || *found != rank) {
      refuse_input("the plan of rank {} needs rank {}, which is left out", rank_, rank);
    }
    return static_cast<int>(found - ranks.begin());
  };
  Plan plan = *this;
  plan.rank_ = place(rank_);
  plan.num_ranks_ = static_cast<int>(ranks.size());
  for (auto& piece : plan.sends_) piece.peer = place(piece.peer);
  for (auto& piece : plan.receives_) piece.peer = place(piece.peer);
  return plan;
}

std::vector<std::pair<int, std::ptrdiff_t>> Plan::bytes(std::ptrdiff_t item_bytes) const {
  std::vector<std::pair<int, std::ptrdiff_t>> row;
  for (const auto& piece : sends_) {
    if (row.empty() || row.back().first != piece.peer) row.emplace_back(piece.peer, 0);
    row.back().second += piece.box.num_items() * item_bytes;
  }
  return row;
}

std::string Plan::describe(std::ptrdiff_t item_bytes) const {
  std::ptrdiff_t sent = 0;
  std::ptrdiff_t kept = 0;
  std::ptrdiff_t largest = 0;
  int peers = 0;
  for (const auto& [peer, bytes] : bytes(item_bytes)) {
    if (peer == rank_) {
      kept = bytes;
      continue;
    }
    sent += bytes;
    largest = std::max(largest, bytes);
    ++peers;
  }
  return fmt::format(
      "rank {} of {} sends {} bytes to {} other ranks (largest message {} bytes), keeps {} bytes, "
      "in {} pieces; it receives {} pieces",
      rank_, num_ranks_, sent, peers, largest, kept, sends_.size(), receives_.size());
}

}  // namespace tailrace
