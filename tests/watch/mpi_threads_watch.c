/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches MPI's rules of threads (MPI-3.1, 12.4.3) in a program that it is linked to before MPI, or
   loaded before it (LD_PRELOAD): under MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED only the thread
   that initialised MPI may call it; under MPI_THREAD_SERIALIZED no thread may call while another
   one is inside. Broken, the first calls are named on standard error at once, and the program ends
   at MPI_Finalize with status 86.

   Every function that the library, its programs or HDF5 call stands below; check_watch.py compares
   the list with the symbols. Not watched: what any thread may always call (MPI_Initialized,
   MPI_Finalized, MPI_Query_thread, MPI_Is_thread_main, MPI_Get_version, MPI_Get_library_version),
   MPI_Wtime, and MPI_Abort, after which nothing matters. */
#include "watch/mpi_threads_watch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <mpi.h>
#include <pthread.h>

enum { status_broken = 86, most_reports = 10 };

static int level = MPI_THREAD_MULTIPLE; /* nothing is checked before MPI_Init */
static pthread_t main_thread;
static atomic_int threads_inside;
static atomic_long calls, broken;
static _Thread_local int depth; /* MPI calls back: attributes, operations, requests of one's own */

static const char* name_of(int given) {
  return given == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
         : given == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                        : "MPI_THREAD_SERIALIZED";
}

static void report(const char* function, const char* what) {
  if (atomic_fetch_add(&broken, 1) >= most_reports) return;
  fprintf(stderr, "mpi_threads_watch: process %d: MPI_%s is called %s, under %s\n", (int)getpid(),
          function, what, name_of(level));
}

static void enter(const char* function) {
  if (depth++ > 0) return;
  atomic_fetch_add(&calls, 1);
  const int others = atomic_fetch_add(&threads_inside, 1);
  if (level == MPI_THREAD_MULTIPLE) return;
  if (level != MPI_THREAD_SERIALIZED && !pthread_equal(pthread_self(), main_thread)) {
    report(function, others > 0 ? "by a thread that is not the main one, while another is inside"
                                : "by a thread that is not the main one");
  } else if (others > 0) {
    report(function, "while another thread is inside");
  }
}

static void leave(void) {
  if (--depth == 0) atomic_fetch_sub(&threads_inside, 1);
}

long mpi_threads_watch_calls(void) { return atomic_load(&calls); }

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  main_thread = pthread_self();
  const int status = PMPI_Init_thread(argc, argv, required, provided);
  PMPI_Query_thread(&level);
  return status;
}

int MPI_Init(int* argc, char*** argv) {
  main_thread = pthread_self();
  const int status = PMPI_Init(argc, argv);
  PMPI_Query_thread(&level);
  return status;
}

int MPI_Finalize(void) {
  enter("Finalize");
  const int status = PMPI_Finalize();
  leave();
  const long count = atomic_load(&broken);
  if (count == 0) return status;
  fprintf(stderr, "mpi_threads_watch: process %d: %ld of %ld calls broke the rules of %s\n",
          (int)getpid(), count, atomic_load(&calls), name_of(level));
  fflush(NULL);
  _exit(status_broken);
}

#define WATCHED(name, parameters, arguments)   \
  int MPI_##name parameters {                  \
    enter(#name);                              \
    const int status_ = PMPI_##name arguments; \
    leave();                                   \
    return status_;                            \
  }

/* clang-format off */
WATCHED(Allgather, (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm
        g), (a, b, c, d, e, f, g))
WATCHED(Allgatherv, (const void* a, int b, MPI_Datatype c, void* d, const int e[], const int f[],
        MPI_Datatype g, MPI_Comm h), (a, b, c, d, e, f, g, h))
WATCHED(Allreduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f), (a, b, c,
        d, e, f))
WATCHED(Alltoall, (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm
        g), (a, b, c, d, e, f, g))
WATCHED(Alltoallv, (const void* a, const int b[], const int c[], MPI_Datatype d, void* e, const int
        f[], const int g[], MPI_Datatype h, MPI_Comm i), (a, b, c, d, e, f, g, h, i))
