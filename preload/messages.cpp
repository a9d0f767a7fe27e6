// SPDX-License-Identifier: BSD-3-Clause
#include "messages.hpp"

#include "request_table.hpp"

namespace tailrace::preload {
namespace {

struct Posted {
  MPI_Request request = MPI_REQUEST_NULL;
  Event* event = nullptr;
  bool is_free() const { return event == nullptr; }
};
RequestTable<Posted> receives;
MPI_Request watched[max_watched];  // 0: no posted receive

struct Persistent {
  MPI_Request request = MPI_REQUEST_NULL;
  std::uint16_t comm = 0;
  bool is_used = false;
  bool is_send = false;
  int peer = 0;  // rank in comm
  int tag = 0;
  std::int64_t bytes = 0;
  bool is_free() const { return !is_used; }
};
RequestTable<Persistent> persistent_ones;

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
  if (state.has_threads || receives.is_full()) return loosen(comm);
  Event* event = next_event();
  if (event == nullptr) return;
  const int peer = source == MPI_ANY_SOURCE ? -1 : world_rank(comm_info(comm), source);
  *event = {0,           0,    begin, 0, static_cast<std::uint16_t>(comm), EventKind::receive,
            region_here, peer, tag};
  if (Posted* old = receives.find(request)) {  // completed where we did not see it
    loosen(old->event->comm);
    receives.erase(old);
  }
  receives.insert({request, event});
}

void persistent(MPI_Request request, unsigned comm, bool is_send, int peer, int tag,
                std::int64_t bytes) {
  if (peer == MPI_PROC_NULL) return;
  if (state.has_threads || persistent_ones.is_full()) return loosen(comm);
  if (Persistent* old = persistent_ones.find(request)) persistent_ones.erase(old);
  persistent_ones.insert(
      {request, static_cast<std::uint16_t>(comm), true, is_send, peer, tag, bytes});
}

std::int64_t persistent_bytes(MPI_Request request) {
  const Persistent* one = persistent_ones.is_empty() ? nullptr : persistent_ones.find(request);
  return one != nullptr ? one->bytes : 0;
}

void started(MPI_Request request, Tick begin, std::uint32_t row) {
  const Persistent* one = persistent_ones.is_empty() ? nullptr : persistent_ones.find(request);
  if (one == nullptr) return;
  if (one->is_send) return sent(one->comm, one->peer, one->tag, one->bytes, begin, begin, row);
  posted(request, one->comm, one->peer, one->tag, begin);
}

void moved(unsigned comm, int target, std::int64_t bytes) {
  add_traffic(world_rank(comm_info(comm), target), bytes);
}

bool Watched::any_posted() { return !receives.is_empty(); }

void Watched::beyond() {
  for (unsigned i = 0; i < num_comms(); ++i) loosen(i);
}

void Watched::set(int i, MPI_Request request) {
  watched[i] = receives.find(request) == nullptr ? MPI_Request{} : request;
}

void Watched::gone() const {
  if (count_ == 0 || watched[0] == MPI_Request{}) return;
  Posted* const slot = receives.find(watched[0]);
  if (slot == nullptr) return;
  loosen(slot->event->comm);
  receives.erase(slot);
}

void freed(MPI_Request request) {
  if (Persistent* one = persistent_ones.find(request)) persistent_ones.erase(one);
}

void Watched::complete(int i, int source, int tag, Tick begin, Tick end, std::uint32_t row) const {
  if (watched[i] == MPI_Request{}) return;
  Posted* const slot = receives.find(watched[i]);
  if (slot == nullptr) return;
  Event& event = *slot->event;
  receives.erase(slot);
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
