// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <mpi.h>

#include "tailrace/error.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace::tune {

/// The lowest and highest rank's index of the winner, to see that all have the same.
inline void expect_agreed(const Comm& comm, const Choice& choice) {
  const auto value = static_cast<long>(std::hash<std::string>{}(choice.name + choice.why) >> 1);
  long extremes[2] = {value, -value};
  MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_LONG, MPI_MAX, comm.raw());
  EXPECT_EQ(extremes[0], -extremes[1]) << choice.name << ": " << choice.why;
}

/// What trials have done, so that tests can count it.
struct Counts {
  int made = 0;
  int runs = 0;
};

/// Sleeps: takes at least its time, however busy the machine is.
class Sleeper : public Trial {
 public:
  Sleeper(double seconds, std::uint64_t result, Counts* counts)
      : seconds_(seconds), result_(result), counts_(counts) {}
  void run() override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    if (counts_ != nullptr) ++counts_->runs;
    fresh_ = true;
  }
  /// Results can be looked at once after a run, as those that lie in shared arrays.
  std::uint64_t checksum() override { return std::exchange(fresh_, false) ? result_ : 0; }

 private:
  double seconds_;
  std::uint64_t result_;
  Counts* counts_;
  bool fresh_ = false;
};

inline Candidate sleeper(std::string name, double seconds, Counts* counts = nullptr,
                         std::uint64_t result = 7) {
  return {std::move(name), [=] {
            if (counts != nullptr) ++counts->made;
            return std::make_unique<Sleeper>(seconds, result, counts);
          }};
}

inline Candidate unfit(std::string name) {
  return {std::move(name),
          []() -> std::unique_ptr<Trial> { throw Error(Errc::invalid_input, "needs a torus"); }};
}

}  // namespace tailrace::tune