WATCHED(Barrier, (MPI_Comm a), (a))
WATCHED(Bcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e))
WATCHED(Cancel, (MPI_Request* a), (a))
WATCHED(Cart_get, (MPI_Comm a, int b, int* c, int* d, int* e), (a, b, c, d, e))
WATCHED(Cartdim_get, (MPI_Comm a, int* b), (a, b))
WATCHED(Comm_compare, (MPI_Comm a, MPI_Comm b, int* c), (a, b, c))
WATCHED(Comm_create_keyval, (MPI_Comm_copy_attr_function* a, MPI_Comm_delete_attr_function* b, int*
        c, void* d), (a, b, c, d))
WATCHED(Comm_delete_attr, (MPI_Comm a, int b), (a, b))
WATCHED(Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b))
WATCHED(Comm_free, (MPI_Comm* a), (a))
WATCHED(Comm_free_keyval, (int* a), (a))
WATCHED(Comm_get_attr, (MPI_Comm a, int b, void* c, int* d), (a, b, c, d))
WATCHED(Comm_get_errhandler, (MPI_Comm a, MPI_Errhandler* b), (a, b))
WATCHED(Comm_group, (MPI_Comm a, MPI_Group* b), (a, b))
WATCHED(Comm_rank, (MPI_Comm a, int* b), (a, b))
WATCHED(Comm_set_attr, (MPI_Comm a, int b, void* c), (a, b, c))
WATCHED(Comm_set_errhandler, (MPI_Comm a, MPI_Errhandler b), (a, b))
WATCHED(Comm_size, (MPI_Comm a, int* b), (a, b))
WATCHED(Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d), (a, b, c, d))
WATCHED(Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e), (a, b, c, d, e))
WATCHED(Errhandler_free, (MPI_Errhandler* a), (a))
WATCHED(Error_class, (int a, int* b), (a, b))
WATCHED(Error_string, (int a, char* b, int* c), (a, b, c))
WATCHED(Exscan, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f), (a, b, c, d,
        e, f))
WATCHED(File_close, (MPI_File* a), (a))
WATCHED(File_get_atomicity, (MPI_File a, int* b), (a, b))
WATCHED(File_get_info, (MPI_File a, MPI_Info* b), (a, b))
WATCHED(File_get_size, (MPI_File a, MPI_Offset* b), (a, b))
WATCHED(File_open, (MPI_Comm a, const char* b, int c, MPI_Info d, MPI_File* e), (a, b, c, d, e))
WATCHED(File_read_at, (MPI_File a, MPI_Offset b, void* c, int d, MPI_Datatype e, MPI_Status* f), (a,
        b, c, d, e, f))
WATCHED(File_read_at_all, (MPI_File a, MPI_Offset b, void* c, int d, MPI_Datatype e, MPI_Status* f),
        (a, b, c, d, e, f))
WATCHED(File_set_atomicity, (MPI_File a, int b), (a, b))
WATCHED(File_set_errhandler, (MPI_File a, MPI_Errhandler b), (a, b))
WATCHED(File_set_size, (MPI_File a, MPI_Offset b), (a, b))
WATCHED(File_set_view, (MPI_File a, MPI_Offset b, MPI_Datatype c, MPI_Datatype d, const char* e,
        MPI_Info f), (a, b, c, d, e, f))
WATCHED(File_sync, (MPI_File a), (a))
WATCHED(File_write_at, (MPI_File a, MPI_Offset b, const void* c, int d, MPI_Datatype e, MPI_Status*
        f), (a, b, c, d, e, f))
WATCHED(File_write_at_all, (MPI_File a, MPI_Offset b, const void* c, int d, MPI_Datatype e,
        MPI_Status* f), (a, b, c, d, e, f))
WATCHED(Gather, (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
        MPI_Comm h), (a, b, c, d, e, f, g, h))
WATCHED(Gatherv, (const void* a, int b, MPI_Datatype c, void* d, const int e[], const int f[],
        MPI_Datatype g, int h, MPI_Comm i), (a, b, c, d, e, f, g, h, i))
WATCHED(Get_count, (const MPI_Status* a, MPI_Datatype b, int* c), (a, b, c))
WATCHED(Get_elements_x, (const MPI_Status* a, MPI_Datatype b, MPI_Count* c), (a, b, c))
WATCHED(Get_processor_name, (char* a, int* b), (a, b))
WATCHED(Grequest_complete, (MPI_Request a), (a))
WATCHED(Grequest_start, (MPI_Grequest_query_function* a, MPI_Grequest_free_function* b,
        MPI_Grequest_cancel_function* c, void* d, MPI_Request* e), (a, b, c, d, e))
