// SPDX-License-Identifier: BSD-3-Clause
#include "profile/epochs.hpp"

#include <cstdlib>

#include "profile/comms.hpp"
#include "profile/wrapper.hpp"

namespace tailrace::plugins {
namespace {

struct Window {
  MPI_Win win;
  unsigned comm = 0;
  std::uint32_t ordinal = 0;  // among those of the communicator, alike on all members
  int* origins = nullptr;     // ranks in the world, of the exposure epoch
  int* targets = nullptr;     // of the access epoch
  int num_origins = 0;
  int num_targets = 0;
};
constexpr unsigned max_windows = 256;
Window windows_seen[max_windows];
unsigned num_windows_seen = 0;

Window* find(MPI_Win win) {
  for (unsigned i = 0; i < num_windows_seen; ++i)
    if (windows_seen[i].win == win) return &windows_seen[i];
  return nullptr;
}

// What a rank tells another, each in a flow of its own. A start that returns before its post leaves
// the waiting to the complete, so that a post is told to both.
enum class Told : int { post_to_start, post_to_complete, complete };
constexpr int first_tag = -1000;  // tags of programs are not negative

// `count` events of a window, a message to (or from) each of `peers`.
void keep(const Window& window, Told told, EventKind kind, const int* peers, int count, Tick begin,
          Tick end, std::uint32_t row) {
  const int tag = first_tag - 4 * static_cast<int>(window.ordinal) - static_cast<int>(told);
  for (int i = 0; i < count; ++i) {
    Event* const event = next_event();
    if (event == nullptr) continue;
    *event = {begin, end,         begin,    row, static_cast<std::uint16_t>(window.comm),
              kind,  region_here, peers[i], tag};
  }
}

// Puts the world's ranks of a group into `ranks`, which has room for `most`; returns how many.
int world_ranks_of(MPI_Group group, int* ranks, int most) {
  int size = 0;
  PMPI_Group_size(group, &size);
  if (ranks == nullptr || size > most) return 0;
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int count = 0;
  for (int i = 0; i < size; ++i) {
    int rank = MPI_UNDEFINED;
    PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
    if (rank != MPI_UNDEFINED) ranks[count++] = rank;
  }
  PMPI_Group_free(&world);
  return count;
}

}  // namespace

void win_made(MPI_Win win, unsigned comm) {
  CommInfo& info = comm_info(comm);
  const std::uint32_t ordinal = info.num_wins++;
  Window* window = find(win);
  if (window == nullptr) {
    if (num_windows_seen == max_windows) return;
    window = &windows_seen[num_windows_seen++];
  }
  std::free(window->origins);
  const auto room = static_cast<std::size_t>(info.size > 0 ? info.size : 1);
  int* const memory = static_cast<int*>(std::malloc(2 * room * sizeof(int)));
  *window = {win, comm, ordinal, memory, memory == nullptr ? nullptr : memory + room, 0, 0};
}

unsigned win_comm(MPI_Win win) {
  const Window* window = find(win);
  return window == nullptr ? 0 : window->comm;
}

void fenced(MPI_Win win, Tick begin, Tick end, std::uint32_t row) {
  const Window* window = find(win);
  if (window != nullptr) collective(window->comm, EventKind::fence, -1, begin, end, row);
}

void win_freed(MPI_Win win, Tick begin, Tick end, std::uint32_t row) {
  fenced(win, begin, end, row);
  Window* window = find(win);
  if (window == nullptr) return;
  std::free(window->origins);
  *window = windows_seen[--num_windows_seen];
  windows_seen[num_windows_seen] = {};
}

void exposed(MPI_Win win, MPI_Group origins, Tick begin, std::uint32_t row) {
  Window* window = find(win);
  if (window == nullptr || state.has_threads) return;
  window->num_origins = world_ranks_of(origins, window->origins, comm_info(window->comm).size);
  for (const Told told : {Told::post_to_start, Told::post_to_complete})
    keep(*window, told, EventKind::send, window->origins, window->num_origins, begin, begin, row);
}

void exposure_ended(MPI_Win win, Tick begin, Tick end, std::uint32_t row) {
  Window* window = find(win);
  if (window == nullptr) return;
  keep(*window, Told::complete, EventKind::receive, window->origins, window->num_origins, begin,
       end, row);
  window->num_origins = 0;
}

void accessed(MPI_Win win, MPI_Group targets, Tick begin, Tick end, std::uint32_t row) {
  Window* window = find(win);
  if (window == nullptr || state.has_threads) return;
  window->num_targets = world_ranks_of(targets, window->targets, comm_info(window->comm).size);
  keep(*window, Told::post_to_start, EventKind::receive, window->targets, window->num_targets,
       begin, end, row);
}

void access_ended(MPI_Win win, Tick begin, Tick end, std::uint32_t row) {
  Window* window = find(win);
  if (window == nullptr) return;
  const int count = window->num_targets;
  keep(*window, Told::post_to_complete, EventKind::receive, window->targets, count, begin, end,
       row);
  keep(*window, Told::complete, EventKind::send, window->targets, count, begin, begin, row);
  window->num_targets = 0;
}

}  // namespace tailrace::plugins
