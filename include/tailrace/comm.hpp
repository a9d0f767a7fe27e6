// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <mpi.h>

#include "tailrace/error.hpp"

namespace tailrace {

namespace detail {
/// Adds to the number of live MPI handles and returns it; tests assert zero at the end.
std::ptrdiff_t count_handles(std::ptrdiff_t change);
bool mpi_is_finalized();

struct CommHandle {
  using Raw = MPI_Comm;
  static Raw null() { return MPI_COMM_NULL; }
  static void free(Raw& raw) { MPI_Comm_free(&raw); }
};
struct TypeHandle {
  using Raw = MPI_Datatype;
  static Raw null() { return MPI_DATATYPE_NULL; }
  static void free(Raw& raw) { MPI_Type_free(&raw); }
};
struct WinHandle {
  using Raw = MPI_Win;
  static Raw null() { return MPI_WIN_NULL; }
  static void free(Raw& raw) { MPI_Win_free(&raw); }
};
}  // namespace detail

/// Owner of one MPI handle: move-only, frees it once, and never after MPI_Finalize.
template <class Handle>
class Owned {
 public:
  using Raw = typename Handle::Raw;
  Owned() = default;
  explicit Owned(Raw raw) : raw_(raw) {
    if (raw_ != Handle::null()) detail::count_handles(1);
  }
  Owned(Owned&& other) noexcept : raw_(std::exchange(other.raw_, Handle::null())) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, Handle::null());
    }
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  Raw raw() const { return raw_; }
  void reset() noexcept {
    if (raw_ == Handle::null()) return;
    if (!detail::mpi_is_finalized()) Handle::free(raw_);
    raw_ = Handle::null();
    detail::count_handles(-1);
  }

 private:
  Raw raw_ = Handle::null();
};

using OwnedComm = Owned<detail::CommHandle>;
using OwnedType = Owned<detail::TypeHandle>;
using OwnedWin = Owned<detail::WinHandle>;  ///< its destruction is collective

/// A private communicator: a duplicate of the caller's, with MPI_ERRORS_RETURN set, so that
/// `check_mpi` sees every error. Move-only.
class Comm {
 public:
  /// Duplicates `user`. Collective, blocking.
  explicit Comm(MPI_Comm user);
  Comm(Comm&&) = default;
  Comm& operator=(Comm&&) = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm() = default;
  /// The ranks of the same `color`, ordered by `key`, then rank. Collective, blocking.
  Comm split(int color, int key = 0) const;
  /// The same ranks, for messages of another object. Both have `node()` in common, so one thread
  /// uses both. Collective, blocking.
  Comm duplicate() const;
  /// The ranks that share this rank's node (memory); TAILRACE_RANKS_PER_NODE makes nodes smaller,
  /// see `NodeMap`. The first call makes it; later calls, also those of duplicates, return the same
  /// communicator. Objects that send messages while others are under way duplicate it. Collective,
  /// blocking.
  Comm node() const;
  /// The same, whatever TAILRACE_RANKS_PER_NODE says. Collective, blocking.
  Comm whole_node() const;

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  MPI_Comm raw() const { return comm_ == nullptr ? MPI_COMM_NULL : comm_->raw(); }

 private:
  struct Nodes;
  explicit Comm(OwnedComm comm);
  explicit Comm(std::shared_ptr<const OwnedComm> comm) : comm_(std::move(comm)) {}
  Comm shared() const;  ///< the same communicator
  std::shared_ptr<const OwnedComm> comm_;
  std::shared_ptr<Nodes> nodes_;  ///< of all duplicates
  int rank_ = 0;
  int num_ranks_ = 1;
};

/// `value` as MPI's int count. Throws `Errc::invalid_input` if it does not fit. Local.
int to_int(std::ptrdiff_t value);

}  // namespace tailrace
