// SPDX-License-Identifier: BSD-3-Clause
#include "node_window.hpp"

#include <cstring>

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/futex.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t alignment = 64;

std::ptrdiff_t align_up(std::ptrdiff_t value) {
  return (value + alignment - 1) / alignment * alignment;
}

std::byte* align_up(void* address) {
  return reinterpret_cast<std::byte*>(align_up(reinterpret_cast<std::ptrdiff_t>(address)));
}

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

// Rank 0 allocates for all: simulators know only its segment, and one segment is all that is
// needed. A rank touches its own part first, so that it lies in its own memory domain.
NodeWindow::NodeWindow(const Comm& node, std::ptrdiff_t bytes) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(node.num_ranks()));
  const std::int64_t own_bytes = align_up(bytes);
  check_mpi(MPI_Allgather(&own_bytes, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, node.raw()));
  std::int64_t total = alignment;
  for (const auto size : sizes) total += size;
  void* base = nullptr;
  MPI_Win raw = MPI_WIN_NULL;
  check_mpi(MPI_Win_allocate_shared(node.rank() == 0 ? static_cast<MPI_Aint>(total) : 0, 1,
                                    MPI_INFO_NULL, node.raw(), &base, &raw));
  win_ = OwnedWin(raw);
  MPI_Aint size = 0;
  int unit = 0;
  check_mpi(MPI_Win_shared_query(raw, 0, &size, &unit, &base));
  // Mappings are page-aligned in every process, so the same padding is found everywhere.
  auto* next = align_up(base);
  for (const auto segment_bytes : sizes) {
    segments_.push_back(next);
    next += segment_bytes;
  }
  own_ = segment(node.rank());
  std::memset(own_, 0, static_cast<std::size_t>(bytes));
  check_mpi(MPI_Barrier(node.raw()));  // nobody may read or wait on memory that is not zeroed yet
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
  constexpr double nap_s = 1e-3;
  for (int i = 0; i < policy.yields && !flag.reached(value); ++i) sched_yield();
  int spins = policy.spins;
  while (!flag.reached(value)) {
    if (policy.sleeps && flag.wait_for(value, nap_s, spins)) return;
    spins = 0;  // whoever has slept once is in no hurry
    int any = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &any, MPI_STATUS_IGNORE));
  }
}

}  // namespace tailrace
