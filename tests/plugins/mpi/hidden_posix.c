// SPDX-License-Identifier: BSD-3-Clause
// Programs that write files by POSIX: hidden_posix TASK FOLDER ... `random FOLDER SEED CALLS` makes
// random calls and prints what each returned, so a run with hidden writes must print the same and
// leave the same files as a run without. `files FOLDER SEED FILES` writes files in one go, for
// tests that kill it. `full FOLDER WHEN` meets a limit of the file's size. `big FOLDER MIB` writes
// much and prints the most memory it had. `abandoned FOLDER HOW` ends with its file open. `signal
// FOLDER` is ended by its signal handler. `threads FOLDER` writes files by threads.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { most_bytes = 600000, num_names = 4, num_descriptors = 5, num_streams = 3, block = 64 << 10 };

static uint64_t state;
static char folder[4000];
static unsigned char data[most_bytes];
static int open_files[num_descriptors];
static FILE* open_streams[num_streams];
static int may_read[num_streams];
static int is_hidden[num_streams];  // opened by a name that matches
static int sees_otherwise;          // also by calls after which files are written at once

static int below(int count) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)count);
}

static const char* name_of(int number) {
  static char names[4][4096];
  static int next;
  char* const name = names[next++ % 4];
  snprintf(name, sizeof names[0], "%s/file%d.%s", folder, number, number == 2 ? "other" : "h5");
  return name;
}

static uint64_t hash(const unsigned char* from, ssize_t bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (ssize_t i = 0; i < bytes; ++i) sum = (sum ^ from[i]) * 0x100000001b3;
  return sum;
}

static void said(const char* call, long result, const void* seen, ssize_t bytes) {
  const int error = result < 0 ? errno : 0;
  const uint64_t sum = seen != NULL && bytes > 0 ? hash(seen, bytes) : 0;
  printf("%s %ld %d %016llx\n", call, result, error, (unsigned long long)sum);
}

static int size_of_write(void) {
  const int kind = below(10);
  return 1 + (kind < 5 ? below(200) : kind < 9 ? below(20000) : below(most_bytes - 1));
}

static void fill(int bytes) {
  const unsigned first = (unsigned)below(256);
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(first + (unsigned)i * 7u);
}

static void open_one(int slot) {
  static const int ways[] = {
      O_RDWR | O_CREAT | O_TRUNC,    O_RDWR | O_CREAT,         O_RDWR, O_RDONLY, O_WRONLY | O_CREAT,
      O_WRONLY | O_CREAT | O_APPEND, O_RDWR | O_CREAT | O_EXCL};
  if (open_files[slot] >= 0) {
    said("close", close(open_files[slot]), NULL, 0);
    open_files[slot] = -1;
  }
  int way = below(7);
  if (way == 5 && !sees_otherwise) way = 0;
  const int number = below(num_names);
  open_files[slot] = open(name_of(number), ways[way], 0640);
  said("open", open_files[slot] < 0 ? -1 : way, NULL, 0);
}

static void show_file(int file) {
  struct stat facts;
  const int code = fstat(file, &facts);
  printf("fstat %d %lld %o\n", code, code == 0 ? (long long)facts.st_size : -1,
         code == 0 ? facts.st_mode : 0);
}

static void show_name(const char* path) {
  struct stat facts;
  const int code = stat(path, &facts);
  printf("stat %d %lld %o %d\n", code, code == 0 ? (long long)facts.st_size : -1,
         code == 0 ? facts.st_mode : 0, access(path, R_OK));
  const int link_code = lstat(path, &facts);
  printf("lstat %d %o\n", link_code, link_code == 0 ? facts.st_mode : 0);
}

// What a stream, a mapping, a child or the kernel itself sees of a file.
static void see_otherwise(int file, const char* path) {
  const int way = below(5);
  if (way == 0) {
    FILE* const stream = fopen(path, "r");
    const ssize_t bytes = stream != NULL ? (ssize_t)fread(data, 1, most_bytes, stream) : -1;
    said("fopen", bytes, data, bytes);
    if (stream != NULL) fclose(stream);
  } else if (way == 1) {
    struct stat facts;
    if (fstat(file, &facts) != 0 || facts.st_size == 0) return;
    void* const memory = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return;
    said("mmap", facts.st_size, memory, facts.st_size);
    munmap(memory, (size_t)facts.st_size);
  } else if (way == 2) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const ssize_t bytes = pread(file, data, most_bytes, 0);
      said("child", bytes, data, bytes);
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  } else if (way == 3) {
    char copy[4096];
    snprintf(copy, sizeof copy, "%s/copy", folder);
    const int to = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
    off_t from = 0;
    const ssize_t bytes = sendfile(to, file, &from, most_bytes);
    said("sendfile", bytes, NULL, 0);
    const ssize_t got = pread(to, data, most_bytes, 0);
    said("copied", got, data, got);
    close(to);
  } else {
    fflush(stdout);
    char command[9000];
    snprintf(command, sizeof command, "test -e %s && cksum < %s", path, path);
    said("system", system(command), NULL, 0);
  }
}

