// SPDX-License-Identifier: BSD-3-Clause
// Random collective calls - types, operations, in place, on communicators of all kinds - compared
// with what MPI's own (PMPI) give, bit for bit but for sums of floating-point numbers, whose last
// digits depend on their order. Run with a library before MPI's that has its own ways.
//
//   collectives_program random [SEED]   the comparison
//   collectives_program time CALL BYTES COUNT   microseconds a call, of rank 0
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "drawn_calls.hpp"

namespace {

// MPICH 4.0 has trouble with its own all-to-alls in place.
#ifdef MPICH_NUMVERSION
constexpr bool alltoalls_in_place = false;
#else
constexpr bool alltoalls_in_place = true;
#endif

constexpr int lengths[] = {0, 1, 1, 3, 17, 100, 1000, 9000};

void compare_bcast(const World& world, Dice& dice, const Types& types, int call) {
  const DataType type = types.any(dice);
  const int count = dice.one_of(lengths);
  const int root = dice.below(world.size);
  Bytes ours = filled(type.extent * static_cast<std::size_t>(count) + 1, world.rank, call);
  Bytes theirs = ours;
  MPI_Bcast(ours.data(), count, type.type, root, world.comm);
  PMPI_Bcast(theirs.data(), count, type.type, root, world.comm);
  compare("bcast", world, ours, theirs);
}

void compare_allgather(const World& world, Dice& dice, const Types& types, int call) {
  const DataType type = types.any(dice);
  const int count = dice.one_of(lengths);
  const bool in_place = dice.below(3) == 0;
  const auto block = type.extent * static_cast<std::size_t>(count);
  const Bytes in = filled(block + 1, world.rank, call);
  Bytes ours = filled(block * static_cast<std::size_t>(world.size) + 1, world.rank, call + 1);
  Bytes theirs = ours;
  const void* sent = in_place ? MPI_IN_PLACE : in.data();
  MPI_Allgather(sent, count, type.type, ours.data(), count, type.type, world.comm);
  PMPI_Allgather(sent, count, type.type, theirs.data(), count, type.type, world.comm);
  compare("allgather", world, ours, theirs);
}

void compare_alltoall(const World& world, Dice& dice, const Types& types, int call) {
  const DataType type = types.any(dice);
  const int count = dice.one_of(lengths);
  const bool in_place = dice.below(3) == 0 && alltoalls_in_place;
  // One rank may take what others send as another type of the same signature.
  const bool as_ints = type.type == types.twice_contiguous && (world.rank + call) % 2 == 0;
  const MPI_Datatype out_type = as_ints ? MPI_INT : type.type;
  const int out_count = as_ints ? 6 * count : count;
  const auto size =
      type.extent * static_cast<std::size_t>(count) * static_cast<std::size_t>(world.size) + 1;
  const Bytes in = filled(size, world.rank, call);
  Bytes ours = filled(size, world.rank, call + 1);
  Bytes theirs = ours;
  const void* sent = in_place ? MPI_IN_PLACE : in.data();
  MPI_Alltoall(sent, count, type.type, ours.data(), out_count, out_type, world.comm);
  PMPI_Alltoall(sent, count, type.type, theirs.data(), out_count, out_type, world.comm);
  compare("alltoall", world, ours, theirs);
}

// Counts of what each rank sends to each, with gaps between the blocks.
struct Blocks {
  std::vector<int> counts, starts;
  std::size_t items = 1;

