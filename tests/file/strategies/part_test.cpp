// SPDX-License-Identifier: BSD-3-Clause
// Segments of boxes and runs, against every item visited one by one.
#include "file/part.hpp"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace {
namespace {

using Bytes = std::vector<std::byte>;

// The file that the part makes of `data`, byte by byte.
std::map<std::ptrdiff_t, std::byte> file_of(const FilePart& part, const Bytes& data) {
  const auto& inside = FilePart::Data::of(part);
  Bytes packed(static_cast<std::size_t>(part.bytes()));
  if (inside.packed()) inside.pack(data.data(), packed.data());
  const auto& memory = inside.packed() ? packed : data;
  std::map<std::ptrdiff_t, std::byte> file;
  std::ptrdiff_t last = -1;
  for (const auto& segment : inside.segments()) {
    EXPECT_GE(segment.file_offset, last);
    last = segment.file_end();
    for (std::ptrdiff_t i = 0; i < segment.bytes; ++i) {
      file[segment.file_offset + i] =
          memory.at(static_cast<std::size_t>(segment.memory_offset + i));
    }
  }
  return file;
}

Bytes numbered(std::ptrdiff_t count) {
  Bytes data(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37 + i / 251);
  return data;
}

void check_boxes(const FileArray& array, const std::vector<Box>& boxes, const Memory& memory) {
  const auto item = array.item_bytes;
  const auto data = numbered(memory.num_items * item);
  const auto part = FilePart::boxes(array, boxes, memory);
  std::map<std::ptrdiff_t, std::byte> expected;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto& box = boxes[b];
    const auto dims = static_cast<std::size_t>(box.num_dims);
    for (std::ptrdiff_t i = 0; i < box.num_items(); ++i) {
      std::ptrdiff_t rest = i, in_memory = memory.boxes[b].offset, in_file = 0, step = 1;
      for (auto d = dims; d-- > 0;) {
        const auto at = rest % box.extents[d];
        rest /= box.extents[d];
        in_memory += at * memory.boxes[b].strides[d];
        in_file += (box.start[d] + at) * step;
        step *= array.extents[d];
      }
      for (std::ptrdiff_t k = 0; k < item; ++k) {
        expected[array.offset + in_file * item + k] =
            data[static_cast<std::size_t>(in_memory * item + k)];
      }
    }
  }
  EXPECT_EQ(file_of(part, data), expected);
  EXPECT_EQ(part.bytes(), static_cast<std::ptrdiff_t>(expected.size()));
}

TEST(FilePart, BoxesWithHaloAndPermutedAxes) {
  const FileArray array{100, {5, 6, 7}, 4};
  const Box box{3, {1, 2, 3}, {3, 4, 2}};
  const std::vector<std::ptrdiff_t> halo{1, 0, 2};
  for (const std::vector<int>& order :
       {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 0, 2}, std::vector{0, 2, 1}}) {
    check_boxes(array, {box}, Memory::ordered(box, order, halo));
    check_boxes(array, {box}, Memory::ordered(box, order));
  }
}

TEST(FilePart, WholeArrayIsOneSegment) {
  const Box box{3, {}, {5, 6, 7}};
  const auto part = FilePart::boxes({64, {5, 6, 7}, 8}, {box}, Memory::dense({box}));
  ASSERT_EQ(FilePart::Data::of(part).segments().size(), 1U);
  EXPECT_EQ(FilePart::Data::of(part).segments()[0].file_offset, 64);
  EXPECT_EQ(FilePart::Data::of(part).segments()[0].bytes, 5 * 6 * 7 * 8);
}

TEST(FilePart, WholeRowsAreOneSegmentAPlane) {
  const Box box{3, {0, 2, 0}, {5, 3, 7}};
  const auto part = FilePart::boxes({0, {5, 6, 7}, 8}, {box}, Memory::dense({box}));
  EXPECT_EQ(FilePart::Data::of(part).segments().size(), 5U);
}

TEST(FilePart, SeveralBoxesInAnyOrder) {
  const std::vector<Box> boxes{{2, {3, 0}, {2, 4}}, {2, {0, 4}, {3, 2}}, {2, {0, 0}, {1, 4}}};
  check_boxes({0, {5, 6}, 2}, boxes, Memory::dense(boxes));
}

TEST(FilePart, RunsKeepTheOrderOfMemory) {
  const std::vector<FileRun> runs{{50, 5}, {10, 7}, {17, 3}, {90, 0}};
  const auto data = numbered(15);
  const auto part = FilePart::runs(runs);
  const auto file = file_of(part, data);
  ASSERT_EQ(file.size(), 15U);
  EXPECT_EQ(file.at(50), data[0]);
  EXPECT_EQ(file.at(10), data[5]);
  EXPECT_EQ(file.at(19), data[14]);
  EXPECT_EQ(FilePart::Data::of(part).segments().size(), 2U);  // 10 to 19 is one piece on both sides
}

TEST(FilePart, RunsOfMemoryWithGaps) {
  const std::vector<FileRun> runs{{50, 5}, {10, 7}, {17, 3}}, memory{{2, 8}, {10, 0}, {20, 9}};
  const auto data = numbered(30);
  const auto part = FilePart::runs(runs, memory);
  EXPECT_EQ(part.bytes(), 15);
  const auto file = file_of(part, data);
  const std::vector<std::pair<std::ptrdiff_t, std::size_t>> right{
      {50, 2}, {54, 6}, {10, 7}, {12, 9}, {13, 20}, {16, 23}, {17, 24}, {19, 26}};
  for (const auto& [at, from] : right) EXPECT_EQ(file.at(at), data[from]) << at;
  EXPECT_EQ(FilePart::Data::of(part).segments().size(), 3U);  // 10, 13 to 19, 50
  const std::vector<FileRun> little{{0, 7}};
  EXPECT_EQ(FilePart::runs(runs, little).bytes(), 7);
}

TEST(FilePart, SomeOfTheSegments) {
  const std::vector<FileRun> runs{{0, 5}, {10, 7}, {20, 5}};
  const auto part = FilePart::runs(runs);
  const auto some =
      FilePart::Data::part_of(part, [](const file::Segment& piece) { return piece.bytes < 7; });
  EXPECT_EQ(some.bytes(), 10);
  const auto segments = FilePart::Data::of(some).segments();
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_EQ(segments[1].file_offset, 20);
  EXPECT_EQ(segments[1].memory_offset, 12);
}

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    return error.what();
  }
  return "";
}

TEST(FilePart, RefusesWhatCannotBe) {
  const std::vector<FileRun> twice{{0, 10}, {9, 2}};
  EXPECT_NE(message_of([&] { FilePart::runs(twice); }).find("byte 9 of the file is in it twice"),
            std::string::npos);
  const std::vector<FileRun> negative{{-1, 10}};
  EXPECT_NE(message_of([&] { FilePart::runs(negative); }).find("at byte -1"), std::string::npos);
  const Box outside{2, {0, 3}, {2, 4}};
  EXPECT_NE(message_of([&] {
              FilePart::boxes({0, {5, 6}, 8}, {outside}, Memory::dense({outside}));
            }).find("does not lie in the array"),
            std::string::npos);
}

}  // namespace
}  // namespace tailrace
