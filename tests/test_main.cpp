// SPDX-License-Identifier: BSD-3-Clause
// Runs GoogleTest on every rank; the exit status is a failure on all ranks if any rank failed.
// TAILRACE_TEST_THREADS=multiple asks for MPI_THREAD_MULTIPLE.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "tailrace/comm.hpp"
#include "watch/mpi_threads_watch.h"

int main(int argc, char** argv) {
  const char* threads = std::getenv("TAILRACE_TEST_THREADS");
  const bool multiple = threads != nullptr && std::string(threads) == "multiple";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ::testing::InitGoogleTest(&argc, argv);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  int failed = RUN_ALL_TESTS();
  const auto* unit_test = ::testing::UnitTest::GetInstance();
  if (failed != 0 && rank != 0) {
    for (int s = 0; s < unit_test->total_test_suite_count(); ++s) {
      const auto* suite = unit_test->GetTestSuite(s);
      for (int t = 0; t < suite->total_test_count(); ++t) {
        const auto* result = suite->GetTestInfo(t)->result();
        for (int p = 0; p < result->total_part_count(); ++p) {
          const auto& part = result->GetTestPartResult(p);
          if (part.failed()) {
            std::fprintf(stderr, "[rank %d] %s.%s %s:%d\n%s\n", rank, suite->name(),
                         suite->GetTestInfo(t)->name(), part.file_name() ? part.file_name() : "?",
                         part.line_number(), part.message());
          }
        }
      }
    }
  }
  const auto live = tailrace::detail::count_handles(0);
  if (live != 0) {
    std::fprintf(stderr, "[rank %d] %td MPI handles were not freed\n", rank, live);
    failed = 1;
  }
  if (mpi_threads_watch_calls() == 0) {
    std::fprintf(stderr, "[rank %d] the watch on MPI's rules of threads sees no calls\n", rank);
    failed = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed != 0 ? 1 : 0;
}
