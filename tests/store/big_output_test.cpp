// SPDX-License-Identifier: BSD-3-Clause
// A file of 2.2e9 float32 items, 8.8 GB, written and read whole. Needs as much shared memory and
// disk; skips where there is less.
#include <sys/statvfs.h>

#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/verify.hpp"

namespace tailrace {
namespace {

using namespace store_test;

class BigOutputTest : public FolderTest {
 protected:
  static bool has_room(const std::string& folder, double bytes) {
    struct statvfs status {};
    return statvfs(folder.c_str(), &status) == 0 &&
           static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize) > bytes;
  }
  static bool has_memory(double bytes) {
    return static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) *
               static_cast<double>(sysconf(_SC_PAGESIZE)) >
           bytes;
  }
};

TEST_F(BigOutputTest, MoreThanFourGiBAndMoreItemsThanAnInt) {
  const std::vector<std::ptrdiff_t> extents{2100, 1024, 1024};
  const double bytes = 2100.0 * 1024 * 1024 * 4;
  int room = has_room(folder.string(), 1.1 * bytes) && has_room("/dev/shm", 1.1 * bytes) &&
                     has_memory(1.2 * bytes)
                 ? 1
                 : 0;
  MPI_Bcast(&room, 1, MPI_INT, 0, comm.raw());
  if (room == 0) GTEST_SKIP() << "needs 10 GB of disk, of /dev/shm and of memory";
  // Item (z, y, x) is number z + y + x of a short array: strides of 1 along each axis.
  const auto layout = slabs(extents, 0, comm.num_ranks());
  const auto box = layout.boxes(comm.rank()).front();
  Memory memory;
  memory.boxes = {{0, {1, 1, 1}}};
  memory.num_items = box.extents[0] + box.extents[1] + box.extents[2];
  std::vector<float> items(static_cast<std::size_t>(memory.num_items));
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = static_cast<float>(box.start[0]) + static_cast<float>(i);
  }
  FileContents contents;
  contents.variables = {
      {"u", ItemType::float32, {"z", "y", "x"}, &layout, memory, items.data(), {}}};
  OutputOptions options;
  options.servers = "none";
  Output(comm, options).write(path("big.h5"), contents);
  EXPECT_GT(fs::file_size(path("big.h5")), std::uintmax_t{8} << 30);

  const auto report = verify_file(comm, path("big.h5"));
  EXPECT_FALSE(report.damaged());
  if (comm.rank() == 0) {
    EXPECT_EQ(report.datasets.at(0).bytes, static_cast<std::ptrdiff_t>(bytes));
  }
  // Planes before, at and behind item 2^31, which is in plane 2048.
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
  for (const std::ptrdiff_t z : {0, 1023, 1024, 2047, 2048, 2099}) {
    boxes[static_cast<std::size_t>(z % comm.num_ranks())].push_back(
        {3, {z, 0, 0}, {1, 1024, 1024}});
  }
  const auto wanted = from_boxes(extents, boxes);
  const auto mine = wanted.boxes(comm.rank());
  const auto dense = Memory::dense(mine);
  std::vector<float> data(static_cast<std::size_t>(dense.num_items));
  const Input input(comm, path("big.h5"));
  input.read("u", ItemType::float32, wanted, dense, data.data());
  std::ptrdiff_t wrong = 0;
  for_each_item(wanted, dense, comm.rank(), [&](const Index& place, std::ptrdiff_t item) {
    const auto right = static_cast<float>(place[0] + place[1] + place[2]);
    wrong += data[static_cast<std::size_t>(item)] != right ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(input.total_statistics().bytes_read, std::ptrdiff_t{12} << 22);
}

}  // namespace
}  // namespace tailrace
