// SPDX-License-Identifier: BSD-3-Clause
// tailrace-tune FILE PROBLEM...: measures each problem on the ranks that it runs on, adds the
// winners to the memory FILE, and prints them as JSON lines; before, a line for each problem as it
// begins. TAILRACE_TUNE_BUDGET_S is the time for each.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "problems.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/launched_alone.hpp"
#include "tailrace/more/tune.hpp"

namespace {

using namespace tailrace;

/// A memory file for this run alone, so that everything is measured anew; beside `file`, as ranks
/// of several nodes may write to it.
class FreshMemory {
 public:
  FreshMemory(const Comm& comm, const std::string& file) : mine_(comm.rank() == 0) {
    long number = getpid();
    check_mpi(MPI_Bcast(&number, 1, MPI_LONG, 0, comm.raw()));
    path_ = fmt::format("{}.{}.fresh", file, number);
    setenv("TAILRACE_TUNE_FILE", path_.c_str(), 1);
    setenv("TAILRACE_TUNE", "first_use", 1);
  }
  ~FreshMemory() {
    if (!mine_) return;
    std::remove(path_.c_str());
    std::remove((path_ + ".lock").c_str());
  }
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;

  std::vector<tune::Remembered> winners() const {
    if (!std::filesystem::exists(path_)) return {};  // nothing was measured
    return tune::list_remembered(path_);
  }

 private:
  bool mine_;
  std::string path_;
};

void run(const Comm& comm, const std::string& file, const std::vector<std::string>& problems) {
  std::vector<apps::TuneProblem> parsed;
  for (const auto& text : problems) parsed.push_back(apps::TuneProblem::parse(text));
  const FreshMemory memory(comm, file);
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    if (comm.rank() == 0) fmt::print("measuring {}\n", problems[i]);
    std::fflush(stdout);
    apps::tune_problem(comm, parsed[i]);
  }
  check_mpi(MPI_Barrier(comm.raw()));  // rows of ranks write, too
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    const auto winners = memory.winners();
    tune::remember(file, winners);
    for (const auto& winner : winners) fmt::print("{}\n", tune::to_text(winner));
  });
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = refuses_to_run_alone("tailrace-tune") ? 1 : 0;
  if (status == 0) {
    const Comm comm(MPI_COMM_WORLD);
    const std::vector<std::string> words(argv + 1, argv + argc);
    try {
      if (words.size() < 2) {
        throw Error(Errc::invalid_input, "expected: tailrace-tune FILE PROBLEM...");
      }
      run(comm, words[0], {words.begin() + 1, words.end()});
    } catch (const std::exception& error) {
      // Errors are the same on all ranks.
      if (comm.rank() == 0) fmt::print(stderr, "tailrace-tune: {}\n", error.what());
      status = 1;
    }
  }
  MPI_Finalize();
  return status;
}
