// SPDX-License-Identifier: BSD-3-Clause
// For check_process.py: `run FOLDER STEPS PAUSE_S SERVERS` writes files through a session and says
// "done N" when N of them are known to be complete, and "end N" at the end; `check FILE...` reads
// files and says "N", the number of each, or fails.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "store/store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/session.hpp"

namespace tailrace {
namespace {

using namespace store_test;

struct Job {
  std::string folder;
  int num_steps;
  double pause_s;
  std::string servers;
};

void tell(const Comm& comm, const Stream& stream, std::int64_t& reported) {
  const auto complete = stream.statistics().complete;
  if (comm.rank() != 0 || complete == reported) return;
  reported = complete;
  std::printf("done %lld\n", static_cast<long long>(reported));
  std::fflush(stdout);
}

int run_steps(const Job& job) {
  SessionOptions options;
  options.servers = job.servers;
  options.memory_bytes = 16 << 20;
  options.watchdog_s = 20;
  options.folder = job.folder;
  Session session(MPI_COMM_WORLD, options);
  if (!session.computes()) return session.serve();
  const Comm& comm = session.compute();
  if (comm.rank() == 0) std::printf("begin %s\n", session.describe().c_str());
  std::fflush(stdout);

  const std::vector<std::ptrdiff_t> extents{21, 50, 51};
  const auto layout = pencils(extents, 2, grid_of(comm.num_ranks()));
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  Stream stream = session.open("fields");
  FileContents contents;
  std::int64_t reported = 0;
  for (int step = 1; step <= job.num_steps; ++step) {
    const auto u = filled<double>(layout, memory, comm.rank(), step);
    const auto v = filled<float>(layout, memory, comm.rank(), step);
    contents.step = step;
    contents.attributes = {{"salt", std::int64_t{step}}};
    contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}},
                          {"v", ItemType::float32, {"z", "y", "x"}, &layout, memory, v.data(), {}}};
    stream.write(job.folder + "/file_" + std::to_string(step) + ".h5", contents);
    stream.progress();
    tell(comm, stream, reported);
    std::this_thread::sleep_for(std::chrono::duration<double>(job.pause_s));
  }
  stream.finish();
  tell(comm, stream, reported);
  session.close();
  if (comm.rank() == 0) std::printf("end %lld\n", static_cast<long long>(reported));
  return 0;
}

int check_files(int count, char** files) {
  const Comm comm(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    const Input input(comm, files[i]);
    const auto salt = static_cast<int>(input.attribute_int("salt"));
    const auto layout = slabs(input.extents("u"), 0, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    for (const auto* name : {"u", "v"}) {
      input.read(name, ItemType::float64, layout, memory, data.data());
      if (num_wrong(data, layout, memory, comm.rank(), salt) != 0) {
        throw Error(Errc::corrupt, std::string(files[i]) + " holds wrong numbers");
      }
    }
    if (input.statistics().checked == 0) throw Error(Errc::corrupt, "no checksums");
    std::printf("%d\n", salt);
  }
  return 0;
}

int run(int argc, char** argv) {
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "run" && argc == 6) {
    return run_steps({argv[2], std::atoi(argv[3]), std::atof(argv[4]), argv[5]});
  }
  if (command == "check") return check_files(argc - 2, argv + 2);
  std::fputs("usage: served_program run FOLDER STEPS PAUSE_S SERVERS | check FILE...\n", stderr);
  return 2;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    status = tailrace::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "served_program: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
