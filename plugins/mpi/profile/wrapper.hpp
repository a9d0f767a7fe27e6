// SPDX-License-Identifier: BSD-3-Clause
// What the generated wrappers call.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "common/fortran.hpp"
#include "profile/comms.hpp"
#include "profile/epochs.hpp"
#include "profile/files.hpp"
#include "profile/messages.hpp"
#include "profile/recorder.hpp"

namespace tailrace::plugins {

inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

// Bytes of a type; 0 for none, as MPI would take that for an error of the program.
inline std::int64_t type_size(MPI_Datatype type) {
  int size = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &size);
  return size;
}

template <class Count>
std::int64_t total(const Count* counts, int n, MPI_Datatype type) {
  std::int64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += counts[i];
  return sum * type_size(type);
}

template <class Count, class Types>
std::int64_t total_of_types(const Count* counts, int n, const Types& types) {
  std::int64_t sum = 0;
  for (int i = 0; i < n; ++i)
    if (counts[i] > 0) sum += counts[i] * type_size(types[i]);
  return sum;
}

template <class Requests>
std::int64_t total_started(const Requests& requests, int n) {
  std::int64_t sum = 0;
  for (int i = 0; i < n; ++i) sum += persistent_bytes(requests[i]);
  return sum;
}

// The status that a call fills: the program's, or one of ours where the program wants none.
class CStatusOne {
 public:
  explicit CStatusOne(MPI_Status* given) : used_(given == MPI_STATUS_IGNORE ? &own_ : given) {}
  MPI_Status* pointer() { return used_; }
  int source(int /*i*/ = 0) const { return used_->MPI_SOURCE; }
  int tag(int /*i*/ = 0) const { return used_->MPI_TAG; }

 private:
  MPI_Status own_{};
  MPI_Status* used_;
};

// Statuses of many requests: unknown senders where the program wants none.
class CStatusAll {
 public:
  explicit CStatusAll(MPI_Status* given) : used_(given) {}
  MPI_Status* pointer() const { return used_; }
  int source(int i) const {
    return used_ == MPI_STATUSES_IGNORE ? MPI_ANY_SOURCE : used_[i].MPI_SOURCE;
  }
  int tag(int i) const { return used_ == MPI_STATUSES_IGNORE ? MPI_ANY_TAG : used_[i].MPI_TAG; }

 private:
  MPI_Status* used_;
};

// Fortran's: as many integers each as a C status has, in the same order, also with mpi_f08.
class FortranStatusAll {
 public:
  explicit FortranStatusAll(void* given) : used_(given), known_(!fortran_status_ignored(given)) {}
  void* pointer() const { return used_; }
  int source(int i) const { return known_ ? field(i, 0) : MPI_ANY_SOURCE; }
  int tag(int i) const { return known_ ? field(i, 1) : MPI_ANY_TAG; }

 private:
  static constexpr int size_ = sizeof(MPI_Status) / sizeof(MPI_Fint);
  static constexpr int first_ = offsetof(MPI_Status, MPI_SOURCE) / sizeof(MPI_Fint);
  int field(int i, int k) const {
    return static_cast<const MPI_Fint*>(used_)[i * size_ + first_ + k];
  }
  void* used_;
  bool known_;
};
class FortranStatusOne {
 public:
  explicit FortranStatusOne(void* given) : all_(fortran_status_ignored(given) ? own_ : given) {}
  FortranStatusOne(const FortranStatusOne&) = delete;
  FortranStatusOne& operator=(const FortranStatusOne&) = delete;
  void* pointer() const { return all_.pointer(); }
  int source(int /*i*/ = 0) const { return all_.source(0); }
  int tag(int /*i*/ = 0) const { return all_.tag(0); }

 private:
  MPI_Fint own_[sizeof(MPI_Status) / sizeof(MPI_Fint)] = {};
  FortranStatusAll all_;
};

// A blocking collective call ended; `root` is the root's rank in it, or -1.
inline void collective(unsigned comm, EventKind kind, int root, Tick begin, Tick end,
                       std::uint32_t row) {
  if (comm_info(comm).is_inter || comm == max_comms - 1) return;
  if (Event* event = next_event())
    *event = {begin, end, begin, row, static_cast<std::uint16_t>(comm), kind, region_here, root, 0};
}

}  // namespace tailrace::plugins