static void open_stream(int slot) {
  static const char* const modes[] = {"w", "w+b", "r+", "rb", "wx", "w+e", "r+b", "a", "a+"};
  if (open_streams[slot] != NULL) {
    said("fclose", fclose(open_streams[slot]), NULL, 0);
    open_streams[slot] = NULL;
  }
  const char* const mode = modes[below(sees_otherwise ? 9 : 7)];
  const int file = open_files[below(num_descriptors)];
  if (file >= 0 && below(4) == 0) {
    const int copy = dup(file);
    open_streams[slot] = fdopen(copy, mode);
    if (open_streams[slot] == NULL) close(copy);
    is_hidden[slot] = 0;
  } else {
    const int number = below(num_names);
    open_streams[slot] = fopen(name_of(number), mode);
    is_hidden[slot] = number != 2;
  }
  may_read[slot] = strpbrk(mode, "r+") != NULL && below(2);
  if (may_read[slot] && open_streams[slot] != NULL) setvbuf(open_streams[slot], NULL, _IONBF, 0);
  said(mode, open_streams[slot] == NULL ? -1 : 0, NULL, 0);
}

// Flushed after each write, and read without a buffer: what a buffer holds is the stream's own
// matter.
static void call_stream(int slot) {
  FILE* const stream = open_streams[slot];
  const int what = below(20);
  if (stream == NULL || what == 0) {
    open_stream(slot);
    return;
  }
  const int bytes = size_of_write();
  if (what < 8) {
    fill(bytes);
    size_t done = 0;
    for (int i = 0; i < 3; ++i) done += fwrite(data + i, 1, (size_t)bytes / 3, stream);
    said("fwrite", (long)done, NULL, 0);
    said("fflush", fflush(stream), NULL, 0);
  } else if (what < 10) {
    said("fprintf", fprintf(stream, "%d and %s", bytes, "text"), NULL, 0);
    said("fflush", fflush(stream), NULL, 0);
  } else if (what < 13) {
    if (!may_read[slot]) return;
    said("fseek", fseek(stream, below(5000), SEEK_SET), NULL, 0);
    const ssize_t got = (ssize_t)fread(data, 1, (size_t)bytes, stream);
    said("fread", got, data, got);
  } else if (what < 15) {
    static const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    fflush(stream);
    said("fseek", fseek(stream, below(2) ? -below(1000) : below(5000), whence[below(3)]), NULL, 0);
    said("ftell", ftell(stream), NULL, 0);
    fflush(stream);  // as a seek may read ahead
  } else if (what == 15) {
    show_file(fileno(stream));
    said("fsync", fsync(fileno(stream)), NULL, 0);
  } else if (what == 16) {
    said("ftruncate", ftruncate(fileno(stream), below(most_bytes)), NULL, 0);
  } else if (what == 17 && sees_otherwise && !may_read[slot]) {
    // A stream of the C library's own stays one, and another one of the same file would not be it.
    const int number = is_hidden[slot] ? below(num_names) : 2;
    open_streams[slot] = freopen(name_of(number), "r+", stream);
    said("freopen", open_streams[slot] == NULL ? -1 : 0, NULL, 0);
  } else {
    said("fclose", fclose(stream), NULL, 0);
    open_streams[slot] = NULL;
  }
}

static void show_time(const char* call, int code, const struct stat* facts) {
  printf("%s %d %lld\n", call, code, code == 0 ? (long long)facts->st_mtime : -1);
}

// Calls relative to a folder, on which the name of the file does not depend otherwise.
static void call_in_folder(const char* name) {
  struct stat facts;
  const int at = open(folder, O_RDONLY | O_DIRECTORY);
  const int file = openat(at, name, O_RDWR | O_CREAT, 0640);
  fill(1000);
  said("openat", pwrite(file, data, 1000, below(most_bytes)), NULL, 0);
  int code = fstatat(at, name, &facts, 0);
  printf("fstatat %d %lld\n", code, code == 0 ? (long long)facts.st_size : -1);
  close(file);
  code = fstatat(at, name, &facts, 0);
  printf("fstatat %d %lld\n", code, code == 0 ? (long long)facts.st_size : -1);
  if (below(3) == 0) said("unlinkat", unlinkat(at, name, 0), NULL, 0);
  close(at);
}

