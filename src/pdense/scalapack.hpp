// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>

// BLACS and ScaLAPACK's routines of this room, by their C and Fortran names.
extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);

void pdgesv_(const int* n, const int* nrhs, double* a, const int* ia, const int* ja,
             const int* desc_a, int* pivots, double* b, const int* ib, const int* jb,
             const int* desc_b, int* info);
void psgetrf_(const int* m, const int* n, float* a, const int* ia, const int* ja, const int* desc_a,
              int* pivots, int* info);
void psgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* ia,
              const int* ja, const int* desc_a, const int* pivots, float* b, const int* ib,
              const int* jb, const int* desc_b, int* info, std::size_t);
void psgecon_(const char* norm, const int* n, const float* a, const int* ia, const int* ja,
              const int* desc_a, const float* a_norm, float* rcond, float* work, const int* lwork,
              int* iwork, const int* liwork, int* info, std::size_t);
void pdgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desc_a,
             const double* b, const int* ib, const int* jb, const int* desc_b, const double* beta,
             double* c, const int* ic, const int* jc, const int* desc_c, std::size_t, std::size_t);
}
