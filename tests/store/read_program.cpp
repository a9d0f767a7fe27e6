// SPDX-License-Identifier: BSD-3-Clause
// Reads files in several ways, for check_groups.py, which counts system calls, and
// check_foreign.py:
//   make FILE             writes the array `index` (1D, 6.4 MB)
//   open FILE GROUP       opens it, with groups of GROUP ranks
//   all FILE GROUP        every rank gets the whole array
//   part FILE GROUP       every rank gets its own part
//   all_alone FILE        every rank reads the whole array by itself
//   part_alone FILE       every rank reads its own part by itself
//   counting FILE NAME FIRST   every rank gets slabs of NAME, whose items must count up from FIRST
// Prints "opens reads bytes" summed over the ranks; the exit status is 1 if data is wrong.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mpi_program.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {
namespace {

constexpr std::ptrdiff_t num_items = 800003;

void make(const Comm& comm, const std::string& path) {
  const auto layout = slabs({num_items}, 0, comm.num_ranks());
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  std::vector<std::int64_t> data;
  for (std::ptrdiff_t i = 0; i < memory.num_items; ++i) {
    data.push_back(3 * (layout.boxes(comm.rank())[0].start[0] + i));
  }
  FileContents contents;
  contents.variables = {{"index", ItemType::int64, {"i"}, &layout, memory, data.data(), {}}};
  OutputOptions options;
  options.servers = "none";
  options.writers = 1;
  Output(comm, options).write(path, contents);
}

// Whether `data` holds the items from `start` on.
bool right(const std::vector<std::int64_t>& data, std::ptrdiff_t start) {
  for (const auto item : data) {
    if (item != 3 * start++) return false;
  }
  return true;
}

bool read_all(const Input& input) {
  std::vector<std::int64_t> data(num_items);
  input.read_all("index", ItemType::int64, data.data());
  return right(data, 0);
}

// `rank` of the layout gets its part; the layout is for the ranks of the input.
bool read_part(const Input& input, const Layout& layout, int rank) {
  const auto boxes = layout.boxes(rank);
  const auto memory = Memory::dense(boxes);
  std::vector<std::int64_t> data(static_cast<std::size_t>(memory.num_items));
  input.read("index", ItemType::int64, layout, memory, data.data());
  return right(data, boxes[0].start[0]);
}

int read_counting(const Comm& comm, const std::string& path, const std::string& name, int first) {
  const Input input(comm, path);
  const auto extents = input.extents(name);
  std::ptrdiff_t wrong = 0;
  for (int axis = 0; axis < static_cast<int>(extents.size()); ++axis) {
    const auto layout = slabs(extents, axis, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    input.read(name, ItemType::float64, layout, memory, data.data());
    wrong += store_test::num_wrong(data, layout, memory, comm.rank(), first);
  }
  return wrong == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  const Comm comm(MPI_COMM_WORLD);
  const Comm self(MPI_COMM_SELF);
  const std::string command = argv[1], path = argv[2];
  if (command == "counting") return read_counting(comm, path, argv[3], std::atoi(argv[4]));
  if (command == "make") {
    make(comm, path);
    return 0;
  }
  const bool alone = command.ends_with("_alone");
  InputOptions options;
  options.group_size = argc > 3 ? std::atoi(argv[3]) : 0;
  const Input input(alone ? self : comm, path, options);
  const auto parts = slabs({num_items}, 0, comm.num_ranks());
  bool good = true;
  if (command == "all" || command == "all_alone") good = read_all(input);
  if (command == "part") good = read_part(input, parts, comm.rank());
  if (command == "part_alone") {
    const auto mine = from_boxes({num_items}, {parts.boxes(comm.rank())});
    good = read_part(input, mine, 0);
  }
  const auto own = input.statistics();
  std::int64_t counts[] = {own.opens, own.reads, own.bytes_read};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_INT64_T, MPI_SUM, comm.raw()));
  if (comm.rank() == 0) std::printf("%ld %ld %ld\n", counts[0], counts[1], counts[2]);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  return tailrace::mpi_main("read_program", argc, argv, [](int count, char** words) {
    return count > 2 ? tailrace::run(count, words) : 2;
  });
}
