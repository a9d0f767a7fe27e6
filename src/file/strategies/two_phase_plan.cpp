// SPDX-License-Identifier: BSD-3-Clause
#include "file/strategies/two_phase_plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "core/refuse_input.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t max_windows = std::ptrdiff_t{1} << 24;  // 128 MB of totals a rank

std::size_t index(std::ptrdiff_t value) { return static_cast<std::size_t>(value); }

constexpr std::ptrdiff_t nowhere = std::numeric_limits<std::ptrdiff_t>::max();

// A number for a place in a buffer. Pieces of which each begins where another ends cancel in sums
// of end_number(end) - end_number(begin); others do so once in 2^64 (finalizer of MurmurHash3).
std::uint64_t end_number(std::ptrdiff_t place) {
  auto number = static_cast<std::uint64_t>(place) + 1;
  number = (number ^ (number >> 33)) * 0xff51afd7ed558ccdU;
  number = (number ^ (number >> 33)) * 0xc4ceb9fe1a85ec53U;
  return number ^ (number >> 33);
}

// Where two of the pieces overlap first; they are in order of their places in the file.
std::ptrdiff_t first_overlap(std::span<const Segment> pieces) {
  for (std::size_t p = 1; p < pieces.size(); ++p) {
    if (pieces[p].file_offset < pieces[p - 1].file_end()) return pieces[p].file_offset;
  }
  return nowhere;
}

// Joins what touches or overlaps; the pieces are in order of their places in the file.
void join(std::vector<Segment>& pieces) {
  std::size_t kept = 0;
  for (const auto& piece : pieces) {
    if (kept > 0 && piece.file_offset <= pieces[kept - 1].file_end()) {
      auto& last = pieces[kept - 1];
      // Windows of stripe owners have several pieces of the file side by side in the buffer.
      const bool same_place =
          piece.memory_offset - last.memory_offset == piece.file_offset - last.file_offset;
      if (same_place) {
        last.bytes = std::max(last.file_end(), piece.file_end()) - last.file_offset;
        continue;
      }
    }
    pieces[kept++] = piece;
  }
  pieces.resize(kept);
}

}  // namespace

TwoPhasePlan::TwoPhasePlan(const FilePart& part, FileRun range, const Setting& setting)
    : part_(part),
      direction_(setting.direction),
      domains_(range, static_cast<int>(setting.writers.size()), setting.alignment,
               setting.stripe_bytes, setting.buffer_bytes) {
  const auto num_windows = domains_.num_rounds() * domains_.num_writers();
  if (num_windows > max_windows) {
    refuse_input(
        "two-phase I/O: the data spreads over {} bytes of the file, which takes {} rounds with "
        "buffers of {} bytes; raise cb_buffer_size or use strategy=shared_independent",
        range.bytes, domains_.num_rounds(), setting.buffer_bytes);
  }
  cut(setting);
  add_totals(setting);
  const bool gathered = gather(setting);
  const auto me = std::ranges::find(setting.writers, setting.comm.rank());
  std::int64_t overlap = nowhere;
  if (me != setting.writers.end()) {
    overlap = lay_out_transfers(static_cast<int>(me - setting.writers.begin()));
  }
  if (!gathered || direction_ == Direction::read) return;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &overlap, 1, MPI_INT64_T, MPI_MIN, setting.comm.raw()));
  if (overlap == nowhere) return;
  refuse_input("write: the ranks' parts overlap at byte {} of the file", overlap);
}

