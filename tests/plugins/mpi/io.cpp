// SPDX-License-Identifier: BSD-3-Clause
// Random programs of MPI-IO - views of every make, gaps in memory, pointers and offsets, reads
// beyond the end - done twice: by MPI's names, before which a library of ours may stand, and by
// PMPI's. What is read, counts, pointers and the bytes of both files must be the same.
//
//   io_program random FOLDER [SEED [PROGRAMS]]   the comparison
//   io_program time FOLDER ROWS COLUMNS STEPS [MS]  seconds of writing columns of a shared array,
//                                                after MS of computation each
//   io_program read FOLDER ROWS COLUMNS STEPS    seconds of reading them, from the page cache
//
// With TAILRACE_IO=hidden every other file is only written, and some data is written or read once
// more by independent calls. What several ranks write is ordered as MPI asks for, by MPI_File_sync.
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "drawn_calls.hpp"
#include "drawn_views.hpp"

namespace {

bool is_way(const char* name) {
  const char* way = std::getenv("TAILRACE_IO");
  return way != nullptr && std::string(way) == name;
}

// The same file twice.
struct Pair {
  MPI_File ours = MPI_FILE_NULL, theirs = MPI_FILE_NULL;
};

void check(bool right, const char* what, const World& world) {
  ++num_compared;
  if (right) return;
  ++num_wrong;
  std::fprintf(stderr, "rank %d of %d: %s differ from MPI's\n", world.rank, world.size, what);
}

struct Step {
  bool writes, at_offset;
  MPI_Offset offset;
  int count;
  MPI_Datatype type;
};

int run(MPI_File file, const Step& step, Bytes& data, MPI_Status* status, bool own) {
  void* at = data.data();
  const int n = step.count;
  if (!own) {
    if (!step.writes) {
      return step.at_offset ? PMPI_File_read_at_all(file, step.offset, at, n, step.type, status)
                            : PMPI_File_read_all(file, at, n, step.type, status);
    }
    return step.at_offset ? PMPI_File_write_at_all(file, step.offset, at, n, step.type, status)
                          : PMPI_File_write_all(file, at, n, step.type, status);
  }
  if (!step.writes) {
    return step.at_offset ? MPI_File_read_at_all(file, step.offset, at, n, step.type, status)
                          : MPI_File_read_all(file, at, n, step.type, status);
  }
  return step.at_offset ? MPI_File_write_at_all(file, step.offset, at, n, step.type, status)
                        : MPI_File_write_all(file, at, n, step.type, status);
}

void compare_step(const Pair& files, const Step& step, const World& world, int call) {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(step.type, &low, &extent);
  Bytes ours = filled(static_cast<std::size_t>(extent * step.count) + 16, world.rank, call);
  Bytes theirs = ours;
  MPI_Status status[2] = {};  // ROMIO leaves that of nothing as it was
  const int codes[2] = {run(files.ours, step, ours, &status[0], true),
                        run(files.theirs, step, theirs, &status[1], false)};
  check((codes[0] == MPI_SUCCESS) == (codes[1] == MPI_SUCCESS), "codes", world);
  int counts[2] = {};
  MPI_Get_elements(&status[0], MPI_BYTE, &counts[0]);
  MPI_Get_elements(&status[1], MPI_BYTE, &counts[1]);
  check(counts[0] == counts[1], step.writes ? "counts of a write" : "counts of a read", world);
  check(ours == theirs, "data in memory", world);
  MPI_Offset places[2] = {};
  MPI_File_get_position(files.ours, &places[0]);
  MPI_File_get_position(files.theirs, &places[1]);
  check(places[0] == places[1], "file pointers", world);
  MPI_Barrier(world.comm);  // else one rank may read what another one is still writing
}

// Some of what a rank has just written is written once more, by an independent call.
void write_again(const Pair& files, const Step& step, const World& world, int call) {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(step.type, &low, &extent);
  const int n = std::min(step.count, 3);
  const Bytes data = filled(static_cast<std::size_t>(extent * n) + 16, world.rank, call);
  MPI_File_write_at(files.ours, step.offset, data.data(), n, step.type, MPI_STATUS_IGNORE);
  PMPI_File_write_at(files.theirs, step.offset, data.data(), n, step.type, MPI_STATUS_IGNORE);
}

// Some of the same place is read by an independent call.
void read_again(const Pair& files, const Step& step, const World& world) {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(step.type, &low, &extent);
  const int n = std::min(step.count, 3);
  Bytes ours = filled(static_cast<std::size_t>(extent * n) + 16, world.rank, 1);
  Bytes theirs = ours;
  MPI_File_read_at(files.ours, step.offset, ours.data(), n, step.type, MPI_STATUS_IGNORE);
  PMPI_File_read_at(files.theirs, step.offset, theirs.data(), n, step.type, MPI_STATUS_IGNORE);
  check(ours == theirs, "data of an independent read", world);
  MPI_Barrier(world.comm);
}

void sync_both(const Pair& files) {
  MPI_File_sync(files.ours);
  PMPI_File_sync(files.theirs);
}

Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  Bytes bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Views of some steps each; then the bytes of both files.
void compare_program(const World& world, Dice& dice, const std::string& folder, int program) {
  const std::string paths[2] = {folder + "/ours.dat", folder + "/theirs.dat"};
  // Longer than anything that is read: what MPI's say of a read beyond the end differs.
  if (world.rank == 0) {
    for (const auto& path : paths)
      std::ofstream(path, std::ios::binary) << std::string(1 << 22, 'z');
  }
  MPI_Barrier(world.comm);
  Pair files;
  const bool hidden = is_way("hidden");
  const bool is_only_written = hidden && program % 2 == 0;
  const int mode = MPI_MODE_CREATE | (is_only_written ? MPI_MODE_WRONLY : MPI_MODE_RDWR);
  MPI_File_open(world.comm, paths[0].c_str(), mode, MPI_INFO_NULL, &files.ours);
  PMPI_File_open(world.comm, paths[1].c_str(), mode, MPI_INFO_NULL, &files.theirs);
  const int num_views = 1 + dice.below(3);
  for (int v = 0; v < num_views; ++v) {
    Made three, view, items;
    MPI_Datatype unit = three.type = MPI_INT;
    if (dice.below(3) == 0) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(3, MPI_SHORT, &type);
      unit = three.add(type);
    }
    // A read may show this rank what another one has written.
    const World shown{world.comm, (world.rank + v) % world.size, world.size};
    make_view(view, dice, shown, unit);
    const bool whole = view.type == unit;
    const MPI_Offset start = dice.below(3) * 7;
    MPI_File_set_view(files.ours, start, unit, view.type, "native", MPI_INFO_NULL);
    PMPI_File_set_view(files.theirs, start, unit, view.type, "native", MPI_INFO_NULL);
    const MPI_Datatype type = make_items(items, dice, unit);
    int size = 0, unit_size = 0;
    MPI_Type_size(type, &size);
    MPI_Type_size(unit, &unit_size);
    const int per_item = size / unit_size;
    // In a long row of calls that MPI makes as fast, most go there unasked.
    const int num_steps = program == 0 && is_way("measured") ? 40 : 1 + dice.below(4);
    for (int s = 0; s < num_steps; ++s) {
      Step step{dice.below(3) != 0, dice.below(2) == 0, 0, dice.below(40), type};
      if ((s == 0 && v == 0) || is_only_written) step.writes = true;
      // Of a view of the whole file each rank takes its own part; counts may differ.
      const int most = step.count;
      step.offset = dice.below(20);
      if (whole) step.at_offset = true;
      if (whole) step.offset += MPI_Offset{shown.rank} * most * per_item;
      if (most > 0 && dice.below(4) == 0) step.count = (most + world.rank * 7) % (most + 1);
      compare_step(files, step, world, 100 * program + 10 * v + s);
      const int again = hidden && step.at_offset ? dice.below(3) : 2;
      if (again == 0 && step.writes)
        write_again(files, step, world, 100 * program + 10 * v + s + 5);
      if (again == 1 && !is_only_written) read_again(files, step, world);
      if (hidden && whole) sync_both(files);
    }
    if (hidden) sync_both(files);
    MPI_Barrier(world.comm);
  }
  MPI_File_close(&files.ours);
  PMPI_File_close(&files.theirs);
  MPI_Barrier(world.comm);
  if (world.rank == 0) check(bytes_of(paths[0]) == bytes_of(paths[1]), "files", world);
}

