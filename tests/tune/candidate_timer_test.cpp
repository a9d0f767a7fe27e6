// SPDX-License-Identifier: BSD-3-Clause
// What must not depend on how busy this machine is: contests by the clock of a made-up one, which
// is disturbed in ways that repeat.
#include "tune/candidate_timer.hpp"

#include <random>

#include <gtest/gtest.h>

#include "trials.hpp"

namespace tailrace::tune {
namespace {

/// One rank of it. Runs take up to 5 % longer than they should, and one of 25 is interrupted for
/// 1 to 4 ms, unless all is quiet.
class Machine {
 public:
  Machine(unsigned seed, int rank, bool quiet = false)
      : random_(1000 * seed + static_cast<unsigned>(rank)), quiet_(quiet) {}
  void run(double seconds) {
    now_s_ += seconds * (1 + 0.05 * part());
    if (!quiet_ && random_() % 25 == 0) now_s_ += 1e-3 + 3e-3 * part();
  }
  Clock clock() const {
    return [this] { return now_s_; };
  }

 private:
  double part() { return static_cast<double>(random_()) / 4294967296.0; }

  std::mt19937 random_;
  bool quiet_;
  double now_s_ = 0;
};

class MachineTrial : public Trial {
 public:
  MachineTrial(Machine& machine, double seconds, int* runs = nullptr)
      : machine_(machine), seconds_(seconds), runs_(runs) {}
  void run() override {
    machine_.run(seconds_);
    if (runs_ != nullptr) ++*runs_;
  }

 private:
  Machine& machine_;
  double seconds_;
  int* runs_;
};

Candidate runner(Machine& machine, std::string name, double seconds, int* runs = nullptr) {
  return {std::move(name), [&machine, seconds, runs] {
            return std::make_unique<MachineTrial>(machine, seconds, runs);
          }};
}

constexpr int repeats = 100;

// One of many contests may see a difference that is none.
TEST(TuneContest, TheFirstOfEqualEntriesWins) {
  const Comm comm(MPI_COMM_WORLD);
  int firsts = 0;
  for (unsigned seed = 0; seed < repeats; ++seed) {
    Machine machine(seed, comm.rank());
    const std::vector<Candidate> candidates{runner(machine, "first", 0.01),
                                            runner(machine, "second", 0.01),
                                            runner(machine, "third", 0.01)};
    const Choice choice = time_candidates(comm, candidates, 0.4, "", machine.clock());
    if (choice.name == "first") ++firsts;
    expect_agreed(comm, choice);
  }
  EXPECT_GE(firsts, 97);
}

TEST(TuneContest, ADifferenceIsSeen) {
  const Comm comm(MPI_COMM_WORLD);
  int faster = 0;
  for (unsigned seed = 0; seed < repeats; ++seed) {
    Machine machine(seed, comm.rank());
    const std::vector<Candidate> candidates{runner(machine, "first", 0.0115),
                                            runner(machine, "faster", 0.01)};
    const Choice choice = time_candidates(comm, candidates, 2, "", machine.clock());
    if (choice.name == "faster") ++faster;
  }
  EXPECT_GE(faster, 97);
}

// The budget would let each run a hundred times.
TEST(TuneContest, LongRunsAreFew) {
  const Comm comm(MPI_COMM_WORLD);
  int faster = 0;
  for (unsigned seed = 0; seed < repeats; ++seed) {
    Machine machine(seed, comm.rank());
    int far = 0, near = 0, best = 0;
    const std::vector<Candidate> candidates{runner(machine, "far", 0.03, &far),
                                            runner(machine, "near", 0.0115, &near),
                                            runner(machine, "best", 0.01, &best)};
    const Choice choice = time_candidates(comm, candidates, 5, "near", machine.clock());
    if (choice.name == "best") ++faster;
    EXPECT_GE(far, 2);
    EXPECT_LE(far, 3) << "is so far behind that one run more than the first one shows it";
    EXPECT_LE(near + best, 16);
    expect_agreed(comm, choice);
  }
  EXPECT_GE(faster, 97);
}

// The budget and the limit of rounds would let them go on ten times as long.
TEST(TuneContest, EqualQuickOnesAreSoonSettled) {
  const Comm comm(MPI_COMM_WORLD);
  Machine machine(0, comm.rank(), true);
  int runs = 0;
  const std::vector<Candidate> candidates{runner(machine, "first", 1e-6, &runs),
                                          runner(machine, "second", 1e-6),
                                          runner(machine, "third", 1.005e-6)};
  const Choice choice = time_candidates(comm, candidates, 3, "", machine.clock());
  EXPECT_EQ(choice.name, "first") << choice.why;
  EXPECT_LE(runs, 40'000);
  expect_agreed(comm, choice);
}

// Where an object's memory lies can cost 10 %: what the second of two equal ones loses by that is
// no difference, so the reference stays.
TEST(TuneContest, TheLuckOfOneObjectIsNoDifference) {
  const Comm comm(MPI_COMM_WORLD);
  for (unsigned seed = 0; seed < repeats; ++seed) {
    Machine machine(seed, comm.rank());
    int made = 0;
    const std::vector<Candidate> candidates{
        runner(machine, "reference", 0.0022),
        {"lucky once",
         [&] { return std::make_unique<MachineTrial>(machine, made++ == 0 ? 0.002 : 0.0024); }}};
    const Choice choice = time_candidates(comm, candidates, 1, "", machine.clock());
    EXPECT_EQ(choice.name, "reference") << seed << ": " << choice.why;
    EXPECT_EQ(made, 2) << "the better one was not made a second time";
    expect_agreed(comm, choice);
  }
}

}  // namespace
}  // namespace tailrace::tune
