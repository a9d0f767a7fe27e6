// SPDX-License-Identifier: BSD-3-Clause
// One rank comes late: rank 1 to 100 allreduces, rank 0 to 100 sends that its next rank receives,
// and rank 1 to 100 receives of what rank 0 sends synchronously.
// Prints how long each rank waited by entry times of its own, "WAITED rank seconds seconds
// seconds".
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

constexpr int calls = 100;
constexpr useconds_t late_us = 2000;

// One clock for all ranks of a node; MPI_Wtime may begin at another time on each rank.
double clock_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Sum over calls of how long before the last rank this one entered.
double before_last(std::vector<double>& entered) {
  std::vector<double> last(entered.size());
  PMPI_Allreduce(entered.data(), last.data(), calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double sum = 0.0;
  for (std::size_t i = 0; i < entered.size(); ++i) sum += last[i] - entered[i];
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<double> entered(calls);
  std::vector<double> sent(calls);
  double x = rank;
  double y = 0.0;
  for (int i = 0; i < calls; ++i) {
    if (rank == 1) usleep(late_us);
    entered[static_cast<std::size_t>(i)] = clock_s();
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // late rank
  }
  const double collective_s = before_last(entered);
  std::fill(entered.begin(), entered.end(), 0.0);
  for (int i = 0; i < calls; ++i) {
    if (rank == 0) {
      usleep(late_us);
      sent[static_cast<std::size_t>(i)] = clock_s();
      MPI_Send(&x, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
      entered[static_cast<std::size_t>(i)] = clock_s();
      MPI_Recv(&y, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // late sender
    }
  }
  PMPI_Bcast(sent.data(), calls, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double message_s = 0.0;
  for (std::size_t i = 0; i < sent.size() && rank == 1; ++i)
    message_s += std::max(0.0, sent[i] - entered[i]);
  std::fill(entered.begin(), entered.end(), 0.0);
  for (int i = 0; i < calls; ++i) {
    if (rank == 1) {
      usleep(late_us);
      sent[static_cast<std::size_t>(i)] = clock_s();
      MPI_Recv(&y, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
      entered[static_cast<std::size_t>(i)] = clock_s();
      MPI_Ssend(&x, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);  // late receiver
    }
  }
  PMPI_Bcast(sent.data(), calls, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  double send_s = 0.0;
  for (std::size_t i = 0; i < sent.size() && rank == 0; ++i)
    send_s += std::max(0.0, sent[i] - entered[i]);
  std::fill(entered.begin(), entered.end(), 0.0);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Send_init(&x, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Recv_init(&y, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, &request);
  for (int i = 0; i < calls && rank < 2; ++i) {
    if (rank == 0) usleep(late_us);
    if (rank == 0) sent[static_cast<std::size_t>(i)] = clock_s();
    MPI_Start(&request);
    if (rank == 1) entered[static_cast<std::size_t>(i)] = clock_s();
    MPI_Wait(&request, MPI_STATUS_IGNORE);  // late start
  }
  if (rank < 2) MPI_Request_free(&request);
  PMPI_Bcast(sent.data(), calls, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double start_s = 0.0;
  for (std::size_t i = 0; i < sent.size() && rank == 1; ++i)
    start_s += std::max(0.0, sent[i] - entered[i]);
  for (int r = 0; r < ranks; ++r) {
    PMPI_Barrier(MPI_COMM_WORLD);
    if (r == rank)
      std::printf("WAITED %d %.6f %.6f %.6f %.6f\n", rank, collective_s, message_s, send_s,
                  start_s);
    std::fflush(stdout);
  }
  MPI_Finalize();
}
