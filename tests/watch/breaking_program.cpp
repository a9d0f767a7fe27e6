// SPDX-License-Identifier: BSD-3-Clause
// breaking_program LEVEL CASE: initialises MPI with LEVEL (funneled, serialized, multiple) and lets
// a second thread call it (CASE apart: nobody else is inside; CASE beside: the main thread is), or
// not (CASE alone). Exit status 77 if this MPI does not give the level. For check_watch.py.
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include <mpi.h>

namespace {

void call_elsewhere() {
  std::thread([] {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }).join();
}

// MPI calls it back from inside MPI_Comm_free.
int call_back(MPI_Comm, int, void*, void*) {
  call_elsewhere();
  return MPI_SUCCESS;
}

void call_beside() {
  int key = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_back, &key, nullptr);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_attr(comm, key, nullptr);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&key);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::map<std::string, int> levels{{"funneled", MPI_THREAD_FUNNELED},
                                          {"serialized", MPI_THREAD_SERIALIZED},
                                          {"multiple", MPI_THREAD_MULTIPLE}};
  const int level = levels.at(argv[1]);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  const std::string wanted = argv[2];
  if (provided == level && wanted == "apart") call_elsewhere();
  if (provided == level && wanted == "beside") call_beside();
  MPI_Finalize();
  return provided == level ? 0 : 77;
}