void TwoPhasePlan::cut(const Setting& setting) {
  for (const auto& segment : FilePart::Data::of(part_).segments()) {
    for (std::ptrdiff_t done = 0; done < segment.bytes;) {
      const auto place = domains_.locate(segment.file_offset + done);
      const auto bytes = std::min(place.bytes, segment.bytes - done);
      slices_.push_back(
          {place.round, place.writer, place.buffer_offset, segment.memory_offset + done, bytes});
      done += bytes;
    }
  }
  std::ranges::stable_sort(slices_, [](const Slice& a, const Slice& b) {
    return a.round != b.round ? a.round < b.round : a.writer < b.writer;
  });
  round_start_.assign(index(domains_.num_rounds()) + 1, 0);
  std::vector<std::ptrdiff_t> sent(index(domains_.num_rounds()), 0);
  for (const auto& slice : slices_) {
    ++round_start_[index(slice.round) + 1];
    const bool own = setting.writers[index(slice.writer)] == setting.comm.rank();
    if (!own) sent[index(slice.round)] += slice.bytes;
  }
  std::partial_sum(round_start_.begin(), round_start_.end(), round_start_.begin());
  largest_round_bytes_ = sent.empty() ? 0 : *std::ranges::max_element(sent);
}

void TwoPhasePlan::add_totals(const Setting& setting) {
  const auto num_writers = domains_.num_writers();
  totals_.assign(index(domains_.num_rounds() * num_writers), {});
  static_assert(sizeof(Total) == 2 * sizeof(std::uint64_t));
  for (const auto& slice : slices_) {
    auto& total = totals_[index(slice.round * num_writers + slice.writer)];
    total.bytes += static_cast<std::uint64_t>(slice.bytes);
    total.ends += end_number(slice.buffer_offset + slice.bytes) - end_number(slice.buffer_offset);
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, totals_.data(),
                          to_int(2 * static_cast<std::ptrdiff_t>(totals_.size())), MPI_UINT64_T,
                          MPI_SUM, setting.comm.raw()));
  for (std::ptrdiff_t round = 0; round < domains_.num_rounds(); ++round) {
    bool any = false;
    for (int w = 0; w < num_writers; ++w) any = any || active(w, round);
    if (any) rounds_.push_back(round);
  }
}

bool TwoPhasePlan::has_holes(int writer, std::ptrdiff_t round) const {
  Total whole;
  for (const auto& piece : domains_.window(writer, round)) {
    whole.bytes += static_cast<std::uint64_t>(piece.bytes);
    whole.ends += end_number(piece.memory_offset + piece.bytes) - end_number(piece.memory_offset);
  }
  const auto& found = total(writer, round);
  if (direction_ == Direction::read) return found.bytes < whole.bytes;
  if (found.bytes > whole.bytes) {
    refuse_input("write: the ranks' parts overlap between bytes {} and {} of the file",
                 domains_.window(writer, round).front().file_offset,
                 domains_.window(writer, round).back().file_end());
  }
  // As many bytes as the window has may be a hole and an overlap of the same size.
  return found.bytes < whole.bytes || found.ends != whole.ends;
}

// Brings the slices that writers must know of to them; false if there are none.
bool TwoPhasePlan::gather(const Setting& setting) {
  const auto num_ranks = index(setting.comm.num_ranks());
  rank_start_.assign(num_ranks + 1, 0);
  std::vector<char> wanted(totals_.size(), 0);
  bool any = false;
  for (const auto round : rounds_) {
    for (int w = 0; w < domains_.num_writers(); ++w) {
      const bool holes = active(w, round) && has_holes(w, round);
      if (!active(w, round) || !(setting.all_slices || holes)) continue;
      wanted[index(round * domains_.num_writers() + w)] = 1;
      any = true;
    }
  }
  if (!any) return false;  // alike on all ranks
  constexpr int width = 3;
  static_assert(sizeof(RemoteSlice) == width * sizeof(std::int64_t));
  std::vector<std::vector<RemoteSlice>> to_writer(setting.writers.size());
  for (const auto& slice : slices_) {
    if (wanted[index(slice.round * domains_.num_writers() + slice.writer)] == 0) continue;
    to_writer[index(slice.writer)].push_back({slice.round, slice.buffer_offset, slice.bytes});
  }
  std::vector<int> send_counts(num_ranks, 0), send_starts(num_ranks, 0), counts(num_ranks, 0),
      starts(num_ranks, 0);
  std::vector<RemoteSlice> sent;
  for (std::size_t w = 0; w < setting.writers.size(); ++w) {
    const auto rank = index(setting.writers[w]);
    send_starts[rank] = to_int(width * static_cast<std::ptrdiff_t>(sent.size()));
    send_counts[rank] = to_int(width * static_cast<std::ptrdiff_t>(to_writer[w].size()));
    sent.insert(sent.end(), to_writer[w].begin(), to_writer[w].end());
  }
  const auto comm = setting.comm.raw();
  check_mpi(MPI_Alltoall(send_counts.data(), 1, MPI_INT, counts.data(), 1, MPI_INT, comm));
  std::ptrdiff_t filled = 0;
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    starts[rank] = to_int(filled * width);
    filled += counts[rank] / width;
    rank_start_[rank + 1] = index(filled);
  }
  remote_.resize(index(filled));
  check_mpi(MPI_Alltoallv(sent.data(), send_counts.data(), send_starts.data(), MPI_INT64_T,
                          remote_.data(), counts.data(), starts.data(), MPI_INT64_T, comm));
  return true;
}

