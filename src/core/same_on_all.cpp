// SPDX-License-Identifier: BSD-3-Clause
#include "core/same_on_all.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "core/log_lines.hpp"

namespace tailrace {
namespace {

constexpr std::size_t most_text = 96;  // of a value in an error

std::uint64_t digest_of(std::string_view text) {
  std::uint64_t digest = text.size() + 1;
  for (const char c : text) digest = add_to_digest(digest, static_cast<unsigned char>(c));
  return digest;
}

/// "8 on ranks 0-2, 4 on rank 3". Collective.
std::string describe_values(const Comm& comm, std::string_view value) {
  std::array<char, most_text> own{};
  std::copy_n(value.data(), std::min(value.size(), most_text - 1), own.data());
  std::vector<char> all(most_text * static_cast<std::size_t>(comm.num_ranks()));
  check_mpi(
      MPI_Allgather(own.data(), most_text, MPI_CHAR, all.data(), most_text, MPI_CHAR, comm.raw()));
  std::vector<std::pair<std::string, std::vector<int>>> values;  // in the order of ranks
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    const std::string text = all.data() + most_text * static_cast<std::size_t>(rank);
    auto found = std::ranges::find(values, text, [](const auto& entry) { return entry.first; });
    if (found == values.end()) found = values.insert(values.end(), {text, {}});
    found->second.push_back(rank);
  }
  constexpr std::size_t most_values = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), most_values); ++i) {
    text += fmt::format("{}{} on {}", i == 0 ? "" : ", ", values[i].first,
                        detail::name_ranks(values[i].second));
  }
  return values.size() > most_values ? text + ", ..." : text;
}

std::uint64_t digest_of(int from, int to, std::uint64_t digest) {
  return add_to_digest(add_to_digest(add_to_digest(1, static_cast<std::uint64_t>(from)),
                                     static_cast<std::uint64_t>(to)),
                       digest);
}

/// One number for each rank: of the messages in `list`. Digest, items.
std::vector<std::array<std::int64_t, 2>> by_peer(const Comm& comm,
                                                 std::span<const Correspondence> list) {
  std::vector<std::array<std::int64_t, 2>> numbers(static_cast<std::size_t>(comm.num_ranks()));
  for (const auto& one : list) {
    numbers[static_cast<std::size_t>(one.peer)] = {static_cast<std::int64_t>(one.digest),
                                                   one.num_items};
  }
  return numbers;
}

}  // namespace

void require_same(const Comm& comm, std::string_view who,
                  std::span<const CommonArgument> arguments) {
  // Equal where the largest is the smallest, which is the complement of the largest complement.
  std::vector<std::uint64_t> ends;
  for (const auto& argument : arguments) ends.push_back(digest_of(argument.value));
  for (std::size_t i = 0; i < arguments.size(); ++i) ends.push_back(~ends[i]);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, ends.data(), to_int(std::ssize(ends)), MPI_UINT64_T,
                          MPI_MAX, comm.raw()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (ends[i] == ~ends[arguments.size() + i]) continue;
    const auto values = describe_values(comm, arguments[i].value);
    require_all(comm.raw(), false,
                fmt::format("{}: {} must be the same on all ranks; it is {}", who,
                            arguments[i].name, values));
  }
}

// What is sent, less what is got, of all ranks: nothing is left if every message is known on both
// sides.
void require_matching(const Comm& comm, std::string_view who, std::string_view remedy,
                      std::span<const Correspondence> sends,
                      std::span<const Correspondence> receives) {
  std::uint64_t left = 0;
  for (const auto& one : sends) left += digest_of(comm.rank(), one.peer, one.digest);
  for (const auto& one : receives) left -= digest_of(one.peer, comm.rank(), one.digest);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_UINT64_T, MPI_SUM, comm.raw()));
  if (left == 0) return;
  const auto mine = by_peer(comm, sends);
  const auto expected = by_peer(comm, receives);
  auto theirs = mine;
  check_mpi(MPI_Alltoall(mine.data(), 2, MPI_INT64_T, theirs.data(), 2, MPI_INT64_T, comm.raw()));
  std::string fault;
  for (int peer = 0; peer < comm.num_ranks() && fault.empty(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    if (theirs[p] == expected[p]) continue;
    const bool other_items = theirs[p][1] == expected[p][1];
    fault = fmt::format("{}: rank {} sends {} items to rank {}, which expects {}{} from it; {}",
                        who, peer, theirs[p][1], comm.rank(), other_items ? "other " : "",
                        expected[p][1], remedy);
  }
  require_all(comm.raw(), fault.empty(), fault);
}

bool true_on_all(const Comm& comm, bool own) {
  int all = own ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm.raw()));
  return all != 0;
}

std::int64_t largest_on_all(const Comm& comm, std::int64_t own) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT64_T, MPI_MAX, comm.raw()));
  return own;
}

void broadcast_bytes(MPI_Comm comm, void* data, std::int64_t bytes, int root) {
  constexpr std::int64_t most = 1 << 30;  // of one call, whose counts are ints
  for (std::int64_t at = 0; at < bytes; at += most) {
    const auto count = static_cast<int>(std::min(most, bytes - at));
    check_mpi(MPI_Bcast(static_cast<std::byte*>(data) + at, count, MPI_BYTE, root, comm));
  }
}

std::string broadcast_text(MPI_Comm comm, std::string text, int root) {
  auto bytes = static_cast<std::int64_t>(text.size());
  check_mpi(MPI_Bcast(&bytes, 1, MPI_INT64_T, root, comm));
  text.resize(static_cast<std::size_t>(bytes));
  broadcast_bytes(comm, text.data(), bytes, root);
  return text;
}

Buffer agreed_buffer(const Comm& comm, std::ptrdiff_t bytes) {
  Buffer buffer;
  run_agreed(comm.raw(), [&] {
    try {
      buffer = Buffer(bytes);
    } catch (const std::bad_alloc&) {
      throw Error(Errc::io, fmt::format("no memory for a buffer of {} bytes", bytes), ENOMEM);
    }
  });
  return buffer;
}

}  // namespace tailrace
