// SPDX-License-Identifier: BSD-3-Clause
// Every blocking collective call, beside a non-blocking one that other ranks make in another order.
// MPI does not allow that, but its libraries do it, as blocking calls never match non-blocking
// ones; so what is put before MPI may not let them match either. Prints "ORDER calls".
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

int rank = 0;
int ranks = 1;
int wrong = 0;

using Numbers = std::vector<int>;

void expect(bool ok, const std::string& what) {
  if (ok) return;
  std::printf("rank %d: wrong result of %s\n", rank, what.c_str());
  ++wrong;
}

struct Blocking {
  const char* name;
  std::function<bool(MPI_Comm)> call;  // returns whether its result is right
};

std::vector<Blocking> blocking_calls() {
  const auto n = static_cast<std::size_t>(ranks);
  const int sum = ranks * (ranks - 1) / 2;
  const Numbers ones(n, 1);
  Numbers places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<int>(i);
  const Numbers types_displs = [&] {
    Numbers bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<int>(i * sizeof(int));
    return bytes;
  }();
  const std::vector<MPI_Datatype> types(n, MPI_INT);
  const Numbers mine(n, rank);
  return {
      {"MPI_Barrier", [](MPI_Comm comm) { return MPI_Barrier(comm) == MPI_SUCCESS; }},
      {"MPI_Bcast",
       [](MPI_Comm comm) {
         int value = rank == 0 ? 7 : 0;
         MPI_Bcast(&value, 1, MPI_INT, 0, comm);
         return value == 7;
       }},
      {"MPI_Reduce",
       [=](MPI_Comm comm) {
         int out = 0;
         MPI_Reduce(&rank, &out, 1, MPI_INT, MPI_SUM, 0, comm);
         return rank != 0 || out == sum;
       }},
      {"MPI_Allreduce",
       [=](MPI_Comm comm) {
         int out = 0;
         MPI_Allreduce(&rank, &out, 1, MPI_INT, MPI_SUM, comm);
         return out == sum;
       }},
      {"MPI_Scan",
       [](MPI_Comm comm) {
         int out = 0;
         MPI_Scan(&rank, &out, 1, MPI_INT, MPI_SUM, comm);
         return out == rank * (rank + 1) / 2;
       }},
      {"MPI_Exscan",
       [](MPI_Comm comm) {
         int out = 0;
         MPI_Exscan(&rank, &out, 1, MPI_INT, MPI_SUM, comm);
         return out == rank * (rank - 1) / 2;
       }},
      {"MPI_Reduce_scatter_block",
       [=](MPI_Comm comm) {
         int out = 0;
         MPI_Reduce_scatter_block(mine.data(), &out, 1, MPI_INT, MPI_SUM, comm);
         return out == sum;
       }},
      {"MPI_Reduce_scatter",
       [=](MPI_Comm comm) {
         int out = 0;
         MPI_Reduce_scatter(mine.data(), &out, ones.data(), MPI_INT, MPI_SUM, comm);
         return out == sum;
       }},
      {"MPI_Gather",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Gather(&rank, 1, MPI_INT, out.data(), 1, MPI_INT, 0, comm);
         return rank != 0 || out == places;
       }},
      {"MPI_Gatherv",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Gatherv(&rank, 1, MPI_INT, out.data(), ones.data(), places.data(), MPI_INT, 0, comm);
         return rank != 0 || out == places;
       }},
      {"MPI_Scatter",
       [=](MPI_Comm comm) {
         int out = 0;
         MPI_Scatter(places.data(), 1, MPI_INT, &out, 1, MPI_INT, 0, comm);
         return out == rank;
       }},
      {"MPI_Scatterv",
       [=](MPI_Comm comm) {
         int out = 0;
         MPI_Scatterv(places.data(), ones.data(), places.data(), MPI_INT, &out, 1, MPI_INT, 0,
                      comm);
         return out == rank;
       }},
      {"MPI_Allgather",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Allgather(&rank, 1, MPI_INT, out.data(), 1, MPI_INT, comm);
         return out == places;
       }},
      {"MPI_Allgatherv",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Allgatherv(&rank, 1, MPI_INT, out.data(), ones.data(), places.data(), MPI_INT, comm);
         return out == places;
       }},
      {"MPI_Alltoall",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Alltoall(mine.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm);
         return out == places;
       }},
      {"MPI_Alltoallv",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Alltoallv(mine.data(), ones.data(), places.data(), MPI_INT, out.data(), ones.data(),
                       places.data(), MPI_INT, comm);
         return out == places;
       }},
      {"MPI_Alltoallw",
       [=](MPI_Comm comm) {
         Numbers out(n);
         MPI_Alltoallw(mine.data(), ones.data(), types_displs.data(), types.data(), out.data(),
                       ones.data(), types_displs.data(), types.data(), comm);
         return out == places;
       }},
  };
}

void try_all(MPI_Comm comm, const std::vector<Blocking>& calls) {
  for (const auto& [name, call] : calls) {
    for (int first = 0; first < ranks; ++first) {
      const int in = 3;
      int out = 0;
      bool ok = true;
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank != first) ok = call(comm);
      MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_BAND, comm, &request);
      if (rank == first) ok = call(comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(ok, name);
      expect(out == 3, std::string("MPI_Iallreduce beside ") + name);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<Blocking> calls = blocking_calls();
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &turned);
  try_all(MPI_COMM_WORLD, calls);
  try_all(turned, calls);
  MPI_Comm_free(&turned);
  for (int i = 0; i < 100; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &turned);
    MPI_Barrier(turned);
    MPI_Comm_free(&turned);
  }
  if (rank == 0) std::printf("ORDER %zu\n", calls.size());
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
