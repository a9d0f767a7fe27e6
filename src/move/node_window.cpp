// SPDX-License-Identifier: BSD-3-Clause
#include "node_window.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/awaited.hpp"
#include "core/futex.hpp"
#include "core/round_up.hpp"
#include "core/same_on_all.hpp"
#include "core/under_way.hpp"
#include "tailrace/more/huge_pages.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t least_for_huge_pages = 4 << 20;

Error no_memory(std::ptrdiff_t bytes, const char* reason) {
  return {Errc::io,
          fmt::format("cannot allocate {} bytes of shared memory for the ranks of a node: {}",
                      bytes, reason),
          ENOMEM};
}

#ifndef SMPI_H

/// A file in memory without a name, made by the first rank of a node and opened by the others.
class CommonFile {
 public:
  /// Collective over `node`, blocking.
  CommonFile(const Comm& node, std::ptrdiff_t bytes) {
    std::int64_t told[4] = {};  // process, descriptor, and what identifies the file
    struct stat found {};
    if (node.rank() == 0) {
      file_ = make_memory_file(bytes);
      const bool made = file_ && fstat(file_.get(), &found) == 0;
      told[0] = getpid();
      told[1] = made ? file_.get() : -1;
      told[2] = static_cast<std::int64_t>(found.st_dev);
      told[3] = static_cast<std::int64_t>(found.st_ino);
    }
    check_mpi(MPI_Bcast(told, 4, MPI_INT64_T, 0, node.raw()));
    if (node.rank() != 0 && told[1] >= 0) {
      file_ = open_of_process(static_cast<int>(told[0]), static_cast<int>(told[1]));
    }
    // In a container of its own, a rank finds another process by that number.
    const bool is_it = told[1] >= 0 && file_ && fstat(file_.get(), &found) == 0 &&
                       static_cast<std::int64_t>(found.st_dev) == told[2] &&
                       static_cast<std::int64_t>(found.st_ino) == told[3];
    opened_by_all_ = true_on_all(node, is_it);
  }

  bool opened_by_all() const { return opened_by_all_; }
  int descriptor() const { return file_.get(); }
  /// Takes memory for `range` now, from this rank's domain: later there would be a signal in place
  /// of an error. Returns 0 or why it fails.
  int allocate(Range range) const {
    return range.count == 0 ? 0 : take_space(file_.get(), range.start, range.count);
  }

 private:
  Descriptor file_;
  bool opened_by_all_ = false;
};

#endif

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

// One piece of memory for all. Mappings start on a page in every process, so the segments are found
// at the same places everywhere.
NodeWindow::NodeWindow(const Comm& everybody, const Comm& node, std::ptrdiff_t bytes) {
  // What no node has is refused before it is tried: MPI's windows fail on one rank alone, and the
  // others wait for it.
  constexpr auto most = std::ptrdiff_t{1} << 46;
  const std::int64_t own_bytes = bytes > most ? most : round_up(bytes, line_bytes);
  const auto sizes = gather_from_all(node, own_bytes);
  const auto own_start =
      std::accumulate(sizes.begin(), sizes.begin() + node.rank(), std::ptrdiff_t{0});
  const auto total = std::accumulate(sizes.begin(), sizes.end(), line_bytes);
  std::optional<Error> failure;
  const auto memory = static_cast<std::ptrdiff_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (total > memory) failure = no_memory(total, fmt::format("it has {}", memory).c_str());
  std::byte* base = failure ? nullptr : map_common(node, total, {own_start, own_bytes}, failure);
  if (base == nullptr && !failure) base = allocate_window(node, total, failure);
  auto* next = failure ? nullptr : round_up(base, line_bytes);
  if (!failure) std::memset(next + own_start, 0, static_cast<std::size_t>(own_bytes));
  if (!failure && mapped_.data() != nullptr) move_to_huge_pages(next + own_start, own_bytes);
  // Nobody may read or wait on memory that is not zeroed yet, either.
  agree(everybody.raw(), failure ? &*failure : nullptr);
  for (const auto segment_bytes : sizes) {
    segments_.push_back(next);
    next += segment_bytes;
  }
  own_ = segment(node.rank());
}

#ifdef SMPI_H

std::byte* NodeWindow::map_common(const Comm&, std::ptrdiff_t, Range, std::optional<Error>&) {
  return nullptr;  // one process has all ranks
}

#else

std::byte* NodeWindow::map_common(const Comm& node, std::ptrdiff_t total, Range own,
                                  std::optional<Error>& failure) {
  const CommonFile file(node, total);
  if (!file.opened_by_all()) return nullptr;
  try {
    mapped_ = Mapping(file.descriptor(), total);
    // Given where the system has huge pages for shared memory that asks (shmem_enabled: advise).
    if (own.count >= least_for_huge_pages)
      madvise(mapped_.data(), static_cast<std::size_t>(total), MADV_HUGEPAGE);
    const int reason = file.allocate(own);
    if (reason != 0) fail_errno(reason);
  } catch (const Error& error) {
    failure = no_memory(total, error.what());
  }
  return mapped_.data();
}

#endif

// Rank 0 allocates for all: simulators know only its segment. Where it alone fails, the others may
// have a window that cannot be freed without it.
std::byte* NodeWindow::allocate_window(const Comm& node, std::ptrdiff_t total,
                                       std::optional<Error>& failure) {
  void* base = nullptr;
  MPI_Win raw = MPI_WIN_NULL;
  try {
    check_mpi(MPI_Win_allocate_shared(node.rank() == 0 ? static_cast<MPI_Aint>(total) : 0, 1,
                                      MPI_INFO_NULL, node.raw(), &base, &raw));
  } catch (const Error& error) {
    failure = no_memory(total, error.what());
  }
  if (!true_on_all(node, !failure)) return nullptr;
  win_ = OwnedWin(raw);
  MPI_Aint size = 0;
  int unit = 0;
  check_mpi(MPI_Win_shared_query(raw, 0, &size, &unit, &base));
  return static_cast<std::byte*>(base);
}

void SequenceFlag::publish(std::uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(value_);
}

void SequenceFlag::advance(std::uint32_t value) {
  auto seen = value_.load(std::memory_order_relaxed);
  while (static_cast<std::int32_t>(value - seen) > 0) {
    if (value_.compare_exchange_weak(seen, value, std::memory_order_seq_cst)) {
      if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(value_);
      return;
    }
  }
}

bool SequenceFlag::wait_for(std::uint32_t value, double timeout_s, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (reached(value)) return true;
    pause_briefly();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = value_.load(std::memory_order_seq_cst);
  if (static_cast<std::int32_t>(seen - value) < 0) futex_wait(value_, seen, timeout_s);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  return reached(value);
}

void wait_and_progress(SequenceFlag& flag, std::uint32_t value, MPI_Comm comm,
                       const WaitPolicy& policy) {
  for (int i = 0; i < policy.looks && !flag.reached(value); ++i) pause_briefly();
  for (int i = 0; i < policy.yields && !flag.reached(value); ++i) sched_yield();
  int spins = policy.spins;
  while (!flag.reached(value)) {
    UnderWay::advance_all();
    const double nap_s = UnderWay::any() ? 50e-6 : 1e-3;
    if (policy.sleeps && flag.wait_for(value, nap_s, spins)) return;
    tell_long_wait();
    spins = 0;  // whoever has slept once is in no hurry
    progress_mpi(comm);
  }
}

}  // namespace tailrace
