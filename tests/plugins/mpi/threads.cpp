// SPDX-License-Identifier: BSD-3-Clause
// Two threads of rank 0 come late to 50 sends each; two threads of rank 1 wait for them, one in
// receives, one for requests; then the main thread does so in matched probes. Last, both threads of
// a rank send and receive with one tag, in an order that nobody knows. Prints how long rank 1
// waited by entry times of its own, "WAITED seconds seconds seconds", in the order of the calls.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t calls = 50;
constexpr useconds_t late_us = 2000;
constexpr int shared_tag = 9;
using Times = std::vector<double>;

double clock_s() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Sends each message late.
void send_late(int tag, Times& times) {
  for (double& time : times) {
    usleep(late_us);
    time = clock_s();
    MPI_Send(&time, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
  }
}

void receive(int tag, Times& times) {
  double got = 0.0;
  for (double& time : times) {
    time = clock_s();
    MPI_Recv(&got, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // late sender
  }
}

void receive_by_request(int tag, Times& times) {
  double got = 0.0;
  for (double& time : times) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_DOUBLE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
    time = clock_s();
    MPI_Wait(&request, MPI_STATUS_IGNORE);  // late message of a request
  }
}

void receive_by_probe(int tag, Times& times) {
  double got = 0.0;
  for (double& time : times) {
    MPI_Message message = MPI_MESSAGE_NULL;
    time = clock_s();
    MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);  // late probed
    MPI_Mrecv(&got, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
  }
}

using Work = std::function<void(int, Times&)>;

void in_two_threads(const std::array<Work, 2>& work, std::array<int, 2> tags,
                    std::array<Times, 2>& times) {
  std::thread other(work[1], tags[1], std::ref(times[1]));
  work[0](tags[0], times[0]);
  other.join();
}

// On rank 1, how long it was before rank 0, with the times of both.
double waited(int rank, const Times& times) {
  Times others(times);
  PMPI_Bcast(others.data(), static_cast<int>(calls), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double sum = 0.0;
  for (std::size_t i = 0; i < calls && rank == 1; ++i) sum += std::max(0.0, others[i] - times[i]);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::array<Times, 2> times{Times(calls), Times(calls)};
  Times probed(calls);
  Times shared(calls);
  if (rank == 0) {
    in_two_threads({send_late, send_late}, {1, 2}, times);
    send_late(3, probed);
    std::array<Times, 2> both{shared, shared};
    in_two_threads({send_late, send_late}, {shared_tag, shared_tag}, both);
  } else if (rank == 1) {
    in_two_threads({receive, receive_by_request}, {1, 2}, times);
    receive_by_probe(3, probed);
    std::array<Times, 2> both{shared, shared};
    in_two_threads({receive, receive_by_request}, {shared_tag, shared_tag}, both);
  }
  const double blocking_s = waited(rank, times[0]);
  const double by_request_s = waited(rank, times[1]);
  const double probed_s = waited(rank, probed);
  if (rank == 1) std::printf("WAITED %.6f %.6f %.6f\n", blocking_s, by_request_s, probed_s);
  MPI_Finalize();
}
