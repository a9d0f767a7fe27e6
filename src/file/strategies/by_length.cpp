// SPDX-License-Identifier: BSD-3-Clause
// Long pieces as `shared_independent`: the rank that has them calls the file system itself,
// straight from the caller's memory. Short ones as `collective`. What is long, hint
// `cb_longest_piece` says; one reduction says whether any rank has either, so a request of one kind
// only costs no more than that strategy alone. In a page cache a call for a long piece costs
// nothing beside its one copy; two-phase I/O makes two.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "file/strategy.hpp"

namespace tailrace::file {
namespace {

// Where both take as long (2 ranks, page cache of an ext4): writing, 16 KiB pieces by the ranks
// take 1.24 times as long, 64 KiB 1.03, 128 KiB 0.92; reading, 2 KiB 1.0, 4 KiB 0.78, 16 KiB 0.57.
constexpr std::ptrdiff_t longest_to_write = 64 << 10;
constexpr std::ptrdiff_t longest_to_read = 2 << 10;

/// Of the latest parts that have both, so that two-phase I/O finds its plans again.
constexpr std::size_t most_kept = 8;

class ByLength final : public Strategy {
 public:
  explicit ByLength(const StrategyRequest& request) : request_(request) {
    if (asked() == Settings::open) {
      request_.settings.choose(
          "cb_longest_piece", std::to_string(longest_to_write),
          fmt::format("to write; {} to read, which is less work for a rank", longest_to_read));
    }
    if (request_.access == FileAccess::read) return;
    make_file(request_, request_.comm.rank() == 0);
    request_.access = FileAccess::update;  // it is there: neither strategy empties it
  }

  void write(const FilePart& part, const std::byte* data) override {
    const auto longest = asked() == Settings::open ? longest_to_write : asked();
    each(part, longest, [&](Strategy& one, const FilePart& pieces) { one.write(pieces, data); });
  }
  void read(const FilePart& part, std::byte* data) override {
    const auto longest = asked() == Settings::open ? longest_to_read : asked();
    each(part, longest, [&](Strategy& one, const FilePart& pieces) { one.read(pieces, data); });
  }

  void close(bool flush) override {
    std::optional<Error> failure;
    for (auto* strategy : {&for_long_, &for_short_}) {
      if (*strategy) try_also(failure, [&] { (*strategy)->close(flush); });
      strategy->reset();
    }
    if (failure) throw *failure;
  }

 private:
  struct Split {
    FilePart whole, longs, shorts;
    std::ptrdiff_t longest = 0;  // of the short ones
  };

  std::ptrdiff_t asked() const { return request_.settings.cb_longest_piece; }

  template <class Action>
  void each(const FilePart& part, std::ptrdiff_t longest, Action&& action) {
    const Split split = split_of(part, longest);
    std::array<int, 2> any{split.longs.bytes() > 0 ? 1 : 0, split.shorts.bytes() > 0 ? 1 : 0};
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, any.data(), 2, MPI_INT, MPI_MAX, request_.comm.raw()));
    if (any[0] != 0) {
      if (!for_long_) for_long_ = make_shared_independent(request_);
      action(*for_long_, split.longs);
    }
    if (any[1] != 0) {
      if (!for_short_) for_short_ = make_collective(request_);
      action(*for_short_, split.shorts);
    }
  }

  Split split_of(const FilePart& part, std::ptrdiff_t longest) {
    const auto segments = FilePart::Data::of(part).segments();
    const auto is_long = [longest](const Segment& segment) { return segment.bytes > longest; };
    const auto num_long = std::ranges::count_if(segments, is_long);
    if (num_long == 0) return {part, {}, part, longest};
    if (num_long == std::ssize(segments)) return {part, part, {}, longest};
    for (const Split& split : splits_) {
      const bool same = &FilePart::Data::of(split.whole) == &FilePart::Data::of(part);
      if (same && split.longest == longest) return split;
    }
    if (splits_.size() == most_kept) splits_.pop_front();
    const auto is_short = [&](const Segment& segment) { return !is_long(segment); };
    splits_.push_back({part, FilePart::Data::part_of(part, is_long),
                       FilePart::Data::part_of(part, is_short), longest});
    return splits_.back();
  }

  StrategyRequest request_;
  std::unique_ptr<Strategy> for_long_, for_short_;  // made when first needed, on all ranks
  std::deque<Split> splits_;
};

}  // namespace

std::unique_ptr<Strategy> make_by_length(const StrategyRequest& request) {
  return std::make_unique<ByLength>(request);
}

}  // namespace tailrace::file
