// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads FILE by back end posix in several ways and prints the counts of the library:
// "writes N bytes_written N reads N bytes_read N locks N opens N".
#include <cstdio>
#include <cstring>

#include "file/back_end.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::file {
namespace {

void run(const char* path) {
  const Comm self(MPI_COMM_SELF);
  Settings settings;
  settings.file_system = file_system_of(path);
  settings.ind_rd_buffer_size = settings.ind_wr_buffer_size = 64 << 10;
  FileStatistics statistics;
  const Buffer buffer(8 << 20);
  std::vector<Segment> strided, scattered;
  for (int i = 0; i < 700; ++i) strided.push_back({i * 3001, i * 100, 100});
  for (int i = 0; i < 2500; ++i) scattered.push_back({i * 50, i * 1667 % 2500 * 50, 50});
  std::vector<Segment> whole{{1000, 1000, buffer.bytes() - 2000}};
  create_file(path, settings);
  for (const Switch sieving : {Switch::off, Switch::on}) {
    settings.ds_read = settings.ds_write = sieving;
    const auto file = open_posix({&self, path, FileAccess::update, settings, statistics});
    for (const auto* segments : {&whole, &strided, &scattered}) {
      file->write(*segments, buffer.data(), true);
      file->read(*segments, buffer.data(), true);
    }
    file->close();
  }
  std::printf(
      "writes %lld bytes_written %lld reads %lld bytes_read %lld locks %lld opens %lld\n",
      static_cast<long long>(statistics.writes), static_cast<long long>(statistics.bytes_written),
      static_cast<long long>(statistics.reads), static_cast<long long>(statistics.bytes_read),
      static_cast<long long>(statistics.locks), static_cast<long long>(statistics.opens));
}

}  // namespace
}  // namespace tailrace::file

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    if (argc == 2) {
      tailrace::file::run(argv[1]);
      status = 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  MPI_Finalize();
  return status;
}
