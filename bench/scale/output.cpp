// SPDX-License-Identifier: BSD-3-Clause
// One output (or reading) of all ranks through `File` on simulated storage. Prints a line of JSON
// with simulated seconds, what the file system was asked for, and how the extents that ranks wrote
// cover the files; ends with status 1 if a byte is missing, written twice or wrong.
//   --strategy NAME  file_per_process, shared (every rank writes its pieces), aggregated
//   (collective,
//                    each stripe has one writer), or a strategy of `File`
//   --bytes N        of each rank
//   --piece N        contiguous bytes of a rank in the file; pieces of ranks follow each other in
//                    turn. 0: all bytes of a rank
//   --writers N      of aggregated and collective; 0: a writer for each stripe's target, at most
//   all
//   --stripes N      of a file; 0: one for a file per process, else as many as the file system
//   gives
//   --group N        ranks of a group of strategy grouped; 0: as many as on a node
//   --direction read reads a file that was there before
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "simulated_driver.hpp"
#include "storage/storage.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/file.hpp"

namespace {

using tailrace::Comm;
using tailrace::File;
using tailrace::FileAccess;
using tailrace::FilePart;
using tailrace::FileRun;

struct Task {
  std::string strategy;
  std::int64_t bytes = 0, piece = 0;
  int writers = 0, stripes = 0, group = 0;
  bool reading = false;

  bool own_files() const { return strategy == "file_per_process"; }
};

Task task_of(const bench::Arguments& arguments) {
  Task task{.strategy = arguments.text("strategy", "shared"),
            .bytes = static_cast<std::int64_t>(arguments.real("bytes", 1 << 20)),
            .piece = static_cast<std::int64_t>(arguments.real("piece", 0)),
            .writers = arguments.number("writers", 0),
            .stripes = arguments.number("stripes", 0),
            .group = arguments.number("group", 0),
            .reading = arguments.text("direction", "write") == "read"};
  if (task.piece == 0 || task.own_files()) task.piece = task.bytes;
  if (task.bytes % task.piece != 0) {
    throw std::runtime_error("--piece must divide --bytes: each rank has equal pieces");
  }
  return task;
}

std::string path_of(const Task& task, int rank) {
  return std::string(scale::storage_folder) +
         (task.own_files() ? "output." + std::to_string(rank) : "output");
}

tailrace::Hints hints_of(const Task& task, const Comm& comm) {
  const int num_ranks = comm.num_ranks();
  tailrace::Hints hints;
  // Ranks of a simulation cannot wait for each other in shared memory.
  hints.set("cb_exchange", "messages");
  const bool own_calls = task.own_files() || task.strategy == "shared";
  const bool owners = task.strategy == "aggregated";
  hints.set("strategy", own_calls ? "shared_independent" : owners ? "collective" : task.strategy);
  const int stripes = task.stripes == 0 && task.own_files() ? 1 : task.stripes;
  if (stripes > 0) hints.set("striping_factor", std::to_string(stripes));
  if (task.strategy == "grouped") {
    // Said in numbers: in SMPI a second duplicate of a node's communicator hangs.
    const int group = task.group > 0 ? task.group : comm.node().num_ranks();
    hints.set("group_size", std::to_string(group));
  }
  const auto layout = scale::Storage::get().layout(path_of(task, 0));
  const std::int64_t needed = (task.bytes * num_ranks - 1) / layout.stripe_bytes + 1;
  std::int64_t writers = task.writers;
  if (owners && writers == 0) writers = stripes > 0 ? stripes : layout.stripes;
  if (owners) {
    hints.set("cb_align", "2");
    writers = std::min({writers, needed, std::int64_t{num_ranks}});
  }
  if (writers > 0) hints.set("cb_nodes", std::to_string(writers));
  return hints;
}

FilePart part_of(const Task& task, int rank, int num_ranks) {
  std::vector<FileRun> runs;
  for (std::int64_t piece = 0; piece < task.bytes / task.piece; ++piece) {
    const std::int64_t place = task.own_files() ? piece : piece * num_ranks + rank;
    runs.push_back({place * task.piece, task.piece});
  }
  return FilePart::runs(runs);
}

std::byte value(int rank, std::int64_t item) {
  return static_cast<std::byte>(static_cast<std::uint64_t>(rank * 131 + item * 7 + item / 251) %
                                251);
}

struct Times {
  double open_s = 0, move_s = 0, close_s = 0, seconds = 0;
};

Times run_once(const Comm& comm, const Task& task, const FilePart& part, std::byte* data,
               tailrace::FileStatistics* statistics) {
  const Comm self(MPI_COMM_SELF);
  const Comm& openers = task.own_files() ? self : comm;
  const auto access = task.reading ? FileAccess::read : FileAccess::write;
  Times times;
  times.seconds = scale::time_run([&] {
    double before_s = tailrace::now_s();
    const auto lap_s = [&] {
      const double now_s = tailrace::now_s();
      return now_s - std::exchange(before_s, now_s);
    };
    File file(openers, path_of(task, comm.rank()), access, hints_of(task, comm));
    times.open_s = lap_s();
    task.reading ? file.read(part, data) : file.write(part, data);
    times.move_s = lap_s();
    file.close();
    times.close_s = lap_s();
    *statistics = file.statistics();
  });
  for (double* own : {&times.open_s, &times.move_s, &times.close_s}) *own = bench::all_max(*own);
  return times;
}

std::int64_t wrong_items(const std::byte* data, std::int64_t bytes, int rank) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < bytes; ++i) wrong += data[i] == value(rank, i) ? 0 : 1;
  return wrong;
}

