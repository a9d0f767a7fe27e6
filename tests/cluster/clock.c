// SPDX-License-Identifier: BSD-3-Clause
// The time of day of a node whose clock is AHEAD_S seconds ahead, for all programs of that node
// (ld.so.preload). The kernel has one such clock for all namespaces. Times of files keep it, as
// those of a file server do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec*);

__attribute__((constructor)) static void find_real(void) {
  *(void**)&real = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int status = real ? real(clock, time) : (int)syscall(SYS_clock_gettime, clock, time);
  const int of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (status == 0 && of_day) time->tv_sec += AHEAD_S;
  return status;
}

time_t time(time_t* result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval* restrict result, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  result->tv_sec = now.tv_sec;
  result->tv_usec = now.tv_nsec / 1000;
  return 0;
}

int timespec_get(struct timespec* result, int base) {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, result) == 0 ? base : 0;
}

// The kernel compares deadlines with its own clock.
static const struct timespec* of_kernel(const struct timespec* end, struct timespec* other) {
  *other = *end;
  other->tv_sec = end->tv_sec > AHEAD_S ? end->tv_sec - AHEAD_S : 0;
  return other;
}

int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           const struct timespec* restrict end) {
  int (*wait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  *(void**)&wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  const int is_monotonic = condition->__data.__wrefs & 2;
  struct timespec other;
  return wait(condition, mutex, is_monotonic ? end : of_kernel(end, &other));
}

int pthread_mutex_timedlock(pthread_mutex_t* restrict mutex, const struct timespec* restrict end) {
  int (*lock)(pthread_mutex_t*, const struct timespec*);
  *(void**)&lock = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
  struct timespec other;
  return lock(mutex, of_kernel(end, &other));
}

int sem_timedwait(sem_t* restrict semaphore, const struct timespec* restrict end) {
  int (*wait)(sem_t*, const struct timespec*);
  *(void**)&wait = dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec other;
  return wait(semaphore, of_kernel(end, &other));
}
