// SPDX-License-Identifier: BSD-3-Clause
// One rank comes late: rank 1 to 100 allreduces, rank 0 to 100 sends that its next rank receives,
// rank 1 to 100 receives of what rank 0 sends synchronously, blocking and not, rank 1 to 100
// fences, and either of them to 100 epochs of a window of rank 1 that rank 0 puts into. Prints how
// long each rank waited by entry times of its own, "WAITED rank seconds seconds ...", in the order
// of the calls; last, how long rank 1 waited in its receives of what rank 0 sends synchronously,
// as on a busy machine rank 0 may come later still.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

constexpr int calls = 100;
constexpr useconds_t late_us = 2000;

// One clock for all ranks, also of made-up nodes; MPI_Wtime may begin at another time on each rank.
double clock_s() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
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

// How long `waiting` was before `late`, each with its times of 100 calls: on rank `waiting`, else
// 0.
double before_other(int rank, int waiting, int late, std::vector<double> times) {
  std::vector<double> others(times);
  PMPI_Bcast(others.data(), calls, MPI_DOUBLE, late, MPI_COMM_WORLD);
  double sum = 0.0;
  for (std::size_t i = 0; i < times.size() && rank == waiting; ++i)
    sum += std::max(0.0, others[i] - times[i]);
  return sum;
}

// How long ranks 0 and 1 waited, for each other.
struct BothWaited {
  double first_s = 0.0;
  double second_s = 0.0;
};

BothWaited late_synchronous(int rank) {
  std::vector<double> entered(calls);
  double x = 1.0;
  for (double& time : entered) {
    if (rank == 1) {
      usleep(late_us);
      time = clock_s();
      MPI_Recv(&x, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // late Ssend
    } else if (rank == 0) {
      time = clock_s();
      MPI_Ssend(&x, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);  // late receiver
    }
  }
  return {before_other(rank, 0, 1, entered), before_other(rank, 1, 0, entered)};
}

BothWaited late_receivers(int rank) {
  std::vector<double> began(calls);
  std::vector<double> entered(calls);
  double x = 1.0;
  for (std::size_t i = 0; i < calls && rank < 2; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1) usleep(late_us);
    began[i] = clock_s();
    if (rank == 0) MPI_Issend(&x, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &request);
    entered[i] = rank == 0 ? clock_s() : began[i];
    if (rank == 0) {
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);  // late receive of a request
    } else {
      MPI_Recv(&x, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // late Issend
    }
  }
  return {before_other(rank, 0, 1, entered), before_other(rank, 1, 0, began)};
}

double late_fences(int rank) {
  std::vector<double> entered(calls);
  double value = 0.0;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (double& time : entered) {
    if (rank == 1) usleep(late_us);
    time = clock_s();
    MPI_Win_fence(0, win);  // late to a fence
  }
  PMPI_Win_free(&win);
  return before_last(entered);
}

// Rank `late` comes late, 1 to its posts, 0 to its completes; the other waits for that.
double late_epochs(int rank, int late) {
  std::vector<double> began(calls);
  std::vector<double> ended(calls);
  double value = 0.0;
  double x = 1.0;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group other = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int peer = 1 - rank;
  if (rank < 2) MPI_Group_incl(world, 1, &peer, &other);
  for (std::size_t i = 0; i < calls && rank < 2; ++i) {
    if (rank == 1 && late == 1) usleep(late_us);
    began[i] = clock_s();
    if (rank == 0) {
      MPI_Win_start(other, 0, win);
      MPI_Put(&x, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win);
      if (late == 0) usleep(late_us);
      ended[i] = clock_s();
      MPI_Win_complete(win);
    } else {
      MPI_Win_post(other, 0, win);
      ended[i] = clock_s();
      MPI_Win_wait(win);  // late complete
    }
  }
  if (other != MPI_GROUP_NULL) MPI_Group_free(&other);
  MPI_Group_free(&world);
  PMPI_Win_free(&win);
  return before_other(rank, 0, 1, began) + before_other(rank, 1, 0, ended);
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
  const BothWaited synchronous = late_synchronous(rank);
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
  const BothWaited pending = late_receivers(rank);
  const bool no_windows = argc > 1;  // Open MPI has none of ranks on nodes that are made up
  const double fence_s = no_windows ? 0.0 : late_fences(rank);
  const double posts_s = no_windows ? 0.0 : late_epochs(rank, 1);
  const double completes_s = no_windows ? 0.0 : late_epochs(rank, 0);
  for (int r = 0; r < ranks; ++r) {
    PMPI_Barrier(MPI_COMM_WORLD);
    if (r == rank)
      std::printf("WAITED %d %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f\n", rank,
                  collective_s, message_s, synchronous.first_s, start_s, pending.first_s, fence_s,
                  posts_s, completes_s, synchronous.second_s, pending.second_s);
    std::fflush(stdout);
  }
  MPI_Finalize();
}
