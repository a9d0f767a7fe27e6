// SPDX-License-Identifier: BSD-3-Clause
// The index of `file_per_rank`, and its files read by any number of ranks.
#include <cerrno>

#include "file/back_ends/back_end_fixture.hpp"
#include "file/strategies/pieces.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::file {
namespace {

using Rows = std::vector<PieceRow>;

TEST(PieceRows, NeighboursAreJoined) {
  Rows rows{{0, 10, 1, 100}, {10, 5, 1, 110}, {15, 5, 2, 115}, {20, 5, 2, 130}};
  join_rows(rows);
  EXPECT_EQ(rows, (Rows{{0, 15, 1, 100}, {15, 5, 2, 115}, {20, 5, 2, 130}}));
}

TEST(PieceRows, LaterOnesWin) {
  Rows rows{{0, 100, 0, 0}, {200, 50, 1, 0}};
  overlay_rows(rows, Rows{{40, 20, 2, 7}});
  EXPECT_EQ(rows, (Rows{{0, 40, 0, 0}, {40, 20, 2, 7}, {60, 40, 0, 60}, {200, 50, 1, 0}}));
  overlay_rows(rows, Rows{{30, 200, 3, 0}, {100, 10, 4, 5}});
  EXPECT_EQ(
      rows,
      (Rows{{0, 30, 0, 0}, {30, 70, 3, 0}, {100, 10, 4, 5}, {110, 120, 3, 80}, {230, 20, 1, 30}}));
}

TEST(PieceRows, AreFoundForSegments) {
  const Rows rows{{0, 10, 0, 5}, {10, 10, 1, 0}, {30, 10, 0, 15}};
  const auto plan = find_pieces(rows, std::vector<Segment>{{5, 0, 30}}, "file");
  ASSERT_EQ(plan.pieces.size(), 2U);
  ASSERT_EQ(plan.pieces[0].segments.size(), 2U);
  EXPECT_EQ(plan.pieces[0].segments[0].file_offset, 10);
  EXPECT_EQ(plan.pieces[0].segments[1].memory_offset, 25);
  ASSERT_EQ(plan.holes.size(), 1U);
  EXPECT_EQ(plan.holes[0].memory_offset, 15);
  EXPECT_EQ(plan.holes[0].bytes, 10);
  EXPECT_THROW(find_pieces(rows, std::vector<Segment>{{35, 0, 6}}, "file"), Error);
  EXPECT_THROW(find_pieces({}, std::vector<Segment>{{0, 0, 1}}, "file"), Error);
}

class Pieces : public BackEndTest {
 protected:
  const Hints hints{{"strategy", "file_per_rank"}};

