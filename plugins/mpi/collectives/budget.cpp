// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/budget.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::plugins {

namespace {

// Where ranks share cores, MPI's own calls cost hundreds of microseconds, and so does all that is
// tried; there is also most to be gained.
struct Limits {
  double part_of_run, at_once_s;
};
constexpr Limits usual{0.015, 0.005};
constexpr Limits oversubscribed{0.1, 1.0};

double start_s = 0;
Limits limits = usual;
std::atomic<double> spent_s{0};
std::atomic<int> engines{0};

}  // namespace

void start_budget() {
  start_s = now_s();
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* ranks = std::getenv(name);
    if (ranks != nullptr && std::atol(ranks) > sysconf(_SC_NPROCESSORS_ONLN))
      limits = oversubscribed;
  }
}

bool may_spend(MPI_Comm comm, double cost_s) {
  const double allowed_s = limits.at_once_s + limits.part_of_run * (now_s() - start_s);
  int over = spent_s.load() + cost_s > allowed_s ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, comm));
  return over == 0;
}

Spending::Spending() : begin_s_(now_s()) {}
Spending::~Spending() { spent_s.fetch_add(now_s() - begin_s_); }

int num_engines() { return engines.load(); }
void count_engines(int change) { engines.fetch_add(change); }

}  // namespace tailrace::plugins