// Ranks take turns of ints in a file that ends in the middle: what is there is read and counted.
void read_beyond_the_end(const World& world, const std::string& folder) {
  const std::string path = folder + "/short.dat";
  constexpr int there = 25, turns = 20;
  if (world.rank == 0) {
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < there; ++i) file.write(reinterpret_cast<const char*>(&i), sizeof i);
  }
  MPI_Barrier(world.comm);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(world.comm, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Datatype turn = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, MPI_Aint{4} * world.size, &turn);
  MPI_Type_commit(&turn);
  MPI_File_set_view(file, MPI_Offset{4} * world.rank, MPI_INT, turn, "native", MPI_INFO_NULL);
  std::vector<int> numbers(turns, -1);
  MPI_Status status;
  const int code = MPI_File_read_all(file, numbers.data(), turns, MPI_INT, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  const int right = std::min(turns, (there - world.rank + world.size - 1) / world.size);
  bool same = code == MPI_SUCCESS && count == right;
  for (int i = 0; i < turns; ++i) {
    same = same &&
           numbers[static_cast<std::size_t>(i)] == (i < right ? world.rank + i * world.size : -1);
  }
  check(same, "reads beyond the end", world);
  MPI_File_close(&file);
  MPI_Type_free(&turn);
}

// A file that may not get as long as it is written: the writes succeed, closing it does not.
void fail_behind(const World& world, const std::string& folder) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100'000, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string path = folder + "/limited.dat";
  MPI_File file = MPI_FILE_NULL;
  const int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
  MPI_File_open(world.comm, path.c_str(), mode, MPI_INFO_NULL, &file);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<int> data(60'000, world.rank);
  const int items = static_cast<int>(data.size());
  const MPI_Offset start = MPI_Offset{4} * items * world.rank;
  int code = MPI_File_write_at_all(file, start, data.data(), items, MPI_INT, MPI_STATUS_IGNORE);
  check(code == MPI_SUCCESS, "codes of hidden writes", world);
  code = MPI_File_close(&file);
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  check(kind == MPI_ERR_IO, "codes of closing after hidden writes that failed", world);
  setrlimit(RLIMIT_FSIZE, &before);
}