// A folder is renamed while its file is open or not complete.
static void move_folder(int closes_first) {
  char from[4096], to[4096], path[4200];
  snprintf(from, sizeof from, "%s/step.tmp", folder);
  snprintf(to, sizeof to, "%s/step", folder);
  mkdir(from, 0755);
  snprintf(path, sizeof path, "%s/new.h5", from);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0640);
  fill(block);
  for (int i = 0; i < 4; ++i) {
    said("pwrite", pwrite(file, data, block, (off_t)block * i), NULL, 0);
  }
  if (closes_first) close(file);
  said("rename", rename(from, to), NULL, 0);
  if (!closes_first) {
    said("pwrite", pwrite(file, data, 100, 4 * block), NULL, 0);
    close(file);
  }
  snprintf(path, sizeof path, "%s/new.h5", to);
  show_name(path);
  const int again = open(path, O_RDONLY);
  const ssize_t got = pread(again, data, most_bytes, 0);
  said("moved", got, data, got);
  close(again);
  said("unlink", unlink(path), NULL, 0);
  said("rmdir", rmdir(to), NULL, 0);
}

static void change_otherwise(int file) {
  static const struct timespec times[2] = {{1000000000, 0}, {1100000000, 0}};
  struct stat facts;
  const int way = below(9);
  const int number = below(num_names);
  const char* const name = name_of(number);
  if (way == 0) {
    said("utimensat", utimensat(AT_FDCWD, name, times, 0), NULL, 0);
    show_time("stat", stat(name, &facts), &facts);
  } else if (way == 1) {
    said("futimens", futimens(file, times), NULL, 0);
    said("fsync", fsync(file), NULL, 0);
    show_time("fstat", fstat(file, &facts), &facts);
  } else if (way == 2) {
    said("chmod", chmod(name, 0600u | (unsigned)below(64)), NULL, 0);
    show_name(name);
  } else if (way == 3) {
    char other[4096], seen[PATH_MAX];
    snprintf(other, sizeof other, "%s/other_name", folder);
    printf("realpath %s\n", realpath(name, seen) == NULL ? "none" : seen);
    said("linkat", linkat(AT_FDCWD, name, AT_FDCWD, other, 0), NULL, 0);
    show_name(other);
    unlink(other);
  } else if (way == 4) {
    said("setxattr", setxattr(name, "user.tailrace", "1", 1, 0), NULL, 0);
    const int again = open(name, O_RDWR | O_CREAT | O_TRUNC, 0640);
    said("write", write(again, "again", 5), NULL, 0);
    close(again);
    said("getxattr", getxattr(name, "user.tailrace", data, 10), NULL, 0);
    said("removexattr", removexattr(name, "user.tailrace"), NULL, 0);
  } else if (way == 5) {
    const int high = fcntl(file, F_DUPFD, 5000);  // no such number is followed
    fill(300);
    const off_t offset = below(most_bytes);
    said("high", pwrite(high, data, 300, offset), NULL, 0);
    const ssize_t got = pread(file, data, most_bytes, 0);
    said("pread", got, data, got);
    if (high >= 0) close(high);
  } else if (way == 6) {
    said("dprintf", dprintf(file, "%d and %s", number, "text"), NULL, 0);
#if __GLIBC_PREREQ(2, 34)
    struct aiocb call = {.aio_fildes = file, .aio_buf = data, .aio_nbytes = 100, .aio_offset = 50};
    const struct aiocb* const calls[] = {&call};
    if (!sees_otherwise || aio_write(&call) != 0) return;
    while (aio_error(&call) == EINPROGRESS) aio_suspend(calls, 1, NULL);
    errno = aio_error(&call);
    said("aio_write", errno == 0 ? aio_return(&call) : -1, NULL, 0);
#endif
  } else if (way == 7) {
    call_in_folder(strrchr(name, '/') + 1);
  } else {
    move_folder(below(2));
  }
}

