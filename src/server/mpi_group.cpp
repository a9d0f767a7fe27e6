// SPDX-License-Identifier: BSD-3-Clause
#include "server/mpi_group.hpp"

#include <algorithm>

namespace tailrace::server {
namespace {

constexpr int tag = 0;
constexpr std::size_t chunk_bytes = std::size_t{1} << 30;  // MPI's counts have 31 bits

std::vector<std::vector<std::byte>> make_room(const std::vector<std::int64_t>& sizes) {
  std::vector<std::vector<std::byte>> all(sizes.size());
  for (std::size_t s = 0; s < sizes.size(); ++s) all[s].resize(static_cast<std::size_t>(sizes[s]));
  return all;
}

}  // namespace

GroupCall::GroupCall(const Comm& comm, std::span<double> values, MPI_Op operation)
    : comm_(comm.raw()) {
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, values.data(), to_int(std::ssize(values)), MPI_DOUBLE,
                           operation, comm_, &requests_.emplace_back()));
}

GroupCall::GroupCall(const Comm& comm, std::span<const std::vector<std::byte>> outgoing)
    : comm_(comm.raw()), outgoing_(outgoing), sizes_(outgoing.size()) {
  for (const auto& bytes : outgoing) own_sizes_.push_back(std::ssize(bytes));
  check_mpi(MPI_Ialltoall(own_sizes_.data(), 1, MPI_INT64_T, sizes_.data(), 1, MPI_INT64_T, comm_,
                          &requests_.emplace_back()));
}

bool GroupCall::advance(bool wait) {
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

void GroupCall::start_messages() {
  incoming_ = make_room(sizes_);
  sizes_.clear();
  for (std::size_t s = 0; s < incoming_.size(); ++s) {
    const auto peer = static_cast<int>(s);
    for (std::size_t at = 0; at < incoming_[s].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, incoming_[s].size() - at));
      check_mpi(MPI_Irecv(incoming_[s].data() + at, count, MPI_BYTE, peer, tag, comm_,
                          &requests_.emplace_back()));
    }
    for (std::size_t at = 0; at < outgoing_[s].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, outgoing_[s].size() - at));
      check_mpi(MPI_Isend(outgoing_[s].data() + at, count, MPI_BYTE, peer, tag, comm_,
                          &requests_.emplace_back()));
    }
  }
}

void CalledGroup::reduce(std::span<double> values, MPI_Op operation) {
  carry_out([&] { return GroupCall(comm_, values, operation); });
}

std::vector<std::vector<std::byte>> CalledGroup::gather(std::span<const std::byte> bytes) {
  const auto servers = static_cast<std::size_t>(size());
  return exchange(std::vector<std::vector<std::byte>>(servers, {bytes.begin(), bytes.end()}));
}

std::vector<std::vector<std::byte>> CalledGroup::exchange(
    const std::vector<std::vector<std::byte>>& outgoing) {
  return carry_out([&] { return GroupCall(comm_, outgoing); }).take_incoming();
}

GroupCall MpiGroup::carry_out(const StartCall& start) {
  GroupCall call = start();
  call.advance(true);
  return call;
}

}  // namespace tailrace::server