  void add(int count, int gap) {
    counts.push_back(count);
    starts.push_back(static_cast<int>(items));
    items += static_cast<std::size_t>(count + gap);
  }
};

void compare_allgatherv(const World& world, Dice& dice, const Types& types, int call) {
  const DataType type = types.any(dice);
  const bool in_place = dice.below(3) == 0;
  Blocks blocks;
  for (int rank = 0; rank < world.size; ++rank) blocks.add(dice.one_of(lengths), dice.below(3));
  const int own = blocks.counts[static_cast<std::size_t>(world.rank)];
  const Bytes in = filled(type.extent * static_cast<std::size_t>(own) + 1, world.rank, call);
  Bytes ours = filled(type.extent * blocks.items, world.rank, call + 1);
  Bytes theirs = ours;
  const void* sent = in_place ? MPI_IN_PLACE : in.data();
  MPI_Allgatherv(sent, own, type.type, ours.data(), blocks.counts.data(), blocks.starts.data(),
                 type.type, world.comm);
  PMPI_Allgatherv(sent, own, type.type, theirs.data(), blocks.counts.data(), blocks.starts.data(),
                  type.type, world.comm);
  compare("allgatherv", world, ours, theirs);
}

void compare_alltoallv(const World& world, Dice& dice, const Types& types, int call) {
  const DataType type = types.any(dice);
  const bool in_place = dice.below(3) == 0 && alltoalls_in_place;
  const auto ranks = static_cast<std::size_t>(world.size);
  std::vector<int> counts(ranks * ranks);
  const int longest = dice.one_of(lengths);
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      counts[from * ranks + to] = dice.below(longest + 1);
      if (in_place && to < from) counts[from * ranks + to] = counts[to * ranks + from];
    }
  }
  Blocks out;
  Blocks in;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    out.add(counts[static_cast<std::size_t>(world.rank) * ranks + peer], dice.below(3));
    in.add(counts[peer * ranks + static_cast<std::size_t>(world.rank)], dice.below(3));
  }
  const Bytes data = filled(type.extent * out.items, world.rank, call);
  Bytes ours = filled(type.extent * in.items, world.rank, call + 1);
  Bytes theirs = ours;
  const void* sent = in_place ? MPI_IN_PLACE : data.data();
  MPI_Alltoallv(sent, out.counts.data(), out.starts.data(), type.type, ours.data(),
                in.counts.data(), in.starts.data(), type.type, world.comm);
  PMPI_Alltoallv(sent, out.counts.data(), out.starts.data(), type.type, theirs.data(),
                 in.counts.data(), in.starts.data(), type.type, world.comm);
  compare("alltoallv", world, ours, theirs);
}

