// SPDX-License-Identifier: BSD-3-Clause
#include "profile/messages.hpp"

#include <limits>

#include "profile/request_table.hpp"

namespace tailrace::plugins {
namespace {

struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  Event* event = nullptr;
  bool is_watched = false;  // some thread may be completing it
  bool is_free() const { return event == nullptr; }
  bool is_send() const { return event->kind == EventKind::send; }
};
RequestTable<Pending> pending;  // receives that are posted, sends under way

struct WatchedOne {
  MPI_Request request;
  Event* event;  // null: not pending
};
__thread WatchedOne watched[max_watched];

// The request has no longer this event; another thread's message may have it by now.
void forget(const WatchedOne& one) {
  const TableLock lock;
  Pending* const slot = pending.find(one.request);
  if (slot != nullptr && slot->event == one.event) pending.erase(slot);
}

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

// What an event's row says beside the row: which thread sent or posted, whoever waits for it.
std::uint32_t thread_here() { return state.has_threads ? my_thread->mark : 0; }

// The request gets another message: what it had completed where we did not see it, or is just being
// completed by another thread.
void forget_old(MPI_Request request) {
  Pending* const old = pending.find(request);
  if (old == nullptr) return;
  // MPI libraries have one request for all sends that have ended at once.
  if (!old->is_send() && !old->is_watched) loosen(old->event->comm);
  pending.erase(old);
}

}  // namespace

Event* sent(unsigned comm, int dest, int tag, std::int64_t bytes, Tick begin, Tick end,
            std::uint32_t row) {
  const int peer = world_rank(comm_info(comm), dest);
  if (peer < 0) return nullptr;
  add_traffic(peer, bytes);
  Event* const event = next_event();
  if (event != nullptr)
    *event = {begin,
              end,
              0,
              thread_here() | row,
              static_cast<std::uint16_t>(comm),
              EventKind::send,
              region_here,
              peer,
              tag};
  return event;
}

void sending(MPI_Request request, Event* event) {
  if (event == nullptr) return;
  const TableLock lock;
  forget_old(request);
  if (pending.has_spare_room()) pending.insert({request, event});
}

void received(unsigned comm, int source, int tag, Tick begin, Tick end, std::uint32_t row) {
  if (source == MPI_PROC_NULL) return;
  const int peer = world_rank(comm_info(comm), source);
  if (peer < 0) return loosen(comm);
  if (Event* event = next_event())
    *event = {begin,
              end,
              begin,
              thread_here() | row,
              static_cast<std::uint16_t>(comm),
              EventKind::receive,
              region_here,
              peer,
              tag};
}

void posted(MPI_Request request, unsigned comm, int source, int tag, Tick begin) {
  if (source == MPI_PROC_NULL) return;
  const TableLock lock;
  if (pending.is_full()) return loosen(comm);
  Event* event = next_event();
  if (event == nullptr) return;
  const int peer = source == MPI_ANY_SOURCE ? -1 : world_rank(comm_info(comm), source);
  *event = {
      0,           0,    begin, thread_here(), static_cast<std::uint16_t>(comm), EventKind::receive,
      region_here, peer, tag};
  forget_old(request);
  pending.insert({request, event});
}

void persistent(MPI_Request request, unsigned comm, bool is_send, int peer, int tag,
                std::int64_t bytes, bool is_partitioned) {
  if (peer == MPI_PROC_NULL) return;
  if (is_partitioned) tag += std::numeric_limits<int>::min();  // no program's tag is negative
  const TableLock lock;
  if (persistent_ones.is_full()) return loosen(comm);
  if (Persistent* old = persistent_ones.find(request)) persistent_ones.erase(old);
  // Partitioned requests match in the order that they were made in, not started.
  const auto is_alike = [&](const Persistent& other) {
    return other.comm == comm && other.is_send == is_send && other.peer == peer && other.tag == tag;
  };
  if (is_partitioned && persistent_ones.any(is_alike)) loosen(comm);
  persistent_ones.insert(
      {request, static_cast<std::uint16_t>(comm), true, is_send, peer, tag, bytes});
}

namespace {

// What is known of a persistent request; not in use: nothing.
Persistent persistent_one(MPI_Request request) {
  if (persistent_ones.is_empty()) return {};
  const TableLock lock;
  const Persistent* one = persistent_ones.find(request);
  return one != nullptr ? *one : Persistent{};
}

}  // namespace

std::int64_t persistent_bytes(MPI_Request request) { return persistent_one(request).bytes; }

void started(MPI_Request request, Tick begin, std::uint32_t row) {
  const Persistent one = persistent_one(request);
  if (!one.is_used) return;
  if (one.is_send)
    return sending(request, sent(one.comm, one.peer, one.tag, one.bytes, begin, begin, row));
  posted(request, one.comm, one.peer, one.tag, begin);
}

void parts_ready(MPI_Request request, Tick begin) {
  const TableLock lock;
  if (const Pending* const slot = pending.find(request)) {
    if (slot->event->begin < begin) slot->event->begin = begin;
    return;
  }
  const bool has_events = state.num_events.load(std::memory_order_relaxed) < state.max_events;
  const Persistent* const one = persistent_ones.find(request);
  if (one != nullptr && has_events) loosen(one->comm);  // it has an event that is not watched
}

void moved(unsigned comm, int target, std::int64_t bytes) {
  add_traffic(world_rank(comm_info(comm), target), bytes);
}

bool Watched::any_posted() { return !pending.is_empty(); }

void Watched::beyond() {
  for (unsigned i = 0; i < num_comms(); ++i) loosen(i);
}

void Watched::set(int i, MPI_Request request, bool blocks) {
  watched[i] = {request, nullptr};
  Event* event = nullptr;
  {
    const TableLock lock;
    Pending* const slot = pending.find(request);
    if (slot == nullptr) return;
    slot->is_watched = true;
    event = slot->event;
  }
  if (event->kind == EventKind::send && blocks) {
    int has_ended = 0;
    const int code = PMPI_Request_get_status(request, &has_ended, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || has_ended != 0) return forget({request, event});
  }
  watched[i].event = event;
}

void Watched::gone(bool is_cancelled) const {
  if (count_ == 0 || watched[0].event == nullptr) return;
  const Event& event = *watched[0].event;
  // The message of a send that is freed arrives nevertheless.
  if (is_cancelled || event.kind != EventKind::send) loosen(event.comm);
  forget(watched[0]);
}

void freed(MPI_Request request) {
  if (persistent_ones.is_empty()) return;
  const TableLock lock;
  if (Persistent* one = persistent_ones.find(request)) persistent_ones.erase(one);
}

void Watched::complete(int i, int source, int tag, Tick begin, Tick end, std::uint32_t row) const {
  if (watched[i].event == nullptr) return;
  forget(watched[i]);
  Event& event = *watched[i].event;
  const std::uint32_t waited = (event.row & thread_bits) | row;
  if (event.kind == EventKind::send) {
    if (!blocks_) return;  // ended while the program did something else
    event.post = begin;
    event.end = end;
    event.row = waited;
    event.region = region_here;
    return;
  }
  if (event.peer < 0 || event.tag == MPI_ANY_TAG) {
    const int peer = source < 0 ? -1 : world_rank(comm_info(event.comm), source);
    if (peer < 0) loosen(event.comm);
    event.peer = peer;
    event.tag = tag;
  }
  event.begin = begin;
  event.end = end;
  event.row = waited;
  event.region = region_here;
}

}  // namespace tailrace::plugins
