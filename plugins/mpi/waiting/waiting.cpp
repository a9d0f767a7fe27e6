// SPDX-License-Identifier: BSD-3-Clause
// Whether calls nap, and the calls on messages and requests.
#include "waiting/waiting.hpp"
#include "chooser/environment.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tailrace::plugins {

bool naps = false;
std::atomic<unsigned long> num_napping{0};
std::atomic<unsigned long> num_passed_on{0};

namespace {

bool started = false;

bool library_is(const char* start) {
  char name[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(name, &length);
  return std::strncmp(name, start, std::strlen(start)) == 0;
}

// The scheduling group of this process; 0 where there are none.
long scheduling_group() {
  long group = 0;
  int on = 0;
  if (std::FILE* file = std::fopen("/proc/sys/kernel/sched_autogroup_enabled", "re")) {
    if (std::fscanf(file, "%d", &on) != 1) on = 0;
    std::fclose(file);
  }
  if (on == 0) return 0;
  if (std::FILE* file = std::fopen("/proc/self/autogroup", "re")) {
    if (std::fscanf(file, "/autogroup-%ld", &group) != 1) group = 0;
    std::fclose(file);
  }
  return group;
}

// MPI_COMM_SELF's attribute is deleted by MPI_Finalize, in any language.
int end_of_mpi(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  end_napping_comms();
  const char* wanted = environment("TAILRACE_REPORT", "TAILRACE_WAIT_REPORT");
  if (wanted == nullptr || std::strcmp(wanted, "") == 0 || std::strcmp(wanted, "0") == 0) {
    return MPI_SUCCESS;
  }
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::fprintf(stderr, "tailrace wait: %s; rank 0: %lu calls napping, %lu left to MPI\n",
                 naps ? "naps" : "as MPI does", num_napping.load(), num_passed_on.load());
  }
  return MPI_SUCCESS;
}

// More ranks on the node than cores that they may use, and yielding does not help.
bool should_nap(MPI_Comm node) {
  int ranks = 0;
  PMPI_Comm_size(node, &ranks);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return false;
  PMPI_Allreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, node);
  long groups[2] = {scheduling_group(), 0};
  groups[1] = -groups[0];
  PMPI_Allreduce(MPI_IN_PLACE, groups, 2, MPI_LONG, MPI_MAX, node);
  const bool yield_works = groups[0] == -groups[1];
  return ranks > CPU_COUNT(&cores) && !(yield_works && library_is("Open MPI"));
}

}  // namespace

void only_sessions() { say_only_sessions("wait", "napping"); }

void mpi_started() {
  if (started) return;
  started = true;
  MPI_Comm node = MPI_COMM_NULL;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int wanted = should_nap(node) ? 1 : 0;
  PMPI_Comm_free(&node);
  const char* text = environment("TAILRACE_WAIT");
  int given = text == nullptr ? -1 : std::strcmp(text, "nap") == 0 ? 1 : 0;
  PMPI_Bcast(&given, 1, MPI_INT, 0, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (given >= 0) wanted = given;
  naps = wanted != 0;
  if (naps) start_napping_comms();
  int at_end = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &at_end, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, nullptr);
}

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

#define NEXT TAILRACE_NEXT

extern "C" {
#pragma GCC visibility push(default)

int MPI_Send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  if (!naps) return NEXT(MPI_Send)(data, count, type, peer, tag, comm);
  return run([&](MPI_Request* request) {
    return NEXT(MPI_Isend)(data, count, type, peer, tag, comm, request);
  });
}

int MPI_Ssend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  if (!naps) return NEXT(MPI_Ssend)(data, count, type, peer, tag, comm);
  return run([&](MPI_Request* request) {
    return NEXT(MPI_Issend)(data, count, type, peer, tag, comm, request);
  });
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
             MPI_Status* status) {
  if (!naps) return NEXT(MPI_Recv)(data, count, type, peer, tag, comm, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = NEXT(MPI_Irecv)(data, count, type, peer, tag, comm, &request);
  return code != MPI_SUCCESS ? code : end(request, status);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status* status) {
  if (!naps)
    return NEXT(MPI_Sendrecv)(out, out_count, out_type, to, out_tag, in, in_count, in_type, from,
                              in_tag, comm, status);
  MPI_Request received = MPI_REQUEST_NULL;
  MPI_Request sent = MPI_REQUEST_NULL;
  int code = NEXT(MPI_Irecv)(in, in_count, in_type, from, in_tag, comm, &received);
  if (code != MPI_SUCCESS) return code;
  code = NEXT(MPI_Isend)(out, out_count, out_type, to, out_tag, comm, &sent);
  if (code != MPI_SUCCESS) {
    NEXT(MPI_Cancel)(&received);
    NEXT(MPI_Request_free)(&received);
    return code;
  }
  code = end(received, status);
  const int sent_code = end(sent, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : sent_code;
}

int MPI_Probe(int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!naps) return NEXT(MPI_Probe)(peer, tag, comm, status);
  return nap_until([&](int* done) { return NEXT(MPI_Iprobe)(peer, tag, comm, done, status); });
}

int MPI_Mprobe(int peer, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (!naps) return NEXT(MPI_Mprobe)(peer, tag, comm, message, status);
  return nap_until(
      [&](int* done) { return NEXT(MPI_Improbe)(peer, tag, comm, done, message, status); });
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!naps) return NEXT(MPI_Wait)(request, status);
  return nap_until([&](int* done) { return NEXT(MPI_Test)(request, done, status); });
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!naps) return NEXT(MPI_Waitall)(count, requests, statuses);
  return nap_until([&](int* done) { return NEXT(MPI_Testall)(count, requests, done, statuses); });
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (!naps) return NEXT(MPI_Waitany)(count, requests, index, status);
  return nap_until(
      [&](int* done) { return NEXT(MPI_Testany)(count, requests, index, done, status); });
}

int MPI_Waitsome(int count, MPI_Request* requests, int* num_done, int* indices,
                 MPI_Status* statuses) {
  if (!naps) return NEXT(MPI_Waitsome)(count, requests, num_done, indices, statuses);
  return nap_until([&](int* done) {
    const int code = NEXT(MPI_Testsome)(count, requests, num_done, indices, statuses);
    *done = *num_done != 0 ? 1 : 0;  // MPI_UNDEFINED: no request is under way
    return code;
  });
}
}
