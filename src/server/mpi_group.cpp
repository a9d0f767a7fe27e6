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

void MpiGroup::reduce(std::span<double> values, MPI_Op operation) {
  const auto count = to_int(static_cast<std::ptrdiff_t>(values.size()));
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, operation, comm_.raw()));
}

std::vector<std::vector<std::byte>> MpiGroup::gather(std::span<const std::byte> bytes) {
  const auto servers = static_cast<std::size_t>(size());
  return exchange(std::vector<std::vector<std::byte>>(servers, {bytes.begin(), bytes.end()}));
}

std::vector<std::vector<std::byte>> MpiGroup::exchange(
    const std::vector<std::vector<std::byte>>& outgoing) {
  const auto servers = static_cast<std::size_t>(size());
  std::vector<std::int64_t> own(servers), sizes(servers);
  for (std::size_t s = 0; s < servers; ++s) own[s] = static_cast<std::int64_t>(outgoing[s].size());
  check_mpi(MPI_Alltoall(own.data(), 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, comm_.raw()));
  auto incoming = make_room(sizes);
  std::vector<MPI_Request> requests;
  for (std::size_t s = 0; s < servers; ++s) {
    const auto peer = static_cast<int>(s);
    if (peer == rank()) {
      incoming[s] = outgoing[s];
      continue;
    }
    for (std::size_t at = 0; at < incoming[s].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, incoming[s].size() - at));
      check_mpi(MPI_Irecv(incoming[s].data() + at, count, MPI_BYTE, peer, tag, comm_.raw(),
                          &requests.emplace_back()));
    }
    for (std::size_t at = 0; at < outgoing[s].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, outgoing[s].size() - at));
      check_mpi(MPI_Isend(outgoing[s].data() + at, count, MPI_BYTE, peer, tag, comm_.raw(),
                          &requests.emplace_back()));
    }
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  return incoming;
}

}  // namespace tailrace::server
