// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/output_statistics.hpp"

#include <array>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace {

double OutputStatistics::hidden_fraction() const {
  const double work_s = copy_s + write_s;
  return work_s > 0 ? hidden_s() / work_s : 1;
}

std::string OutputStatistics::describe() const {
  auto text = fmt::format(
      "output cost {:.3f} s of {:.3f} s ({:.2f} %): copying {:.3f}, other ranks {:.3f}, room "
      "{:.3f}, "
      "the end {:.3f}; {} of {} steps complete",
      call_s, run_s, run_s > 0 ? 100 * call_s / run_s : 0, copy_s, agree_s, room_s, end_s, complete,
      steps);
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(dropped + thinned, "left out");
  add(lowered, "in single precision");
  add(spilled, "by way of a local disk");
  add(failed, "failed");
  if (write_s > 0) {
    text +=
        fmt::format("; {:.1f} MB written at {:.1f} MB/s, {:.0f} % hidden",
                    1e-6 * static_cast<double>(written_bytes),
                    1e-6 * static_cast<double>(written_bytes) / write_s, 100 * hidden_fraction());
  }
  if (slowest_step >= 0) {
    text += fmt::format("; slowest: step {}, safe after {:.3f} s", slowest_step, slowest_s);
  }
  return text;
}

OutputStatistics OutputStatistics::over_ranks(const Comm& comm) const {
  const auto reduce = [&](auto& values, MPI_Datatype type, MPI_Op op) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), type, op,
                            comm.raw()));
  };
  std::array<double, 8> longest{run_s, call_s, agree_s, copy_s, room_s, end_s, write_s, slowest_s};
  reduce(longest, MPI_DOUBLE, MPI_MAX);
  std::array<std::int64_t, 8> most{
      steps,   complete, dropped, thinned,
      lowered, spilled,  failed,  slowest_s < longest[7] ? -1 : slowest_step};
  reduce(most, MPI_INT64_T, MPI_MAX);
  std::array<std::int64_t, 4> sums{bytes, written_bytes, writes, opens};
  reduce(sums, MPI_INT64_T, MPI_SUM);
  return {.steps = most[0],
          .complete = most[1],
          .dropped = most[2],
          .thinned = most[3],
          .lowered = most[4],
          .spilled = most[5],
          .failed = most[6],
          .bytes = sums[0],
          .run_s = longest[0],
          .call_s = longest[1],
          .agree_s = longest[2],
          .copy_s = longest[3],
          .room_s = longest[4],
          .end_s = longest[5],
          .write_s = longest[6],
          .written_bytes = sums[1],
          .writes = sums[2],
          .opens = sums[3],
          .slowest_s = longest[7],
          .slowest_step = most[7]};
}

}  // namespace tailrace
