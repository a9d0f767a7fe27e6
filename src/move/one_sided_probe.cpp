// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "core/same_on_all.hpp"
#include "move/one_sided_window.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {
namespace {

// Owners sleep twice as long as a read may take, each time twice as long as before: on busy cores a
// reader may be late itself. Where reads do not move, that takes 0.6 s.
constexpr double first_limit_s = 20e-3;
constexpr double last_limit_s = 160e-3;
constexpr double wrong_s = 1e9;
constexpr int targets_of_a_reader = 8;

// Seconds of the slowest reader, counted from when nobody can have fallen asleep yet: so a reader
// that comes late is no proof. A reader that comes early is none, either, as an owner that is still
// in the barrier takes part: readers wait an eighth of the owners' sleep, which does not count.
// `wrong_s` if wrong bytes came, or none.
double try_once(const Comm& comm, std::span<const int> targets, double sleep_s,
                const std::function<std::int64_t(int)>& read) {
  check_mpi(MPI_Barrier(comm.raw()));
  const double start_s = now_s();
  check_mpi(MPI_Barrier(comm.raw()));
  double taken_s = 0;
  if (!targets.empty()) {
    const double wait_s = sleep_s / 8;
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    bool right = true;
    try {
      for (const int rank : targets) right = read(rank) == rank && right;
    } catch (const Error&) {
      right = false;
    }
    taken_s = right ? now_s() - start_s - wait_s : wrong_s;
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s));
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &taken_s, 1, MPI_DOUBLE, MPI_MAX, comm.raw()));
  return taken_s;
}

// So many windows are tried: an owner that was late to fall asleep has taken part in one.
constexpr int windows_tried = 2;

// Every rank shows its number.
void show_rank(const OneSidedWindow& window, const Comm& comm) {
  const std::int64_t rank = comm.rank();
  std::memcpy(window.own().data(), &rank, sizeof rank);
  window.sync();
}

std::int64_t read_rank(const OneSidedWindow& window, int other) {
  std::int64_t found = -1;
  auto request = window.start_get(other, 0, std::as_writable_bytes(std::span(&found, 1)));
  check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return found;
}

std::string no_window(const Error& error) {
  if (error.code() != Errc::mpi) throw;
  return fmt::format("this MPI makes no window of these ranks ({})", error.what());
}

}  // namespace

std::string describe(const OneSidedProbe& probe) {
  if (!probe.trouble.empty()) return probe.trouble;
  return fmt::format("one-sided reads move without the help of the memory's owner ({:.0f} us)",
                     1e6 * probe.read_s);
}

std::vector<int> probe_targets(int reader, const std::vector<int>& ranks) {
  std::vector<int> targets;
  if (reader < 0) return targets;
  const int count = static_cast<int>(ranks.size());
  const int step = std::max(1, count / targets_of_a_reader);
  for (int i = 0; i < count && std::ssize(targets) < targets_of_a_reader; i += step) {
    targets.push_back(ranks[static_cast<std::size_t>((i + reader) % count)]);
  }
  return targets;
}

OneSidedProbe probe_reads(const Comm& comm, std::span<const int> targets,
                          const std::function<std::int64_t(int)>& read) {
  OneSidedProbe probe;
  for (double limit_s = first_limit_s; limit_s <= last_limit_s; limit_s *= 2) {
    probe.read_s = try_once(comm, targets, 2 * limit_s, read);
    if (probe.read_s <= limit_s) return probe;
    if (probe.read_s >= wrong_s) break;
  }
  probe.trouble = "one-sided reads do not move until the owner of the memory takes part, or fail";
  return probe;
}

OneSidedProbe probe_one_sided(const Comm& comm, std::span<const int> targets) {
  try {
    OneSidedProbe probe;
    for (int i = 0; i < windows_tried && probe.trouble.empty(); ++i) {
      const OneSidedWindow window(comm, sizeof(std::int64_t), targets);
      show_rank(window, comm);
      probe = probe_reads(comm, targets, [&window](int other) { return read_rank(window, other); });
    }
    return probe;
  } catch (const Error& error) {
    return {.trouble = no_window(error)};
  }
}

OneSidedProbe probe_one_sided(const Comm& comm) {
  const int reader = comm.num_ranks() - 1;
  std::vector<int> others(static_cast<std::size_t>(reader));
  std::iota(others.begin(), others.end(), 0);
  const bool reads = comm.rank() == reader;
  return probe_one_sided(comm, reads ? probe_targets(0, others) : std::vector<int>{});
}

std::string probe_windows(const Comm& comm) {
  const std::array<int, 1> next{(comm.rank() + 1) % comm.num_ranks()};
  try {
    const OneSidedWindow window(comm, sizeof(std::int64_t), next);
    show_rank(window, comm);
    check_mpi(MPI_Barrier(comm.raw()));
    bool right = false;
    try {
      right = read_rank(window, next[0]) == next[0];
    } catch (const Error&) {
    }
    return true_on_all(comm, right) ? "" : "one-sided reads of this MPI fail between these ranks";
  } catch (const Error& error) {
    return no_window(error);
  }
}

}  // namespace tailrace