std::ptrdiff_t TwoPhasePlan::lay_out_transfers(int own_writer) {
  std::vector<std::vector<Segment>> known(index(domains_.num_rounds()));
  for (const auto round : rounds_) {
    auto& pieces = known[index(round)];
    if (!active(own_writer, round)) continue;
    pieces = domains_.window(own_writer, round);
    if (has_holes(own_writer, round)) pieces.clear();
  }
  const auto full = [&](std::ptrdiff_t round) { return !known[index(round)].empty(); };
  std::vector<char> whole(known.size(), 0);
  for (const auto round : rounds_) whole[index(round)] = full(round) ? 1 : 0;
  std::vector<std::vector<Segment>> windows(known.size());
  for (const auto& slice : remote_) {
    if (whole[index(slice.round)] == 1) continue;
    auto& window = windows[index(slice.round)];
    if (window.empty()) window = domains_.window(own_writer, slice.round);
    const auto after =
        std::ranges::upper_bound(window, slice.buffer_offset, {}, &Segment::memory_offset);
    const auto& piece = *(after - 1);
    known[index(slice.round)].push_back(
        {piece.file_offset + (slice.buffer_offset - piece.memory_offset), slice.buffer_offset,
         slice.bytes});
  }
  transfer_start_.assign(known.size() + 1, 0);
  auto overlap = nowhere;
  for (std::size_t round = 0; round < known.size(); ++round) {
    if (whole[round] == 0) {
      std::ranges::sort(known[round], {}, &Segment::file_offset);
      overlap = std::min(overlap, first_overlap(known[round]));
      join(known[round]);
    }
    transfers_.insert(transfers_.end(), known[round].begin(), known[round].end());
    transfer_start_[round + 1] = transfers_.size();
  }
  return overlap;
}

std::span<const Slice> TwoPhasePlan::slices(std::ptrdiff_t round) const {
  const auto first = round_start_[index(round)];
  return std::span(slices_).subspan(first, round_start_[index(round) + 1] - first);
}

std::span<const Segment> TwoPhasePlan::transfers(std::ptrdiff_t round) const {
  const auto first = transfer_start_[index(round)];
  return std::span(transfers_).subspan(first, transfer_start_[index(round) + 1] - first);
}

std::span<const RemoteSlice> TwoPhasePlan::remote(int rank, std::ptrdiff_t round) const {
  const auto first = remote_.begin() + static_cast<std::ptrdiff_t>(rank_start_[index(rank)]);
  const auto end = remote_.begin() + static_cast<std::ptrdiff_t>(rank_start_[index(rank) + 1]);
  const auto range = std::ranges::equal_range(first, end, round, {}, &RemoteSlice::round);
  return {range.begin(), range.end()};
}

}  // namespace tailrace::file
