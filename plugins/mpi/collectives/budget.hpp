// SPDX-License-Identifier: BSD-3-Clause
// What setting up and measuring may cost: a small part of the run.
#pragma once
#include <mpi.h>

namespace tailrace::plugins {

// The run begins. Local.
void start_budget();
// True if no rank has spent more than its part of the run, with `cost_s` more: 1.5 % and 5 ms,
// or 10 % and 1 s where ranks share processors. Collective over `comm`, blocking.
bool may_spend(MPI_Comm comm, double cost_s);

// What happens while it lives is spent.
class Spending {
 public:
  Spending();
  ~Spending();
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

 private:
  double begin_s_;
};

// Engines of this process, which take memory.
constexpr int most_engines = 32;
int num_engines();
void count_engines(int change);

}  // namespace tailrace::plugins
