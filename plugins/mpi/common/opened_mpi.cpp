// SPDX-License-Identifier: BSD-3-Clause
// Programs that open the MPI library themselves and look its calls up in that handle (Python's
// ctypes, Julia's MPI.jl): dlsym gives them the first definition, as if they were linked with MPI.
//
// Handles that depend on who calls dlsym (RTLD_DEFAULT, RTLD_NEXT) go on to the C library's by a
// jump, which leaves the caller's address in its place.
#include <dlfcn.h>

#include <cstring>
#include <initializer_list>

#include "common/mpi_start.hpp"

#if defined(__x86_64__) || defined(__aarch64__)

using Dlsym = void* (*)(void*, const char*);

extern "C" {
#pragma GCC visibility push(hidden)

Dlsym tailrace_next_dlsym = nullptr;  // the C library's

[[gnu::used]] void tailrace_find_dlsym() {
  // By its version: those of our libraries that follow have none.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (tailrace_next_dlsym != nullptr) return;
    tailrace_next_dlsym = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", version));
  }
}

[[gnu::used]] void* tailrace_dlsym_of(void* handle, const char* name);

#pragma GCC visibility pop
}

#ifdef __x86_64__
asm(R"(
  .text
  .p2align 4
  .globl dlsym
  .type dlsym, @function
dlsym:
  endbr64
  leaq 1(%rdi), %rax
  cmpq $1, %rax
  ja tailrace_dlsym_of
.Ltailrace_pass_on:
  movq tailrace_next_dlsym(%rip), %rax
  testq %rax, %rax
  jz .Ltailrace_look_up
  jmp *%rax
.Ltailrace_look_up:
  pushq %rdi
  pushq %rsi
  subq $8, %rsp
  call tailrace_find_dlsym
  addq $8, %rsp
  popq %rsi
  popq %rdi
  jmp .Ltailrace_pass_on
  .size dlsym, .-dlsym
)");
#else
asm(R"(
  .text
  .p2align 4
  .globl dlsym
  .type dlsym, @function
dlsym:
  hint 34
  add x16, x0, 1
  cmp x16, 1
  bhi tailrace_dlsym_of
.Ltailrace_pass_on:
  adrp x16, tailrace_next_dlsym
  ldr x16, [x16, :lo12:tailrace_next_dlsym]
  cbz x16, .Ltailrace_look_up
  br x16
.Ltailrace_look_up:
  stp x29, x30, [sp, -32]!
  stp x0, x1, [sp, 16]
  bl tailrace_find_dlsym
  ldp x0, x1, [sp, 16]
  ldp x29, x30, [sp], 32
  b .Ltailrace_pass_on
  .size dlsym, .-dlsym
)");
#endif

namespace {

// Where the file of an address lies in memory; null: unknown.
const void* file_of(const void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether the file that holds `address` defines `name`: a tool of its own, that wraps MPI.
bool defines(const void* address, const char* name) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  void* const file = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (file == nullptr) return false;
  const void* const found = tailrace_next_dlsym(file, name);
  dlclose(file);
  return file_of(found) == info.dli_fbase;
}

// The first definition of a call of MPI, where `found` is that of the MPI library that our own
// calls reach; else `found`.
void* first_of(void* handle, const char* name, void* found, const void* asks) {
  const void* const library = file_of(found);
  const void* called = file_of(tailrace_next_dlsym(RTLD_DEFAULT, "PMPI_Init"));
  if (called == nullptr) called = file_of(tailrace_next_dlsym(handle, "PMPI_Init"));
  void* const first = tailrace_next_dlsym(RTLD_DEFAULT, name);
  if (first == nullptr || library != called || defines(asks, name)) return found;
  return first;
}

}  // namespace

void* tailrace_dlsym_of(void* handle, const char* name) {
  if (tailrace_next_dlsym == nullptr) tailrace_find_dlsym();
  void* const found = tailrace_next_dlsym(handle, name);
  if (found == nullptr || name == nullptr || std::strncmp(name, "MPI_", 4) != 0) return found;
  void* const first = first_of(handle, name, found, __builtin_return_address(0));
  dlerror();  // what was only looked for here is no error of the caller's
  return first;
}

#endif
