// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/budget.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "chooser/budget.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::plugins {

namespace {

// Where ranks share cores, MPI's own calls cost hundreds of microseconds, and so does all that is
// tried; there is also most to be gained.
constexpr chooser::Budget usual{0.015, 0.005};
constexpr chooser::Budget oversubscribed{0.1, 1.0};

double start_s = 0;
chooser::Budget budget = usual;
std::atomic<double> spent_s{0};
std::atomic<int> engines{0};

}  // namespace

void start_budget() {
  start_s = now_s();
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* ranks = std::getenv(name);
    if (ranks != nullptr && std::atol(ranks) > sysconf(_SC_NPROCESSORS_ONLN))
      budget = oversubscribed;
  }
}

bool may_spend(MPI_Comm comm, double cost_s) {
  int over = budget.allows(spent_s.load() + cost_s, now_s() - start_s) ? 0 : 1;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, comm));
  return over == 0;
}

Spending::Spending() : begin_s_(now_s()) {}
Spending::~Spending() { spent_s.fetch_add(now_s() - begin_s_); }

int num_engines() { return engines.load(); }
void count_engines(int change) { engines.fetch_add(change); }

}  // namespace tailrace::plugins
