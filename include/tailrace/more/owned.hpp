// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <mpi.h>

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

/// Owner of one MPI handle: move-only; frees it once, and never after MPI_Finalize.
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

}  // namespace tailrace
