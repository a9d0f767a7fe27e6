// SPDX-License-Identifier: BSD-3-Clause
// Each rank finds the owners of its halo columns in the layout and tells them which rows it needs,
// once. From then on a `BlockExchange` carries them: rows are gathered straight into its send
// blocks, which the ranks of a node read where they are.
#include "krylov/halo.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::sparse {

namespace {

Box run_box(std::ptrdiff_t start, std::ptrdiff_t count) {
  return Box{.num_dims = 1, .start = {start}, .extents = {count}};
}

std::vector<int> displacements(const std::vector<int>& counts) {
  std::vector<int> starts(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
  return starts;
}

}  // namespace

OwnRows::OwnRows(const Layout& rows, int rank) {
  for (const auto& box : rows.boxes(rank)) {
    for (const auto& overlap : rows.overlaps(box)) {
      if (overlap.rank == rank) continue;
      throw Error(Errc::invalid_input,
                  fmt::format("DistMatrix: block row {} is on rank {} and on rank {}; each must "
                              "be on one rank",
                              overlap.shared.start[0], rank, overlap.rank));
    }
    runs_.push_back({box.start[0], box.start[0] + box.extents[0], count_});
    count_ += box.extents[0];
  }
  std::ranges::sort(runs_, {}, &Run::start);
}

std::ptrdiff_t OwnRows::place(std::ptrdiff_t global) const {
  const auto after = std::ranges::upper_bound(runs_, global, {}, &Run::start);
  if (after == runs_.begin()) return -1;
  const auto& run = *(after - 1);
  return global < run.end ? run.place + global - run.start : -1;
}

Halo::Halo(const Comm& comm, const Layout& rows, const OwnRows& own,
           std::span<const std::int64_t> columns, int block, std::string_view method)
    : block_(static_cast<std::size_t>(block)) {
  run_agreed(comm.raw(), [&] { find_owners(rows, columns); });
  tell_owners(comm, own, columns);
  items_.resize(columns.size() * block_);
  std::int64_t moved = static_cast<std::int64_t>(columns.size());
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_INT64_T, MPI_SUM, comm.raw()));
  if (moved == 0) return;
  const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
  BlockShape shape;
  shape.item_bytes = static_cast<std::ptrdiff_t>(block_ * sizeof(double));
  shape.send.assign(1, std::vector<std::ptrdiff_t>(num_ranks, 0));
  shape.receive = shape.send;
  for (const auto& peer : to_) {
    shape.send[0][static_cast<std::size_t>(peer.rank)] = static_cast<std::ptrdiff_t>(peer.count);
  }
  for (const auto& peer : from_) {
    shape.receive[0][static_cast<std::size_t>(peer.rank)] = static_cast<std::ptrdiff_t>(peer.count);
  }
  exchange_ = std::make_unique<BlockExchange>(comm, std::move(shape), method);
}

void Halo::find_owners(const Layout& rows, std::span<const std::int64_t> columns) {
  owners_.assign(columns.size(), -1);
  for (std::size_t i = 0; i < columns.size();) {
    auto end = i + 1;  // of the columns that follow each other
    while (end < columns.size() && columns[end] == columns[end - 1] + 1) ++end;
    for (const auto& overlap :
         rows.overlaps(run_box(columns[i], static_cast<std::ptrdiff_t>(end - i)))) {
      const auto first = i + static_cast<std::size_t>(overlap.shared.start[0] - columns[i]);
      for (std::ptrdiff_t k = 0; k < overlap.shared.extents[0]; ++k) {
        owners_[first + static_cast<std::size_t>(k)] = overlap.rank;
      }
    }
    i = end;
  }
  const auto lost = std::ranges::find(owners_, -1);
  if (lost != owners_.end()) {
    throw Error(Errc::invalid_input,
                fmt::format("DistMatrix: a row has block column {}, but no rank holds that row",
                            columns[static_cast<std::size_t>(lost - owners_.begin())]));
  }
  std::vector<std::size_t> order(columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return owners_[i]; });
  places_.resize(columns.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    places_[order[place]] = static_cast<std::int32_t>(place);
    const int owner = owners_[order[place]];
    if (from_.empty() || from_.back().rank != owner) from_.push_back({owner, place, 0});
    ++from_.back().count;
  }
}

void Halo::tell_owners(const Comm& comm, const OwnRows& own,
                       std::span<const std::int64_t> columns) {
  const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
  std::vector<int> wanted(num_ranks, 0);
  std::vector<int> asked(num_ranks, 0);
  for (const auto& peer : from_) {
    wanted[static_cast<std::size_t>(peer.rank)] = to_int(static_cast<std::ptrdiff_t>(peer.count));
  }
  check_mpi(MPI_Alltoall(wanted.data(), 1, MPI_INT, asked.data(), 1, MPI_INT, comm.raw()));
  std::vector<std::int64_t> mine(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    mine[static_cast<std::size_t>(places_[i])] = columns[i];
  }
  const auto total = std::accumulate(asked.begin(), asked.end(), std::size_t{0});
  std::vector<std::int64_t> theirs(total);
  const auto wanted_starts = displacements(wanted);
  const auto asked_starts = displacements(asked);
  check_mpi(MPI_Alltoallv(mine.data(), wanted.data(), wanted_starts.data(), MPI_INT64_T,
                          theirs.data(), asked.data(), asked_starts.data(), MPI_INT64_T,
                          comm.raw()));
  std::int64_t strange = -1;
  for (const auto row : theirs) {
    sent_.push_back(own.place(row));
    if (sent_.back() < 0) strange = row;
  }
  require_all(comm.raw(), strange < 0,
              fmt::format("DistMatrix: the ranks have different layouts: another rank takes block "
                          "row {} for one of this rank's",
                          strange));
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    if (asked[rank] == 0) continue;
    to_.push_back({static_cast<int>(rank), static_cast<std::size_t>(asked_starts[rank]),
                   static_cast<std::size_t>(asked[rank])});
  }
}

void Halo::start(const double* x) {
  if (!exchange_) return;
  exchange_->acquire();
  for (const auto& peer : to_) {
    auto* to = reinterpret_cast<double*>(exchange_->send_block(0, peer.rank));
    for (auto i = peer.first; i < peer.first + peer.count; ++i, to += block_) {
      std::copy_n(x + sent_[i] * static_cast<std::ptrdiff_t>(block_), block_, to);
    }
  }
  exchange_->start(0);
}

void Halo::finish() {
  if (!exchange_) return;
  exchange_->wait(0);
  for (const auto& peer : from_) {
    const auto* from = reinterpret_cast<const double*>(exchange_->receive_block(0, peer.rank));
    std::copy_n(from, peer.count * block_, items_.data() + peer.first * block_);
  }
  exchange_->release();
}

}  // namespace tailrace::sparse
