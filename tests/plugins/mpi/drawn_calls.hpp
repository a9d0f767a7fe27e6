// SPDX-License-Identifier: BSD-3-Clause
// What random collective calls are drawn from, and how their results are compared.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

using Bytes = std::vector<unsigned char>;

inline int num_wrong = 0;
inline int num_compared = 0;

// The same on all ranks from the same seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  template <class T, std::size_t n>
  const T& one_of(const T (&list)[n]) {
    return list[static_cast<std::size_t>(below(n))];
  }

 private:
  std::mt19937_64 random_;
};

struct World {
  MPI_Comm comm;
  int rank;
  int size;
};

inline World world_of(MPI_Comm comm) {
  World world{comm, 0, 0};
  MPI_Comm_rank(comm, &world.rank);
  MPI_Comm_size(comm, &world.size);
  return world;
}

// Bytes that differ between ranks and calls.
inline Bytes filled(std::size_t size, int rank, int call) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<unsigned char>(7 * i + 31 * static_cast<std::size_t>(rank) +
                                          13 * static_cast<std::size_t>(call) + 1);
  }
  return bytes;
}

inline void compare(const char* what, const World& world, const Bytes& ours, const Bytes& theirs) {
  ++num_compared;
  if (ours == theirs) return;
  ++num_wrong;
  std::fprintf(stderr, "rank %d of %d: %s differs from MPI's\n", world.rank, world.size, what);
}

// A type of the data of moves, with its extent.
struct DataType {
  MPI_Datatype type;
  std::size_t extent;
};

struct Types {
  std::vector<DataType> plain, holes;
  MPI_Datatype twice_contiguous = MPI_DATATYPE_NULL, vector = MPI_DATATYPE_NULL,
               swapped = MPI_DATATYPE_NULL;

  Types() {
    MPI_Datatype once = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_INT, &once);
    MPI_Type_contiguous(2, once, &twice_contiguous);
    MPI_Type_free(&once);
    MPI_Type_commit(&twice_contiguous);
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    // As many bytes as it spans, but in another order.
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {8, 0};
    MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, parts, &swapped);
    MPI_Type_commit(&swapped);
    plain = {{MPI_INT, 4}, {MPI_DOUBLE, 8}, {MPI_BYTE, 1}, {twice_contiguous, 24}};
    holes = {{vector, 20}, {swapped, 16}, {MPI_DOUBLE_INT, 16}};
  }
  ~Types() {
    MPI_Type_free(&twice_contiguous);
    MPI_Type_free(&vector);
    MPI_Type_free(&swapped);
  }
  // Mostly plain ones.
  DataType any(Dice& dice) const {
    const auto& list = dice.below(4) == 0 ? holes : plain;
    return list[static_cast<std::size_t>(dice.below(static_cast<int>(list.size())))];
  }
};
