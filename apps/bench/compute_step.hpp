// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "mpi_driver.hpp"

namespace bench {

struct ComputeSettings {
  double seconds = 0.7;  ///< of a step
  bool sleeps = false;   ///< sleep, in place of keeping the cores busy
  int passes = 0;        ///< of a step, as an earlier run calibrated them; 0: calibrate
  int stages = 4;        ///< of a step; `progress` is called after each
  int halo_items = 0;    ///< doubles for each neighbour in each stage, and a sum over all ranks
};

/// The computing between two outputs: passes over an array that fits the cache, or sleep; if
/// wanted, with the messages of a simulation.
class ComputeStep {
 public:
  /// Collective.
  ComputeStep(MPI_Comm comm, ComputeSettings settings)
      : comm_(comm), settings_(settings), halo_(static_cast<std::size_t>(4 * settings.halo_items)) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &num_ranks_);
    if (!settings.sleeps && settings.passes == 0 && settings.seconds > 0) calibrate();
  }
  /// One step; calls `progress` now and then, as a simulation calls it between its stages.
  void run(const std::function<void()>& progress) {
    for (int stage = 0; stage < settings_.stages; ++stage) {
      if (settings_.sleeps) {
        const std::chrono::duration<double> share(settings_.seconds / settings_.stages);
        std::this_thread::sleep_for(share);
      } else {
        for (int i = 0; i < settings_.passes / settings_.stages; ++i) pass();
      }
      if (settings_.halo_items > 0) talk();
      progress();
    }
  }
  int passes() const { return settings_.passes; }
  double check() const { return values_[7]; }

 private:
  void calibrate() {
    for (int i = 0; i < 50; ++i) pass();
    constexpr int tries = 400;
    MPI_Barrier(comm_);
    const double start = now_s();
    for (int i = 0; i < tries; ++i) pass();
    const double pass_s = all_max(now_s() - start, comm_) / tries;
    settings_.passes = static_cast<int>(settings_.seconds / pass_s);
  }
  void pass() {
    for (double& value : values_) value = value * 0.999999 + 1e-6;
  }
  void talk() {
    const int count = settings_.halo_items;
    double* halo = halo_.data();
    const int below = (rank_ + num_ranks_ - 1) % num_ranks_;
    const int above = (rank_ + 1) % num_ranks_;
    MPI_Sendrecv(halo, count, MPI_DOUBLE, below, 1, halo + count, count, MPI_DOUBLE, above, 1,
                 comm_, MPI_STATUS_IGNORE);
    MPI_Sendrecv(halo + 2 * count, count, MPI_DOUBLE, above, 2, halo + 3 * count, count, MPI_DOUBLE,
                 below, 2, comm_, MPI_STATUS_IGNORE);
    double sum = values_[7];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
  }

  MPI_Comm comm_;
  ComputeSettings settings_;
  int rank_ = 0, num_ranks_ = 1;
  std::vector<double> values_ = std::vector<double>(1 << 15, 0.5);  // 256 KiB
  std::vector<double> halo_;
};

}  // namespace bench
