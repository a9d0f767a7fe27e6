/* SPDX-License-Identifier: BSD-3-Clause */
/* Status of calls, and details of the last failed call. See tailrace.h. */
#ifndef TAILRACE_C_ERROR_H
#define TAILRACE_C_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return values of calls; the kinds of failure are the same as in C++ and Fortran. */
enum tailrace_status {
  TAILRACE_OK = 0,
  TAILRACE_INVALID_INPUT = 1, /* an argument is wrong; the text says what would be right */
  TAILRACE_IO = 2,            /* a file operation failed, or memory ran out; see the errno */
  TAILRACE_MPI = 3,           /* an MPI call failed */
  TAILRACE_CORRUPT = 4,       /* data does not match its checksum or its format */
  TAILRACE_INTERNAL = 5       /* a defect of this library */
};

/* Details of the last failed call of this thread; successful calls do not change them. All
   local. */

/* Error text, "tailrace_exchange_run: ..."; "" if no call has failed. Valid until the next
   failure. */
const char* tailrace_error(void);
/* Status, TAILRACE_OK if no call has failed. */
int tailrace_error_code(void);
/* The errno of the failed system call, or 0. */
int tailrace_error_errno(void);
/* The rank (in the call's communicator) that failed, or -1 if the error has no single rank. */
int tailrace_error_rank(void);
/* Path of the file that failed, or "". With hidden output it may be an earlier file. */
const char* tailrace_error_path(void);
/* The step of that file (`tailrace_contents_step`), or -1. */
int64_t tailrace_error_step(void);

/* Stores `text` as the error of a failed call, for bindings that are built on this one. Returns
   `status`. Local. */
int tailrace_fail(int status, const char* text);

/* From now on errors name axes and list extents, boxes and items in the order of Fortran: the first
   axis is the fastest, all counts from 1. For bindings to languages in this order; the module of
   Fortran calls it when it is loaded, and it holds for the whole process. Local. */
int tailrace_errors_in_fortran_order(void);

/* Name of a status for messages, e.g. "invalid input"; NULL if there is no such status. Local. */
const char* tailrace_status_name(int status);
/* Version of the library, e.g. "0.1.0". Local. */
const char* tailrace_version(void);

/* Types of items in arrays and files. A complex number consists of two floating-point numbers. */
enum tailrace_type {
  TAILRACE_FLOAT32 = 0,
  TAILRACE_FLOAT64 = 1,
  TAILRACE_INT32 = 2,
  TAILRACE_INT64 = 3,
  TAILRACE_INT8 = 4,
  TAILRACE_INT16 = 5,
  TAILRACE_UINT8 = 6,
  TAILRACE_UINT16 = 7,
  TAILRACE_UINT32 = 8,
  TAILRACE_UINT64 = 9,
  TAILRACE_COMPLEX64 = 10,
  TAILRACE_COMPLEX128 = 11,
  TAILRACE_FLOAT16 = 12
};
/* Bytes of an item, 0 if there is no such type. Local. */
int64_t tailrace_type_bytes(int type);

#ifdef __cplusplus
}
#endif
#endif
