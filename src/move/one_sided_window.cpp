// SPDX-License-Identifier: BSD-3-Clause
#include "move/one_sided_window.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "core/round_up.hpp"
#include "core/same_on_all.hpp"
#include "core/system_call.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace {

namespace {

// The windows of SimGrid's MPI have one memory; it knows neither the question nor MPI_Win_sync.
#ifdef SMPI_H
constexpr bool simulated = true;
#else
constexpr bool simulated = false;
#endif

// Throws on all ranks alike where the windows of a node have no room. MPI libraries keep what ranks
// share in /dev/shm, which has 64 MB in containers; that there is no room there, or in the address
// space of a rank, they see on one rank only, and the others wait for ever.
void require_room([[maybe_unused]] const Comm& comm, [[maybe_unused]] std::ptrdiff_t own_bytes) {
#ifndef SMPI_H
  std::int64_t bytes = own_bytes;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, comm.raw()));
  bytes += bytes / 16 + (1 << 20);  // and records of MPI's own
  run_agreed(comm.raw(), [&] {
    struct statvfs shm {};
    const bool known = statvfs("/dev/shm", &shm) == 0;
    const auto free = static_cast<std::int64_t>(shm.f_bavail * shm.f_frsize);
    if (known && bytes > free) {
      throw Error(Errc::io,
                  fmt::format("no memory for windows of {} bytes on one node: /dev/shm, where MPI "
                              "keeps them, has room for {}",
                              bytes, free),
                  ENOSPC);
    }
    void* trial = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (trial == MAP_FAILED) {
      throw Error(Errc::io, fmt::format("no memory for windows of {} bytes on one node", bytes),
                  errno);
    }
    munmap(trial, static_cast<std::size_t>(bytes));
  });
#endif
}

// Lets one communicator at a time make a window on each of its nodes: Open MPI 4.1 names the file
// behind a window by the communicator's number, which groups made at the same time have in common,
// and two with ranks on one node get into each other's way. A name of an abstract socket is the
// lock: it goes with its holder, and leaves no file. Held on all nodes or on none, so that no two
// wait for each other; who found one taken tries again after a time drawn by its first rank, as all
// would meet again if each rank drew its own.
class TurnOnNodes {
 public:
  explicit TurnOnNodes(const Comm& comm) {
    const int rank = comm.whole_node().rank();
    std::minstd_rand draw(static_cast<unsigned>(getpid()));
    for (long most_ns = 1'000'000; !true_on_all(comm, rank != 0 || take()); most_ns *= 2) {
      socket_.close();
      most_ns = std::min(most_ns, 100'000'000L);
      const timespec length{0, std::uniform_int_distribution<long>(0, most_ns)(draw)};
      if (comm.rank() == 0) nanosleep(&length, nullptr);
      check_mpi(MPI_Barrier(comm.raw()));
    }
  }

 private:
  /// False if another holds it; true also where there are no such sockets.
  bool take() {
    socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket_) return true;
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    check_mpi(MPI_Get_processor_name(host, &length));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const char* job = std::getenv("PMIX_NAMESPACE");  // others cannot meet, and may be suspended
    fmt::format_to_n(name.sun_path + 1, sizeof name.sun_path - 2, "tailrace-windows.{}.{}",
                     job != nullptr ? job : "", host);
    return bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ||
           errno != EADDRINUSE;
  }

  Descriptor socket_;
};

// Fails on all ranks if it failed on one. On one node a shared window is asked for.
MPI_Win allocate_win(const Comm& comm, std::ptrdiff_t bytes, void*& base) {
  MPI_Win win = MPI_WIN_NULL;
  const bool one_node = !simulated && comm.node().num_ranks() == comm.num_ranks();
  if (one_node) require_room(comm, bytes);
  std::optional<TurnOnNodes> turn;
  if (!one_node && !simulated) turn.emplace(comm);
  const auto make = one_node ? MPI_Win_allocate_shared : MPI_Win_allocate;
  const int status = make(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm.raw(),
                          static_cast<void*>(&base), &win);
  try {
    check_mpi(status);
    agree(comm.raw(), nullptr);
  } catch (const Error& error) {
    if (status != MPI_SUCCESS) agree(comm.raw(), &error);
    throw;
  }
  return win;
}

bool is_unified(MPI_Win win) {
  if (simulated) return true;
  int* model = nullptr;
  int found = 0;
  check_mpi(MPI_Win_get_attr(win, MPI_WIN_MODEL, static_cast<void*>(&model), &found));
  return found != 0 && *model == MPI_WIN_UNIFIED;
}

}  // namespace

void OneSidedWindow::allocate(const Comm& comm, std::ptrdiff_t bytes) {
  void* base = nullptr;
  // A multiple of 64, as MPICH 4.0 looks in the wrong place for windows of odd sizes on its node.
  win_ = OwnedWin(allocate_win(comm, round_up(bytes, line_bytes) + line_bytes, base));
  check_mpi(MPI_Win_set_errhandler(win_.raw(), MPI_ERRORS_RETURN));
  if (!is_unified(win_.raw())) {
    throw Error(Errc::mpi, "the windows of this MPI have separate public and private memory");
  }
  auto* const first = round_up(static_cast<std::byte*>(base), line_bytes);
  own_ = {first, static_cast<std::size_t>(bytes)};
  std::fill(own_.begin(), own_.end(), std::byte{});
  first_ = gather_from_all(comm, MPI_Aint{first - static_cast<std::byte*>(base)});
}

void OneSidedWindow::finish_making(const Comm& comm) const {
  sync();
  check_mpi(MPI_Barrier(comm.raw()));
}

OneSidedWindow::OneSidedWindow(const Comm& comm, std::ptrdiff_t bytes, std::span<const int> targets)
    : locked_(targets.begin(), targets.end()) {
  allocate(comm, bytes);
  if (std::find(locked_.begin(), locked_.end(), comm.rank()) == locked_.end()) {
    locked_.push_back(comm.rank());  // sync works only in an epoch
  }
  for (const int rank : locked_) {
    check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win_.raw()));
  }
  finish_making(comm);
}

OneSidedWindow::OneSidedWindow(const Comm& comm, std::ptrdiff_t bytes) {
  allocate(comm, bytes);
  check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, win_.raw()));
  finish_making(comm);
}

OneSidedWindow::~OneSidedWindow() {
  if (win_.raw() == MPI_WIN_NULL || detail::mpi_is_finalized()) return;
  if (locked_.empty()) MPI_Win_unlock_all(win_.raw());
  for (const int rank : locked_) MPI_Win_unlock(rank, win_.raw());
}

void OneSidedWindow::sync() const {
  if (!simulated) check_mpi(MPI_Win_sync(win_.raw()));
}

MPI_Request OneSidedWindow::start_get(int rank, std::ptrdiff_t offset,
                                      std::span<std::byte> to) const {
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = to_int(std::ssize(to));
  check_mpi(MPI_Rget(to.data(), count, MPI_BYTE, rank,
                     first_[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset), count,
                     MPI_BYTE, win_.raw(), &request));
  return request;
}

void OneSidedWindow::put(int rank, std::ptrdiff_t offset, std::span<const std::byte> bytes) const {
  const int count = to_int(std::ssize(bytes));
  check_mpi(MPI_Put(bytes.data(), count, MPI_BYTE, rank,
                    first_[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset), count,
                    MPI_BYTE, win_.raw()));
  check_mpi(MPI_Win_flush(rank, win_.raw()));
}

}  // namespace tailrace
