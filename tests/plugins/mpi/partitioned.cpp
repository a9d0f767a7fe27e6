// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages (MPI 4) of 4 parts: rank 0 says late that the last part of each of 50 is
// ready, by either of three calls; then rank 1 starts late to receive 50; last, rank 0 comes late
// to 50 exchanges by one request. Prints how many calls it made, and how long was waited for parts,
// for starts and in exchanges, by entry times of the ranks' own: "WAITED seconds seconds seconds".
// On a busy machine the rank that should be first waits, too. Status 77: MPI is older.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

#include "made_calls.hpp"

#if MPI_VERSION >= 4
namespace {

constexpr int calls = 50;
constexpr int parts = 4;
constexpr useconds_t late_us = 2000;
using Times = std::vector<double>;
using Message = std::array<double, 2 * parts>;

double clock_s() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void require(bool ok, const char* what) {
  if (ok) return;
  std::printf("wrong result of %s\n", what);
  PMPI_Abort(MPI_COMM_WORLD, 3);
}

// How long `times` of rank `waiting` are before those of the other, summed; all ranks get it.
double before_other(int rank, int waiting, const Times& times) {
  Times others(times);
  PMPI_Bcast(others.data(), calls, MPI_DOUBLE, 1 - waiting, MPI_COMM_WORLD);
  double sum = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) sum += std::max(0.0, others[i] - times[i]);
  PMPI_Bcast(&sum, 1, MPI_DOUBLE, waiting, MPI_COMM_WORLD);
  return rank < 2 ? sum : 0.0;
}

// The last parts of message number i.
void make_ready(int i, MPI_Request request) {
  const int last[] = {parts - 1};
  if (i % 3 == 0) {
    MADE(MPI_Pready(parts - 1, request));
  } else if (i % 3 == 1) {
    MADE(MPI_Pready_range(parts - 1, parts - 1, request));
  } else {
    MADE(MPI_Pready_list(1, const_cast<int*>(last), request));
  }
}

struct Entries {
  Times moves = Times(calls);  // before the last part is ready (rank 0), before the start (rank 1)
  Times waits = Times(calls);  // before the call that waits for the other's move
};

// How long rank `waiting` waited for the moves of the other.
double waited_for_moves(int rank, int waiting, const Entries& entries) {
  return before_other(rank, waiting, rank == waiting ? entries.waits : entries.moves);
}

// Messages from rank 0 to 1, whose tag plain messages have, too.
Entries messages(int rank, bool sender_is_late) {
  Entries entries;
  Message data{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  if (rank == 0) {
    MADE(MPI_Psend_init(data.data(), parts, 2, MPI_DOUBLE, 1, 3, comm, MPI_INFO_NULL, &request));
  } else {
    MADE(MPI_Precv_init(data.data(), parts, 2, MPI_DOUBLE, 0, 3, comm, MPI_INFO_NULL, &request));
  }
  for (int i = 0; i < calls; ++i) {
    double& move = entries.moves[static_cast<std::size_t>(i)];
    double& wait = entries.waits[static_cast<std::size_t>(i)];
    double plain = i;
    if (rank == 0) {
      MADE(MPI_Send(&plain, 1, MPI_DOUBLE, 1, 3, comm));
      MADE(MPI_Start(&request));
      data.fill(i);
      MADE(MPI_Pready_range(0, parts - 2, request));
      if (sender_is_late) usleep(late_us);
      move = clock_s();
      make_ready(i, request);
      wait = clock_s();
      MADE(MPI_Wait(&request, MPI_STATUS_IGNORE));  // late start
    } else {
      MADE(MPI_Recv(&plain, 1, MPI_DOUBLE, 0, 3, comm, MPI_STATUS_IGNORE));
      if (!sender_is_late) usleep(late_us);
      move = clock_s();
      MADE(MPI_Start(&request));
      int has_come = 0;
      MADE(MPI_Parrived(request, parts - 1, &has_come));
      wait = clock_s();
      MADE(MPI_Wait(&request, MPI_STATUS_IGNORE));  // late part
      require(data[2 * parts - 1] == i && plain == i, "a partitioned message");
    }
  }
  MADE(MPI_Request_free(&request));
  return entries;
}

Times exchanges(int rank) {
  Times times(calls);
  for (int i = 0; i < calls; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    double own = 10.0 * i + rank;
    double other = -1.0;
    if (rank == 0) usleep(late_us);
    times[static_cast<std::size_t>(i)] = clock_s();
    if (i % 2 == 0) {
      MADE(MPI_Isendrecv(&own, 1, MPI_DOUBLE, 1 - rank, 5, &other, 1, MPI_DOUBLE, 1 - rank, 5,
                         MPI_COMM_WORLD, &request));
    } else {
      other = own;
      MADE(MPI_Isendrecv_replace(&other, 1, MPI_DOUBLE, 1 - rank, 6, 1 - rank, 6, MPI_COMM_WORLD,
                                 &request));
    }
    MADE(MPI_Wait(&request, MPI_STATUS_IGNORE));  // late exchange
    require(other == 10.0 * i + 1 - rank, "an exchange");
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double late_part_s = 0.0;
  double late_start_s = 0.0;
  for (const bool sender_is_late : {true, false}) {
    const Entries entries = messages(rank, sender_is_late);
    late_part_s += waited_for_moves(rank, 1, entries);
    late_start_s += waited_for_moves(rank, 0, entries);
  }
  const Times entered = exchanges(rank);
  const double late_exchange_s = before_other(rank, 1, entered) + before_other(rank, 0, entered);
  if (rank == 0) std::printf("WAITED %.6f %.6f %.6f\n", late_part_s, late_start_s, late_exchange_s);
  for (const char* name : {"MPI_Psend_init", "MPI_Precv_init", "MPI_Pready", "MPI_Pready_range",
                           "MPI_Pready_list", "MPI_Parrived", "MPI_Send", "MPI_Recv"})
    made_calls()[name];  // alike on both ranks
  print_made_calls(rank);
  MPI_Finalize();
}
#else
int main() { return 77; }
#endif
