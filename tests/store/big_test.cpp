// SPDX-License-Identifier: BSD-3-Clause
// Offsets and counts beyond 32 bits, in sparse files: few bytes are written, far out.
#include <fcntl.h>
#include <unistd.h>

#include <numeric>

#include "foreign_file.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace {
namespace {

using namespace store_test;

constexpr std::ptrdiff_t giga = std::ptrdiff_t{1} << 30;

class BigTest : public FolderTest {
 protected:
  /// False where the file system does not keep files of 64 GiB.
  bool sparse_files_work() {
    int works = 0;
    if (comm.rank() == 0) {
      const int fd = open(path("probe").c_str(), O_RDWR | O_CREAT, 0666);
      works = fd >= 0 && ftruncate(fd, 64 * giga) == 0 ? 1 : 0;
      close(fd);
      fs::remove(path("probe"));
    }
    MPI_Bcast(&works, 1, MPI_INT, 0, comm.raw());
    return works == 1;
  }
  /// Writes `part` with bytes that only this rank has, reads it back, and counts wrong bytes.
  std::ptrdiff_t wrong_bytes(const FilePart& part, const Hints& hints) {
    std::vector<unsigned char> written(static_cast<std::size_t>(part.bytes()));
    for (std::size_t i = 0; i < written.size(); ++i) {
      written[i] = static_cast<unsigned char>(7 * i + static_cast<std::size_t>(comm.rank()));
    }
    {
      File file(comm, path("big"), FileAccess::write, hints);
      file.write(part, written.data());
      file.close();
    }
    std::vector<unsigned char> read(written.size(), 0);
    File file(comm, path("big"), FileAccess::read, hints);
    file.read(part, read.data());
    file.close();
    std::ptrdiff_t wrong = 0;
    for (std::size_t i = 0; i < read.size(); ++i) wrong += read[i] != written[i] ? 1 : 0;
    return wrong;
  }
};

TEST_F(BigTest, RunsFarOutByEveryStrategy) {
  if (!sparse_files_work()) GTEST_SKIP() << "no sparse files of 64 GiB here";
  std::vector<FileRun> runs;
  for (const std::ptrdiff_t at :
       {0L, 2 * giga - 300, 4 * giga - 300, 9 * giga, 40 * giga + 12345}) {
    runs.push_back({at + comm.rank() * std::ptrdiff_t{1000}, 1000});
  }
  const auto part = FilePart::runs(runs);
  for (const auto* strategy : {"spokesperson", "shared_independent", "collective", "grouped"}) {
    for (const auto* align : {"0", "1", "2"}) {
      const Hints hints{{"strategy", strategy}, {"cb_align", align}, {"sync", "false"}};
      EXPECT_EQ(wrong_bytes(part, hints), 0) << strategy << ", cb_align " << align;
      MPI_Barrier(comm.raw());
      EXPECT_EQ(fs::file_size(path("big")),
                static_cast<std::uintmax_t>(40 * giga + 12345 + comm.num_ranks() * 1000));
      MPI_Barrier(comm.raw());
    }
  }
}

TEST_F(BigTest, BoxesOfAnArrayOfMoreItemsThanAnInt) {
  if (!sparse_files_work()) GTEST_SKIP() << "no sparse files of 64 GiB here";
  const FileArray array{4096, {3000, 1000, 1000}, 8};  // 3e9 items
  const Box box{3, {2990, 10 * comm.rank(), 980}, {3, 10, 20}};
  const auto part = FilePart::boxes(array, {box}, Memory::dense({box}));
  for (const auto* strategy : {"spokesperson", "shared_independent", "collective", "grouped"}) {
    const Hints hints{{"strategy", strategy}, {"sync", "false"}};
    EXPECT_EQ(wrong_bytes(part, hints), 0) << strategy;
    MPI_Barrier(comm.raw());
  }
}

// 3e9 items of which the last planes are written: `Input` reads those alone.
TEST_F(BigTest, InputOfMoreItemsThanAnInt) {
  if (!sparse_files_work()) GTEST_SKIP() << "no sparse files of 64 GiB here";
  const std::vector<std::ptrdiff_t> extents{3000, 1000, 1000};
  if (comm.rank() == 0) {
    std::ptrdiff_t offset = 0;
    {
      const ForeignFile file(path("a.h5"));
      const auto u = file.make("u", H5T_NATIVE_FLOAT, {3000, 1000, 1000}, [](hid_t create) {
        H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
      });
      offset = static_cast<std::ptrdiff_t>(H5Dget_offset(u.id()));
    }
    std::vector<float> plane(1000 * 1000);
    std::iota(plane.begin(), plane.end(), 0.0F);
    const int fd = open(path("a.h5").c_str(), O_WRONLY);
    EXPECT_EQ(pwrite(fd, plane.data(), 4000000, offset + std::ptrdiff_t{2998} * 4000000), 4000000);
    close(fd);
  }
  MPI_Barrier(comm.raw());
  std::vector<std::vector<Box>> boxes;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    boxes.push_back({{3, {2997, 100 * rank, 0}, {3, 100, 1000}}});
  }
  const auto layout = from_boxes(extents, boxes);
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  std::vector<double> data(static_cast<std::size_t>(memory.num_items), -1);
  const Input input(comm, path("a.h5"));
  EXPECT_EQ(input.extents("u"), extents);
  input.read("u", ItemType::float64, layout, memory, data.data());
  std::ptrdiff_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto z = i / 100000;
    const auto first = 100000.0 * comm.rank();
    wrong += data[i] != (z == 1 ? first + static_cast<double>(i % 100000) : 0.0) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(input.total_statistics().bytes_read, 16 << 20);
}

}  // namespace
}  // namespace tailrace