  void write_file() {
    File file(comm, path("file"), FileAccess::write, hints);
    const auto part = own_part();
    file.write(part, filled(FilePart::Data::of(part).segments()).data());
    file.close();
  }
  FilePart own_part() const {
    std::vector<FileRun> runs;
    for (int i = 0; i < 40; ++i) {
      runs.push_back({(i * comm.num_ranks() + comm.rank()) * 1000, 1000});
    }
    return FilePart::runs(runs);
  }
  std::string error_of_reading() {
    try {
      File file(comm, path("file"), FileAccess::read, hints);
      const auto part = own_part();
      Bytes back(static_cast<std::size_t>(part.bytes()));
      file.read(part, back.data());
    } catch (const Error& error) {
      code = error.code();
      return error.what();
    }
    return "nothing was thrown";
  }
  Errc code = Errc::internal;
};

TEST_F(Pieces, OneRankReadsWhatAllWrote) {
  write_file();
  EXPECT_TRUE(std::filesystem::exists(piece_path(path("file"), comm.rank())));
  EXPECT_EQ(std::filesystem::file_size(piece_path(path("file"), comm.rank())), 40000U);
  const auto whole = FilePart::runs(std::vector<FileRun>{{0, 40000 * comm.num_ranks()}});
  Bytes back(static_cast<std::size_t>(whole.bytes()));
  File file(self, path("file"), FileAccess::read);  // what it is shows itself
  file.read(whole, back.data());
  file.close();
  EXPECT_TRUE(back == filled(FilePart::Data::of(whole).segments()));
}

TEST_F(Pieces, UpdateByOtherRanksWinsAndAnEmptiedFileIsEmpty) {
  write_file();
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) {
    File file(self, path("file"), FileAccess::update, hints);
    const Bytes twos(3000, std::byte{2});
    file.write(FilePart::runs(std::vector<FileRun>{{500, 3000}}), twos.data());
    Bytes seen(3002);
    file.read(FilePart::runs(std::vector<FileRun>{{499, 3002}}), seen.data());
    EXPECT_EQ(seen.front(), content(499));
    EXPECT_EQ(seen[1], std::byte{2});
    EXPECT_EQ(seen[3000], std::byte{2});
    EXPECT_EQ(seen.back(), content(3500));
    file.close();
  }
  MPI_Barrier(comm.raw());
  const auto part = FilePart::runs(std::vector<FileRun>{{400, 4000}});
  Bytes back(4000);
  {
    File file(comm, path("file"), FileAccess::read, hints);
    file.read(part, back.data());
    file.close();
  }
  for (std::ptrdiff_t i = 0; i < 4000; ++i) {
    const auto at = 400 + i;
    ASSERT_EQ(back[static_cast<std::size_t>(i)],
              at >= 500 && at < 3500 ? std::byte{2} : content(at));
  }
  {
    File file(comm, path("file"), FileAccess::write, hints);
    file.close();
  }
  EXPECT_FALSE(std::filesystem::exists(piece_path(path("file"), comm.rank())));
  EXPECT_NE(error_of_reading().find("ends at byte 0"), std::string::npos);
}

TEST_F(Pieces, DamageIsNamed) {
  EXPECT_NE(error_of_reading().find("No such file"), std::string::npos);
  EXPECT_EQ(code, Errc::io);
  write_file();
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) std::filesystem::remove(piece_path(path("file"), 0));
  MPI_Barrier(comm.raw());
  const auto missing = error_of_reading();
  EXPECT_NE(missing.find("00000, which the index names, is missing"), std::string::npos) << missing;
  write_file();
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) {
    std::fstream index(path("file"), std::ios::in | std::ios::out | std::ios::binary);
    index.seekp(40);
    index.put('\x7f');
  }
  MPI_Barrier(comm.raw());
  const auto damaged = error_of_reading();
  EXPECT_NE(damaged.find("checksum"), std::string::npos) << damaged;
  EXPECT_EQ(code, Errc::corrupt);
  if (comm.rank() == 0) std::filesystem::resize_file(path("file"), 45);
  MPI_Barrier(comm.raw());
  const auto cut = error_of_reading();
  EXPECT_NE(cut.find("damaged index"), std::string::npos) << cut;
  if (comm.rank() == 0) std::ofstream(path("file")) << "something else, and longer than the line";
  MPI_Barrier(comm.raw());
  const auto other = error_of_reading();
  EXPECT_NE(other.find("is not an index of pieces"), std::string::npos) << other;
  EXPECT_EQ(code, Errc::corrupt);
}

TEST_F(Pieces, ManyMorePiecesThanAreKeptOpen) {
  constexpr int count = 150;
  if (comm.rank() != 0) return;
  make_pieces_folder(path("many"), true);
  Rows rows;
  for (int i = 0; i < count; ++i) {
    std::ofstream(piece_path(path("many"), i)) << static_cast<char>('A' + i % 26);
    rows.push_back({i, 1, i, 0});
  }
  write_pieces_index(path("many"), rows, false);
  File file(self, path("many"), FileAccess::read);
  std::string text(count, ' ');
  for (int repeat = 0; repeat < 2; ++repeat) {
    file.read(FilePart::runs(std::vector<FileRun>{{0, count}}), text.data());
    EXPECT_EQ(text.substr(24, 4), "YZAB");
  }
  EXPECT_GE(file.statistics().opens, count);
  file.close();
}

}  // namespace
}  // namespace tailrace::file
