/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI library of one process, with the binary interface of MPICH, for the programs of the wheel
 * that also run where no MPI library is installed (tailrace-verify, tailrace-list). Other calls
 * end the program with one line: tools/wheel_parts.py adds them from the programs' symbols.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_KEYS 256

/* Communicators and attributes: all communicators share what was set, and free nothing. */
static void* attributes[MOST_KEYS];
static int last_key = 0;
static int is_finalized = 0;
static int is_initialized = 0;

void tailrace_needs_mpi(const char* call) {
  fprintf(
      stderr,
      "tailrace: %s needs an MPI library, and none was found: install one, or load its module\n",
      call);
  _exit(1);
}

static size_t size_of(MPI_Datatype type) {
  switch (type) { /* made of several types */
    case MPI_DOUBLE_INT:
      return sizeof(double) + sizeof(int);
    case MPI_LONG_INT:
      return 2 * sizeof(long);
    default:
      return ((unsigned)type & 0xff00U) >> 8; /* MPICH keeps it in the handle */
  }
}

static int copy(const void* from, void* to, int count, MPI_Datatype type) {
  if (((unsigned)type & 0xff000000U) != 0x4c000000U) tailrace_needs_mpi("a derived data type");
  if (from != MPI_IN_PLACE && from != to && count > 0)
    memcpy(to, from, (size_t)count * size_of(type));
  return MPI_SUCCESS;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  (void)argc, (void)argv;
  *provided = required;
  is_initialized = 1;
  return MPI_SUCCESS;
}
int MPI_Initialized(int* flag) { return *flag = is_initialized, MPI_SUCCESS; }
int MPI_Finalized(int* flag) { return *flag = is_finalized, MPI_SUCCESS; }
int MPI_Finalize(void) { return is_finalized = 1, MPI_SUCCESS; }
int MPI_Query_thread(int* provided) { return *provided = MPI_THREAD_FUNNELED, MPI_SUCCESS; }
int MPI_Is_thread_main(int* flag) { return *flag = 1, MPI_SUCCESS; }
int MPI_Abort(MPI_Comm comm, int code) {
  (void)comm;
  fflush(NULL);
  _exit(code);
}
double MPI_Wtime(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
int MPI_Get_library_version(char* text, int* length) {
  strcpy(text, "one process without an MPI library");
  return *length = (int)strlen(text), MPI_SUCCESS;
}
int MPI_Get_processor_name(char* name, int* length) {
  gethostname(name, MPI_MAX_PROCESSOR_NAME);
  return *length = (int)strlen(name), MPI_SUCCESS;
}
int MPI_Error_class(int code, int* class) { return *class = code, MPI_SUCCESS; }
int MPI_Error_string(int code, char* text, int* length) {
  return *length = sprintf(text, "MPI error %d", code), MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) { return (void)comm, *rank = 0, MPI_SUCCESS; }
int MPI_Comm_size(MPI_Comm comm, int* size) { return (void)comm, *size = 1, MPI_SUCCESS; }
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return *made = comm, MPI_SUCCESS; }
int MPI_Comm_free(MPI_Comm* comm) { return *comm = MPI_COMM_NULL, MPI_SUCCESS; }
int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
  (void)key;
  return *made = colour == MPI_UNDEFINED ? MPI_COMM_NULL : comm, MPI_SUCCESS;
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  (void)info;
  return MPI_Comm_split(comm, type, key, made);
}
int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int* result) {
  return *result = a == b ? MPI_IDENT : MPI_CONGRUENT, MPI_SUCCESS;
}
int MPI_Topo_test(MPI_Comm comm, int* kind) {
  return (void)comm, *kind = MPI_UNDEFINED, MPI_SUCCESS;
}
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  return (void)comm, *handler = MPI_ERRORS_RETURN, MPI_SUCCESS;
}
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  return (void)comm, (void)handler, MPI_SUCCESS;
}
int MPI_Errhandler_free(MPI_Errhandler* handler) {
  return *handler = MPI_ERRHANDLER_NULL, MPI_SUCCESS;
}
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* on_copy,
                           MPI_Comm_delete_attr_function* on_delete, int* key, void* extra) {
  (void)on_copy, (void)on_delete, (void)extra;
  if (last_key + 1 == MOST_KEYS) tailrace_needs_mpi("MPI_Comm_create_keyval");
  return *key = ++last_key, MPI_SUCCESS;
}
int MPI_Comm_free_keyval(int* key) { return *key = MPI_KEYVAL_INVALID, MPI_SUCCESS; }
int MPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  return (void)comm, attributes[key] = value, MPI_SUCCESS;
}
int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
  (void)comm;
  *flag = key > 0 && key < MOST_KEYS && attributes[key] != NULL;
  if (*flag) *(void**)value = attributes[key];
  return MPI_SUCCESS;
}
int MPI_Comm_delete_attr(MPI_Comm comm, int key) {
  return (void)comm, attributes[key] = NULL, MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) { return (void)comm, MPI_SUCCESS; }
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return (void)buffer, (void)count, (void)type, (void)root, (void)comm, MPI_SUCCESS;
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return (void)op, (void)comm, copy(from, to, count, type);
}
int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  return (void)root, MPI_Allreduce(from, to, count, type, op, comm);
}
/* The sum of the ranks before the first: undefined, and callers set it to 0 themselves. */
int MPI_Exscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return (void)from, (void)to, (void)count, (void)type, (void)op, (void)comm, MPI_SUCCESS;
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return MPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return (void)comm, *request = MPI_REQUEST_NULL, MPI_SUCCESS;
}
int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                  MPI_Datatype to_type, MPI_Comm comm) {
  (void)to_count, (void)to_type, (void)comm;
  return copy(from, to, count, type);
}
int MPI_Gather(const void* from, int count, MPI_Datatype type, void* to, int to_count,
               MPI_Datatype to_type, int root, MPI_Comm comm) {
  return (void)root, MPI_Allgather(from, count, type, to, to_count, to_type, comm);
}
int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                 MPI_Datatype to_type, MPI_Comm comm) {
  return MPI_Allgather(from, count, type, to, to_count, to_type, comm);
}
int MPI_Allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int* counts,
                   const int* starts, MPI_Datatype to_type, MPI_Comm comm) {
  (void)counts, (void)comm;
  return copy(from, (char*)to + (size_t)starts[0] * size_of(to_type), count, type);
}
int MPI_Gatherv(const void* from, int count, MPI_Datatype type, void* to, const int* counts,
                const int* starts, MPI_Datatype to_type, int root, MPI_Comm comm) {
  return (void)root, MPI_Allgatherv(from, count, type, to, counts, starts, to_type, comm);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  (void)status;
  if (*request != MPI_REQUEST_NULL) tailrace_needs_mpi("MPI_Wait");
  return MPI_SUCCESS;
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  (void)statuses;
  for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return *flag = 1, MPI_Wait(request, status);
}
int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return *flag = 1, MPI_Waitall(count, requests, statuses);
}
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  (void)source, (void)tag, (void)comm, (void)status;
  return *flag = 0, MPI_SUCCESS;
}
