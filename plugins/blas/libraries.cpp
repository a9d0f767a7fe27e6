// SPDX-License-Identifier: BSD-3-Clause
#include "blas/libraries.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "blas/calls.hpp"
#include "chooser/environment.hpp"

namespace tailrace::blas {

namespace {

namespace fs = std::filesystem;

// A sanitizer's own malloc does not live beside RTLD_DEEPBIND.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(RTLD_DEEPBIND)
constexpr bool may_open = false;
constexpr int apart = 0;
#else
constexpr bool may_open = true;
constexpr int apart = RTLD_DEEPBIND;
#endif

template <class F>
F function(void* handle, const char* name) {
  return reinterpret_cast<F>(dlsym(handle, name));
}

/// A small product, with integers of 64 bits.
bool multiplies(const BlasLibrary& library) {
  void* const dgemm = library.find("dgemm");
  if (dgemm == nullptr) return false;
  const std::array<double, 6> a{1, 2, 3, 4, 5, 6}, b{1, 0, 2, 3, 1, 1};
  std::array<double, 4> c{1, 1, 1, 1};
  GemmCall<double>{'N', 'N', 2, 2, 3, 2, a.data(), 2, b.data(), 3, 1, c.data(), 2}.run(dgemm);
  return c == std::array<double, 4>{23, 29, 23, 33};
}

/// The one library of MKL's that a program links loads others, and ends the program where one of
/// them is missing. Null: it may be used; else why not.
const char* prepare_mkl(void* handle, int threads) {
  const auto set_layer = function<int (*)(int)>(handle, "MKL_Set_Threading_Layer");
  if (set_layer == nullptr) return nullptr;  // another library, or an old MKL that is whole
  constexpr int sequential = 1, gnu = 3;
  const char* const part = threads > 1 ? "libmkl_gnu_thread.so" : "libmkl_sequential.so";
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(set_layer), &info) == 0) return "its folder is not known";
  bool there = false;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(fs::path(info.dli_fname).parent_path(), failed)) {
    there = there || entry.path().filename().string().starts_with(part);
  }
  if (!there) return "its threading layer is not in the same folder";
  set_layer(threads > 1 ? gnu : sequential);
  return nullptr;
}

void set_threads(void* handle, int threads) {
  for (const char* name : {"openblas_set_num_threads", "scipy_openblas_set_num_threads",
                           "scipy_openblas_set_num_threads64_", "MKL_Set_Num_Threads"}) {
    if (const auto set = function<void (*)(int)>(handle, name)) set(threads);
  }
  if (const auto set = function<void (*)(std::int64_t)>(handle, "bli_thread_set_num_threads")) {
    set(threads);
  }
}

/// Null, or why not.
const char* open(const std::string& file, int threads, BlasLibraries& to) {
  if (!may_open) return "not under a sanitizer";
  void* const there = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  void* const handle =
      there != nullptr ? there : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | apart);
  if (handle == nullptr) return "it cannot be opened";
  const auto same = [&](const BlasLibrary& other) { return other.handle == handle; };
  if (std::ranges::any_of(to.usable, same)) return nullptr;
  BlasLibrary library{"", handle};
  void* const dgemm = library.find("dgemm");
  if (dgemm == nullptr) return "it has no dgemm";
  library.name = file_name_of(dgemm);
  if (there == nullptr) {
    if (const char* why = prepare_mkl(handle, threads)) return why;
    set_threads(handle, threads);
  }
  if (!multiplies(library)) return "its dgemm is wrong";
  to.usable.push_back(library);
  return nullptr;
}

}  // namespace

void* BlasLibrary::find(const std::string& routine) const {
  for (const auto& known :
       {routine + "_", "scipy_" + routine + "_", "scipy_" + routine + "_64_", routine + "_64_"}) {
    if (void* const found = dlsym(handle, known.c_str())) return found;
  }
  return nullptr;
}

BlasLibraries open_blas_libraries(int threads) {
  BlasLibraries found;
  const char* const given = environment("TAILRACE_BLAS_LIBRARIES");
  if (given == nullptr) {
    std::vector<std::string> files{"libopenblas.so.0", "libblis.so.4", "libmkl_rt.so"};
    for (const std::string mkl : {"libmkl_rt.so.3", "libmkl_rt.so.2"}) {
      files.push_back(mkl);
      for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        if (const char* folder = std::getenv(prefix)) files.push_back(folder + ("/lib/" + mkl));
      }
    }
    for (const auto& file : files) open(file, threads, found);
    return found;
  }
  const std::string files = given;
  for (std::size_t from = 0; files != "none" && from < files.size();) {
    const auto colon = std::min(files.find(':', from), files.size());
    const auto file = files.substr(from, colon - from);
    from = colon + 1;
    if (file.empty()) continue;
    if (const char* why = open(file, threads, found)) found.left_out.push_back(file + ": " + why);
  }
  return found;
}

std::string file_name_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "program";
  std::error_code failed;
  const auto path = fs::canonical(info.dli_fname, failed);
  return failed ? std::string("program") : path.filename().string();
}

}  // namespace tailrace::blas
