// SPDX-License-Identifier: BSD-3-Clause
// Symbols of MPI's libraries, found in the running program.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/fortran.hpp"

namespace tailrace::plugins {
namespace {

// A library that was opened privately (an extension of Python) is not where RTLD_NEXT looks.
int look_into(dl_phdr_info* info, std::size_t /*size*/, void* wanted) {
  auto& [name, found] = *static_cast<std::pair<const char*, void*>*>(wanted);
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "mpi") == nullptr) return 0;
  if (std::strstr(info->dlpi_name, "libtailrace_") != nullptr) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  found = dlsym(library, name);
  // From now on its symbols are found as those of other libraries are.
  if (found != nullptr) dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  dlclose(library);
  return found != nullptr ? 1 : 0;
}

void* look_up(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  std::pair<const char*, void*> wanted{name, nullptr};
  dl_iterate_phdr(look_into, &wanted);
  return wanted.second;
}

// Compilers write the names of Fortran's common blocks in four ways.
struct Spellings {
  const void* at[4] = {};
  Spellings(const char* upper, const char* lower) {
    char name[64];
    at[0] = dlsym(RTLD_DEFAULT, upper);
    const char* endings[3] = {"", "_", "__"};
    for (int i = 0; i < 3; ++i) {
      std::snprintf(name, sizeof name, "%s%s", lower, endings[i]);
      at[i + 1] = dlsym(RTLD_DEFAULT, name);
    }
  }
  bool contains(const void* address) const {
    for (const void* one : at)
      if (one != nullptr && one == address) return true;
    return false;
  }
};

}  // namespace

void show_mpi() {
  if (dlsym(RTLD_DEFAULT, "PMPI_Init_thread") == nullptr) look_up("PMPI_Init_thread");
}

void* next_symbol(const char* name) {
  if (void* found = look_up(name)) return found;
  std::fprintf(stderr, "tailrace: %s is not in this MPI library\n", name);
  std::_Exit(127);
}

bool fortran_in_place(const void* buffer) {
  static const Spellings places("MPI_FORTRAN_IN_PLACE", "mpi_fortran_in_place");
  return places.contains(buffer);
}

bool fortran_bottom(const void* buffer) {
  static const Spellings places("MPI_FORTRAN_BOTTOM", "mpi_fortran_bottom");
  return places.contains(buffer);
}

std::string fortran_text(const void* text, std::size_t length) {
  std::string_view words(static_cast<const char*>(text), length);
  words.remove_prefix(std::min(words.find_first_not_of(' '), length));
  return std::string(words.substr(0, words.find_last_not_of(' ') + 1));
}

bool fortran_status_ignored(const void* status) {
  static const Spellings one("MPI_FORTRAN_STATUS_IGNORE", "mpi_fortran_status_ignore");
  static const Spellings many("MPI_FORTRAN_STATUSES_IGNORE", "mpi_fortran_statuses_ignore");
  // mpi_f08 of MPICH.
  static const void* const one_f08 = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUS_IGNORE_OBJ");
  static const void* const many_f08 = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
  return one.contains(status) || many.contains(status) ||
         (status != nullptr && (status == one_f08 || status == many_f08));
}

}  // namespace tailrace::plugins
