// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/window.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tailrace/error.hpp"

namespace tailrace::server::one_sided {

namespace {

constexpr std::uintptr_t alignment = 64;

// Fails on all ranks if it failed on one.
MPI_Win allocate(const Comm& comm, std::ptrdiff_t bytes, void*& base) {
  MPI_Win win = MPI_WIN_NULL;
  const int status = MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm.raw(),
                                      static_cast<void*>(&base), &win);
  int failed = status == MPI_SUCCESS ? 0 : 1;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm.raw()));
  check_mpi(status);
  if (failed != 0) throw Error(Errc::mpi, "another rank could not make an MPI window");
  return win;
}

bool is_unified(MPI_Win win) {
  int* model = nullptr;
  int found = 0;
  check_mpi(MPI_Win_get_attr(win, MPI_WIN_MODEL, static_cast<void*>(&model), &found));
  return found != 0 && *model == MPI_WIN_UNIFIED;
}

}  // namespace

Window::Window(const Comm& comm, std::ptrdiff_t bytes, const std::vector<int>& targets) {
  void* base = nullptr;
  win_ = OwnedWin(allocate(comm, bytes + static_cast<std::ptrdiff_t>(alignment), base));
  check_mpi(MPI_Win_set_errhandler(win_.raw(), MPI_ERRORS_RETURN));
  if (!is_unified(win_.raw())) {
    throw Error(Errc::mpi, "the windows of this MPI have separate public and private memory");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const auto skipped = (address + alignment - 1) / alignment * alignment - address;
  own_ = {static_cast<std::byte*>(base) + skipped, static_cast<std::size_t>(bytes)};
  std::fill(own_.begin(), own_.end(), std::byte{});
  MPI_Aint mine = static_cast<MPI_Aint>(skipped);
  first_.resize(static_cast<std::size_t>(comm.num_ranks()));
  check_mpi(MPI_Allgather(&mine, 1, MPI_AINT, first_.data(), 1, MPI_AINT, comm.raw()));
  locked_ = targets;
  if (std::find(locked_.begin(), locked_.end(), comm.rank()) == locked_.end()) {
    locked_.push_back(comm.rank());  // sync works only in an epoch
  }
  for (const int rank : locked_) {
    check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win_.raw()));
  }
  sync();
  check_mpi(MPI_Barrier(comm.raw()));
}

Window::~Window() {
  if (win_.raw() == MPI_WIN_NULL || detail::mpi_is_finalized()) return;
  for (const int rank : locked_) MPI_Win_unlock(rank, win_.raw());
}

void Window::sync() const { check_mpi(MPI_Win_sync(win_.raw())); }

MPI_Request Window::start_get(int rank, std::ptrdiff_t offset, std::span<std::byte> to) const {
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = to_int(std::ssize(to));
  check_mpi(MPI_Rget(to.data(), count, MPI_BYTE, rank,
                     first_[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset), count,
                     MPI_BYTE, win_.raw(), &request));
  return request;
}

void Window::put(int rank, std::ptrdiff_t offset, std::span<const std::byte> bytes) const {
  const int count = to_int(std::ssize(bytes));
  check_mpi(MPI_Put(bytes.data(), count, MPI_BYTE, rank,
                    first_[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset), count,
                    MPI_BYTE, win_.raw()));
  check_mpi(MPI_Win_flush(rank, win_.raw()));
}

}  // namespace tailrace::server::one_sided
