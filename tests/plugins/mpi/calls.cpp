// SPDX-License-Identifier: BSD-3-Clause
// Makes calls of every kind on any number of ranks, checks their results and prints how many it
// made.
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "made_calls.hpp"

namespace {

int rank = 0;
int ranks = 1;

void expect(bool ok, const char* what) {
  if (ok) return;
  std::printf("rank %d: wrong result of %s\n", rank, what);
  PMPI_Abort(MPI_COMM_WORLD, 3);
}

void messages(MPI_Comm comm) {
  const int next = (rank + 1) % ranks;
  const int last = (rank + ranks - 1) % ranks;
  double out[5] = {1.0 * rank, 2, 3, 4, 5};
  double in[5] = {};
  MPI_Request requests[2];
  MPI_Status statuses[2];
  for (int i = 0; i < 7; ++i) {
    MADE(MPI_Irecv(in, 5, MPI_DOUBLE, i % 2 == 0 ? last : MPI_ANY_SOURCE, 4, comm, &requests[0]));
    MADE(MPI_Isend(out, 5, MPI_DOUBLE, next, 4, comm, &requests[1]));
    if (i < 4) {
      MADE(MPI_Waitall(2, requests, i < 2 ? MPI_STATUSES_IGNORE : statuses));
    } else if (i < 6) {
      MADE(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      MADE(MPI_Wait(&requests[1], &statuses[1]));
    } else {
      for (int done = 0; done == 0;) MADE(MPI_Testall(2, requests, &done, statuses));
    }
    expect(in[0] == last, "a message");
  }
  MADE(MPI_Sendrecv(out, 5, MPI_DOUBLE, next, 1, in, 5, MPI_DOUBLE, last, 1, comm,
                    MPI_STATUS_IGNORE));
  MADE(MPI_Sendrecv_replace(out, 5, MPI_DOUBLE, next, 1, last, 1, comm, &statuses[0]));
  expect(out[0] == last && statuses[0].MPI_SOURCE == last, "MPI_Sendrecv_replace");
  MADE(MPI_Send(out, 0, MPI_DOUBLE, MPI_PROC_NULL, 1, comm));
  MADE(MPI_Recv(in, 0, MPI_DOUBLE, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE));
  int flag = 0;
  MADE(MPI_Iprobe(MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE));
  MADE(MPI_Recv_init(in, 5, MPI_DOUBLE, last, 6, comm, &requests[0]));
  MADE(MPI_Send_init(out, 5, MPI_DOUBLE, next, 6, comm, &requests[1]));
  for (int i = 0; i < 3; ++i) {
    MADE(MPI_Startall(2, requests));
    MADE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  MADE(MPI_Request_free(&requests[0]));
  MADE(MPI_Request_free(&requests[1]));
}

void collectives(MPI_Comm comm) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<int> all(n, rank);
  std::vector<int> ones(n, 1);
  std::vector<int> places(n);
  for (int i = 0; i < ranks; ++i) places[static_cast<std::size_t>(i)] = i;
  int sum = rank;
  MADE(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm));
  expect(sum == ranks * (ranks - 1) / 2, "MPI_Allreduce in place");
  all[static_cast<std::size_t>(rank)] = 10 * rank;
  // MPI ignores what stands for the count and the type of MPI_IN_PLACE.
  MADE(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, comm));
  for (int i = 0; i < ranks; ++i)
    expect(all[static_cast<std::size_t>(i)] == 10 * i, "MPI_Allgather in place");
  MADE(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), ones.data(), places.data(),
                      MPI_INT, comm));
  MADE(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, comm));
  expect(all[0] == 10 * rank, "MPI_Alltoall in place");
  std::vector<int> turned(n);
  MADE(MPI_Alltoallv(all.data(), ones.data(), places.data(), MPI_INT, turned.data(), ones.data(),
                     places.data(), MPI_INT, comm));
  int one = 7 + rank;
  if (rank == 0) {
    MADE(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, 0, comm));
    MADE(MPI_Scatter(all.data(), 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, comm));
  } else {
    MADE(MPI_Gather(&one, 1, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, 0, comm));
    MADE(MPI_Scatter(nullptr, 0, MPI_DATATYPE_NULL, &one, 1, MPI_INT, 0, comm));
    expect(one == 7 + rank, "MPI_Scatter");
  }
  MADE(MPI_Bcast(&one, 1, MPI_INT, ranks - 1, comm));
  MADE(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, comm));
  MADE(MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  MADE(MPI_Barrier(comm));
  MPI_Request request = MPI_REQUEST_NULL;
  MADE(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
  MADE(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Calls that MPI 4.0 brought.
void newer_calls([[maybe_unused]] MPI_Comm comm) {
#if MPI_VERSION >= 4
  const MPI_Count one = 1;
  int sum = rank;
  MADE(MPI_Allreduce_c(MPI_IN_PLACE, &sum, one, MPI_INT, MPI_SUM, comm));
  expect(sum == ranks * (ranks - 1) / 2, "MPI_Allreduce_c in place");
  int in = -1;
  MPI_Request requests[2];
  MADE(MPI_Irecv_c(&in, one, MPI_INT, (rank + ranks - 1) % ranks, 8, comm, &requests[0]));
  MADE(MPI_Send_c(&rank, one, MPI_INT, (rank + 1) % ranks, 8, comm));
  MADE(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  expect(in == (rank + ranks - 1) % ranks, "MPI_Send_c");
  MADE(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
  MADE(MPI_Start(&requests[0]));
  MADE(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  expect(sum == ranks * (ranks - 1) / 2, "MPI_Allreduce_init");
  MADE(MPI_Request_free(&requests[0]));
#endif
}

void neighbours() {
  const int dims[1] = {ranks};
  const int periods[1] = {1};
  MPI_Comm ring = MPI_COMM_NULL;
  MADE(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring));
  int out[2] = {rank, rank};
  int in[2] = {};
  MADE(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
  expect(in[0] == (rank + ranks - 1) % ranks, "MPI_Neighbor_alltoall");
  const int ones[2] = {1, 1};
  const int places[2] = {0, 1};
  MADE(MPI_Neighbor_alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring));
  MADE(MPI_Comm_free(&ring));
}

void windows() {
  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MADE(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  MADE(MPI_Win_fence(0, win));
  MADE(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, win));
  MADE(MPI_Win_fence(0, win));
#ifndef MPICH_VERSION  // 4.0.2 may leave the second fence before the data is there
  expect(*memory == (rank + ranks - 1) % ranks, "MPI_Put");
#endif
  MADE(MPI_Win_free(&win));
}

void files(const std::string& path) {
  MPI_File file = MPI_FILE_NULL;
  MADE(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file));
  const MPI_Offset place = static_cast<MPI_Offset>(sizeof(int)) * rank;
  int back = -1;
  MADE(MPI_File_write_at_all(file, place, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  // What one rank writes for others is seen after the steps that MPI asks for: sync, barrier, sync.
  MADE(MPI_File_sync(file));
  MADE(MPI_Barrier(MPI_COMM_WORLD));
  MADE(MPI_File_sync(file));
  MADE(MPI_File_read_at(file, place, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  expect(back == rank, "MPI_File_read_at");
  MADE(MPI_File_close(&file));
}

}  // namespace

// Arguments: a path for a file, and how to end: finalize, seven, exit, abort, fatal, killed.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm copy = MPI_COMM_NULL;
  MADE(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  for (MPI_Comm comm : {MPI_COMM_WORLD, copy}) {
    messages(comm);
    collectives(comm);
    newer_calls(comm);
  }
  MADE(MPI_Comm_free(&copy));
  neighbours();
  windows();
  files(argc > 1 ? argv[1] : "calls.data");
  print_made_calls(rank);
  std::fflush(stdout);
  const std::string end = argc > 2 ? argv[2] : "finalize";
  PMPI_Barrier(MPI_COMM_WORLD);
  if (end == "abort" && rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (end == "fatal" && rank == 0) PMPI_Send(nullptr, 0, MPI_INT, 99, 0, MPI_COMM_WORLD);
  if (end == "abort" || end == "fatal") PMPI_Barrier(MPI_COMM_WORLD);
  if (end == "exit") std::exit(0);
  if (end == "killed") std::raise(SIGTERM);
  MPI_Finalize();
  return end == "seven" ? 7 : 0;
}
