// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "move/block_exchange.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"

namespace tailrace::sparse {

/// This rank's rows of a layout with one axis: global index to place in the rank's vectors.
class OwnRows {
 public:
  /// Throws `Errc::invalid_input` if another rank has one of the rows, too. Local.
  OwnRows(const Layout& rows, int rank);
  std::ptrdiff_t count() const { return count_; }
  /// -1 if the row is another rank's.
  std::ptrdiff_t place(std::ptrdiff_t global) const;

 private:
  struct Run {
    std::ptrdiff_t start, end, place;
  };
  std::vector<Run> runs_;  ///< ascending
  std::ptrdiff_t count_ = 0;
};

/// Items of vectors that this rank needs from others: found once, exchanged again and again.
class Halo {
 public:
  /// `columns`: global block columns of other ranks, ascending, each once. A column is `block`
  /// items. Throws `Errc::invalid_input` on all ranks if a column has no owner, or more than one,
  /// or if the ranks have different layouts. Collective, blocking.
  Halo(const Comm& comm, const Layout& rows, const OwnRows& own,
       std::span<const std::int64_t> columns, int block, std::string_view method);

  /// Where column number i of `columns` is in `items`, in blocks: by owner.
  const std::vector<std::int32_t>& places() const { return places_; }
  /// Sends this rank's items of x. Does not wait for others to read them.
  void start(const double* x);
  /// Waits for the items, in `items` then.
  void finish();
  std::span<const double> items() const { return items_; }
  std::ptrdiff_t num_sent_blocks() const { return static_cast<std::ptrdiff_t>(sent_.size()); }
  /// "none" where no rank needs anything.
  std::string_view method() const { return exchange_ ? exchange_->method() : "none"; }

 private:
  struct Peer {
    int rank;
    std::size_t first, count;  ///< in blocks
  };
  void find_owners(const Layout& rows, std::span<const std::int64_t> columns);
  void tell_owners(const Comm& comm, const OwnRows& own, std::span<const std::int64_t> columns);

  std::size_t block_;
  std::vector<int> owners_;  ///< of each column
  std::vector<std::int32_t> places_;
  std::vector<Peer> from_, to_;
  std::vector<std::ptrdiff_t> sent_;  ///< places of the rows that are sent, by peer
  std::vector<double> items_;
  std::unique_ptr<BlockExchange> exchange_;
};

}  // namespace tailrace::sparse