// With real payload, what is in the files: read back with the same strategy.
std::int64_t count_wrong(const Comm& comm, Task task, const FilePart& part) {
  tailrace::Buffer again(task.bytes);
  task.reading = true;
  tailrace::FileStatistics statistics;
  run_once(comm, task, part, again.data(), &statistics);
  const auto wrong = static_cast<double>(wrong_items(again.data(), task.bytes, comm.rank()));
  return static_cast<std::int64_t>(bench::all_reduce(wrong, MPI_SUM));
}

scale::Coverage coverage_of(const Task& task, int num_ranks) {
  const auto& storage = scale::Storage::get();
  scale::Coverage all;
  for (int file = 0; file < (task.own_files() ? num_ranks : 1); ++file) {
    const std::string path = path_of(task, file);
    const std::int64_t bytes = task.bytes * (task.own_files() ? 1 : num_ranks);
    const auto one =
        scale::coverage(storage.written(path), bytes, storage.layout(path).stripe_bytes);
    all.missing += one.missing;
    all.twice += one.twice;
    all.beyond += one.beyond;
    all.writers += one.writers;
    all.shared_stripes += one.shared_stripes;
  }
  return all;
}

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Comm world(MPI_COMM_WORLD);
  const int rank = world.rank(), num_ranks = world.num_ranks();
  const Task task = task_of(arguments);
  auto& storage = scale::Storage::get();
  const bool real = !scale::payload_is_folded();
  if (task.reading && (rank == 0 || task.own_files())) {
    storage.provide(path_of(task, rank), task.bytes * (task.own_files() ? 1 : num_ranks));
  }
  tailrace::Buffer data(task.bytes);
  if (real && !task.reading) {
    for (std::int64_t i = 0; i < task.bytes; ++i) data.data()[i] = value(rank, i);
  }
  const FilePart part = part_of(task, rank, num_ranks);
  tailrace::FileStatistics statistics;
  const Times times = run_once(world, task, part, data.data(), &statistics);
  const scale::StorageCounts counts = storage.counts();
  const double calls = bench::all_reduce(
      static_cast<double>(task.reading ? statistics.reads : statistics.writes), MPI_SUM);
  const std::int64_t wrong = real && !task.reading ? count_wrong(world, task, part) : 0;
  if (rank != 0) return 0;
  const scale::Coverage covered = task.reading ? scale::Coverage{} : coverage_of(task, num_ranks);
  bench::JsonLine()
      .text("strategy", task.strategy)
      .number("ranks", num_ranks)
      .number("seconds", times.seconds)
      .number("open_s", times.open_s)
      .number("move_s", times.move_s)
      .number("close_s", times.close_s)
      .number("creates", static_cast<double>(counts.creates))
      .number("opens", static_cast<double>(counts.opens))
      .number("stats", static_cast<double>(counts.stats))
      .number("calls", calls)
      .number("requests", static_cast<double>(counts.requests))
      .number("lock_transfers", static_cast<double>(counts.lock_transfers))
      .number("writers", covered.writers)
      .number("shared_stripes", static_cast<double>(covered.shared_stripes))
      .number("missing", static_cast<double>(covered.missing))
      .number("twice", static_cast<double>(covered.twice + covered.beyond))
      .number("wrong", static_cast<double>(wrong))
      .print();
  const bool right = covered.missing == 0 && covered.twice == 0 && covered.beyond == 0 &&
                     wrong == 0 && (!task.reading || counts.bytes_read >= task.bytes * num_ranks);
  if (!right) std::fprintf(stderr, "the files do not hold what the ranks wrote\n");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return scale::run_driver(argc, argv, run); }
