// SPDX-License-Identifier: BSD-3-Clause
// A random program of parallel HDF5: hidden_hdf5 FOLDER SEED FILES HOW. Its files depend on the
// number of ranks and the arguments alone, so those of a run with hidden writes must equal those of
// a run without. HOW: `once`, each file is made once; `twice`, it is then replaced by one of
// another content (H5F_ACC_TRUNC); `changed`, the same, and some are opened again and added to, and
// some are flushed, after which the name shows what there is of the new file.
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 24, columns = 700, most_datasets = 6 };

static int rank, size, wrong;
static uint64_t state;

static int below(int count) {  // the same on all ranks
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)count);
}

static void check(int right, const char* what) {
  if (right) return;
  wrong = 1;
  fprintf(stderr, "rank %d of %d: wrong: %s\n", rank, size, what);
}

static double value_of(int of_rank, int turn, int i) { return of_rank + 10.0 * turn + 1e-4 * i; }

// The rows of a rank in a dataset of `rows` for each rank.
static hid_t rows_of(hid_t dataset, int of_rank) {
  const hid_t space = H5Dget_space(dataset);
  const hsize_t start[2] = {(hsize_t)(rows * of_rank), 0}, count[2] = {rows, columns};
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  return space;
}

static void move(hid_t dataset, int of_rank, int turn, int collective, int writes) {
  static double data[rows * columns];
  const hsize_t count[2] = {rows, columns};
  const hid_t memory = H5Screate_simple(2, count, NULL), space = rows_of(dataset, of_rank);
  const hid_t how = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(how, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  if (writes) {
    for (int i = 0; i < rows * columns; ++i) data[i] = value_of(of_rank, turn, i);
    check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, how, data) >= 0, "a write");
  } else {
    memset(data, 0, sizeof data);
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, how, data) >= 0, "a read");
    int same = 1;
    for (int i = 0; i < rows * columns; ++i) same &= data[i] == value_of(of_rank, turn, i);
    check(same, "data that were read");
  }
  H5Pclose(how);
  H5Sclose(space);
  H5Sclose(memory);
}

static hid_t make(hid_t file, const char* name, int is_chunked) {
  const hsize_t extent[2] = {(hsize_t)(rows * size), columns}, chunk[2] = {10, 300};
  const hid_t space = H5Screate_simple(2, extent, NULL);
  const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(how, 0);
  if (is_chunked) H5Pset_chunk(how, 2, chunk);
  const hid_t made =
      H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how, H5P_DEFAULT);
  check(made >= 0, "a dataset");
  H5Pclose(how);
  H5Sclose(space);
  return made;
}

static void add_attribute(hid_t dataset, int value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  char name[32];
  snprintf(name, sizeof name, "attribute%d", value);
  const hid_t made = H5Acreate2(dataset, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  check(H5Awrite(made, H5T_NATIVE_INT, &value) >= 0, "an attribute");
  H5Aclose(made);
  H5Sclose(space);
}

// Opens, or makes, a file; adds datasets; writes some twice; reads those of the neighbour.
static void use(const char* path, int is_new, int first, int turn, int may_flush) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  if (below(2) == 0) H5Pset_coll_metadata_write(access, 1);
  const hid_t file = is_new ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                            : H5Fopen(path, H5F_ACC_RDWR, access);
  check(file >= 0, is_new ? "making a file" : "opening a file");
  const int number = 1 + below(most_datasets);
  for (int i = 0; i < number; ++i) {
    char name[32];
    snprintf(name, sizeof name, "data%d", first + i);
    const hid_t dataset = make(file, name, below(2));
    const int writes = 1 + below(2);
    for (int j = 0; j < writes; ++j) {
      move(dataset, rank, turn + j, below(2), 1);
      MPI_Barrier(MPI_COMM_WORLD);
      if (below(2)) {
        move(dataset, (rank + 1) % size, turn + j, below(2), 0);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
    add_attribute(dataset, i);
    if (below(4) == 0 && may_flush) H5Fflush(file, H5F_SCOPE_GLOBAL);
    H5Dclose(dataset);
  }
  H5Pclose(access);
  check(H5Fclose(file) >= 0, "closing a file");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = (uint64_t)atoi(argv[2]);
  const int files = atoi(argv[3]), rounds = strcmp(argv[4], "once") == 0 ? 1 : 2;
  const int changes = strcmp(argv[4], "changed") == 0;
  for (int turn = 0; turn < rounds; ++turn) {
    for (int i = 0; i < files; ++i) {
      char path[4096];
      snprintf(path, sizeof path, "%s/file%d.h5", argv[1], i);
      use(path, 1, 0, turn, changes);
      if (below(2) && changes) use(path, 0, 100, turn + 3, 1);
      if (rank == 0) printf("file %d\n", i);
      fflush(stdout);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
