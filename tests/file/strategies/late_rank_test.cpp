// SPDX-License-Identifier: BSD-3-Clause
// Any one rank is late at any point of two-phase I/O, in every round: whoever fills a slot that is
// still to be written, reads one that is not filled yet, or goes on before others have read, is
// found out, as all data changes from run to run and writers spoil a slot as soon as they are done.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "file/strategies/two_phase.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t buffer_bytes = 4096, file_bytes = 60'000;
using Late = std::function<void(int point)>;

std::byte value_at(std::ptrdiff_t offset, int run) {
  return static_cast<std::byte>((offset * 2654435761 >> 7) ^ offset ^ (run * 37));
}

/// Longer than the others take for a round.
void nap() { std::this_thread::sleep_for(std::chrono::microseconds(500)); }

/// Pieces of uneven size dealt out to the ranks, of which the last one has few.
std::vector<FileRun> runs_of(const Comm& comm, bool with_holes) {
  std::vector<FileRun> runs;
  std::ptrdiff_t at = 0;
  for (int piece = 0; at < file_bytes; ++piece) {
    const auto bytes = 100 + piece * 977 % 3000;
    const int sharing = piece % 5 == 4 ? comm.num_ranks() : std::max(1, comm.num_ranks() - 1);
    if (piece % sharing == comm.rank()) runs.push_back({at, bytes});
    at += bytes + (with_holes && piece % 3 == 2 ? 333 : 0);
  }
  return runs;
}

/// One part of each rank, and its bytes.
struct Data {
  explicit Data(std::vector<FileRun> list) : runs(std::move(list)), part(FilePart::runs(runs)) {
    bytes.resize(static_cast<std::size_t>(part.bytes()));
  }
  void fill(int run) {
    auto* at = bytes.data();
    for (const auto& piece : runs) {
      for (auto offset = piece.offset; offset < piece.end(); ++offset)
        *at++ = value_at(offset, run);
    }
  }
  void spoil() { std::ranges::fill(bytes, std::byte{0xee}); }
  std::ptrdiff_t num_wrong(int run) const {
    std::ptrdiff_t wrong = 0;
    const auto* at = bytes.data();
    for (const auto& piece : runs) {
      for (auto offset = piece.offset; offset < piece.end(); ++offset) {
        wrong += *at++ != value_at(offset, run) ? 1 : 0;
      }
    }
    return wrong;
  }
  std::vector<FileRun> runs;
  FilePart part;
  std::vector<std::byte> bytes;
};

std::vector<std::vector<int>> writer_sets(int num_ranks) {
  std::vector<std::vector<int>> sets{{0}, {num_ranks - 1}};
  if (num_ranks > 1) sets.push_back({0, num_ranks - 1});
  sets.emplace_back();
  for (int rank = 0; rank < num_ranks; ++rank) sets.back().push_back(rank);
  return sets;
}

class LateRankInFile : public ::testing::Test {
 protected:
  Comm comm_{MPI_COMM_WORLD};
};

/// A transport and what moves over it, used as `TwoPhase` uses it, with points to be late at.
class Rounds {
 public:
  Rounds(const Comm& comm, std::vector<int> writers, bool messages, bool with_holes)
      : comm_(comm),
        writers_(std::move(writers)),
        data_(runs_of(comm, with_holes)),
        out_(make_plan(Direction::write, messages)),
        in_(make_plan(Direction::read, messages)),
        transport_(messages ? make_message_transport({comm_, writers_, buffer_bytes})
                            : make_node_transport({comm_, writers_, buffer_bytes})) {
    const auto me = std::ranges::find(writers_, comm.rank());
    own_ = me == writers_.end() ? -1 : static_cast<int>(me - writers_.begin());
  }

  static constexpr int num_points = 8;

  /// The bytes that arrived wrong at this rank.
  std::ptrdiff_t write(int run, const Late& at) {
    std::ptrdiff_t wrong = 0;
    data_.fill(run);
    at(0);
    for (const auto round : out_.rounds()) {
      const auto sequence = ++sequence_;
      transport_->send(out_, round, sequence, data_.bytes.data());
      at(1);
      if (own_ < 0) continue;
      if (out_.active(own_, round)) {
        transport_->wait_filled(out_, round, sequence);
        at(2);
        for (const auto& piece : out_.transfers(round)) {
          auto* slot = transport_->slot(sequence) + piece.memory_offset;
          for (std::ptrdiff_t n = 0; n < piece.bytes; ++n) {
            wrong += slot[n] != value_at(piece.file_offset + n, run) ? 1 : 0;
          }
          std::fill_n(slot, piece.bytes, std::byte{0xdd});
        }
      }
      at(3);
      transport_->release(sequence);
    }
    transport_->end();
    data_.spoil();
    return wrong;
  }

  std::ptrdiff_t read(int run, const Late& at) {
    at(4);
    for (const auto round : in_.rounds()) {
      const auto sequence = ++sequence_;
      if (own_ >= 0) {
        transport_->wait_free(sequence);
        at(5);
        for (const auto& piece : in_.transfers(round)) {
          auto* slot = transport_->slot(sequence) + piece.memory_offset;
          for (std::ptrdiff_t n = 0; n < piece.bytes; ++n) {
            slot[n] = value_at(piece.file_offset + n, run);
          }
        }
        transport_->publish(in_, round, sequence);
      }
      at(6);
      transport_->receive(in_, round, sequence, data_.bytes.data());
      at(7);
    }
    transport_->end();
    const auto wrong = data_.num_wrong(run);
    data_.spoil();
    return wrong;
  }

