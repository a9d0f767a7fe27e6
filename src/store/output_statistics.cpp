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
      "output cost {:.3f} s of {:.3f} s ({:.2f} %): copying {:.3f}, waiting for other ranks "
      "{:.3f}, for memory {:.3f}, for the end {:.3f}; {} of {} steps complete",
      call_s, run_s, run_s > 0 ? 100 * call_s / run_s : 0, copy_s, agree_s, room_s, end_s, complete,
      steps);
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(dropped + thinned, "dropped");
  add(lowered, "in single precision");
  add(spilled, "spilled to a local disk");
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

namespace {

/// Puts what `op` makes of all ranks into each of `members`.
template <class Number, class... Members>
void reduce_members(OutputStatistics& all, const Comm& comm, MPI_Datatype type, MPI_Op op,
                    Members... members) {
  std::array<Number, sizeof...(members)> values{all.*members...};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), type, op,
                          comm.raw()));
  std::size_t i = 0;
  ((all.*members = values[i++]), ...);
}

}  // namespace

OutputStatistics OutputStatistics::over_ranks(const Comm& comm) const {
  using S = OutputStatistics;
  S all = *this;
  reduce_members<double>(all, comm, MPI_DOUBLE, MPI_MAX, &S::run_s, &S::call_s, &S::agree_s,
                         &S::copy_s, &S::room_s, &S::end_s, &S::write_s, &S::slowest_s);
  reduce_members<double>(all, comm, MPI_DOUBLE, MPI_SUM, &S::writer_cpu_s);
  if (slowest_s < all.slowest_s) all.slowest_step = -1;
  reduce_members<std::int64_t>(all, comm, MPI_INT64_T, MPI_MAX, &S::steps, &S::complete,
                               &S::dropped, &S::thinned, &S::lowered, &S::spilled, &S::failed,
                               &S::slowest_step);
  reduce_members<std::int64_t>(all, comm, MPI_INT64_T, MPI_SUM, &S::bytes, &S::written_bytes,
                               &S::writes, &S::opens);
  return all;
}

}  // namespace tailrace
