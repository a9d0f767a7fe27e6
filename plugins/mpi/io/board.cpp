// SPDX-License-Identifier: BSD-3-Clause
#include "io/board.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

namespace tailrace::plugins {
namespace {

// Shared with children, too, which then see what their parent has written meanwhile.
void* map(int descriptor, std::size_t bytes) {
  const int kind = descriptor < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, descriptor, 0);
  return found == MAP_FAILED ? nullptr : found;
}

// Memory of the ranks of `node`, zeroed; null on all of them if one cannot map it.
void* map_together(MPI_Comm node, int rank, std::size_t bytes) {
  std::array<char, 64> name{};
  int descriptor = -1;
  if (rank == 0) {
    std::snprintf(name.data(), name.size(), "/tailrace-io-%d-%ld", static_cast<int>(getpid()),
                  static_cast<long>(std::time(nullptr)));
    descriptor = shm_open(name.data(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor >= 0 && posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) != 0) {
      close(descriptor);
      descriptor = -1;
    }
  }
  PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, node);
  if (rank != 0) descriptor = shm_open(name.data(), O_RDWR, 0600);
  void* const found = descriptor < 0 ? nullptr : map(descriptor, bytes);
  if (descriptor >= 0) close(descriptor);
  int failed = found == nullptr ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, node);
  if (rank == 0) shm_unlink(name.data());
  if (failed == 0) return found;
  if (found != nullptr) munmap(found, bytes);
  return nullptr;
}

bool overlaps(const BoardEntry::Range& range, Bytes bytes) {
  return range.begin.load() < bytes.end && bytes.begin < range.end.load();
}

}  // namespace

void Pause::operator()() {
  constexpr int spins = 20;
  if (++turns_ <= spins) {
    sched_yield();
    return;
  }
  const long ns = std::min(20'000L * (turns_ - spins), 1'000'000L);
  const timespec time{0, ns};
  nanosleep(&time, nullptr);
}

void Board::make() {
  MPI_Comm node = MPI_COMM_NULL;
  if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) !=
      MPI_SUCCESS) {
    return;
  }
  job_ =
      static_cast<std::uint64_t>(std::time(nullptr)) << 24 ^ static_cast<std::uint64_t>(getpid());
  PMPI_Bcast(&job_, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  PMPI_Comm_rank(node, &rank_);
  PMPI_Comm_size(node, &num_ranks_);
  const auto bytes = sizeof(BoardEntry) * entries_per_rank;
  void* memory =
      map_together(node, rank_, bytes * static_cast<std::size_t>(num_ranks_) + sizeof *turn_);
  if (memory != nullptr) {
    PMPI_Comm_group(node, &group_);
  } else {
    rank_ = 0;
    num_ranks_ = 1;
    PMPI_Comm_group(MPI_COMM_SELF, &group_);
    memory = map(-1, bytes + sizeof *turn_);
  }
  PMPI_Comm_free(&node);
  if (memory == nullptr) return;
  alone_ = entries_;
  set_memory(memory);
  covers_job_ = covers(MPI_COMM_WORLD);
}

void Board::make_alone() {
  job_ =
      static_cast<std::uint64_t>(std::time(nullptr)) << 24 ^ static_cast<std::uint64_t>(getpid());
  num_ranks_ = 1;
  set_memory(map(-1, sizeof(BoardEntry) * entries_per_rank + sizeof *turn_));
}

void Board::set_memory(void* memory) {
  auto* const entries = static_cast<BoardEntry*>(memory);
  if (memory != nullptr) {
    void* const behind = entries + std::ptrdiff_t{num_ranks_} * entries_per_rank;
    turn_ = static_cast<std::atomic<std::uint32_t>*>(behind);
  }
  entries_ = entries;  // last: other threads may look at it meanwhile
}

Board::Opens::Opens(Board& board) : turn_(*board.turn_) {
  for (Pause pause;; pause()) {
    std::uint32_t none = 0;
    if (turn_.compare_exchange_strong(none, 1)) return;
  }
}

Board::Opens::~Opens() { turn_ = 0; }

bool Board::has_open(std::uint64_t name, FileId file) {
  bool found = false;
  each([&](BoardEntry& entry) {
    const bool is_same =
        entry.name.load() == name ||
        (file.inode != 0 && entry.inode.load() == file.inode && entry.device.load() == file.device);
    found = is_same && entry.state.load() == BoardEntry::open;
    return !found;
  });
  return found;
}

