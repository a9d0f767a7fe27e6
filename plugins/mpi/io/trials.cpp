// SPDX-License-Identifier: BSD-3-Clause
#include "io/trials.hpp"

#include <algorithm>
#include <bit>

#include "tailrace/error.hpp"

namespace tailrace::plugins {
namespace {

// Calls in a row that are asked for; then from as many on, doubled each time, at most so many pass.
constexpr int asked_in_a_row = 8;
constexpr int most_unasked = 1024;

int power_of_2(std::int64_t number) {
  return static_cast<int>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0))));
}

}  // namespace

Implementation Trials::next(MPI_Comm comm) {
  if (decided_) return stays_;
  if (trial_.turns(0) < rounds) {
    return trial_.turns(1) > trial_.turns(0) ? Implementation::mpi : Implementation::ours;
  }
  // A call lasts until its last rank is through.
  auto times = trial_.times();
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE,
                           MPI_MAX, comm));
  trial_.set_times(times);
  stays_ = trial_.winner() == 0 ? Implementation::mpi : Implementation::ours;
  decided_ = true;
  return stays_;
}

void Trials::took(Implementation implementation, double time_s) {
  trial_.add(implementation == Implementation::mpi ? 0 : 1, time_s);
}

bool MpiStreak::passes() {
  if (unasked_ == 0) return false;
  --unasked_;
  return true;
}

void MpiStreak::asked(bool stays_with_mpi) {
  length_ = stays_with_mpi ? length_ + 1 : 0;
  if (length_ < asked_in_a_row) return;
  const int doublings = std::min(length_ - asked_in_a_row, 16);
  unasked_ = std::min(asked_in_a_row << doublings, most_unasked);
}

Trials& TrialsOfSizes::of(bool writes, std::int64_t bytes, std::int64_t runs) {
  return all_[{writes, power_of_2(bytes), power_of_2(runs)}];
}

}  // namespace tailrace::plugins
