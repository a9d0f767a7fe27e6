// SPDX-License-Identifier: BSD-3-Clause
// What wrappers of Fortran's names need.
#pragma once
#include <cstddef>

#include "common/mpi_start.hpp"

namespace tailrace::plugins {

// Whether an argument of a Fortran program is the address that stands for a special value: Fortran
// passes addresses of common blocks. Local.
bool fortran_in_place(const void* buffer);
bool fortran_bottom(const void* buffer);
bool fortran_status_ignored(const void* status);

// Calls Fortran's function `next`; its code is what it leaves in `error`, which is optional in
// mpi_f08.
template <class... Words>
int call_fortran(void* next, void*& error, int& own_error, Words... words) {
  if (error == nullptr) error = &own_error;
  const auto real = reinterpret_cast<void (*)(Words..., void*)>(next);
  real(words..., error);
  return *static_cast<const int*>(error);
}

// The same with a text among the words: its length comes last.
template <class... Words>
int call_fortran_text(void* next, void*& error, int& own_error, std::size_t length,
                      Words... words) {
  if (error == nullptr) error = &own_error;
  const auto real = reinterpret_cast<void (*)(Words..., void*, std::size_t)>(next);
  real(words..., error, length);
  return *static_cast<const int*>(error);
}

}  // namespace tailrace::plugins
