// SPDX-License-Identifier: BSD-3-Clause
// What is particular about the back ends that serve comparison; what they share with the others is
// tested with those.
#include "file_back_ends/mpi_types.hpp"
#include "file/back_ends/back_end_fixture.hpp"

namespace tailrace::file {
namespace {

using MpiIo = BackEndTest;

TEST(Slice, CountsInTheOrderOfTheFile) {
  const std::vector<Segment> segments{{100, 7, 10}, {200, 50, 5}, {300, 0, 7}};
  const auto middle = slice(segments, 4, 17);
  ASSERT_EQ(middle.size(), 3U);
  EXPECT_EQ(middle[0].file_offset, 104);
  EXPECT_EQ(middle[0].memory_offset, 11);
  EXPECT_EQ(middle[0].bytes, 6);
  EXPECT_EQ(middle[1].bytes, 5);
  EXPECT_EQ(middle[2].file_offset, 300);
  EXPECT_EQ(middle[2].bytes, 2);
  EXPECT_TRUE(slice(segments, 22, 30).empty());
  EXPECT_FALSE(dense_in_memory(segments));
  EXPECT_TRUE(dense_in_memory(std::vector<Segment>{{5, 2, 3}, {50, 5, 1}}));
}

// Runs, arrays and later bytes in one file of datasets.
TEST_F(MpiIo, Hdf5KeepsAllBytesInDatasets) {
  const auto& entry = find_back_end("hdf5");
  if (!entry.available()) GTEST_SKIP() << "no parallel HDF5";
  const auto r = comm.rank();
  const auto n = comm.num_ranks();
  const FileArray array{80 * n, {n, 5, 4}, 4};
  const Box box{3, {r, 0, 0}, {1, 5, 4}};
  const auto boxes = FilePart::boxes(array, {box}, Memory::dense({box}));
  const auto before = FilePart::runs(std::vector<FileRun>{{r * 80, 80}});
  const auto after = FilePart::runs(std::vector<FileRun>{{160 * n + r * 10, 10}});
  auto file = open(entry, "sets", FileAccess::write, comm);
  for (const auto* part : {&before, &boxes, &after}) {
    file->write_all(*part, filled(FilePart::Data::of(*part).segments()).data());
  }
  file->close();
  file = open(entry, "sets", FileAccess::read, comm);
  const auto whole = FilePart::runs(std::vector<FileRun>{{0, 170 * n}});
  Bytes back(static_cast<std::size_t>(whole.bytes()));
  file->read_part(whole, back.data());
  EXPECT_TRUE(back == filled(FilePart::Data::of(whole).segments()));
  const auto cut = FilePart::runs(std::vector<FileRun>{{80 * n + 2, 4}});
  EXPECT_THROW(file->read_part(cut, back.data()), Error) << "items of 4 bytes are not cut";
  file->close();
}

}  // namespace
}  // namespace tailrace::file
