// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/same_on_all.hpp"

namespace tailrace {

namespace {

constexpr std::string_view rank_prefix = "rank ";

/// The rank that a message of `agree` begins with.
std::optional<int> rank_named(std::string_view message) {
  if (!message.starts_with(rank_prefix)) return std::nullopt;
  int rank = 0;
  const char* const first = message.data() + rank_prefix.size();
  const auto [end, error] = std::from_chars(first, message.data() + message.size(), rank);
  if (error != std::errc{} || end == first) return std::nullopt;
  return rank;
}

/// The first rank that `fails`, on all of them; nothing if none does. Collective, blocking.
std::optional<int> first_failing(MPI_Comm comm, bool fails) {
  constexpr int none = std::numeric_limits<int>::max();
  int first = none;
  if (fails) check_mpi(MPI_Comm_rank(comm, &first));
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm));
  return first == none ? std::nullopt : std::optional(first);
}

}  // namespace

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
  const auto first = first_failing(comm, failure != nullptr);
  if (!first) return;
  int rank = 0;
  int num_ranks = 1;
  check_mpi(MPI_Comm_rank(comm, &rank));
  check_mpi(MPI_Comm_size(comm, &num_ranks));
  std::optional<Error> told;
  if (rank == *first) {
    std::string message = failure->what();
    const bool says_so = message.starts_with(rank_prefix);  // agreed on by some ranks before
    if (num_ranks > 1 && !says_so) message = fmt::format("rank {}: {}", rank, message);
    told.emplace(failure->code(), message, failure->sys_errno());
  }
  throw_together(comm, *first, std::move(told));
}

void throw_together(MPI_Comm comm, int root, std::optional<Error> failure) {
  std::array<int, 2> codes{};
  std::string message;
  if (failure) {
    codes = {static_cast<int>(failure->code()), failure->sys_errno()};
    message = failure->what();
  }
  check_mpi(MPI_Bcast(codes.data(), 2, MPI_INT, root, comm));
  message = broadcast_text(comm, std::move(message), root);
  const int rank = rank_named(message).value_or(root);
  throw AgreedError(static_cast<Errc>(codes[0]), message, codes[1], {.rank = rank});
}

void require_all(MPI_Comm comm, bool ok, const std::string& text) {
  const auto first = first_failing(comm, !ok);
  if (!first) return;
  throw AgreedError(Errc::invalid_input, broadcast_text(comm, text, *first), 0, {.rank = *first});
}

}  // namespace tailrace