// Operands of reductions: numbers of several sizes as their types have them.
template <class T>
Bytes numbers(int count, int rank, int call) {
  Bytes bytes(static_cast<std::size_t>(count) * sizeof(T) + 1);
  for (int i = 0; i < count; ++i) {
    const T value = static_cast<T>((rank + 1) * (i % 11 + 1) + call % 5) / static_cast<T>(3);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

// Sums in another order differ by rounding: `ours`, or `theirs` where it is as near as that.
template <class T>
Bytes rounded(const Bytes& ours, const Bytes& theirs) {
  Bytes out = ours;
  for (std::size_t i = 0; i + sizeof(T) <= ours.size(); i += sizeof(T)) {
    T a = 0;
    T b = 0;
    std::memcpy(&a, ours.data() + i, sizeof(T));
    std::memcpy(&b, theirs.data() + i, sizeof(T));
    if (std::abs(a - b) > static_cast<T>(1e-5) * std::abs(b)) continue;
    std::memcpy(out.data() + i, &b, sizeof(T));
  }
  return out;
}

struct NumberKind {
  MPI_Datatype type;
  Bytes (*make)(int count, int rank, int call);
  Bytes (*round)(const Bytes&, const Bytes&);  // null: compared bit for bit
  bool ordered;
};

// a + b + a b: in any order the same.
void own_sum(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i) {
    auto& b = static_cast<unsigned*>(inout)[i];
    const unsigned a = static_cast<unsigned*>(in)[i];
    b += a + a * b;
  }
}

void compare_sums(const World& world, Dice& dice, int call, MPI_Op own_op) {
  const NumberKind kinds[] = {
      {MPI_DOUBLE, numbers<double>, rounded<double>, true},
      {MPI_FLOAT, numbers<float>, rounded<float>, true},
      {MPI_INT, numbers<int>, nullptr, true},
      {MPI_LONG, numbers<long>, nullptr, true},
      {MPI_UNSIGNED, numbers<unsigned>, nullptr, true},
      {MPI_UINT64_T, numbers<std::uint64_t>, nullptr, true},
      {MPI_C_DOUBLE_COMPLEX, numbers<double>, rounded<double>, false},
      {MPI_SHORT, numbers<short>, nullptr, true},
  };
  const NumberKind& kind = dice.one_of(kinds);
  int count = dice.one_of(lengths);
  const MPI_Op ops[] = {MPI_SUM, MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, own_op};
  MPI_Op op = dice.one_of(ops);
  if (op == own_op && kind.type != MPI_INT) op = MPI_SUM;
  if (!kind.ordered) op = MPI_SUM;
  bool in_place = dice.below(3) == 0;
  const bool to_root = dice.below(2) == 0;
  const int root = to_root ? dice.below(world.size) : -1;
#ifdef MPICH_NUMVERSION  // 4.0 crashes in place at other roots than 0
  if (to_root && root != 0) in_place = false;
#endif
  const int of_item = kind.ordered ? 1 : 2;  // a complex number is two
  const Bytes in = kind.make(count * of_item, world.rank, call);
  const bool has_result = !to_root || root == world.rank;
  Bytes ours = in_place && has_result ? in : kind.make(count * of_item, world.rank, call + 1);
  Bytes theirs = ours;
  const void* given = in_place && has_result ? MPI_IN_PLACE : in.data();
  if (to_root) {
    MPI_Reduce(given, ours.data(), count, kind.type, op, root, world.comm);
    PMPI_Reduce(given, theirs.data(), count, kind.type, op, root, world.comm);
  } else {
    MPI_Allreduce(given, ours.data(), count, kind.type, op, world.comm);
    PMPI_Allreduce(given, theirs.data(), count, kind.type, op, world.comm);
  }
  const bool exact = kind.round == nullptr || op == MPI_MIN || op == MPI_MAX;
  compare(to_root ? "reduce" : "allreduce", world, exact ? ours : kind.round(ours, theirs), theirs);
}

// Nobody leaves a barrier before all have come: seen in a sum of arrivals by messages.
void check_barrier(const World& world) {
  static int window_of_all[2];
  const int next = (world.rank + 1) % world.size;
  const int before = (world.rank + world.size - 1) % world.size;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(window_of_all, 1, MPI_INT, before, 5, world.comm, &request);
  PMPI_Ssend(&world.rank, 0, MPI_INT, MPI_PROC_NULL, 5, world.comm);
  MPI_Send(&world.rank, 1, MPI_INT, next, 5, world.comm);
  MPI_Barrier(world.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ++num_compared;
  if (window_of_all[0] != before) ++num_wrong;
}

void run_calls(const World& world, Dice& dice, const Types& types, MPI_Op own_op, int num_calls) {
  for (int call = 0; call < num_calls; ++call) {
    switch (dice.below(9)) {
      case 0:
        compare_bcast(world, dice, types, call);
        break;
      case 1:
        compare_allgather(world, dice, types, call);
        break;
      case 2:
        compare_allgatherv(world, dice, types, call);
        break;
      case 3:
        compare_alltoall(world, dice, types, call);
        break;
      case 4:
        compare_alltoallv(world, dice, types, call);
        break;
      case 5:
        check_barrier(world);
        break;
      default:
        compare_sums(world, dice, call, own_op);
    }
  }
}

// Between two halves of the world; the calls of both sides are MPI's own.
void run_between(const World& world) {
  if (world.size < 2) return;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  const int side = world.rank % 2;
  MPI_Comm_split(world.comm, side, world.rank, &half);
  MPI_Intercomm_create(half, 0, world.comm, 1 - side, 3, &between);
  for (int i = 0; i < 3; ++i) {
    int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
    int others = 0;
    MPI_Comm_remote_size(between, &others);
    ++num_compared;
    if (sum != others) ++num_wrong;
    MPI_Barrier(between);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

// A large message is still on its way, and needs this rank to go on, while it waits for the others.
void run_with_messages(const World& world) {
  if (world.size < 2) return;
  constexpr int count = 1 << 20;
  std::vector<int> data(count, world.rank);
  std::vector<int> received(count, -1);
  const int next = (world.rank + 1) % world.size;
  const int before = (world.rank + world.size - 1) % world.size;
  for (int round = 0; round < 3; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data.data(), count, MPI_INT, next, round, world.comm, &request);
    if (world.rank % 2 == 0) MPI_Barrier(world.comm);
    MPI_Recv(received.data(), count, MPI_INT, before, round, world.comm, MPI_STATUS_IGNORE);
    if (world.rank % 2 != 0) MPI_Barrier(world.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++num_compared;
    if (received[count - 1] != before) ++num_wrong;
  }
}

int run_random(std::uint64_t seed) {
  const World world = world_of(MPI_COMM_WORLD);
  Dice dice(seed);
  MPI_Op own_op = MPI_OP_NULL;
  MPI_Op_create(own_sum, 1, &own_op);
  {
    const Types types;
    run_calls(world, dice, types, own_op, 400);
    run_between(world);
    run_with_messages(world);
    run_calls(world_of(MPI_COMM_SELF), dice, types, own_op, 20);
    // Communicators come and go, some in another order of ranks.
    for (int round = 0; round < 6; ++round) {
      MPI_Comm part = MPI_COMM_NULL;
      const int color = round % 2 == 0 ? 0 : world.rank / 2;
      MPI_Comm_split(world.comm, color, round % 3 == 0 ? -world.rank : world.rank, &part);
      Dice own(seed + static_cast<std::uint64_t>(100 * round + color));
      run_calls(world_of(part), own, types, own_op, 60);
      MPI_Comm_free(&part);
    }
    // Through a duplicate, and with a row and a column at work in turn.
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm row = MPI_COMM_NULL;
    MPI_Comm column = MPI_COMM_NULL;
    MPI_Comm_dup(world.comm, &twin);
    MPI_Comm_split(twin, world.rank / 2, 0, &row);
    MPI_Comm_split(twin, world.rank % 2, 0, &column);
    for (int round = 0; round < 20; ++round) {
      Dice of_row(seed + static_cast<std::uint64_t>(1000 + 50 * round + world.rank / 2));
      run_calls(world_of(row), of_row, types, own_op, 4);
      Dice of_column(seed + static_cast<std::uint64_t>(3000 + 50 * round + world.rank % 2));
      run_calls(world_of(column), of_column, types, own_op, 4);
      run_calls(world_of(twin), dice, types, own_op, 2);
    }
    MPI_Comm_free(&row);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&column);
  }
  MPI_Op_free(&own_op);
  int both[2] = {num_wrong, num_compared};
  PMPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world.rank == 0) std::printf("COMPARED %d WRONG %d\n", both[1], both[0]);
  return both[0] == 0 ? 0 : 1;
}

int run_timed(const std::string& name, int bytes, int count) {
  const World world = world_of(MPI_COMM_WORLD);
  std::vector<double> in(static_cast<std::size_t>(bytes * world.size) / 8 + 1, 1.0);
  std::vector<double> out(in.size());
  const std::function<void()> call = [&] {
    if (name == "allreduce") {
      MPI_Allreduce(in.data(), out.data(), bytes / 8, MPI_DOUBLE, MPI_SUM, world.comm);
    } else if (name == "reduce") {
      MPI_Reduce(in.data(), out.data(), bytes / 8, MPI_DOUBLE, MPI_SUM, 0, world.comm);
    } else if (name == "alltoall") {
      MPI_Alltoall(in.data(), bytes, MPI_BYTE, out.data(), bytes, MPI_BYTE, world.comm);
    } else if (name == "allgather") {
      MPI_Allgather(in.data(), bytes, MPI_BYTE, out.data(), bytes, MPI_BYTE, world.comm);
    } else if (name == "bcast") {
      MPI_Bcast(in.data(), bytes, MPI_BYTE, 0, world.comm);
    } else {
      MPI_Barrier(world.comm);
    }
  };
  const auto begin = MPI_Wtime();
  for (int i = 0; i < count; ++i) call();
  const double seconds = MPI_Wtime() - begin;
  if (world.rank == 0) std::printf("US %.3f\n", 1e6 * seconds / count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 2;
  const std::string task = argc > 1 ? argv[1] : "";
  if (task == "random") {
    status = run_random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  } else if (task == "time" && argc == 5) {
    status = run_timed(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  }
  MPI_Finalize();
  return status;
}
