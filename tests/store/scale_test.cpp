// SPDX-License-Identifier: BSD-3-Clause
// What an `Output` of 16,384 and of 65,536 ranks plans, on one process: who writes which boxes,
// where each rank's data goes, and the metadata of the file. Sizes and numbers of pieces grow with
// the ranks, not with their square, and offsets exceed 2^31.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "layout/holes.hpp"
#include "store/file_image.hpp"
#include "store/write_plan.hpp"
#include "store/writer_part.hpp"
#include "tailrace/more/plan.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t mib = 1 << 20;
constexpr std::ptrdiff_t item = 8;

std::ptrdiff_t allocated() {
  const auto info = mallinfo2();
  return static_cast<std::ptrdiff_t>(info.uordblks + info.hblkhd);
}

/// A job of `side` x 32 x 32 ranks, each with a block of 64 x 64 x 64 items (2 MiB), or larger.
struct Job {
  int side = 16;
  std::ptrdiff_t edge = 64;
  int num_ranks() const { return side * 32 * 32; }
  Layout layout() const {
    const std::array<std::ptrdiff_t, 3> extents{side * edge, 32 * edge, 32 * edge};
    const std::array<int, 3> grid{side, 32, 32};
    return blocks(extents, grid);
  }
  double bytes() const {
    return static_cast<double>(num_ranks()) * static_cast<double>(edge * edge * edge * item);
  }
};

/// 64 writers; `kind` says how the file is divided between them.
WritePlan plan_of(const std::string& kind, int num_ranks) {
  WritePlan plan;
  plan.stripe_bytes = mib;
  plan.settings.cb_align = file::Alignment::stripe;
  const int step = num_ranks / 64;
  for (int writer = 0; writer < 64; ++writer) plan.writers.push_back(writer * step);
  if (kind == "even") plan.settings.cb_align = file::Alignment::even;
  if (kind == "owner") plan.settings.cb_align = file::Alignment::owner;
  plan.rows = kind == "rows";
  if (kind == "grouped") {
    for (int rank = 0; rank < num_ranks; ++rank) plan.writer_of.push_back(rank / step * step);
  }
  return plan;
}

struct Planned {
  std::ptrdiff_t pieces = 0;  ///< that all ranks send
  std::ptrdiff_t most = 0;    ///< of them, of one rank
  std::ptrdiff_t rows = 0;    ///< of the tables of checksums
  std::ptrdiff_t memory = 0;  ///< that the plans of one rank keep
  std::ptrdiff_t header = 0;  ///< bytes of metadata that rank 0 writes
  std::ptrdiff_t total = 0;   ///< bytes of the file
};

/// Plans the output of all ranks, one after the other, and the file.
Planned plan_output(const std::string& kind, const Job& job) {
  Planned found;
  const auto before = allocated();
  const auto layout = job.layout();
  const auto plan = plan_of(kind, layout.num_ranks());
  EXPECT_FALSE(has_holes(layout));
  const auto domains = layout_of_writers(plan, layout, item);
  DatasetShape dataset{"u", ItemType::float64, 3, layout.global_extents(), false};
  double written = 0;
  for (const int writer : plan.writers) {
    const auto boxes = domains.boxes(writer);
    for (const auto& box : boxes) {
      dataset.by_box = dataset.by_box || rows_of(box, dataset).num_axes > 0;
      written += static_cast<double>(box.num_items()) * item;
    }
  }
  EXPECT_EQ(written, job.bytes()) << kind;
  // As each rank does it: the parts of all writers.
  std::vector<WriterPart> parts(plan.writers.size());
  std::ptrdiff_t box_rows = 0;
  for (std::size_t w = 0; w < parts.size(); ++w) {
    parts[w].datasets.push_back(dataset);
    add_boxes(parts[w], 0, domains.boxes(plan.writers[w]));
    for (const auto& run : parts[w].runs) found.rows += num_pieces(run.start_bytes, run.bytes);
    for (const auto& run : parts[w].boxes) box_rows += std::ssize(run.checksums);
  }
  found.memory = allocated() - before;
  std::ptrdiff_t received = 0;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) {
    const Plan moved(layout, domains, rank);
    const auto sends = std::ssize(moved.sends());
    found.pieces += sends;
    found.most = std::max(found.most, sends);
    received += std::ssize(moved.receives());
  }
  EXPECT_EQ(found.pieces, received) << kind;
  FileContents contents;
  contents.variables.push_back({"u", ItemType::float64, {}, &layout, {}, nullptr});
  FileImage image;
  build_image(contents,
              {.alignment = plan.alignment(),
               .stripe_bytes = plan.stripe_bytes,
               .table_rows = found.rows,
               .box_rows = box_rows > 0 ? box_rows : -1},
              image);
  found.rows += box_rows;
  found.header = std::ssize(image.bytes);
  found.total = image.total_bytes;
  EXPECT_GE(static_cast<double>(image.total_bytes), job.bytes());
  EXPECT_EQ(image.data_offsets[0] % plan.alignment(), 0);
  std::printf(
      "PERF label=output_plan.%s ranks=%d pieces=%td most=%td rows=%td memory=%td header=%td\n",
      kind.c_str(), layout.num_ranks(), found.pieces, found.most, found.rows, found.memory,
      found.header);
  return found;
}

class OutputAtScale : public testing::TestWithParam<const char*> {};

TEST_P(OutputAtScale, GrowsWithTheRanksAndNotWithTheirSquare) {
  const std::string kind = GetParam();
  const auto some = plan_output(kind, {.side = 16});
  const auto all = plan_output(kind, {.side = 64});
  EXPECT_GT(all.total, std::ptrdiff_t{1} << 37);
  const std::ptrdiff_t grown = 4, slack = 5;
  EXPECT_LE(all.pieces, slack * some.pieces);
  EXPECT_LE(all.rows, slack * some.rows);
  // 64 writers have the same number of boxes or four times as many; a rank has no more pieces.
  EXPECT_LE(all.memory, slack * some.memory);
  EXPECT_LE(all.most, grown * some.most);
  EXPECT_LE(all.memory, 128 * mib);
  EXPECT_LE(all.header, mib);
}

INSTANTIATE_TEST_SUITE_P(Strategies, OutputAtScale,
                         testing::Values("even", "stripe", "owner", "rows", "grouped"),
                         [](const auto& one) { return std::string(one.param); });

// 8.8 TB: shares that follow the bytes have as few boxes as for small files.
TEST(OutputAtScale, OfTerabytesIsPlannedInTheSameMemory) {
  for (const char* kind : {"even", "stripe", "rows", "grouped"}) {
    const auto large = plan_output(kind, {.side = 64, .edge = 256});
    EXPECT_GT(large.total, std::ptrdiff_t{1} << 43);
    EXPECT_LE(large.header, mib);
    EXPECT_LE(large.memory, 128 * mib) << kind;
  }
}

}  // namespace
}  // namespace tailrace::store
