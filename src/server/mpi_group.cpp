// SPDX-License-Identifier: BSD-3-Clause
#include "server/mpi_group.hpp"

#include <algorithm>

namespace tailrace::server {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 30;  // MPI's counts have 31 bits

}  // namespace

GroupExchange::GroupExchange(const Comm& comm, int channel,
                             std::span<const std::vector<std::byte>> outgoing)
    : comm_(comm.raw()), tag_(channel), outgoing_(outgoing), sizes_(outgoing.size()) {
  for (const auto& bytes : outgoing) own_sizes_.push_back(std::ssize(bytes));
  for (std::size_t m = 0; m < outgoing.size(); ++m) {
    const auto peer = static_cast<int>(m);
    check_mpi(MPI_Irecv(&sizes_[m], 1, MPI_INT64_T, peer, tag_, comm_, &requests_.emplace_back()));
    check_mpi(
        MPI_Isend(&own_sizes_[m], 1, MPI_INT64_T, peer, tag_, comm_, &requests_.emplace_back()));
  }
}

bool GroupExchange::advance(bool wait) {
  while (!requests_.empty()) {
    const int count = to_int(std::ssize(requests_));
    int done = 1;
    if (wait) {
      check_mpi(MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE));
    } else {
      check_mpi(MPI_Testall(count, requests_.data(), &done, MPI_STATUSES_IGNORE));
    }
    if (done == 0) return false;
    requests_.clear();
    if (!sizes_.empty()) start_messages();
  }
  return true;
}

// Messages from a member arrive in the order in which it sent them, so one tag is enough.
void GroupExchange::start_messages() {
  incoming_.resize(sizes_.size());
  for (std::size_t m = 0; m < incoming_.size(); ++m) {
    const auto peer = static_cast<int>(m);
    incoming_[m].resize(static_cast<std::size_t>(sizes_[m]));
    for (std::size_t at = 0; at < incoming_[m].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, incoming_[m].size() - at));
      check_mpi(MPI_Irecv(incoming_[m].data() + at, count, MPI_BYTE, peer, tag_, comm_,
                          &requests_.emplace_back()));
    }
    for (std::size_t at = 0; at < outgoing_[m].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, outgoing_[m].size() - at));
      check_mpi(MPI_Isend(outgoing_[m].data() + at, count, MPI_BYTE, peer, tag_, comm_,
                          &requests_.emplace_back()));
    }
  }
  sizes_.clear();
}

void MpiGroup::reduce(std::span<double> values, Operation operation) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), to_int(std::ssize(values)), MPI_DOUBLE,
                          operation == Operation::sum ? MPI_SUM : MPI_MAX, comm_.raw()));
}

std::vector<std::vector<std::byte>> MpiGroup::exchange(
    const std::vector<std::vector<std::byte>>& outgoing) {
  GroupExchange call(comm_, 0, outgoing);
  call.advance(true);
  return call.take_incoming();
}

}  // namespace tailrace::server
