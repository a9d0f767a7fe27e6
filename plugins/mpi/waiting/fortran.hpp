// SPDX-License-Identifier: BSD-3-Clause
// Arguments of Fortran's blocking calls in C's form, for the C calls that are made in their place.
// What a call changes is written back at the end of the wrapper.
#pragma once
#include <mpi.h>

#include <vector>

#include "common/fortran.hpp"
#include "waiting/waiting.hpp"

namespace tailrace::plugins {

class RequestsOf {
 public:
  RequestsOf(void* handles, int count) : handles_(static_cast<MPI_Fint*>(handles)) {
    for (int i = 0; i < count; ++i) own_.push_back(PMPI_Request_f2c(handles_[i]));
  }
  RequestsOf(const RequestsOf&) = delete;
  RequestsOf& operator=(const RequestsOf&) = delete;
  ~RequestsOf() {
    for (std::size_t i = 0; i < own_.size(); ++i) handles_[i] = PMPI_Request_c2f(own_[i]);
  }
  operator MPI_Request*() { return own_.data(); }

 private:
  MPI_Fint* handles_;
  std::vector<MPI_Request> own_;
};

// Fortran holds a status as the integers of C's.
class StatusesOf {
 public:
  StatusesOf(void* first, int count) : first_(static_cast<MPI_Fint*>(first)) {
    const bool ignored = first == nullptr || fortran_status_ignored(first);
    if (!ignored) own_.resize(static_cast<std::size_t>(count));
  }
  StatusesOf(const StatusesOf&) = delete;
  StatusesOf& operator=(const StatusesOf&) = delete;
  ~StatusesOf() {
    constexpr auto length = sizeof(MPI_Status) / sizeof(MPI_Fint);
    for (std::size_t i = 0; i < own_.size(); ++i) PMPI_Status_c2f(&own_[i], first_ + i * length);
  }
  operator MPI_Status*() { return own_.empty() ? MPI_STATUS_IGNORE : own_.data(); }

 private:
  MPI_Fint* first_;
  std::vector<MPI_Status> own_;
};

class MessageOf {
 public:
  explicit MessageOf(void* handle) : handle_(static_cast<MPI_Fint*>(handle)) {}
  MessageOf(const MessageOf&) = delete;
  MessageOf& operator=(const MessageOf&) = delete;
  ~MessageOf() { *handle_ = PMPI_Message_c2f(own_); }
  operator MPI_Message*() { return &own_; }

 private:
  MPI_Fint* handle_;
  MPI_Message own_ = MPI_MESSAGE_NULL;
};

// One type for each rank of `comm`; none where the data lie in place.
class TypesOf {
 public:
  TypesOf(const void* handles, const void* buffer, MPI_Comm comm) {
    int count = 0;
    if (buffer != MPI_IN_PLACE) PMPI_Comm_size(comm, &count);
    for (int i = 0; i < count; ++i)
      own_.push_back(PMPI_Type_f2c(static_cast<const MPI_Fint*>(handles)[i]));
  }
  operator const MPI_Datatype*() const { return own_.data(); }

 private:
  std::vector<MPI_Datatype> own_;
};

// Fortran counts requests from one.
inline void count_from_one(int* indices, int count) {
  for (int i = 0; i < count; ++i)
    if (indices[i] >= 0) ++indices[i];
}

}  // namespace tailrace::plugins
