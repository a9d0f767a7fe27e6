// SPDX-License-Identifier: BSD-3-Clause
#include "exchange_problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "transpose_part.hpp"
#include "words.hpp"

namespace bench {
namespace {

using tailrace::Box;
using tailrace::Layout;
using tailrace::Memory;

/// Bytes of each pair, [sender * num_ranks + receiver], multiples of 8.
using Table = std::vector<std::ptrdiff_t>;

Table zipf(std::ptrdiff_t pair_bytes, int num_ranks) {
  const auto pairs = static_cast<std::size_t>(num_ranks) * static_cast<std::size_t>(num_ranks);
  double sum = 0;
  for (std::size_t k = 1; k <= pairs; ++k) sum += 1.0 / static_cast<double>(k);
  const double largest = static_cast<double>(pair_bytes) * static_cast<double>(pairs) / sum;
  std::vector<std::size_t> place(pairs);
  std::iota(place.begin(), place.end(), std::size_t{0});
  std::sort(place.begin(), place.end(), [](std::size_t a, std::size_t b) {  // no order, repeatably
    const auto hash = [](std::size_t i) { return (i + 1) * 0x9E3779B97F4A7C15ULL; };
    return hash(a) < hash(b);
  });
  Table bytes(pairs);
  for (std::size_t k = 0; k < pairs; ++k) {
    bytes[place[k]] = 8 * std::lround(largest / static_cast<double>(k + 1) / 8);
  }
  return bytes;
}

Table fat(std::ptrdiff_t pair_bytes, int num_ranks) {
  const auto ranks = static_cast<std::size_t>(num_ranks);
  Table bytes(ranks * ranks, 0);
  const std::ptrdiff_t senders = (num_ranks + 1) / 2;
  const std::ptrdiff_t each = pair_bytes * num_ranks * num_ranks / senders / 8 * 8;
  for (std::size_t sender = 0; sender < ranks; sender += 2) {
    bytes[sender * ranks + (3 * sender + 1) % ranks] = each;
  }
  return bytes;
}

Table table_of(const std::string& pattern, std::ptrdiff_t pair_bytes, int num_ranks) {
  if (pattern == "zipf") return zipf(pair_bytes, num_ranks);
  if (pattern == "fat") return fat(pair_bytes, num_ranks);
  if (pattern != "uniform") {
    throw std::runtime_error("pattern " + pattern + ": expected uniform, fat or zipf");
  }
  const auto pairs = static_cast<std::size_t>(num_ranks) * static_cast<std::size_t>(num_ranks);
  return Table(pairs, pair_bytes);
}

Box run_of(std::ptrdiff_t start, std::ptrdiff_t count) {
  Box box;
  box.num_dims = 1;
  box.start[0] = start;
  box.extents[0] = count;
  return box;
}

/// A line of items in the order of the table: a rank sends a run of it, and gets one of each rank.
std::pair<Layout, Layout> line_layouts(const Table& bytes, int num_ranks) {
  const auto ranks = static_cast<std::size_t>(num_ranks);
  std::vector<std::vector<Box>> from(ranks), to(ranks);
  std::ptrdiff_t at = 0;
  for (std::size_t sender = 0; sender < ranks; ++sender) {
    const std::ptrdiff_t start = at;
    for (std::size_t receiver = 0; receiver < ranks; ++receiver) {
      const std::ptrdiff_t items = bytes[sender * ranks + receiver] / 8;
      if (items > 0) to[receiver].push_back(run_of(at, items));
      at += items;
    }
    if (at > start) from[sender].push_back(run_of(start, at - start));
  }
  const std::array<std::ptrdiff_t, 1> extents{at};
  return {tailrace::from_boxes(extents, std::move(from)),
          tailrace::from_boxes(extents, std::move(to))};
}

/// Calls `visit(offset in memory, global number)` for each item of `boxes`.
template <class Visit>
void for_items(const std::vector<Box>& boxes, const Memory& memory, const tailrace::Index& extents,
               Visit visit) {
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const Box& box = boxes[b];
    const auto& place = memory.boxes[b];
    const int last = box.num_dims - 1;
    const auto axis = static_cast<std::size_t>(last);
    tailrace::Index at{};
    for (bool more = !box.empty(); more;) {
      std::ptrdiff_t global = 0;
      std::ptrdiff_t offset = place.offset;
      for (std::size_t d = 0; d <= axis; ++d) {
        global = global * extents[d] + box.start[d] + at[d];
        offset += at[d] * place.strides[d];
      }
      for (std::ptrdiff_t i = 0; i < box.extents[axis]; ++i) {
        visit(offset + i * place.strides[axis], global + i);
      }
      int d = last - 1;
      for (;
           d >= 0 && ++at[static_cast<std::size_t>(d)] == box.extents[static_cast<std::size_t>(d)];
           --d) {
        at[static_cast<std::size_t>(d)] = 0;
      }
      more = d >= 0;
    }
  }
}

}  // namespace

