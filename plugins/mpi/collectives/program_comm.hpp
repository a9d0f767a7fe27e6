// SPDX-License-Identifier: BSD-3-Clause
// libtailrace_collectives_FAMILY.so: collective calls of a program that nobody rebuilt go to the
// methods of `move` where these measure faster, else to MPI's own.
//
// What must never differ between the ranks of a call is where it goes. So it follows from what MPI
// asks to be the same on all ranks (operation, bytes of a vector), from how many such calls there
// were on the communicator, and from what its ranks have agreed on; or, where ranks do not know the
// sizes of others (bcast, all-to-all-v) or a type of one rank is the reason, from what all ranks
// write on a `NodeBoard` and read there before anything is moved.
#pragma once
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "tailrace/comm.hpp"
#include "tailrace/more/node_board.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::plugins {

enum class Call { barrier, bcast, reduce, allreduce, allgather, allgatherv, alltoall, alltoallv };
constexpr int num_calls = 8;
constexpr std::array<const char*, num_calls> call_names{
    "barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv"};

// Why a call went to MPI.
enum class Reason { none, early, slower, told, comm, type, op, size, empty, memory };
constexpr int num_reasons = 10;
constexpr std::array<const char*, num_reasons> reason_texts{
    "",     "not measured yet", "MPI as fast", "as told", "communicator",
    "type", "operation",        "size",        "empty",   "no shared memory"};

// What the calls of a communicator came to.
struct Tally {
  std::array<std::uint64_t, num_calls> seen{}, taken{};
  std::array<std::uint64_t, num_reasons> refused{};
  double gained_s = 0;  // by the times that were measured
  void add(const Tally& other);
};

// True while this thread is in our code, or in MPI's below it: its calls go to MPI.
class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool any() { return depth != 0; }

 private:
  static constinit thread_local int depth;  // else each access asks whether it was initialised
};

// What a rank shows on the board before its data.
struct Head {
  std::int64_t bytes = 0;  // that decide the size of the call
  Reason refusal = Reason::none;
};

// What our ways need on a communicator.
struct Engine {
  // Collective, blocking. Throws on all ranks alike.
  explicit Engine(MPI_Comm user);

  Comm comm;
  std::optional<NodeBoard> board;  // of a lone node
  std::optional<Reduction> reduction;

  static constexpr std::int64_t data_bytes = 512 << 10;  // of a rank in a round, and of a vector
  std::int64_t head_bytes() const;
  Head& head() const { return *reinterpret_cast<Head*>(board->own()); }
  const Head& head_of(int rank) const { return *reinterpret_cast<const Head*>(board->of(rank)); }
  // Where the blocks for each rank start in the data, and where they end.
  std::int64_t* starts() const { return reinterpret_cast<std::int64_t*>(board->own() + 64); }
  const std::int64_t* starts_of(int rank) const {
    return reinterpret_cast<const std::int64_t*>(board->of(rank) + 64);
  }
  std::byte* data() const { return board->own() + head_bytes(); }
  const std::byte* data_of(int rank) const { return board->of(rank) + head_bytes(); }
  // Ends a round with `head`; why a rank refuses it, the same on all ranks.
  Reason meet(const Head& head);
};

// A communicator of the program.
class ProgramComm {
 public:
  explicit ProgramComm(MPI_Comm comm);

  // A call of which all ranks know the size: true if it goes our way. May set up and measure.
  // Collective over the communicator, blocking.
  bool wants(Call call, std::int64_t bytes) {
    const Left& left = left_of(call, bytes);
    if (left.bytes != bytes) return decides(call, bytes);
    ++tally_.seen[static_cast<std::size_t>(call)];
    ++tally_.refused[static_cast<std::size_t>(left.reason)];
    return false;
  }
  // A call of which they do not: true if all ranks are to meet on the board, and then `agrees`
  // says, with the largest of their sizes, why not, or that it goes our way (`none`); `shown`: the
  // data is on the board. Collective, blocking.
  bool meets(Call call);
  Reason agrees(Call call, std::int64_t bytes, bool shown);
  // True if some size of this call goes our way, so that data is worth showing. The same on all.
  bool may_take(Call call) const { return may_take_[static_cast<std::size_t>(call)]; }
  // Ranks said on the board why this call cannot go our way, or nothing (`none`: it was taken).
  void met(Call call, std::int64_t bytes, Reason refusal);
  // It went our way without a board.
  void took(Call call, std::int64_t bytes);
  // It goes to MPI for what this rank and all others know.
  bool refuse(Call call, Reason reason);  // false

