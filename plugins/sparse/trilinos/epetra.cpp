// SPDX-License-Identifier: BSD-3-Clause
#include "epetra.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tailrace::trilinos {

namespace {

struct Search {
  const char* symbol;
  void* found;
};

/// The function `symbol` that this library hides. A library that was opened with RTLD_LOCAL, as
/// Python opens modules, is not among those that RTLD_NEXT searches.
void* find(const char* symbol) {
  void* const next = dlsym(RTLD_NEXT, symbol);
  if (next != nullptr) return next;
  Search search{symbol, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& to = *static_cast<Search*>(data);
        if (std::string_view(object->dlpi_name).find("epetra") == std::string_view::npos) return 0;
        void* const opened = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        if (opened == nullptr) return 0;
        to.found = dlsym(opened, to.symbol);
        dlclose(opened);
        return to.found != nullptr ? 1 : 0;
      },
      &search);
  if (search.found != nullptr) return search.found;
  std::fprintf(stderr, "tailrace: the program calls %s, but none of its libraries contains it\n",
               symbol);
  std::exit(EXIT_FAILURE);
}

}  // namespace

VectorProduct epetra_vector_product() {
  static const auto found = reinterpret_cast<VectorProduct>(find("epetra_dcrsmv_"));
  return found;
}

VectorsProduct epetra_vectors_product() {
  static const auto found = reinterpret_cast<VectorsProduct>(find("epetra_dcrsmm_"));
  return found;
}

TriangleSolve epetra_triangle_solve() {
  static const auto found = reinterpret_cast<TriangleSolve>(find("epetra_dcrssv_"));
  return found;
}

}  // namespace tailrace::trilinos