bool Board::covers(MPI_Comm comm) const {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size));
  std::vector<int> there(own.size());
  for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
  PMPI_Group_translate_ranks(group, size, own.data(), group_, there.data());
  PMPI_Group_free(&group);
  return std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
}

BoardEntry* Board::take() {
  BoardEntry* const own = entries_ + std::ptrdiff_t{rank_} * entries_per_rank;
  for (BoardEntry* one = own; one != own + entries_per_rank; ++one) {
    if (one->state.load() != BoardEntry::unused) continue;
    one->claimed = 0;
    one->outcome = BoardEntry::unknown;
    one->error = 0;
    one->error_offset = 0;
    one->posted = 0;
    one->written = 0;
    return one;
  }
  return nullptr;
}

BoardEntry::Range& Board::add(BoardEntry& entry, Bytes bytes, std::uint64_t stamp) {
  const std::uint64_t number = entry.posted.load();
  for (Pause pause; number - entry.written.load() >= BoardEntry::num_ranges;) pause();
  BoardEntry::Range& range = entry.ranges[number % BoardEntry::num_ranges];
  range.begin = bytes.begin;
  range.end = bytes.end;
  range.stamp = stamp;
  entry.posted = number + 1;
  return range;
}

bool Board::wait(FileId file, Bytes bytes, bool own, std::uint64_t group, std::uint64_t stamp) {
  bool waited = false;
  const BoardEntry* const first = entries_ + std::ptrdiff_t{rank_} * entries_per_rank;
  each([&](BoardEntry& entry) {
    const bool is_own =
        (&entry >= first && &entry < first + entries_per_rank) ||
        (alone_ != nullptr && &entry >= alone_ && &entry < alone_ + entries_per_rank);
    if (!own && is_own) return true;
    if (entry.inode.load() != file.inode || entry.device.load() != file.device) return true;
    const std::uint64_t entry_group = entry.group.load();
    const bool is_same_call = group != 0 && stamp != 0 && entry_group == group;
    // The newest write that has to be waited for; those before it are written earlier.
    std::uint64_t until = 0;
    const std::uint64_t posted = entry.posted.load();
    for (std::uint64_t i = entry.written.load(); i < posted; ++i) {
      const BoardEntry::Range& range = entry.ranges[i % BoardEntry::num_ranges];
      if (is_same_call && range.stamp.load() == stamp) continue;
      if (overlaps(range, bytes)) until = i + 1;
    }
    for (Pause pause; entry.written.load() < until && entry.state.load() != BoardEntry::unused &&
                      entry.group.load() == entry_group;) {
      waited = true;
      pause();
    }
    return true;
  });
  return waited;
}

std::int64_t Board::pending_end(FileId file) {
  std::int64_t end = 0;
  each([&](BoardEntry& entry) {
    if (entry.inode.load() != file.inode || entry.device.load() != file.device) return true;
    const std::uint64_t posted = entry.posted.load();
    for (std::uint64_t i = entry.written.load(); i < posted; ++i)
      end = std::max(end, entry.ranges[i % BoardEntry::num_ranges].end.load());
    return true;
  });
  return end;
}

void Board::each(const std::function<bool(BoardEntry&)>& action) {
  if (entries_ == nullptr) return;
  const std::ptrdiff_t num = std::ptrdiff_t{num_ranks_} * entries_per_rank;
  for (std::ptrdiff_t i = 0; i < num; ++i) {
    if (entries_[i].state.load() == BoardEntry::unused) continue;
    if (!action(entries_[i])) return;
  }
  if (alone_ == nullptr) return;
  for (BoardEntry* one = alone_; one != alone_ + entries_per_rank; ++one) {
    if (one->state.load() != BoardEntry::unused && !action(*one)) return;
  }
}

bool Board::is_open(std::uint64_t group) {
  bool found = false;
  each([&](BoardEntry& entry) {
    found = entry.group.load() == group && entry.state.load() == BoardEntry::open;
    return !found;
  });
  return found;
}

bool Board::has_unfinished(bool only_closed) {
  bool found = false;
  each([&](BoardEntry& entry) {
    found = entry.outcome.load() == BoardEntry::unknown &&
            (!only_closed || !is_open(entry.group.load()));
    return !found;
  });
  return found;
}

}  // namespace tailrace::plugins