static void call(int slot) {
  const int file = open_files[slot];
  const int what = below(30);
  if (file < 0 || what == 0) {
    open_one(slot);
    return;
  }
  const off_t offset = below(most_bytes);
  const int bytes = size_of_write();
  if (what < 8) {
    fill(bytes);
    said("pwrite", pwrite(file, data, (size_t)bytes, offset), NULL, 0);
  } else if (what < 12) {
    fill(bytes);
    said("write", write(file, data, (size_t)bytes), NULL, 0);
  } else if (what < 14) {
    fill(bytes);
    const struct iovec pieces[3] = {
        {data, (size_t)bytes / 3}, {data + 5, 0}, {data + 1, (size_t)bytes / 2}};
    said("writev", what == 12 ? writev(file, pieces, 3) : pwritev(file, pieces, 3, offset), NULL,
         0);
  } else if (what < 17) {
    const ssize_t got = pread(file, data, (size_t)bytes, offset);
    said("pread", got, data, got);
  } else if (what < 19) {
    const ssize_t got = read(file, data, (size_t)bytes);
    said("read", got, data, got);
  } else if (what < 21) {
    static const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    said("lseek", lseek(file, below(2) ? -below(1000) : below(5000), whence[below(3)]), NULL, 0);
  } else if (what == 21) {
    said("ftruncate", ftruncate(file, below(2) ? offset : offset / 8), NULL, 0);
  } else if (what < 24) {
    show_file(file);
    show_name(name_of(below(num_names)));
  } else if (what == 24) {
    const int other = below(num_descriptors);
    if (other == slot) return;
    if (open_files[other] >= 0 && below(2)) {
      said("dup2", dup2(file, open_files[other]) >= 0 ? 0 : -1, NULL, 0);
    } else {
      if (open_files[other] >= 0) said("close", close(open_files[other]), NULL, 0);
      open_files[other] = dup(file);
    }
  } else if (what == 25) {
    said("fsync", below(2) ? fsync(file) : fdatasync(file), NULL, 0);
  } else if (what == 26) {
    if (sees_otherwise) see_otherwise(file, name_of(below(num_names)));
  } else if (what == 27) {
    const int way = below(12);
    if (way > 3) change_otherwise(file);
    if (way == 0) said("unlink", unlink(name_of(below(num_names))), NULL, 0);
    if (way == 1) said("rename", rename(name_of(below(2)), name_of(below(num_names))), NULL, 0);
    if (way == 2) said("truncate", truncate(name_of(below(num_names)), offset), NULL, 0);
    if (way == 3) said("posix_fallocate", posix_fallocate(file, offset, bytes), NULL, 0);
  } else {
    said("close", close(file), NULL, 0);
    open_files[slot] = -1;
  }
}

static int make_calls(int count) {
  sees_otherwise = state % 3 == 0;
  for (int i = 0; i < num_descriptors; ++i) open_files[i] = -1;
  if (symlink("file0.h5", name_of(3)) != 0) return 1;  // to a file that does not exist yet
  for (int i = 0; i < count; ++i) {
    if (below(4) == 0) {
      call_stream(below(num_streams));
    } else {
      call(below(num_descriptors));
    }
  }
  // A stream that is open is written at the end.
  if (open_streams[0] != NULL) fputs("the end", open_streams[0]);
  for (int i = 0; i < num_names; ++i) show_name(name_of(i));
  return 0;  // some files are open
}

static int write_files(int count) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < count; ++i) {
      char path[4096];
      snprintf(path, sizeof path, "%s/step%d.h5", folder, i);
      const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
      if (file < 0) return 1;
      memset(data, 'a' + round, block);
      for (int j = 0; j < 8; ++j) {
        if (pwrite(file, data, block, (off_t)block * (7 - j)) != block) return 1;
      }
      if (close(file) != 0) return 1;
      printf("file %d\n", i);
      fflush(stdout);
    }
  }
  return 0;
}

static int fill_up(const char* when) {
  const char* const path = name_of(0);
  const struct rlimit limit = {block + 100, block + 100};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  memset(data, 'x', block);
  int failed = 0;
  for (int i = 0; i < 2 && !failed; ++i) failed = pwrite(file, data, block, (off_t)block * i) < 0;
  for (int i = 0; i < 2000 && strcmp(when, "call") == 0 && !failed; ++i) {
    usleep(1000);
    failed = pwrite(file, data, 10, 0) < 0;
  }
  if (strcmp(when, "left") == 0) {
    usleep(200000);  // it is known by now, but no call has returned it
    printf("failed 0\n");
    return 0;
  }
  if (strcmp(when, "sync") == 0) failed = fsync(file) < 0;
  if (close(file) < 0) failed = 1;
  if (strcmp(when, "open") == 0) {
    file = open(path, O_RDWR);
    failed = file < 0 && errno == EIO;
  }
  printf("failed %d\n", failed);
  return 0;
}