int compare_random(const std::string& folder, std::uint64_t seed, int programs) {
  Dice dice(seed);
  const World world = world_of(MPI_COMM_WORLD);
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, &turned);
  const World other = world_of(turned);
  for (int p = 0; p < programs && num_wrong == 0; ++p) {
    compare_program(dice.below(3) == 0 ? other : world, dice, folder, p);
    // All ranks go on, or none: a wrong one is told by its number.
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (num_wrong > 0 && world.rank == 0) std::printf("program %d of seed %d\n", p, int(seed));
  }
  MPI_Comm_free(&turned);
  if (is_way("ours")) read_beyond_the_end(world, folder);
  if (is_way("hidden")) fail_behind(world, folder);
  MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (world.rank == 0) std::printf("COMPARED %d WRONG %d\n", num_compared, num_wrong);
  return num_wrong == 0 ? 0 : 1;
}

// Each rank writes its columns of an array of doubles, step after step, or reads what MPI's own
// calls wrote.
int time_columns(const std::string& folder, bool reads, int rows, int columns, int steps,
                 double compute_s) {
  const World world = world_of(MPI_COMM_WORLD);
  const int sizes[2] = {rows, columns * world.size}, parts[2] = {rows, columns};
  const int starts[2] = {0, columns * world.rank};
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &view);
  MPI_Type_commit(&view);
  std::vector<double> data(static_cast<std::size_t>(rows) * columns, world.rank + 0.5);
  const int items = rows * columns;
  const std::string path = folder + "/columns.dat";
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", MPI_INFO_NULL);
  for (int s = 0; reads && s < steps; ++s) {
    PMPI_File_write_all(file, data.data(), items, MPI_DOUBLE, MPI_STATUS_IGNORE);
  }
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int s = 0; s < steps; ++s) {
    for (const double until = MPI_Wtime() + compute_s; MPI_Wtime() < until;) {
    }
    if (reads) {
      MPI_File_read_all(file, data.data(), items, MPI_DOUBLE, MPI_STATUS_IGNORE);
    } else {
      MPI_File_write_all(file, data.data(), items, MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
  }
  MPI_File_close(&file);
  const double seconds = MPI_Wtime() - begin;
  if (world.rank == 0) std::printf("%.6f\n", seconds);
  MPI_Type_free(&view);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto number = [&](int i, long other) { return argc > i ? std::atol(argv[i]) : other; };
  const std::string task = argc > 2 ? argv[1] : "";
  const std::string folder = argc > 2 ? argv[2] : ".";
  int status = 2;
  if (task == "random") {
    status = compare_random(folder, static_cast<std::uint64_t>(number(3, 1)),
                            static_cast<int>(number(4, 60)));
  }
  if (task == "time" || task == "read") {
    status = time_columns(folder, task == "read", static_cast<int>(number(3, 1000)),
                          static_cast<int>(number(4, 64)), static_cast<int>(number(5, 8)),
                          1e-3 * static_cast<double>(number(6, 0)));
  }
  MPI_Finalize();
  return status;
}