ExchangeProblem::ExchangeProblem(std::string pattern, const Layout& from, const Layout& to,
                                 int rank)
    : pattern_(std::move(pattern)),
      extents_(from.global_extents()),
      num_dims_(from.num_dims()),
      plan_(from, to, rank),
      from_memory_(Memory::dense(plan_.from_boxes())),
      to_memory_(Memory::dense(plan_.to_boxes())) {
  global_items_ = 1;
  for (int d = 0; d < num_dims_; ++d) global_items_ *= extents_[static_cast<std::size_t>(d)];
}

ExchangeProblem ExchangeProblem::all_to_all(const std::string& pattern, std::ptrdiff_t pair_bytes,
                                            int rank, int num_ranks) {
  pair_bytes = (pair_bytes + 7) / 8 * 8;
  const auto [from, to] = line_layouts(table_of(pattern, pair_bytes, num_ranks), num_ranks);
  ExchangeProblem problem(pattern, from, to, rank);
  problem.size_ = pair_bytes;
  problem.group_size_ = num_ranks;
  problem.name_ = "all-to-all, " + pattern + ", " + bytes_text(pair_bytes) + " a pair";
  return problem;
}

ExchangeProblem ExchangeProblem::transpose(const std::string& pattern, std::ptrdiff_t n, int rank,
                                           int num_ranks) {
  const std::array<std::ptrdiff_t, 3> extents{n, n, n};
  const bool slabs = pattern == "slabs";
  if (!slabs && pattern != "pencils" && pattern != "kept") {
    throw std::runtime_error("pattern " + pattern + ": expected pencils, kept or slabs");
  }
  const std::array<int, 2> grid = transpose_grid(num_ranks);
  const Layout from =
      slabs ? tailrace::slabs(extents, 0, num_ranks) : tailrace::pencils(extents, 2, grid);
  const Layout to =
      slabs ? tailrace::slabs(extents, 1, num_ranks) : tailrace::pencils(extents, 1, grid);
  ExchangeProblem problem(pattern, from, to, rank);
  if (pattern != "kept" && !problem.plan_.to_boxes().empty()) {
    const std::array<int, 3> order = slabs ? std::array{1, 0, 2} : std::array{0, 2, 1};
    problem.to_memory_ = Memory::ordered(problem.plan_.to_boxes().front(), order);
  }
  problem.transpose_ = true;
  problem.words_ = 2;
  problem.size_ = n;
  problem.group_size_ = slabs ? num_ranks : grid[1];
  problem.name_ = transpose_name(pattern, n);
  return problem;
}

void ExchangeProblem::fill(std::uint64_t* source, int round) const {
  for_items(plan_.from_boxes(), from_memory_, extents_, [&](auto offset, auto item) {
    for (std::ptrdiff_t w = 0; w < words_; ++w) {
      source[offset * words_ + w] =
          word_of(static_cast<std::uint64_t>(item), static_cast<std::uint64_t>(w), round);
    }
  });
}

double ExchangeProblem::wrong_items(const std::uint64_t* target, int round) const {
  double wrong = 0;
  for_items(plan_.to_boxes(), to_memory_, extents_, [&](auto offset, auto item) {
    bool right = true;
    for (std::ptrdiff_t w = 0; w < words_; ++w) {
      right = right && target[offset * words_ + w] == word_of(static_cast<std::uint64_t>(item),
                                                              static_cast<std::uint64_t>(w), round);
    }
    wrong += right ? 0 : 1;
  });
  return wrong;
}

}  // namespace bench