static int write_much(int mib) {
  const int file = open(name_of(0), O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < mib * 16; ++i) {
    memset(data, i, block);
    if (write(file, data, block) != block) return 1;
  }
  close(file);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("memory %ld KiB\n", used.ru_maxrss);
  return 0;
}

static int abandon(const char* how) {
  const struct rlimit limit = {8192, 8192};
  setrlimit(RLIMIT_NOFILE, &limit);
  if (strcmp(how, "high") == 0) {
    while (open("/dev/null", O_RDONLY) < 4100) continue;
  }
  const int file = open(name_of(0), O_WRONLY | O_CREAT, 0644);
  memset(data, 'y', block);
  for (int i = 0; i < 8; ++i) {
    if (write(file, data, block) != block) return 1;
  }
  // As programs do that leave their terminal.
  for (int i = 3; strcmp(how, "loop") == 0 && i < 8192; ++i) {
    if (i != file) close(i);
  }
#if __GLIBC_PREREQ(2, 34)
  if (strcmp(how, "range") == 0) close_range((unsigned)file + 1, ~0u, 0);
#endif
  if (strcmp(how, "quick") == 0) quick_exit(0);
  if (strcmp(how, "thread") == 0) pthread_exit(NULL);
  if (strcmp(how, "exec") == 0) execlp("true", "true", (char*)NULL);
  _exit(0);
}

static void end_at_once(int number) { _exit(number == SIGALRM ? 3 : 4); }

// Ends by a signal handler, most likely within a write that waits for memory.
static int write_until_signal(void) {
  const struct itimerval time = {{0, 0}, {0, 30000}};
  signal(SIGALRM, end_at_once);
  const int file = open(name_of(0), O_WRONLY | O_CREAT, 0644);
  setitimer(ITIMER_REAL, &time, NULL);
  while (pwrite(file, data, block, 0) == block) continue;
  return 1;
}

static pthread_barrier_t at_once;

// A thread's own files, of which the first ones are opened and written at the same time.
static void* write_own(void* number) {
  static unsigned char seen[8][block];
  const int own = (int)(intptr_t)number;
  char path[4096];
  intptr_t failed = 0;
  for (int i = 0; i < 5; ++i) {
    snprintf(path, sizeof path, "%s/thread%d.%d.h5", folder, own, i);
    if (i == 0) pthread_barrier_wait(&at_once);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int j = 0; j < 40; ++j) {
      unsigned char piece[1500];
      memset(piece, own * 40 + j, sizeof piece);
      if (write(file, piece, sizeof piece) != sizeof piece) ++failed;
      if (pread(file, seen[own], sizeof piece, (off_t)sizeof piece * j) != sizeof piece) ++failed;
      if (memcmp(seen[own], piece, sizeof piece) != 0) ++failed;
    }
    if (close(file) != 0) ++failed;
    file = open(path, O_RDONLY);
    if (pread(file, seen[own], block, 0) != 40 * 1500) ++failed;
    for (int j = 0; j < 40 * 1500; ++j)
      failed += seen[own][j] != (unsigned char)(own * 40 + j / 1500);
    close(file);
  }
  return (void*)failed;
}

static int write_by_threads(void) {
  pthread_t threads[8];
  intptr_t failed = 0;
  pthread_barrier_init(&at_once, NULL, 8);
  for (intptr_t i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, write_own, (void*)i);
  for (int i = 0; i < 8; ++i) {
    void* more = NULL;
    pthread_join(threads[i], &more);
    failed += (intptr_t)more;
  }
  printf("failed %d\n", (int)failed);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const more = argc > 3 ? argv[3] : "0";
  const int count = argc > 4 ? atoi(argv[4]) : 0;
  snprintf(folder, sizeof folder, "%s", argv[2]);
  state = (uint64_t)atoi(more);
  if (strcmp(argv[1], "random") == 0) return make_calls(count);
  if (strcmp(argv[1], "files") == 0) return write_files(count);
  if (strcmp(argv[1], "full") == 0) return fill_up(more);
  if (strcmp(argv[1], "big") == 0) return write_much(atoi(more));
  if (strcmp(argv[1], "abandoned") == 0) return abandon(more);
  if (strcmp(argv[1], "signal") == 0) return write_until_signal();
  if (strcmp(argv[1], "threads") == 0) return write_by_threads();
  return 2;
}