  Engine& engine() const { return *engine_; }
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  const Tally& tally() const { return tally_; }
  // When MPI ends, or the communicator is freed.
  void let_go(bool mpi_ends);

 private:
  enum class Verdict : std::uint8_t { unknown, ours, mpi };
  // Calls of one kind with about the same size.
  struct Slot {
    Verdict verdict = Verdict::unknown;
    Reason why = Reason::slower;
    std::uint32_t calls = 0;
    std::uint32_t next = 0;    // call at which it is decided
    std::uint32_t misses = 0;  // rounds in a row that a rank refused
    double gain_s = 0;         // of a call
  };
  static constexpr int num_classes = 32;
  // Calls of `bytes` are left to MPI for good.
  struct Left {
    std::int64_t bytes = -1;
    Reason reason = Reason::none;
  };
  static constexpr std::size_t num_left = 4;

  Left& left_of(Call call, std::int64_t bytes) {
    const auto at = static_cast<std::size_t>(bytes) / 8 % num_left;
    return left_[static_cast<std::size_t>(call)][at];
  }
  bool decides(Call call, std::int64_t bytes);
  Slot& slot_of(Call call, int size_class);
  bool decided(Call call, int size_class, Slot& slot);
  bool set_up();
  void decide(Call call, int size_class, Slot& slot);

  MPI_Comm comm_;
  int rank_ = 0;
  int num_ranks_ = 1;
  bool usable_ = false;
  bool failed_ = false;  // no engine can be had
  std::unique_ptr<Engine> engine_;
  std::array<std::array<Slot, num_classes>, num_calls> slots_{};
  std::array<std::array<Left, num_left>, num_calls> left_{};  // the sizes met last
  std::array<Slot, num_calls> meetings_{};  // of calls whose size only the board tells
  std::array<bool, num_calls> may_take_{};
  Tally tally_;
};

// How the program was told to be run (TAILRACE_COLLECTIVES); the same on all ranks.
enum class Mode { measured, ours, mpi };
Mode mode();

// A communicator that this thread met last, of those whose handles share its place here (programs
// take turns with rows and columns); counts until another one is freed.
struct LastComm {
  MPI_Comm comm;
  ProgramComm* theirs;
  std::uint64_t num_freed;
};
constexpr int num_last_bits = 2;
extern constinit thread_local std::array<LastComm, 1 << num_last_bits> last_comms;
inline LastComm& last_comm(MPI_Comm comm) {
  std::uint64_t bits = 0;  // a handle is a pointer or an int
  std::memcpy(&bits, &comm, sizeof comm);
  return last_comms[(bits * 0x9E3779B97F4A7C15U) >> (64 - num_last_bits)];
}
extern constinit std::atomic<std::uint64_t> num_freed;
ProgramComm* find_program_comm(MPI_Comm comm);
// What is kept of a communicator; null: the call goes to MPI, uncounted. Local.
inline ProgramComm* program_comm_of(MPI_Comm comm) {
  const LastComm& last = last_comm(comm);
  const bool is_last =
      last.comm == comm && last.num_freed == num_freed.load(std::memory_order_acquire);
  return is_last ? last.theirs : find_program_comm(comm);
}

// Whether ours is faster, and by how much a call.
struct Measured {
  bool known = false;
  bool ours = false;
  double gain_s = 0;
};
// Of calls with up to `bytes`; `may_measure`: else only what earlier runs have found. Collective
// over the engine's communicator, blocking.
Measured find_faster(Engine& engine, Call call, std::int64_t bytes, bool may_measure);
// What a measurement may take.
constexpr double measuring_s = 0.04;
// True if a call of this size fits our ways. Local.
bool fits(Call call, std::int64_t bytes, int num_ranks);

}  // namespace tailrace::plugins
