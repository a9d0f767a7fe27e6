// SPDX-License-Identifier: BSD-3-Clause
#include "core/kept_on.hpp"

#include <utility>

#include "core/at_finalize.hpp"
#include "tailrace/error.hpp"

namespace tailrace::detail {

namespace {

struct Keeper {
  explicit Keeper(std::unique_ptr<KeptObject> kept)
      : object(std::move(kept)), at_finalize([this] { object.reset(); }) {}
  std::unique_ptr<KeptObject> object;
  AtFinalize at_finalize;
};

int forget(MPI_Comm, int, void* keeper, void*) {
  delete static_cast<Keeper*>(keeper);
  return MPI_SUCCESS;
}

}  // namespace

int make_kept_key() {
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr));
  return key;
}

KeptObject* find_kept(MPI_Comm comm, int key) {
  void* keeper = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm, key, &keeper, &found));
  return found != 0 ? static_cast<Keeper*>(keeper)->object.get() : nullptr;
}

void keep_on(MPI_Comm comm, int key, std::unique_ptr<KeptObject> object) {
  auto keeper = std::make_unique<Keeper>(std::move(object));
  check_mpi(MPI_Comm_set_attr(comm, key, keeper.get()));
  static_cast<void>(keeper.release());
}

}  // namespace tailrace::detail
