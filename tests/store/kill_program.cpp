// SPDX-License-Identifier: BSD-3-Clause
// For check_kill.py: `loop FOLDER KEY=VALUE...` writes files until it is killed and says "done N"
// when file N is complete; `check FILE...` reads files and says "N", or fails.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mpi_program.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {
namespace {

using namespace store_test;

OutputOptions parse(int count, char** words) {
  OutputOptions options;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const auto key = word.substr(0, word.find('='));
    const auto value = word.substr(key.size() + 1);
    if (key == "mode") {
      options.servers = value == "hidden" ? "hidden" : "none";
    } else if (key == "writers") {
      options.writers = std::stoi(value);
    } else if (key == "stripe") {
      options.stripe_bytes = std::stol(value);
    } else if (key == "strategy") {
      options.strategy = value;
    } else if (key == "compress") {
      options.compress = value;
    } else if (key == "method") {
      options.method = value;
    } else {
      throw Error(Errc::invalid_input, "unknown option " + word);
    }
  }
  return options;
}

// Three names in turn, so that the file before the newest is always there, too.
void write_until_killed(const Comm& comm, const std::string& folder, const OutputOptions& options) {
  const std::vector<std::ptrdiff_t> extents{21, 50, 51};
  const auto layout = pencils(extents, 2, grid_of(comm.num_ranks()));
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  FileContents contents;
  Output output(comm, options);
  std::ptrdiff_t reported = 0;
  for (int step = 1;; ++step) {
    const auto u = filled<double>(layout, memory, comm.rank(), step);
    const auto v = filled<float>(layout, memory, comm.rank(), step);
    contents.attributes = {{"salt", std::int64_t{step}}};
    contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}},
                          {"v", ItemType::float32, {"z", "y", "x"}, &layout, memory, v.data(), {}}};
    output.write(folder + "/file_" + std::to_string(step % 3) + ".h5", contents);
    output.progress();
    for (; reported < output.statistics().complete; ++reported) {
      if (comm.rank() == 0) std::printf("done %td\n", reported + 1);
    }
    std::fflush(stdout);
  }
}

int check_files(const Comm& comm, int count, char** files) {
  for (int i = 0; i < count; ++i) {
    const Input input(comm, files[i]);
    const auto salt = static_cast<int>(input.attribute_int("salt"));
    const auto layout = slabs(input.extents("u"), 0, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    for (const auto* name : {"u", "v"}) {
      input.read(name, ItemType::float64, layout, memory, data.data());
      if (num_wrong(data, layout, memory, comm.rank(), salt) != 0) return 1;
    }
    if (input.statistics().checked == 0) return 1;
    std::printf("%d\n", salt);
  }
  return 0;
}

int run(int argc, char** argv) {
  const Comm comm(MPI_COMM_WORLD);
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "loop") write_until_killed(comm, argv[2], parse(argc - 3, argv + 3));
  if (command == "check") return check_files(comm, argc - 2, argv + 2);
  std::fputs("usage: kill_program loop FOLDER KEY=VALUE... | check FILE...\n", stderr);
  return 2;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  return tailrace::mpi_main("kill_program", argc, argv, tailrace::run);
}
