/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of a file by their MPI-IO names. All local. See tailrace.h for the rules of calls. */
#ifndef TAILRACE_C_HINTS_H
#define TAILRACE_C_HINTS_H

#include "tailrace/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tailrace_hints tailrace_hints;

int tailrace_hints_create(tailrace_hints** hints);
/* Sets or replaces a value. TAILRACE_INVALID_INPUT if the name is known and the value does not
   parse; the text lists the permitted values. */
int tailrace_hints_set(tailrace_hints* hints, const char* name, const char* value);
int tailrace_hints_destroy(tailrace_hints** hints);
/* An entry of the table of hints. `index` counts from 0; TAILRACE_INVALID_INPUT past the end. The
   strings are static. */
int tailrace_hints_info(int index, const char** name, const char** default_value,
                        const char** allowed, const char** summary);

#ifdef __cplusplus
}
#endif
#endif
