// SPDX-License-Identifier: BSD-3-Clause
// Ranks that make something together mean the same: checked, or told by one of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/bytes.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace {

/// An argument that all ranks give alike, as text.
struct CommonArgument {
  std::string_view name;
  std::string value;
};

/// Throws `Errc::invalid_input` on all ranks alike if any argument differs between them: "WHO:
/// item_bytes must be the same on all ranks: 8 on ranks 0-2, 4 on rank 3". One allreduce.
/// Collective, blocking.
void require_same(const Comm& comm, std::string_view who,
                  std::span<const CommonArgument> arguments);

/// What one rank believes that it sends to another, or gets from it, in numbers.
struct Correspondence {
  int peer = 0;
  std::uint64_t digest = 0;  ///< of all that matters, the same on both sides
  std::ptrdiff_t num_items = 0;
};

/// Throws `Errc::invalid_input` on all ranks alike unless each rank gets what its peers send:
/// "WHO: rank 2 sends 24 items to rank 5, which expects 30 items from it; REMEDY". Peers that are
/// not listed send, or get, nothing. One allreduce. Collective, blocking.
void require_matching(const Comm& comm, std::string_view who, std::string_view remedy,
                      std::span<const Correspondence> sends,
                      std::span<const Correspondence> receives);

/// Whether `own` is true on all ranks; on any. Collective over `comm`, blocking.
bool true_on_all(const Comm& comm, bool own);
inline bool true_on_any(const Comm& comm, bool own) { return !true_on_all(comm, !own); }

/// The largest `own` of all ranks. Collective over `comm`, blocking.
std::int64_t largest_on_all(const Comm& comm, std::int64_t own);

/// The plain bytes `own` of all ranks, in their order. Collective over `comm`, blocking.
template <class T>
std::vector<T> gather_from_all(const Comm& comm, const T& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(comm.num_ranks()));
  check_mpi(
      MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, comm.raw()));
  return all;
}

/// `bytes` at `data` of `root`, any number, on all ranks. Collective over `comm`, blocking.
void broadcast_bytes(MPI_Comm comm, void* data, std::int64_t bytes, int root);

/// The values that rank 0 has, on all ranks, as `ByteWriter` takes them. Collective over `comm`,
/// blocking.
template <class... T>
void broadcast_values(const Comm& comm, T&... values) {
  ByteWriter to;
  if (comm.rank() == 0) to(values...);
  const auto own = to.take();
  const auto text = broadcast_text(
      comm.raw(), std::string(reinterpret_cast<const char*>(own.data()), own.size()));
  ByteReader from(std::as_bytes(std::span(text)));
  from(values...);
}

/// Adds a number to a digest. Local.
constexpr std::uint64_t add_to_digest(std::uint64_t digest, std::uint64_t number) {
  digest = (digest ^ number) * 0x9E3779B97F4A7C15U;  // of Fibonacci hashing
  return digest ^ (digest >> 29);
}

/// A `Buffer` on every rank or on none: throws `Errc::io` (ENOMEM) on all alike if one has no
/// memory for it. Sizes may differ. Collective over `comm`, blocking.
Buffer agreed_buffer(const Comm& comm, std::ptrdiff_t bytes);

}  // namespace tailrace
