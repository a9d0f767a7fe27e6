// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/error.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/agreed_error.hpp"

namespace tailrace {

void check_mpi(int status, std::source_location where) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(Errc::mpi,
              fmt::format("{} ({}:{})", std::string(text.data(), static_cast<std::size_t>(length)),
                          where.file_name(), where.line()));
}

void agree(MPI_Comm comm, const Error* failure) {
  int rank = 0;
  int num_ranks = 1;
  check_mpi(MPI_Comm_rank(comm, &rank));
  check_mpi(MPI_Comm_size(comm, &num_ranks));
  int first = failure != nullptr ? rank : num_ranks;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == num_ranks) return;
  std::array<int, 3> header{};
  std::string message;
  if (rank == first) {
    message = failure->what();
    const bool says_so = message.starts_with("rank ");  // agreed on by some ranks before
    if (num_ranks > 1 && !says_so) message = fmt::format("rank {}: {}", rank, message);
    header = {static_cast<int>(failure->code()), failure->sys_errno(),
              static_cast<int>(message.size())};
  }
  check_mpi(MPI_Bcast(header.data(), 3, MPI_INT, first, comm));
  message.resize(static_cast<std::size_t>(header[2]));
  check_mpi(MPI_Bcast(message.data(), header[2], MPI_CHAR, first, comm));
  throw AgreedError(static_cast<Errc>(header[0]), message, header[1]);
}

void require_all(MPI_Comm comm, bool ok, const std::string& text) {
  int rank = 0;
  int num_ranks = 1;
  check_mpi(MPI_Comm_rank(comm, &rank));
  check_mpi(MPI_Comm_size(comm, &num_ranks));
  int first = ok ? num_ranks : rank;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == num_ranks) return;
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, first, comm));
  std::string agreed = text;
  agreed.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(agreed.data(), length, MPI_CHAR, first, comm));
  throw AgreedError(Errc::invalid_input, agreed);
}

}  // namespace tailrace
