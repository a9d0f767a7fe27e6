// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/table_file.hpp"
#include "statistics.hpp"

namespace tailrace::turbulence {

/// RUN/statistics.csv and RUN/spectrum.csv: one line (one line a shell) each time, flushed. Rank 0
/// writes; all ranks learn of a failure.
class StatisticsFiles {
 public:
  /// Starts new files, or, if `restart_step` >= 0, keeps the lines up to that step and goes on
  /// behind them. Collective, blocking. Throws `Errc::io` on all ranks.
  StatisticsFiles(const Comm& comm, const std::string& folder, int num_scalars,
                  std::int64_t restart_step);
  /// Appends the lines of `now`, unless the files hold that step already. Collective, blocking.
  /// Throws `Errc::io` on all ranks.
  void append(const Statistics& now);

 private:
  MPI_Comm comm_;
  int rank_;
  std::optional<app::TableFile> statistics_, spectrum_;  ///< of rank 0
};

}  // namespace tailrace::turbulence
