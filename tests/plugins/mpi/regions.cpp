// SPDX-License-Identifier: BSD-3-Clause
// Names its regions in each way, measures them itself and prints that.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

#include "tailrace/c/region.h"

namespace {

struct Measured {
  int count = 0;
  double seconds = 0;
};
std::map<std::string, Measured> measured;
int rank = 0;

// Runs `work` in a region that `begin` and `end` say.
template <class Begin, class End, class Work>
void in_region(const char* path, const Begin& begin, const End& end, const Work& work) {
  begin();
  const double start = MPI_Wtime();
  work();
  measured[path].seconds += MPI_Wtime() - start;
  ++measured[path].count;
  end();
}

void late_barrier() {
  if (rank == 0) usleep(5000);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto begin_solve = [] { tailrace_region_begin("solve"); };
  const auto end_solve = [] { tailrace_region_end("solve"); };
  const auto begin_halo = [] { MPI_Pcontrol(1, "halo"); };
  const auto end_halo = [] { MPI_Pcontrol(-1, "halo"); };
  const auto begin_level = [] { MPI_Pcontrol(7); };
  const auto end_level = [] { MPI_Pcontrol(-7); };
  for (int i = 0; i < 3; ++i)
    in_region("solve", begin_solve, end_solve, [&] {
      usleep(2000);
      for (int k = 0; k < 4; ++k) in_region("solve/halo", begin_halo, end_halo, late_barrier);
    });
  in_region("level 7", begin_level, end_level, late_barrier);
  // Levels alone, a region that is not open, one that ends what is inside, one that never ends.
  MPI_Pcontrol(0);
  MPI_Pcontrol(1, nullptr);
  tailrace_region_end("never begun");
  in_region(
      "outer", [] { tailrace_region_begin("outer"); }, [] { tailrace_region_end("outer"); },
      [] { tailrace_region_begin("left open"); });
  tailrace_region_begin("to the end");
  for (const auto& [path, one] : measured)
    std::printf("REGION %d %d %.6f %s\n", rank, one.count, one.seconds, path.c_str());
  MPI_Finalize();
}
