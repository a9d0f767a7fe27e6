// SPDX-License-Identifier: BSD-3-Clause
// MKL's inspector-executor, from a libmkl_rt that is loaded when it is asked for: no headers
// needed.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "../sparse_other.hpp"

namespace bench {

namespace {

using Handle = void*;
/// MKL's matrix_descr, and the values of its enums that are used here.
struct Description {
  int type = 20;  // SPARSE_MATRIX_TYPE_GENERAL
  int mode = 40;  // ignored with it
  int diagonal = 50;
};
constexpr int not_transposed = 10;
using Create = int (*)(Handle*, int, int, int, int*, int*, int*, double*);
using Hint = int (*)(Handle, int, Description, int);
using Optimize = int (*)(Handle);
using Multiply = int (*)(int, double, Handle, Description, const double*, double, double*);

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::vector<SparsePeer> sparse_mkl(const std::string& path, const SparseMatrix& a) {
  if (path.empty()) return {};
  setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 0);
  setenv("MKL_INTERFACE_LAYER", "LP64", 0);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  const auto create =
      library == nullptr ? nullptr : find<Create>(library, "mkl_sparse_d_create_csr");
  if (create == nullptr) {
    std::fprintf(stderr, "%s: no inspector-executor in it\n", path.c_str());
    return {};
  }
  const auto multiply = find<Multiply>(library, "mkl_sparse_d_mv");
  const auto kept = std::make_shared<SparseMatrix>(a);
  Handle matrix = nullptr;
  int* const starts = kept->row_starts.data();
  const Description general;
  int status = create(&matrix, 0, a.rows, a.rows, starts, starts + 1, kept->columns.data(),
                      kept->values.data());
  if (status == 0) {
    find<Hint>(library, "mkl_sparse_set_mv_hint")(matrix, not_transposed, general, 1000);
    status = find<Optimize>(library, "mkl_sparse_optimize")(matrix);
  }
  if (status != 0) {
    std::fprintf(stderr, "MKL's inspector failed with status %d\n", status);
    return {};
  }
  return {{"MKL", [kept, matrix, multiply, general](const double* x, double* y) {
             multiply(not_transposed, 1.0, matrix, general, x, 0.0, y);
           }}};
}

}  // namespace bench
