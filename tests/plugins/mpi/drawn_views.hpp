// SPDX-License-Identifier: BSD-3-Clause
// Views of files and items in memory as a die says: subarrays, distributed arrays, blocks dealt
// like cards, strides.
#pragma once
#include <mpi.h>

#include <vector>

#include "drawn_calls.hpp"

// A view or items in memory, with all types that it was made of.
struct Made {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> parts;
  MPI_Datatype add(MPI_Datatype one) {
    MPI_Type_commit(&one);
    parts.push_back(one);
    return type = one;
  }
  ~Made() {
    for (auto& one : parts) MPI_Type_free(&one);
  }
  Made() = default;
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
};

inline int processes_of(int size, int d) { return d == 0 ? size : 1; }

inline void make_subarray(Made& made, Dice& dice, const World& world, MPI_Datatype unit) {
  const int n = 1 + dice.below(3);
  const int cut = dice.below(n);
  int sizes[3], parts[3], starts[3];
  for (int d = 0; d < n; ++d) {
    sizes[d] = parts[d] = 2 + dice.below(7);
    starts[d] = 0;
    if (d != cut) continue;
    parts[d] = 1 + dice.below(4);
    sizes[d] = parts[d] * world.size + dice.below(3);
    starts[d] = parts[d] * world.rank;
  }
  const int order = dice.below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(n, sizes, parts, starts, order, unit, &type);
  made.add(type);
}

inline void make_darray(Made& made, Dice& dice, const World& world, MPI_Datatype unit) {
  const int n = 1 + dice.below(3);
  const int cut = dice.below(n);
  int extents[3], distributions[3], arguments[3], processes[3];
  for (int d = 0; d < n; ++d) {
    // Every process has a part: views that show nothing are errors.
    const int share = 1 + dice.below(4);
    extents[d] = world.size * share + (d == cut ? 0 : dice.below(3));
    processes[d] = processes_of(world.size, d == cut ? 0 : 1);
    const int kind = dice.below(d == cut ? 2 : 3);
    distributions[d] = kind == 0   ? MPI_DISTRIBUTE_CYCLIC
                       : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                   : MPI_DISTRIBUTE_NONE;
    arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == 0 && dice.below(2) == 0) arguments[d] = 1 + dice.below(share);
  }
  const int order = dice.below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(world.size, world.rank, n, extents, distributions, arguments, processes,
                         order, unit, &type);
  made.add(type);
}

// Blocks dealt to the ranks like cards.
inline void make_dealt(Made& made, Dice& dice, const World& world, MPI_Datatype unit) {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(unit, &low, &extent);
  std::vector<int> lengths, places;
  std::vector<MPI_Aint> addresses;
  int at = dice.below(3);
  const int blocks = 1 + dice.below(12);
  for (int i = 0; i < blocks * world.size; ++i) {
    const int length = 1 + dice.below(4);
    if (i % world.size == world.rank) {
      lengths.push_back(length);
      places.push_back(at);
      addresses.push_back(at * extent);
    }
    at += length + (dice.below(3) == 0 ? dice.below(3) : 0);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (dice.below(3)) {
    case 0:
      MPI_Type_indexed(blocks, lengths.data(), places.data(), unit, &type);
      break;
    case 1:
      MPI_Type_create_hindexed(blocks, lengths.data(), addresses.data(), unit, &type);
      break;
    default: {
      std::vector<MPI_Datatype> units(lengths.size(), unit);
      MPI_Type_create_struct(blocks, lengths.data(), addresses.data(), units.data(), &type);
    }
  }
  made.add(type);
  MPI_Type_create_resized(made.type, 0, at * extent, &type);
  made.add(type);
}

inline void make_strided(Made& made, Dice& dice, const World& world, MPI_Datatype unit) {
  const int length = 1 + dice.below(3);
  const int count = 1 + dice.below(6);
  const int stride = length * world.size + dice.below(2);
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(unit, &low, &extent);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (dice.below(2) == 0) {
    MPI_Type_vector(count, length, stride, unit, &type);
  } else {
    MPI_Type_create_hvector(count, length, stride * extent, unit, &type);
  }
  made.add(type);
  const int before = length * world.rank;
  MPI_Type_create_indexed_block(1, 1, &before, made.type, &type);
  MPI_Aint place = before * extent;
  MPI_Type_free(&type);
  MPI_Type_create_hindexed_block(1, 1, &place, made.type, &type);
  made.add(type);
  MPI_Type_create_resized(made.type, 0, MPI_Aint{stride} * count * extent, &type);
  made.add(type);
}

inline void make_view(Made& made, Dice& dice, const World& world, MPI_Datatype unit) {
  switch (dice.below(5)) {
    case 0:
      make_subarray(made, dice, world, unit);
      return;
    case 1:
      make_darray(made, dice, world, unit);
      return;
    case 2:
      make_dealt(made, dice, world, unit);
      return;
    case 3:
      make_strided(made, dice, world, unit);
      return;
    default:
      made.type = unit;  // all of the file
  }
}

// Items of the unit in memory, with or without gaps; `count` of them are moved.
inline MPI_Datatype make_items(Made& made, Dice& dice, MPI_Datatype unit) {
  if (dice.below(2) == 0) return unit;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(1 + dice.below(3), 1, 2, unit, &type);
  return made.add(type);
}