WATCHED(Group_free, (MPI_Group* a), (a))
WATCHED(Group_translate_ranks, (MPI_Group a, int b, const int c[], MPI_Group d, int e[]), (a, b, c,
        d, e))
WATCHED(Iallreduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
        MPI_Request* g), (a, b, c, d, e, f, g))
WATCHED(Ialltoall, (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm
        g, MPI_Request* h), (a, b, c, d, e, f, g, h))
WATCHED(Ialltoallv, (const void* a, const int b[], const int c[], MPI_Datatype d, void* e, const int
        f[], const int g[], MPI_Datatype h, MPI_Comm i, MPI_Request* j), (a, b, c, d, e, f, g, h, i,
        j))
WATCHED(Ialltoallw, (const void* a, const int b[], const int c[], const MPI_Datatype d[], void* e,
        const int f[], const int g[], const MPI_Datatype h[], MPI_Comm i, MPI_Request* j), (a, b, c,
        d, e, f, g, h, i, j))
WATCHED(Ibarrier, (MPI_Comm a, MPI_Request* b), (a, b))
WATCHED(Ibcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e, MPI_Request* f), (a, b, c, d, e,
        f))
WATCHED(Igatherv, (const void* a, int b, MPI_Datatype c, void* d, const int e[], const int f[],
        MPI_Datatype g, int h, MPI_Comm i, MPI_Request* j), (a, b, c, d, e, f, g, h, i, j))
WATCHED(Improbe, (int a, int b, MPI_Comm c, int* d, MPI_Message* e, MPI_Status* f), (a, b, c, d, e,
        f))
WATCHED(Imrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Request* e), (a, b, c, d, e))
WATCHED(Info_create, (MPI_Info* a), (a))
WATCHED(Info_dup, (MPI_Info a, MPI_Info* b), (a, b))
WATCHED(Info_free, (MPI_Info* a), (a))
WATCHED(Info_get, (MPI_Info a, const char* b, int c, char* d, int* e), (a, b, c, d, e))
WATCHED(Info_get_nkeys, (MPI_Info a, int* b), (a, b))
WATCHED(Info_get_nthkey, (MPI_Info a, int b, char* c), (a, b, c))
WATCHED(Info_set, (MPI_Info a, const char* b, const char* c), (a, b, c))
WATCHED(Iprobe, (int a, int b, MPI_Comm c, int* d, MPI_Status* e), (a, b, c, d, e))
WATCHED(Irecv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g), (a, b, c,
        d, e, f, g))
WATCHED(Ireduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g,
        MPI_Request* h), (a, b, c, d, e, f, g, h))
WATCHED(Isend, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g), (a,
        b, c, d, e, f, g))
WATCHED(Issend, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g))
WATCHED(Mprobe, (int a, int b, MPI_Comm c, MPI_Message* d, MPI_Status* e), (a, b, c, d, e))
WATCHED(Mrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Status* e), (a, b, c, d, e))
WATCHED(Put, (const void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,
        MPI_Win h), (a, b, c, d, e, f, g, h))
WATCHED(Recv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Status* g), (a, b, c,
        d, e, f, g))
WATCHED(Reduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g), (a, b,
        c, d, e, f, g))
WATCHED(Request_free, (MPI_Request* a), (a))
WATCHED(Rget, (void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h,
        MPI_Request* i), (a, b, c, d, e, f, g, h, i))
WATCHED(Scatterv, (const void* a, const int b[], const int c[], MPI_Datatype d, void* e, int f,
        MPI_Datatype g, int h, MPI_Comm i), (a, b, c, d, e, f, g, h, i))
WATCHED(Send, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), (a, b, c, d, e, f))
WATCHED(Sendrecv, (const void* a, int b, MPI_Datatype c, int d, int e, void* f, int g, MPI_Datatype
        h, int i, int j, MPI_Comm k, MPI_Status* l), (a, b, c, d, e, f, g, h, i, j, k, l))
