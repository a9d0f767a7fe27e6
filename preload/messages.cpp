// SPDX-License-Identifier: BSD-3-Clause
#include "messages.hpp"

namespace tailrace::preload {
namespace {

struct Posted {
  MPI_Request request = MPI_REQUEST_NULL;  // null pointer: free
  Event* event = nullptr;
};

constexpr unsigned num_posted_slots = 16384;
constexpr unsigned max_posted = num_posted_slots / 2;
Posted table[num_posted_slots];
unsigned num_posted = 0;
MPI_Request watched[max_watched];  // 0: no posted receive

unsigned first_slot(MPI_Request request) {
  return static_cast<unsigned>(bits_of(request) * 0x9E3779B97F4A7C15U >> 40U) % num_posted_slots;
}

bool is_free(const Posted& slot) { return slot.event == nullptr; }

int find(MPI_Request request) {
  unsigned at = first_slot(request);
  while (!is_free(table[at])) {
    if (table[at].request == request) return static_cast<int>(at);
    at = (at + 1) % num_posted_slots;
  }
  return -1;
}

// Takes a slot out and moves those after it up, so that no chain breaks.
void erase(unsigned at) {
  --num_posted;
  table[at] = {};
  for (unsigned next = (at + 1) % num_posted_slots; !is_free(table[next]);
       next = (next + 1) % num_posted_slots) {
    const Posted moved = table[next];
    table[next] = {};
    unsigned to = first_slot(moved.request);
    while (!is_free(table[to])) to = (to + 1) % num_posted_slots;
    table[to] = moved;
  }
}

void loosen(unsigned comm) { comm_info(comm).is_loose = true; }

void add_traffic(int peer, std::int64_t bytes) {
  if (peer < 0 || peer >= state.num_ranks || state.sent_bytes == nullptr) return;
  const auto more = static_cast<std::uint64_t>(bytes > 0 ? bytes : 0);
  if (state.has_threads) {
    __atomic_fetch_add(&state.sent_bytes[peer], more, __ATOMIC_RELAXED);
    __atomic_fetch_add(&state.sent_messages[peer], 1U, __ATOMIC_RELAXED);
  } else {
    state.sent_bytes[peer] += more;
    state.sent_messages[peer] += 1;
  }
}

}  // namespace

void sent(unsigned comm, int dest, int tag, std::int64_t bytes, Tick begin, Tick end,
          std::uint32_t row) {
  const int peer = world_rank(comm_info(comm), dest);
  if (peer < 0) return;
  add_traffic(peer, bytes);
  if (state.has_threads) return loosen(comm);
  if (Event* event = next_event())
    *event = {begin,           end,         0,    row, static_cast<std::uint16_t>(comm),
              EventKind::send, region_here, peer, tag};
}

void received(unsigned comm, int source, int tag, Tick begin, Tick end, std::uint32_t row) {
  if (source == MPI_PROC_NULL) return;
  const int peer = world_rank(comm_info(comm), source);
  if (peer < 0 || state.has_threads) return loosen(comm);
  if (Event* event = next_event())
    *event = {begin,       end,  begin, row, static_cast<std::uint16_t>(comm), EventKind::receive,
              region_here, peer, tag};
}

void posted(MPI_Request request, unsigned comm, int source, int tag, Tick begin) {
  if (source == MPI_PROC_NULL) return;
  if (state.has_threads || num_posted >= max_posted) return loosen(comm);
  Event* event = next_event();
  if (event == nullptr) return;
  const int peer = source == MPI_ANY_SOURCE ? -1 : world_rank(comm_info(comm), source);
  *event = {0,           0,    begin, 0, static_cast<std::uint16_t>(comm), EventKind::receive,
            region_here, peer, tag};
  const int old = find(request);  // completed where we did not see it
  if (old >= 0) {
    loosen(table[old].event->comm);
    erase(static_cast<unsigned>(old));
  }
  unsigned at = first_slot(request);
  while (!is_free(table[at])) at = (at + 1) % num_posted_slots;
  table[at] = {request, event};
  ++num_posted;
}

void moved(unsigned comm, int target, std::int64_t bytes) {
  add_traffic(world_rank(comm_info(comm), target), bytes);
}

bool Watched::any_posted() { return num_posted > 0; }

void Watched::beyond() {
  for (unsigned i = 0; i < num_comms(); ++i) loosen(i);
}

void Watched::set(int i, MPI_Request request) {
  watched[i] = find(request) < 0 ? MPI_Request{} : request;
}

void Watched::gone() const {
  if (count_ == 0 || watched[0] == MPI_Request{}) return;
  const int slot = find(watched[0]);
  if (slot < 0) return;
  loosen(table[slot].event->comm);
  erase(static_cast<unsigned>(slot));
}

void Watched::complete(int i, int source, int tag, Tick begin, Tick end, std::uint32_t row) const {
  if (watched[i] == MPI_Request{}) return;
  const int slot = find(watched[i]);
  if (slot < 0) return;
  Event& event = *table[slot].event;
  erase(static_cast<unsigned>(slot));
  if (event.peer < 0 || event.tag == MPI_ANY_TAG) {
    const int peer = source < 0 ? -1 : world_rank(comm_info(event.comm), source);
    if (peer < 0) loosen(event.comm);
    event.peer = peer;
    event.tag = tag;
  }
  event.begin = begin;
  event.end = end;
  event.row = row;
  event.region = region_here;
}

}  // namespace tailrace::preload
