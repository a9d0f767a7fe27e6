// SPDX-License-Identifier: BSD-3-Clause
// The calls of HDF5, netCDF and PnetCDF that make and close a file, so that MPI's calls within them
// are known: what is synced within a close belongs to the close, and a file that is opened within a
// call that makes one loses its old content.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "io/hidden_file.hpp"
#include "io/posix_files.hpp"

namespace tailrace::plugins {
namespace {

// An initial-exec variable: no memory is taken when a thread uses it first.
thread_local int closes = 0;
thread_local int creates = 0;
thread_local int syncs = 0;

class Within {
 public:
  explicit Within(int& depth) : depth_(depth) { ++depth_; }
  ~Within() { --depth_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  int& depth_;
};

// The library's function, also where an extension of Python has opened the library privately: that
// which belongs to the caller.
template <class Function>
Function library_call(const char* name, void* caller) {
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info info{};
  if (found == nullptr && dladdr(caller, &info) != 0) {
    if (void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
      found = dlsym(library, name);
      dlclose(library);
    }
  }
  if (found == nullptr) {
    std::fprintf(stderr, "tailrace: no library of the program has %s\n", name);
    std::_Exit(127);
  }
  return reinterpret_cast<Function>(found);
}

bool is_of_netcdf(void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libnetcdf") != nullptr;
}

}  // namespace

bool is_in_library_close() { return closes > 0; }
bool is_in_library_create() { return creates > 0; }

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

#define TAILRACE_LIBRARY_CALL(name) \
  library_call<decltype(&::name)>(#name, __builtin_return_address(0))

extern "C" {
#pragma GCC visibility push(default)

// Identifiers of HDF5 have 64 bits since 1.10; those of 32 bits travel the same way.
std::int64_t H5Fcreate(const char* path, unsigned flags, std::int64_t made, std::int64_t access) {
  const Within within(creates);
  return TAILRACE_LIBRARY_CALL(H5Fcreate)(path, flags, made, access);
}

int H5Fclose(std::int64_t file) {
  const Within within(closes);
  return TAILRACE_LIBRARY_CALL(H5Fclose)(file);
}

// What is flushed is for other programs to read. That of netCDF at the end of its definitions,
// which the program has not asked for, belongs to the close.
int H5Fflush(std::int64_t object, int scope) {
  const auto next = TAILRACE_LIBRARY_CALL(H5Fflush);
  if (syncs == 0 && is_of_netcdf(__builtin_return_address(0))) {
    const Within within(closes);
    return next(object, scope);
  }
  const int code = next(object, scope);
  if (!is_in_library_close()) publish_posix();
  return code;
}

int H5Fstart_swmr_write(std::int64_t file) {
  const int code = TAILRACE_LIBRARY_CALL(H5Fstart_swmr_write)(file);
  expose_all_posix(PosixRefusal::shared_use);
  return code;
}

int nc_sync(int id) {
  const Within within(syncs);
  const int code = TAILRACE_LIBRARY_CALL(nc_sync)(id);
  publish_posix();
  return code;
}

int nc_create_par(const char* path, int mode, MPI_Comm comm, MPI_Info info, int* id) {
  const Within within(creates);
  return TAILRACE_LIBRARY_CALL(nc_create_par)(path, mode, comm, info, id);
}

int nc_create_par_fortran(const char* path, int mode, int comm, int info, int* id) {
  const Within within(creates);
  return TAILRACE_LIBRARY_CALL(nc_create_par_fortran)(path, mode, comm, info, id);
}

int nc_close(int id) {
  const Within within(closes);
  return TAILRACE_LIBRARY_CALL(nc_close)(id);
}

int ncmpi_create(MPI_Comm comm, const char* path, int mode, MPI_Info info, int* id) {
  const Within within(creates);
  return TAILRACE_LIBRARY_CALL(ncmpi_create)(comm, path, mode, info, id);
}

int ncmpi_close(int id) {
  const Within within(closes);
  return TAILRACE_LIBRARY_CALL(ncmpi_close)(id);
}
}
