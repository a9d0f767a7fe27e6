// SPDX-License-Identifier: BSD-3-Clause
// The calls that start threads and block signals: threads that start after MPI_Init are sampled
// too, and threads that block all signals still get that of the samples.
#include <pthread.h>

#include <csignal>
#include <cstdlib>

#include "profile/next.hpp"
#include "profile/samples.hpp"

namespace tailrace::plugins {
namespace {

using Routine = void* (*)(void*);
using SetMask = int (*)(int, const sigset_t*, sigset_t*);
constinit Next<int (*)(pthread_t*, const pthread_attr_t*, Routine, void*)> next_create(
    "pthread_create");
constinit Next<SetMask> next_thread_mask("pthread_sigmask");
constinit Next<SetMask> next_process_mask("sigprocmask");

// Looked up early, as signal handlers may call these.
__attribute__((constructor)) void find_masks() {
  next_thread_mask.find();
  next_process_mask.find();
}

struct Start {
  Routine routine;
  void* argument;
};

void* begin(void* given) {
  const Start start = *static_cast<Start*>(given);
  std::free(given);
  if (samples_threads()) sample_this_thread();
  return start.routine(start.argument);
}

int set_mask(Next<SetMask>& next, int how, const sigset_t* set, sigset_t* old) {
  const bool blocks = set != nullptr && how != SIG_UNBLOCK && samples_threads() &&
                      sigismember(set, signal_of_samples()) == 1;
  if (!blocks) return next(how, set, old);
  sigset_t without = *set;
  sigdelset(&without, signal_of_samples());
  return next(how, static_cast<const sigset_t*>(&without), old);
}

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Routine routine,
                   void* argument) noexcept {
  if (!samples_threads()) return next_create(thread, attributes, routine, argument);
  auto* const start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (start == nullptr) return next_create(thread, attributes, routine, argument);
  *start = {routine, argument};
  const int code = next_create(thread, attributes, begin, static_cast<void*>(start));
  if (code != 0) std::free(start);
  return code;
}

int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return set_mask(next_thread_mask, how, set, old);
}

int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return set_mask(next_process_mask, how, set, old);
}
}
