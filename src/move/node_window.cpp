// SPDX-License-Identifier: BSD-3-Clause
#include "node_window.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/futex.hpp"

namespace tailrace {

namespace {

constexpr std::ptrdiff_t alignment = 64;

std::byte* align_up(void* address) {
  auto value = reinterpret_cast<std::uintptr_t>(address);
  return reinterpret_cast<std::byte*>((value + alignment - 1) / alignment * alignment);
}

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

NodeWindow::NodeWindow(const Comm& node, std::ptrdiff_t bytes) {
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Info_create(&info));
  check_mpi(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
  void* base = nullptr;
  MPI_Win raw = MPI_WIN_NULL;
  const int status = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + alignment), 1, info,
                                             node.raw(), &base, &raw);
  MPI_Info_free(&info);
  check_mpi(status);
  win_ = OwnedWin(raw);
  own_ = align_up(base);
  std::memset(own_, 0, static_cast<std::size_t>(bytes));
  check_mpi(MPI_Barrier(node.raw()));  // nobody may read or wait on memory that is not zeroed yet
}

std::byte* NodeWindow::segment(int rank) const {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  check_mpi(MPI_Win_shared_query(win_.raw(), rank, &size, &unit, &base));
  // Mappings are page-aligned in every process, so the same padding is found everywhere.
  return align_up(base);
}

void SequenceFlag::publish(std::uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(value_);
}

void SequenceFlag::wait(std::uint32_t value) {
  while (!wait_for(value, 1.0)) {
  }
}

bool SequenceFlag::wait_for(std::uint32_t value, double timeout_s) {
  constexpr int spins = 500;  // about 20 us, the cost of going to sleep and waking
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

void wait_and_progress(SequenceFlag& flag, std::uint32_t value, MPI_Comm comm) {
  constexpr double nap_s = 1e-3;
  while (!flag.wait_for(value, nap_s)) {
    int any = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &any, MPI_STATUS_IGNORE));
  }
}

}  // namespace tailrace
