// SPDX-License-Identifier: BSD-3-Clause
// Calls all functions of a list by name, and says which of them a tool has seen that is preloaded
// behind our libraries: walk LIST START, with START the function that starts MPI. Prints lines
// "CALLED name SAW names". make_tool.py writes the list and the tool.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_arguments = 16 };
// More arguments than a function has do no harm: they lie where it does not look.
typedef long (*Function)(long, long, long, long, long, long, long, long, long, long, long, long,
                         long, long, long, long);

static char buffer[65536];
static int zeros[64];
static int one = 1;
static int nobody = MPI_PROC_NULL;
static MPI_Datatype types[8];
static MPI_Fint fortran_types[8];
static MPI_Comm comm, new_comm;
static MPI_Win win;
static MPI_File file;
static MPI_Request requests[8];
static MPI_Fint handles[16];

static long bits(const void* handle, size_t size) {  // a pointer or an int
  int small = 0;
  long whole = 0;
  if (size == sizeof small) {
    memcpy(&small, handle, size);
    return small;
  }
  memcpy(&whole, handle, size);
  return whole;
}
#define BITS(type, value) bits((type[]){value}, sizeof(type))

static int is(const char* role, const char* names) {
  char word[64];
  snprintf(word, sizeof word, " %s ", role);
  return strstr(names, word) != NULL;
}

static long c_argument(const char* role) {
  if (is(role, " type sendtype recvtype ttype rtype anytype ")) return BITS(MPI_Datatype, MPI_INT);
  if (is(role, " sendtypes recvtypes ")) return (long)types;
  if (is(role, " comm ")) return BITS(MPI_Comm, MPI_COMM_WORLD);
  if (is(role, " group ")) return BITS(MPI_Group, MPI_GROUP_EMPTY);
  if (is(role, " info ")) return BITS(MPI_Info, MPI_INFO_NULL);
  if (is(role, " op ")) return BITS(MPI_Op, MPI_SUM);
  if (is(role, " win ")) return BITS(MPI_Win, MPI_WIN_NULL);
  if (is(role, " file ")) return BITS(MPI_File, MPI_FILE_NULL);
  if (is(role, " started ")) return BITS(MPI_Request, MPI_REQUEST_NULL);
  if (is(role, " request requests ")) return (long)requests;
  if (is(role, " newcomm ")) return (long)&new_comm;
  if (is(role, " freecomm ")) return (long)&comm;
  if (is(role, " newwin ")) return (long)&win;
  if (is(role, " newfile ")) return (long)&file;
  if (is(role, " text ")) return (long)"native";
  if (is(role, " in out status statuses message ")) return (long)buffer;
  if (is(role,
         " sendcounts nsendcounts recvcounts displs ints adispls flag index outcount indices "
         "listed size "))
    return (long)zeros;
  if (is(role, " dest source target ")) return MPI_PROC_NULL;
  if (is(role, " parts unit ")) return 1;
  return 0;  // counts, roots, tags, offsets
}

static long fortran_handle(int i, MPI_Fint value) {
  handles[i] = value;
  return (long)&handles[i];
}

static long fortran_argument(const char* role, int i) {
  if (is(role, " type sendtype recvtype ttype rtype anytype sendtypes recvtypes "))
    return (long)fortran_types;
  if (is(role, " comm freecomm ")) return fortran_handle(i, MPI_Comm_c2f(MPI_COMM_WORLD));
  if (is(role, " newcomm ")) return fortran_handle(i, MPI_Comm_c2f(MPI_COMM_NULL));
  if (is(role, " group ")) return fortran_handle(i, MPI_Group_c2f(MPI_GROUP_EMPTY));
  if (is(role, " info ")) return fortran_handle(i, MPI_Info_c2f(MPI_INFO_NULL));
  if (is(role, " op ")) return fortran_handle(i, MPI_Op_c2f(MPI_SUM));
  if (is(role, " win newwin ")) return fortran_handle(i, MPI_Win_c2f(MPI_WIN_NULL));
  if (is(role, " file newfile ")) return fortran_handle(i, MPI_File_c2f(MPI_FILE_NULL));
  if (is(role, " started request requests "))
    return fortran_handle(i, MPI_Request_c2f(MPI_REQUEST_NULL));
  if (is(role, " text ")) return (long)"native";
  if (is(role, " in out status statuses message ")) return (long)buffer;
  if (is(role, " dest source target ")) return (long)&nobody;
  if (is(role, " parts unit ")) return (long)&one;
  return (long)zeros;
}

static void call(char* line, char* seen) {
  long a[most_arguments] = {0};
  char* rest = NULL;
  const char* name = strtok_r(line, " \n", &rest);
  const int is_fortran = strcmp(strtok_r(NULL, " \n", &rest), "Fortran") == 0;
  int count = 0;
  int texts = 0;
  for (const char* role; (role = strtok_r(NULL, " \n", &rest)) != NULL; ++count) {
    a[count] = is_fortran ? fortran_argument(role, count) : c_argument(role);
    texts += strcmp(role, "text") == 0;
  }
  int error = 0;
  if (is_fortran) a[count++] = (long)&error;
  for (; is_fortran && texts > 0; --texts) a[count++] = (long)strlen("native");
  const Function function = (Function)dlsym(RTLD_DEFAULT, name);
  if (function == NULL) return;
  seen[0] = '\0';
  function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
           a[14], a[15]);
  printf("CALLED %s SAW%s\n", name, seen);
}

static void start(const char* name) {
  int level = MPI_THREAD_SINGLE;
  int got = 0;
  int error = 0;
  void* const function = dlsym(RTLD_DEFAULT, name);
  if (function == NULL) exit(3);
  if (strncmp(name, "MPI_Init_thread", 15) == 0) {
    ((int (*)(void*, void*, int, int*))function)(NULL, NULL, level, &got);
  } else if (strncmp(name, "MPI_Init", 8) == 0) {
    ((int (*)(void*, void*))function)(NULL, NULL);
  } else if (strstr(name, "thread") != NULL) {
    ((void (*)(int*, int*, int*))function)(&level, &got, &error);
  } else {
    ((void (*)(int*))function)(&error);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  char* const seen = (char*)dlsym(RTLD_DEFAULT, "tool_seen");
  if (seen == NULL) return 4;
  setvbuf(stdout, NULL, _IOLBF, 0);
  start(argv[2]);
  printf("CALLED %s SAW%s\n", argv[2], seen);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  PMPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  for (int i = 0; i < 8; ++i) {
    types[i] = MPI_INT;
    fortran_types[i] = MPI_Type_c2f(MPI_INT);
    requests[i] = MPI_REQUEST_NULL;
  }
  FILE* const list = fopen(argv[1], "r");
  if (list == NULL) return 5;
  char line[512];
  while (fgets(line, sizeof line, list) != NULL) {
    comm = MPI_COMM_WORLD;
    new_comm = MPI_COMM_NULL;
    win = MPI_WIN_NULL;
    file = MPI_FILE_NULL;
    call(line, seen);
  }
  fclose(list);
  PMPI_Finalize();
  return 0;
}
