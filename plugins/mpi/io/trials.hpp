// SPDX-License-Identifier: BSD-3-Clause
// Which implementation serves calls of about the same size: ours and MPI's take turns in the
// program's own calls, so nothing is read or written twice, then the faster one stays.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "chooser/trial.hpp"

namespace tailrace::plugins {

enum class Implementation { ours, mpi };

class Trials {
 public:
  // The implementation of the next call. Collective over `comm`, blocking at the call that decides.
  Implementation next(MPI_Comm comm);
  // What a call took on this rank, while it is undecided.
  void took(Implementation implementation, double time_s);
  bool is_decided() const { return decided_; }

 private:
  static constexpr int rounds = 3;   // the first of which pays for what is made once
  chooser::Trial trial_{2, rounds};  // MPI's own way is the reference
  bool decided_ = false;
  Implementation stays_ = Implementation::ours;
};

// Calls in a row that stayed with MPI. To ask all ranks for the size of a call costs as much as a
// small call: the longer the streak, the more of the next calls go to MPI unasked.
class MpiStreak {
 public:
  // True if the next call goes to MPI unasked. The same on all ranks.
  bool passes();
  // A call that was asked for stays with MPI, or not.
  void asked(bool stays_with_mpi);

 private:
  int length_ = 0;  // of calls that were asked for
  int unasked_ = 0;
};

// Calls of one kind: reads or writes, the size and the pieces of the largest part, in powers of 2.
// All numbers are the same on all ranks.
class TrialsOfSizes {
 public:
  Trials& of(bool writes, std::int64_t bytes, std::int64_t runs);

 private:
  std::map<std::tuple<bool, int, int>, Trials> all_;
};

}  // namespace tailrace::plugins
