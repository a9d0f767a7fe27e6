// SPDX-License-Identifier: BSD-3-Clause
// Simulated storage by hand: system calls of two ranks on two nodes whose times, lock transfers and
// extents are known. Prints a line of JSON for tests/scale/check_storage.py.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "core/system_call.hpp"
#include "file/settings.hpp"
#include "simulated_driver.hpp"
#include "storage/storage.hpp"

namespace {

using tailrace::Descriptor;
using tailrace::open_descriptor;

const std::string path = std::string(scale::storage_folder) + "by_hand";

/// Each rank writes `count` pieces of `bytes`, those of two ranks in turn.
double time_pieces(int rank, const Descriptor& file, int count, std::ptrdiff_t bytes) {
  const std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  return scale::time_run([&] {
    for (int i = 0; i < count; ++i) {
      tailrace::write_at(file.get(), data.data(), bytes, (2 * i + rank) * bytes);
    }
    fdatasync(file.get());
  });
}

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const auto bytes = static_cast<std::ptrdiff_t>(arguments.real("bytes", 1e6));
  const tailrace::Comm world(MPI_COMM_WORLD);
  const int rank = world.rank();
  auto& storage = scale::Storage::get();
  const bool absent = access(path.c_str(), F_OK) != 0 && errno == ENOENT;
  const bool unopened = !open_descriptor(path, O_RDWR) && errno == ENOENT;
  Descriptor file;
  const double create_s = scale::time_run([&] {
    if (rank == 0) file = open_descriptor(path, O_RDWR | O_CREAT | O_TRUNC);
  });
  const auto refused = tailrace::file::set_stripes(path + "?", 0, 1);
  const auto laid_out = tailrace::file::set_stripes(path, 0, 1);
  const double open_s = scale::time_run([&] {
    if (rank != 0) file = open_descriptor(path, O_RDWR);
  });
  const double pieces_s = time_pieces(rank, file, 4, bytes);
  const auto transfers = storage.counts().lock_transfers;
  const auto whole = scale::coverage(storage.written(path), 8 * bytes, bytes);
  if (rank == 0) tailrace::write_at(file.get(), path.data(), 5, bytes - 2);  // 2 + 3 bytes again
  if (rank == 0) tailrace::write_at(file.get(), path.data(), 2, 8 * bytes + 3);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto torn = scale::coverage(storage.written(path), 8 * bytes + 3, bytes);
  const int too_late = storage.set_layout(path, {0, 2});
  file.close();
  if (rank != 0) return 0;
  bench::JsonLine()
      .flag("absent", absent && unopened)
      .flag("layout", !refused.empty() && laid_out.empty() && too_late == -EEXIST)
      .number("create_s", create_s)
      .number("open_s", open_s)
      .number("pieces_s", pieces_s)
      .number("transfers", static_cast<double>(transfers))
      .numbers("whole", {double(whole.missing), double(whole.twice), double(whole.beyond),
                         double(whole.writers), double(whole.shared_stripes)})
      .numbers("torn", {double(torn.missing), double(torn.twice), double(torn.beyond),
                        double(torn.writers), double(torn.shared_stripes)})
      .print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return scale::run_driver(argc, argv, run); }