WATCHED(Status_set_cancelled, (MPI_Status* a, int b), (a, b))
WATCHED(Status_set_elements, (MPI_Status* a, MPI_Datatype b, int c), (a, b, c))
WATCHED(Test, (MPI_Request* a, int* b, MPI_Status* c), (a, b, c))
WATCHED(Testall, (int a, MPI_Request b[], int* c, MPI_Status d[]), (a, b, c, d))
WATCHED(Testany, (int a, MPI_Request b[], int* c, int* d, MPI_Status* e), (a, b, c, d, e))
WATCHED(Testsome, (int a, MPI_Request b[], int* c, int d[], MPI_Status e[]), (a, b, c, d, e))
WATCHED(Topo_test, (MPI_Comm a, int* b), (a, b))
WATCHED(Type_commit, (MPI_Datatype* a), (a))
WATCHED(Type_contiguous, (int a, MPI_Datatype b, MPI_Datatype* c), (a, b, c))
WATCHED(Type_create_hindexed, (int a, const int b[], const MPI_Aint c[], MPI_Datatype d,
        MPI_Datatype* e), (a, b, c, d, e))
WATCHED(Type_create_hindexed_block, (int a, int b, const MPI_Aint c[], MPI_Datatype d, MPI_Datatype*
        e), (a, b, c, d, e))
WATCHED(Type_create_hvector, (int a, int b, MPI_Aint c, MPI_Datatype d, MPI_Datatype* e), (a, b, c,
        d, e))
WATCHED(Type_create_resized, (MPI_Datatype a, MPI_Aint b, MPI_Aint c, MPI_Datatype* d), (a, b, c,
        d))
WATCHED(Type_create_struct, (int a, const int b[], const MPI_Aint c[], const MPI_Datatype d[],
        MPI_Datatype* e), (a, b, c, d, e))
WATCHED(Type_create_subarray, (int a, const int b[], const int c[], const int d[], int e,
        MPI_Datatype f, MPI_Datatype* g), (a, b, c, d, e, f, g))
WATCHED(Type_dup, (MPI_Datatype a, MPI_Datatype* b), (a, b))
WATCHED(Type_free, (MPI_Datatype* a), (a))
WATCHED(Type_get_extent, (MPI_Datatype a, MPI_Aint* b, MPI_Aint* c), (a, b, c))
WATCHED(Type_size_x, (MPI_Datatype a, MPI_Count* b), (a, b))
WATCHED(Type_vector, (int a, int b, int c, MPI_Datatype d, MPI_Datatype* e), (a, b, c, d, e))
WATCHED(Wait, (MPI_Request* a, MPI_Status* b), (a, b))
WATCHED(Waitall, (int a, MPI_Request b[], MPI_Status* c), (a, b, c))
WATCHED(Waitany, (int a, MPI_Request b[], int* c, MPI_Status* d), (a, b, c, d))
WATCHED(Win_allocate, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f),
        (a, b, c, d, e, f))
WATCHED(Win_allocate_shared, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f), (a,
        b, c, d, e, f))
WATCHED(Win_create, (void* a, MPI_Aint b, int c, MPI_Info d, MPI_Comm e, MPI_Win* f), (a, b, c, d,
        e, f))
WATCHED(Win_create_dynamic, (MPI_Info a, MPI_Comm b, MPI_Win* c), (a, b, c))
WATCHED(Win_flush, (int a, MPI_Win b), (a, b))
WATCHED(Win_free, (MPI_Win* a), (a))
WATCHED(Win_get_attr, (MPI_Win a, int b, void* c, int* d), (a, b, c, d))
WATCHED(Win_lock, (int a, int b, int c, MPI_Win d), (a, b, c, d))
WATCHED(Win_lock_all, (int a, MPI_Win b), (a, b))
WATCHED(Win_set_errhandler, (MPI_Win a, MPI_Errhandler b), (a, b))
WATCHED(Win_shared_query, (MPI_Win a, int b, MPI_Aint* c, int* d, void* e), (a, b, c, d, e))
WATCHED(Win_sync, (MPI_Win a), (a))
WATCHED(Win_unlock, (int a, MPI_Win b), (a, b))
WATCHED(Win_unlock_all, (MPI_Win a), (a))
WATCHED(Pack, (const void* a, int b, MPI_Datatype c, void* d, int e, int* f, MPI_Comm g), (a, b, c,
        d, e, f, g))
WATCHED(Unpack, (const void* a, int b, int* c, void* d, int e, MPI_Datatype f, MPI_Comm g), (a, b,
        c, d, e, f, g))
