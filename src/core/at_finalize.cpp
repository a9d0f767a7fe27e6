// SPDX-License-Identifier: BSD-3-Clause
#include "core/at_finalize.hpp"

#include <utility>

#include "tailrace/comm.hpp"

namespace tailrace {

AtFinalize::AtFinalize(std::function<void()> action)
    : action_(std::move(action)), key_(MPI_KEYVAL_INVALID) {
  const auto act = [](MPI_Comm, int, void* object, void*) -> int {
    const auto due = std::exchange(static_cast<AtFinalize*>(object)->action_, nullptr);
    if (due) due();
    return MPI_SUCCESS;
  };
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, act, &key_, nullptr));
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key_, this));
}

AtFinalize::~AtFinalize() {
  if (!action_ || detail::mpi_is_finalized()) return;  // MPI has taken the attribute away
  action_ = nullptr;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

}  // namespace tailrace
