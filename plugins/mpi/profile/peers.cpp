// SPDX-License-Identifier: BSD-3-Clause
#include "profile/peers.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "profile/recorder.hpp"

namespace tailrace::plugins {
namespace {

// A file at one moment. Its times come from the clock of a file server, so that they are compared
// with each other only, never with the clock of this node.
struct Version {
  std::uint64_t inode = 0;  // 0: there is no file
  std::int64_t written_s = 0;
  std::int64_t written_ns = 0;
  bool operator==(const Version&) const = default;
};

// A process: numbers are used again, so that it is known by its start, too, and by the namespace
// that its number is of.
struct Peer {
  int rank = 0;
  int pid = 0;
  std::uint64_t started = 0;
  std::uint64_t pid_namespace = 0;
  Version earlier{};  // record of an earlier run in the same folder
  bool is_asked = false;
};
std::vector<Peer>& peers() {
  static auto& all = *new std::vector<Peer>;
  return all;
}

// When a process began, in the kernel's ticks; 0 if there is none, or it has ended.
std::uint64_t start_of(int pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char line[1024];
  const ssize_t n = read(file, line, sizeof line - 1);
  close(file);
  if (n <= 0) return 0;
  line[n] = '\0';
  const char* const name_end = std::strrchr(line, ')');  // the name may hold blanks and brackets
  char process_state = 'Z';
  unsigned long long started = 0;
  constexpr const char* form =
      " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
  if (name_end == nullptr || std::sscanf(name_end + 1, form, &process_state, &started) != 2) {
    return 0;
  }
  return process_state == 'Z' ? 0 : started;
}

std::uint64_t own_namespace() {
  struct stat facts {};
  return stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

int asking_signal() { return SIGRTMAX; }

void write_when_asked(int /*number*/) {
  const int error = errno;
  if (state.on.exchange(false)) write_record("end of another rank");
  errno = error;
}

// False if the program has the signal for itself.
bool listens() {
  struct sigaction old {};
  if (sigaction(asking_signal(), nullptr, &old) != 0 || old.sa_handler != SIG_DFL) return false;
  struct sigaction ours {};
  ours.sa_handler = write_when_asked;
  ours.sa_flags = SA_RESTART;
  return sigaction(asking_signal(), &ours, nullptr) == 0;
}

Version record_of(int rank) {
  char path[PATH_MAX];
  std::snprintf(path, sizeof path, "%s/rank-%06d.json", record_folder(), rank);
  struct stat facts {};
  if (stat(path, &facts) != 0) return {};
  return {facts.st_ino, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

bool has_record(const Peer& peer) {
  const Version found = record_of(peer.rank);
  return found.inode != 0 && found != peer.earlier;
}

bool is_there(const Peer& peer) { return start_of(peer.pid) == peer.started; }

}  // namespace

void know_peers(MPI_Comm node) {
  int ranks = 0;
  PMPI_Comm_size(node, &ranks);
  const Peer own{state.rank, state.pid, listens() ? start_of(state.pid) : 0, own_namespace(),
                 record_of(state.rank)};
  std::vector<Peer> all(static_cast<std::size_t>(ranks));
  constexpr int bytes = sizeof(Peer);
  PMPI_Allgather(&own, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, node);
  for (const Peer& peer : all) {
    const bool known = peer.started != 0 && peer.pid_namespace == own.pid_namespace;
    if (known && peer.rank != own.rank) peers().push_back(peer);
  }
}

// Without the heap: it may be called by a signal's handler.
void ask_for_records() {
  constexpr timespec nap{0, 1'000'000};
  for (Peer& peer : peers()) {
    peer.is_asked = is_there(peer) && !has_record(peer) && kill(peer.pid, asking_signal()) == 0;
  }
  for (int naps = 0; naps < 1000; ++naps) {
    bool waits = false;
    for (Peer& peer : peers()) {
      peer.is_asked = peer.is_asked && !has_record(peer) && is_there(peer);
      waits = waits || peer.is_asked;
    }
    if (!waits) return;
    nanosleep(&nap, nullptr);
  }
}

}  // namespace tailrace::plugins
