// SPDX-License-Identifier: BSD-3-Clause
#include "core/system_call.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace tailrace {

int close_descriptor(int descriptor) {
  const int status = close(descriptor);
  return status != 0 && errno == EINTR ? 0 : status;
}

int take_space(int descriptor, off_t start, off_t bytes) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(descriptor, start, bytes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace tailrace
