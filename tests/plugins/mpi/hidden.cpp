// SPDX-License-Identifier: BSD-3-Clause
// What MPI promises of a file, while its writes are hidden (check_hidden.py puts a slow disk under
// it): one function for each sentence of docs/how/hide_hdf5.md.
//
//   hidden all FOLDER        all promises
//   hidden unclosed FOLDER   ends MPI without closing its file
//   hidden abandoned FOLDER  ends without closing its file or MPI
//   hidden full FOLDER WHEN  a file that may not get so long: WHEN the program learns it, at the
//                            next `call`, the next `open` or the `end`
//   hidden steps FOLDER N    writes N steps into a new file each, and prints which are closed
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "drawn_calls.hpp"

namespace {

constexpr int block = 64 << 10;  // bytes that a rank writes at once

World world;
std::string folder;

void check(bool right, const char* what) {
  ++num_compared;
  if (right) return;
  ++num_wrong;
  std::fprintf(stderr, "rank %d of %d: wrong: %s\n", world.rank, world.size, what);
}

std::string path_of(const char* name) { return folder + "/" + name; }

MPI_File open_new(const char* name, MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_File file = MPI_FILE_NULL;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  check(MPI_File_open(comm, path_of(name).c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "opening a new file");
  return file;
}

MPI_File open_old(const char* name, int mode, MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(comm, path_of(name).c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS,
        "opening an old file");
  return file;
}

// The block of a rank in round `call`, at its place in a file of one block per rank.
Bytes own_block(int rank, int call) { return filled(block, rank, call); }
MPI_Offset place_of(int rank) { return MPI_Offset{block} * rank; }

void write_own(MPI_File file, int call, bool together, MPI_Offset start = 0) {
  const Bytes data = own_block(world.rank, call);
  const MPI_Offset at = start + place_of(world.rank);
  const int code =
      together ? MPI_File_write_at_all(file, at, data.data(), block, MPI_BYTE, MPI_STATUS_IGNORE)
               : MPI_File_write_at(file, at, data.data(), block, MPI_BYTE, MPI_STATUS_IGNORE);
  check(code == MPI_SUCCESS, "a hidden write");
}

// Reads the block of `rank` in one of the ways.
Bytes read_block(MPI_File file, int rank, int way) {
  Bytes data(block);
  MPI_Status status;
  const MPI_Offset at = place_of(rank);
  if (way == 0) MPI_File_read_at(file, at, data.data(), block, MPI_BYTE, &status);
  if (way == 1) MPI_File_read_at_all(file, at, data.data(), block, MPI_BYTE, &status);
  if (way == 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_File_iread_at(file, at, data.data(), block, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
  }
  if (way == 3) {
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_read(file, data.data(), block, MPI_BYTE, &status);
  }
  if (way == 4) {
    MPI_File_read_at_all_begin(file, at, data.data(), block, MPI_BYTE);
    MPI_File_read_at_all_end(file, data.data(), &status);
  }
  return data;
}

Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Bytes whole(int call) {
  Bytes all;
  for (int rank = 0; rank < world.size; ++rank) {
    const Bytes one = own_block(rank, call);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// A rank reads what it, and what its neighbour has written: after a barrier alone, after sync,
// barrier and sync, in atomic mode, and after closing and opening.
void reads() {
  const int next = (world.rank + 1) % world.size;
  MPI_File file = open_new("reads.dat");
  int call = 0;
  for (int way = 0; way < 5; ++way) {
    for (const bool together : {true, false}) {
      write_own(file, ++call, together);
      check(read_block(file, world.rank, way) == own_block(world.rank, call), "its own block");
      MPI_Barrier(MPI_COMM_WORLD);
      check(read_block(file, next, way) == own_block(next, call), "a block after a barrier");
      MPI_Barrier(MPI_COMM_WORLD);
      write_own(file, ++call, together);
      MPI_File_sync(file);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_File_sync(file);
      check(read_block(file, next, way) == own_block(next, call), "a block after a sync");
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  write_own(file, ++call, true);
  MPI_File_set_atomicity(file, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  check(read_block(file, next, 0) == own_block(next, call), "a block written before atomic mode");
  MPI_Barrier(MPI_COMM_WORLD);
  write_own(file, ++call, false);
  MPI_Barrier(MPI_COMM_WORLD);
  check(read_block(file, next, 0) == own_block(next, call), "a block written in atomic mode");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_atomicity(file, 0);
  write_own(file, ++call, true);
  MPI_File_close(&file);
  file = open_old("reads.dat", MPI_MODE_RDONLY);
  check(read_block(file, next, 1) == own_block(next, call), "a block after closing and opening");
  MPI_File_close(&file);
}

// A hole is read as zeros while what makes it one waits.
void holes() {
  MPI_File file = open_new("holes.dat");
  write_own(file, 1, false, MPI_Offset{16} * block);
  check(read_block(file, world.rank, 0) == Bytes(block), "a hole before a block");
  MPI_Status status;
  Bytes data(block, 1);
  MPI_File_read_at(file, place_of(world.rank), data.data(), block, MPI_BYTE, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == block && data == Bytes(block), "a hole of full length");
  MPI_File_close(&file);
}

// Ranks take turns in writing ranges that overlap, ordered by barriers: the last write wins.
void overlaps() {
  constexpr int size = 4 * block;
  Dice dice(7);
  Bytes right(size);
  MPI_File file = open_new("overlaps.dat");
  if (world.rank == 0) MPI_File_write_at(file, 0, right.data(), size, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 30; ++turn) {
    const int rank = dice.below(world.size);
    const int begin = dice.below(size);
    const int bytes = 1 + dice.below(std::min(size - begin, 2 * block));
    const Bytes data = filled(static_cast<std::size_t>(bytes), rank, turn);
    std::copy(data.begin(), data.end(), right.begin() + begin);
    const bool together = dice.below(2) == 0;
    const int own = rank == world.rank ? bytes : 0;
    if (together)
      MPI_File_write_at_all(file, begin, data.data(), own, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (own > 0)
      MPI_File_write_at(file, begin, data.data(), own, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Bytes got(size);
  MPI_File_read_at(file, 0, got.data(), size, MPI_BYTE, MPI_STATUS_IGNORE);
  check(got == right, "overlapping writes in order");
  MPI_File_close(&file);
}

MPI_Offset size_of(MPI_File file) {
  MPI_Offset size = -1;
  MPI_File_get_size(file, &size);
  return size;
}

// Sizes count what is not written yet; a file is cut after what was written, not before.
void sizes() {
  const MPI_Offset all = place_of(world.size);
  MPI_File file = open_new("sizes.dat");
  write_own(file, 1, true);
  MPI_Barrier(MPI_COMM_WORLD);
  check(size_of(file) == all, "the size");
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_Offset at = 0;
  MPI_File_get_position(file, &at);
  check(at == all, "the end");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_size(file, all + 1000);
  check(size_of(file) == all + 1000, "a greater size");
  check(read_block(file, world.rank, 0) == own_block(world.rank, 1), "data after growing");
  MPI_Barrier(MPI_COMM_WORLD);
  write_own(file, 2, true, 5000);
  MPI_File_set_size(file, 5000);
  check(size_of(file) == 5000, "a smaller size");
  MPI_Barrier(MPI_COMM_WORLD);
  write_own(file, 3, true);
  MPI_File_preallocate(file, all + 3000);
  check(size_of(file) == all + 3000, "the size taken");
  check(read_block(file, world.rank, 0) == own_block(world.rank, 3), "data after taking space");
  MPI_File_set_size(file, all);
  MPI_File_close(&file);
  file = open_old("sizes.dat", MPI_MODE_RDONLY);
  check(size_of(file) == all, "the size of a closed file");
  MPI_File_close(&file);
}

// Calls that are MPI's come after the hidden writes before them, and before those after them.
void left_to_mpi() {
  MPI_File file = open_new("left.dat");
  const Bytes data = own_block(world.rank, 2);
  write_own(file, 1, true);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_write_ordered(file, data.data(), block, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  check(read_block(file, world.rank, 0) == data, "an ordered write over a hidden one");
  MPI_Barrier(MPI_COMM_WORLD);
  write_own(file, 3, false);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_File_iwrite_at(file, place_of(world.rank), data.data(), block / 2, MPI_BYTE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  Bytes right = own_block(world.rank, 3);
  std::copy_n(data.begin(), block / 2, right.begin());
  check(read_block(file, world.rank, 0) == right, "a non-blocking write over a hidden one");
  MPI_Barrier(MPI_COMM_WORLD);
  write_own(file, 4, true);
  MPI_File_write_at_all_begin(file, place_of(world.rank), data.data(), 100, MPI_BYTE);
  MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE);
  right = own_block(world.rank, 4);
  std::copy_n(data.begin(), 100, right.begin());
  check(read_block(file, world.rank, 0) == right, "a split write over a hidden one");
  write_own(file, 5, true);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  Bytes ordered(block);
  MPI_File_read_ordered(file, ordered.data(), block, MPI_BYTE, MPI_STATUS_IGNORE);
  check(ordered == own_block(world.rank, 5), "an ordered read of hidden writes");
  MPI_File_close(&file);
}

// One rank opens what all have open; both handles show the same file.
void two_handles() {
  MPI_File file = open_new("handles.dat");
  write_own(file, 1, true);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File other = MPI_FILE_NULL;
  if (world.rank == 0) {
    other = open_old("handles.dat", MPI_MODE_RDWR, MPI_COMM_SELF);
    const int last = world.size - 1;
    check(read_block(other, last, 0) == own_block(last, 1), "what the other handle wrote");
    const Bytes data = own_block(last, 2);
    MPI_File_write_at(other, place_of(last), data.data(), block, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int last = world.size - 1;
  check(read_block(file, last, 0) == own_block(last, 2), "what was written by the other handle");
  MPI_Barrier(MPI_COMM_WORLD);
  if (other != MPI_FILE_NULL) MPI_File_close(&other);
  MPI_File_close(&file);
  file = open_old("handles.dat", MPI_MODE_RDONLY);
  check(read_block(file, last, 0) == own_block(last, 2), "what was written last");
  MPI_File_close(&file);
}

// After a sync other programs read the data so far under the file's name.
void syncs() {
  MPI_File file = open_new("syncs.dat");
  for (int call = 1; call < 4; ++call) {
    write_own(file, call, call % 2 == 0);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    check(bytes_of(path_of("syncs.dat")) == whole(call), "the file after a sync");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
}

// A child has neither the data nor the thread; what the program starts finds closed files whole.
void forks() {
  MPI_File file = open_new("forks.dat");
  write_own(file, 1, true);
  const pid_t child = fork();
  if (child == 0) std::exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the status of a child");
  write_own(file, 2, true, place_of(world.size));
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string size = std::to_string(2 * place_of(world.size));
  const std::string test = "test $(stat -c %s " + path_of("forks.dat") + ") = " + size;
  check(std::system(test.c_str()) == 0, "the file that a command finds");
  Bytes right = whole(1);
  const Bytes second = whole(2);
  right.insert(right.end(), second.begin(), second.end());
  check(bytes_of(path_of("forks.dat")) == right, "the file of a program that has forked");
  MPI_Barrier(MPI_COMM_WORLD);
}

// A closed file has no name yet or is whole; what the program calls next waits for it.
void closes() {
  for (int call = 1; call < 6; ++call) {
    const std::string name = "closed" + std::to_string(call) + ".dat";
    MPI_File file = open_new(name.c_str());
    write_own(file, call, true);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (call == 1) check(bytes_of(path_of(name.c_str())) == whole(call), "a file read by POSIX");
    struct stat facts {};
    if (call == 2) {
      check(
          stat(path_of(name.c_str()).c_str(), &facts) == 0 && facts.st_size == place_of(world.size),
          "the size that stat tells");
    }
    if (call == 3) {  // in place: it has been there before
      file = open_old(name.c_str(), MPI_MODE_RDWR);
      write_own(file, 7, true, place_of(world.size));
      MPI_File_close(&file);
      file = open_old(name.c_str(), MPI_MODE_RDONLY);
      check(size_of(file) == 2 * place_of(world.size), "a file that was appended to");
      check(read_block(file, world.rank, 0) == own_block(world.rank, 3), "data before it");
      MPI_File_close(&file);
    }
    if (call == 4) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (world.rank == 0) MPI_File_delete(path_of(name.c_str()).c_str(), MPI_INFO_NULL);
      MPI_Barrier(MPI_COMM_WORLD);
      check(access(path_of(name.c_str()).c_str(), F_OK) != 0, "a file that was deleted");
    }
  }
}

// One rank has not closed a file yet, and uses its name, while the others wait for it in their
// close.
void uneven_closes() {
  for (int way = 0; way < 4; ++way) {
    const std::string name = "uneven" + std::to_string(way) + ".dat";
    MPI_File file = open_new(name.c_str());
    write_own(file, way, way % 2 == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == world.size - 1) {
      usleep(20'000);
      alarm(60);  // a deadlock otherwise
      struct stat facts {};
      if (way == 0) {
        MPI_File own = open_old(name.c_str(), MPI_MODE_RDWR, MPI_COMM_SELF);
        check(read_block(own, world.rank, 0) == own_block(world.rank, way),
              "data of a second handle");
        MPI_File_close(&own);
      } else if (way == 1) {
        check(stat(path_of(name.c_str()).c_str(), &facts) == 0, "the name of an open file");
      } else if (way == 2) {
        DIR* const listed = opendir(folder.c_str());
        check(listed != nullptr, "a folder with an open file");
        if (listed != nullptr) closedir(listed);
      } else {
        check(system("true") == 0, "a command while a file is open");
      }
      alarm(0);
    }
    MPI_File_close(&file);
    file = open_old(name.c_str(), MPI_MODE_RDONLY);
    MPI_File_close(&file);
    check(bytes_of(path_of(name.c_str())) == whole(way), "a file that ranks close at other times");
  }
}

// More than the memory that is allowed, and a piece that is larger than all of it.
void memory() {
  MPI_File file = open_new("memory.dat");
  constexpr int pieces = 24, large = 40 * block;
  for (int i = 0; i < pieces; ++i) write_own(file, i, i % 2 == 0, i * place_of(world.size));
  const Bytes data = filled(large, world.rank, 1);
  const MPI_Offset start = pieces * place_of(world.size);
  MPI_File_write_at_all(file, start + MPI_Offset{large} * world.rank, data.data(), large, MPI_BYTE,
                        MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  Bytes right;
  for (int i = 0; i < pieces; ++i) {
    const Bytes one = whole(i);
    right.insert(right.end(), one.begin(), one.end());
  }
  for (int rank = 0; rank < world.size; ++rank) {
    const Bytes one = filled(large, rank, 1);
    right.insert(right.end(), one.begin(), one.end());
  }
  file = open_old("memory.dat", MPI_MODE_RDONLY);
  MPI_File_close(&file);
  check(bytes_of(path_of("memory.dat")) == right, "more than the memory");
}

// More files than are hidden at a time: MPI writes further ones, under their own names.
void many() {
  constexpr int files = 40;
  std::vector<MPI_File> open;
  const auto name_of = [](int number) { return "many" + std::to_string(number) + ".dat"; };
  for (int i = 0; i < files; ++i) open.push_back(open_new(name_of(i).c_str()));
  for (int i = 0; i < files; ++i) write_own(open[static_cast<std::size_t>(i)], i, i % 2 == 0);
  for (MPI_File& file : open) MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < files; ++i)
    check(bytes_of(path_of(name_of(i).c_str())) == whole(i), "one of many open files");
}

int all() {
  for (const auto promise : {reads, holes, overlaps, sizes, left_to_mpi, two_handles, syncs, forks,
                             closes, uneven_closes, memory, many}) {
    promise();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (world.rank == 0) std::printf("COMPARED %d WRONG %d\n", num_compared, num_wrong);
  return num_wrong == 0 ? 0 : 1;
}

// A file that may not get so long.
int full(const std::string& when) {
  std::signal(SIGXFSZ, SIG_IGN);
  MPI_File file = open_new("full.dat");
  const rlimit small{block, block};
  setrlimit(RLIMIT_FSIZE, &small);
  write_own(file, 1, true);
  if (when == "call") {
    // The failure is known when what was written is waited for.
    check(MPI_File_sync(file) != MPI_SUCCESS, "a sync after a write that failed");
    const Bytes data = own_block(world.rank, 2);
    const int code = MPI_File_write_at_all(file, place_of(world.rank), data.data(), block, MPI_BYTE,
                                           MPI_STATUS_IGNORE);
    check(code != MPI_SUCCESS, "a write after one that failed");
  }
  // On a disk that is fast enough this call knows it already.
  const bool is_late = MPI_File_close(&file) == MPI_SUCCESS;
  if (when == "open" && is_late) {
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    const int code =
        MPI_File_open(MPI_COMM_WORLD, path_of("full.dat").c_str(), mode, MPI_INFO_NULL, &file);
    check(code != MPI_SUCCESS && file == MPI_FILE_NULL, "opening a file that was not written");
  }
  if (num_wrong == 0) std::printf("rank %d: told\n", world.rank);
  return num_wrong == 0 && (is_late || when == "call" || world.size == 1) ? 0 : 1;
}

void steps(int number) {
  for (int i = 0; i < number; ++i) {
    MPI_File file = open_new(("step" + std::to_string(i % 8) + ".dat").c_str());
    for (int j = 0; j < 4; ++j) write_own(file, i, true, j * place_of(world.size));
    MPI_File_close(&file);
    if (world.rank == 0) std::printf("step %d\n", i);
    std::fflush(stdout);
    if (i % 8 == 7 && world.rank == 0) {
      for (int j = 0; j < 8; ++j)
        MPI_File_delete(path_of(("step" + std::to_string(j) + ".dat").c_str()).c_str(),
                        MPI_INFO_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  world = world_of(MPI_COMM_WORLD);
  const std::string task = argc > 2 ? argv[1] : "";
  folder = argc > 2 ? argv[2] : ".";
  int status = 0;
  if (task == "all") status = all();
  if (task == "full") status = full(argc > 3 ? argv[3] : "");
  if (task == "steps") steps(argc > 3 ? std::atoi(argv[3]) : 1);
  if (task == "unclosed" || task == "abandoned") {
    MPI_File file = open_new("unclosed.dat");
    write_own(file, 1, true);
    MPI_Barrier(MPI_COMM_WORLD);
    if (task == "abandoned") std::exit(0);
  }
  MPI_Finalize();
  return status;
}
