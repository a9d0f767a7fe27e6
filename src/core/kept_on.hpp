// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <mpi.h>

namespace tailrace {

/// What a communicator keeps, see `kept_on`.
class KeptObject {
 public:
  KeptObject() = default;
  virtual ~KeptObject() = default;
  KeptObject(const KeptObject&) = delete;
  KeptObject& operator=(const KeptObject&) = delete;
};

namespace detail {
/// A new kind of attribute of communicators. Local.
int make_kept_key();
/// The object of a communicator, or null. Local.
KeptObject* find_kept(MPI_Comm comm, int key);
void keep_on(MPI_Comm comm, int key, std::unique_ptr<KeptObject> object);
}  // namespace detail

/// The object of type T that `comm` keeps; the first call makes it by T(comm). It ends when `comm`
/// is freed (as an attribute: MPI 3.1, 6.7.2), or else when MPI_Finalize begins. Duplicates of
/// `comm` do not have it. The first call is collective if T(comm) is, later ones are local.
template <class T>
T& kept_on(MPI_Comm comm) {
  static const int key = detail::make_kept_key();
  if (auto* const found = detail::find_kept(comm, key)) return static_cast<T&>(*found);
  auto made = std::make_unique<T>(comm);
  T& result = *made;
  detail::keep_on(comm, key, std::move(made));
  return result;
}

}  // namespace tailrace
