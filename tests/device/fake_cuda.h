// SPDX-License-Identifier: BSD-3-Clause
// What tests do with the driver of fake_cuda.cpp besides the calls of CUDA's own interface.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Memory of the device that the host cannot touch; freed with `fake_cuda_free`.
void* fake_cuda_alloc(size_t bytes);
void fake_cuda_free(void* memory);
// A stream of the user, which waits for the default stream and is waited for by it; it lives as
// long as the process.
void* fake_cuda_stream(void);
// A kernel of the user: copies `bytes` bytes to `device` when the work before it in `stream` has
// ended, and not before somebody waits. The driver keeps a copy of `bytes`.
void fake_cuda_launch_write(void* device, const void* data, size_t bytes, void* stream);
// What memory of the device holds after all work that is in streams.
void fake_cuda_peek(const void* device, void* data, size_t bytes);
// The call of this name after `after` more fails with `status`; 0: none.
void fake_cuda_fail(const char* call, int after, int status);

struct fake_cuda_counts {
  long long to_host_bytes;    // copied by streams
  long long to_device_bytes;  // the same
  long long copies;           // calls that copy
  long long waits;            // calls that wait for the device
  long long context_waits;    // of them, for all of it
  long long streams;          // made and not destroyed
  long long pinned_bytes;     // pinned and not freed
  long long wrong;            // calls that a real driver would refuse, or that break memory
};
struct fake_cuda_counts fake_cuda_count(void);
// What the first wrong call was, or "".
const char* fake_cuda_first_wrong(void);

#ifdef __cplusplus
}
#endif