  std::size_t num_rounds() const { return out_.rounds().size(); }

 private:
  TwoPhasePlan make_plan(Direction direction, bool messages) const {
    return {data_.part,
            {0, file_bytes + 4000},
            {comm_, writers_, Alignment::even, 1, buffer_bytes, messages, direction}};
  }

  const Comm& comm_;
  std::vector<int> writers_;
  Data data_;
  TwoPhasePlan out_, in_;
  std::unique_ptr<Transport> transport_;
  int own_ = -1;
  std::uint32_t sequence_ = 0;
};

TEST_F(LateRankInFile, HoldsUpSlotsOfEveryTransport) {
  const bool one_node = comm_.node().num_ranks() == comm_.num_ranks();
  for (const bool messages : {false, true}) {
    if (!messages && !one_node) continue;
    for (const auto& writers : writer_sets(comm_.num_ranks())) {
      Rounds rounds(comm_, writers, messages, writers.size() % 2 == 0);
      EXPECT_GT(rounds.num_rounds(), 0U);
      int run = 0;
      for (int late = 0; late < comm_.num_ranks(); ++late) {
        for (int late_at = 0; late_at < Rounds::num_points; ++late_at) {
          const Late at = [&](int point) {
            if (comm_.rank() == late && point == late_at) nap();
          };
          std::ptrdiff_t wrong = 0;
          for (const bool reading : {false, true, false}) {
            MPI_Barrier(comm_.raw());  // as the agreement at the end of every call
            ++run;
            wrong += reading ? rounds.read(run, at) : rounds.write(run, at);
          }
          EXPECT_EQ(wrong, 0) << (messages ? "messages" : "node") << ", " << writers.size()
                              << " writers, late rank " << late << ", point " << late_at;
        }
      }
    }
  }
}

/// A file in memory that is slow, and takes what goes on in the background as late as it may.
class SlowMemory final : public BackEnd {
 public:
  SlowMemory(bool background, bool slow) : background_(background), slow_(slow) {}

  void write(std::span<const Segment> segments, const std::byte* memory, bool) override {
    if (slow_) nap();
    for (const auto& segment : segments) {
      std::copy_n(memory + segment.memory_offset, segment.bytes, room(segment));
    }
  }
  void read(std::span<const Segment> segments, std::byte* memory, bool) override {
    if (slow_) nap();
    for (const auto& segment : segments) {
      std::copy_n(room(segment), segment.bytes, memory + segment.memory_offset);
    }
  }
  void start_write(std::span<const Segment> segments, const std::byte* memory) override {
    if (!background_) return write(segments, memory, false);
    under_variant_.push_back({{segments.begin(), segments.end()}, memory});
  }
  void finish_all_but(int writes) override {
    while (std::ssize(under_variant_) > writes) {
      const auto first = std::move(under_variant_.front());
      under_variant_.erase(under_variant_.begin());
      write(first.segments, first.memory, false);
    }
  }
  bool background() const override { return background_; }
  std::ptrdiff_t size() override { return std::ssize(bytes_); }
  void flush() override {}
  void close() override {}

 private:
  struct Write {
    std::vector<Segment> segments;
    const std::byte* memory;
  };
  std::byte* room(const Segment& segment) {
    bytes_.resize(std::max(bytes_.size(), static_cast<std::size_t>(segment.file_end())));
    return bytes_.data() + segment.file_offset;
  }

  bool background_, slow_;
  std::vector<std::byte> bytes_;
  std::vector<Write> under_variant_;
};

TEST_F(LateRankInFile, HoldsUpTheEngineOfTwoPhases) {
  const bool one_node = comm_.node().num_ranks() == comm_.num_ranks();
  for (const auto movement : {Movement::node, Movement::messages}) {
    if (movement == Movement::node && !one_node) continue;
    for (const auto& writers : writer_sets(comm_.num_ranks())) {
      TwoPhaseShape shape;
      shape.writers = writers;
      shape.alignment = Alignment::even;
      shape.buffer_bytes = buffer_bytes;
      shape.movement = movement;
      TwoPhase engine(comm_, shape);
      Data data(runs_of(comm_, writers.size() % 2 == 1));
      int run = 0;
      for (int late = 0; late < comm_.num_ranks(); ++late) {
        const bool is_late = comm_.rank() == late;
        for (const bool background : {false, true}) {
          SlowMemory file(background, is_late);
          auto* own = engine.is_writer() ? &file : nullptr;
          std::ptrdiff_t wrong = 0;
          bool failed = false;
          for (int again = 0; again < 3; ++again) {
            data.fill(++run);
            if (is_late) nap();
            failed = failed || engine.write(data.part, data.bytes.data(), own).has_value();
            data.spoil();
            MPI_Barrier(comm_.raw());
            if (is_late) nap();
            failed = failed || engine.read(data.part, data.bytes.data(), own).has_value();
            wrong += data.num_wrong(run);
            MPI_Barrier(comm_.raw());
          }
          EXPECT_FALSE(failed);
          EXPECT_EQ(wrong, 0) << writers.size() << " writers, late rank " << late
                              << (background ? ", in the background" : "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace tailrace::file
