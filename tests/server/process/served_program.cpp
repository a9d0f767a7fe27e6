// SPDX-License-Identifier: BSD-3-Clause
// For check_process.py and check_faults.py: `run FOLDER KEY=VALUE...` writes files through a
// session and says "done N" when N of them are known to be complete, and "end N" at the end; with
// hold=PATH half of the steps are written only when PATH exists. `check FILE...` reads files and
// says "N", the number of each, or fails.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "mpi_program.hpp"
#include "store/store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/session.hpp"

namespace tailrace {
namespace {

using namespace store_test;

struct Job {
  std::string folder, hold;
  int num_steps = 0;
  double pause_s = 0.01;
  OutputOptions session;
  OutputOptions stream;
};

Job parse(const std::string& folder, int count, char** words) {
  Job job;
  job.folder = job.session.folder = folder;
  job.session.memory_bytes = 16 << 20;
  job.session.watchdog_s = 20;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const auto key = word.substr(0, word.find('='));
    const auto value = word.substr(key.size() + 1);
    if (key == "steps") {
      job.num_steps = std::stoi(value);
    } else if (key == "pause_s") {
      job.pause_s = std::stod(value);
    } else if (key == "hold") {
      job.hold = value;
    } else if (key == "servers") {
      job.session.servers = value;
    } else if (key == "retry_s") {
      job.stream.retry_s = std::stod(value);
    } else if (key == "fallback_path") {
      job.stream.fallback_path = value;
    } else if (key == "on_failure") {
      job.stream.on_failure = value == "stop" ? OnFailure::stop : OnFailure::proceed;
    } else {
      throw Error(Errc::invalid_input, "unknown option " + word);
    }
  }
  return job;
}

void tell(const Comm& comm, const Output& stream, std::int64_t& reported) {
  const auto complete = stream.statistics().complete;
  if (comm.rank() != 0 || complete == reported) return;
  reported = complete;
  std::printf("done %lld\n", static_cast<long long>(reported));
  std::fflush(stdout);
}

/// Goes on with what is under way until the file `hold` is there.
void wait_for(const std::string& hold, const Comm& comm, Output& stream, std::int64_t& reported) {
  while (!hold.empty() && !std::filesystem::exists(hold)) {
    stream.progress();
    tell(comm, stream, reported);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

int run_steps(const Job& job) {
  Session session(MPI_COMM_WORLD, job.session);
  if (!session.computes()) {
    const int lost = session.serve();
    return job.stream.on_failure == OnFailure::proceed ? 0 : lost;
  }
  const Comm& comm = session.compute();
  if (comm.rank() == 0) std::printf("begin %s\n", session.describe().c_str());
  std::fflush(stdout);

  const std::vector<std::ptrdiff_t> extents{21, 50, 51};
  const auto layout = pencils(extents, 2, grid_of(comm.num_ranks()));
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  Output stream = session.open("fields", job.stream);
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
    if (step == job.num_steps / 2) wait_for(job.hold, comm, stream, reported);
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
  if (command == "run") return run_steps(parse(argv[2], argc - 3, argv + 3));
  if (command == "check") return check_files(argc - 2, argv + 2);
  std::fputs("usage: served_program run FOLDER KEY=VALUE... | check FILE...\n", stderr);
  return 2;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  return tailrace::mpi_main("served_program", argc, argv, tailrace::run);
}
