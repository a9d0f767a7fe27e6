// SPDX-License-Identifier: BSD-3-Clause
// Messages and requests: what is needed to find, after the run, which receive waited for which
// send.
#pragma once
#include <mpi.h>

#include <cstdint>

#include "profile/comms.hpp"
#include "profile/recorder.hpp"

namespace tailrace::plugins {

// A message leaves for `dest` of communicator `comm`, at `begin`; a blocking send returns at `end`,
// another ends where it begins. Returns its event, null if none is kept.
Event* sent(unsigned comm, int dest, int tag, std::int64_t bytes, Tick begin, Tick end,
            std::uint32_t row);
// The non-blocking send of `event` (null: none is kept) ends with `request`.
void sending(MPI_Request request, Event* event);
// A blocking receive that ended; `source` and `tag` are those of its status.
void received(unsigned comm, int source, int tag, Tick begin, Tick end, std::uint32_t row);
// A receive was posted at `begin`; its request is `request`. Source and tag may be wildcards.
void posted(MPI_Request request, unsigned comm, int source, int tag, Tick begin);
// A persistent request was made; `peer` is the rank in the communicator that it sends to or
// receives from. Partitioned ones match among themselves alone.
void persistent(MPI_Request request, unsigned comm, bool is_send, int peer, int tag,
                std::int64_t bytes, bool is_partitioned);
// Bytes of a persistent request; 0 for one that is not known.
std::int64_t persistent_bytes(MPI_Request request);
// A persistent request was started at `begin`.
void started(MPI_Request request, Tick begin, std::uint32_t row);
// More parts of a partitioned send are ready: its message begins with the last of them.
void parts_ready(MPI_Request request, Tick begin);
// A request is freed.
void freed(MPI_Request request);
// One-sided: bytes that go to (or come from) `target` of the window; no event.
void moved(unsigned comm, int target, std::int64_t bytes);

constexpr int max_watched = 1024;
// The posted receives and the sends under way among requests that a call completes, found before
// the call, as MPI clears their handles. Requests beyond max_watched make their messages loose.
// Where the call `blocks`, sends that have ended before it are left out, as nothing waits for them.
class Watched {
 public:
  template <class RequestAt>
  Watched(int count, const RequestAt& request_at, bool blocks) : blocks_(blocks) {
    if (count > 0 && any_posted()) look_up(count, request_at);
  }
  // Request number i has completed: its sender is `source`, or unknown (MPI_ANY_SOURCE).
  void completed(int i, int source, int tag, Tick begin, Tick end, std::uint32_t row) const {
    if (i < count_) complete(i, source, tag, begin, end, row);
  }

  // Request 0 is cancelled or freed: the end of its message will not be seen.
  void gone(bool is_cancelled) const;

 private:
  static bool any_posted();
  static void beyond();
  template <class RequestAt>
  void look_up(int count, const RequestAt& request_at) {
    if (count > max_watched) {
      beyond();
      count = max_watched;
    }
    for (int i = 0; i < count; ++i) set(i, request_at(i), blocks_);
    count_ = count;
  }
  static void set(int i, MPI_Request request, bool blocks);
  void complete(int i, int source, int tag, Tick begin, Tick end, std::uint32_t row) const;
  int count_ = 0;
  bool blocks_;
};

}  // namespace tailrace::plugins
