// SPDX-License-Identifier: BSD-3-Clause
// io_uring (Linux 5.1): up to `queue_depth` requests of up to 4 MiB in flight, begun and left to
// the kernel, so that the next buffer is filled while this one is written. Statistics count
// requests, which are what would be system calls otherwise.
#include "file/back_end.hpp"

#if TAILRACE_HAVE_URING

#include <algorithm>
#include <cerrno>
#include <list>
#include <vector>

#include <liburing.h>

#include "file/back_ends/posix.hpp"
#include "file/back_ends/sieve.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t request_bytes = 4 << 20;
constexpr std::ptrdiff_t direct_from = 256 << 10;  // several wait for the disk at once
constexpr int default_depth = 8;

class Ring {
 public:
  explicit Ring(int entries, const std::string& path) {
    const int status = io_uring_queue_init(static_cast<unsigned>(entries), &ring_, 0);
    if (status < 0) fail_io("make an io_uring for", path, -status);
  }
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
};

/// One call: segments still to be cut into requests, and the requests under way. The segments are
/// copied, as the caller's list may go.
struct Job {
  Job(std::span<const Segment> list, const std::byte* memory, const CallLimits& limits,
      bool is_write)
      : segments(list.begin(), list.end()), calls(segments, memory, limits), writing(is_write) {}
  std::vector<Segment> segments;
  Calls calls;
  bool writing;
  bool all_cut = false;
  int in_flight = 0;
  std::int64_t number = 0;  // calls are counted, as they may end in any order
};

struct Request {
  Call call;
  std::vector<iovec> pieces;
  Job* job = nullptr;  // while busy
  bool busy = false;
};

class Uring final : public BackEnd {
 public:
  explicit Uring(const OpenRequest& request)
      : file_(request, Sieve::writes(request.settings)),
        settings_(request.settings),
        sieve_(file_, settings_),
        requests_(static_cast<std::size_t>(settings_.queue_depth > 0 ? settings_.queue_depth
                                                                     : default_depth)),
        ring_(static_cast<int>(requests_.size()), request.path) {}
  // The kernel must be done with the memory before anyone frees it.
  ~Uring() override { drain(); }

  void write(std::span<const Segment> segments, const std::byte* memory, bool sieve) override {
    if (sieve && Sieve::writes(settings_)) {
      finish();
      const AddTime time(file_.statistics().io_s);
      sieve_.write(segments, memory);
      return;
    }
    start_write(segments, memory);
    finish();
  }

  void read(std::span<const Segment> segments, std::byte* memory, bool sieve) override {
    finish();
    if (sieve && Sieve::reads(settings_)) {
      const AddTime time(file_.statistics().io_s);
      sieve_.read(segments, memory);
      return;
    }
    start(segments, memory, false);
    finish();
  }

  void start_write(std::span<const Segment> segments, const std::byte* memory) override {
    start(segments, memory, true);
  }
  void finish_all_but(int writes) override;
  bool background() const override { return true; }

  std::ptrdiff_t size() override { return file_.size(); }
  void resize(std::ptrdiff_t bytes) override {
    finish();
    file_.resize(bytes);
  }
  void flush() override {
    finish();
    file_.flush();
  }
  void close() override {
    finish();
    file_.close();
  }

 private:
  void start(std::span<const Segment> segments, const std::byte* memory, bool writing) {
    const AddTime time(file_.statistics().io_s);
    if (ring_error_ != 0) return note_ring_error();
    jobs_.emplace_back(segments, memory, limits(writing), writing).number = ++num_jobs_;
    submit_all();
  }
  CallLimits limits(bool writing) const {
    auto limits = file_.limits(writing);
    limits.bytes = limits.direct_bytes = request_bytes;
    limits.direct_from = std::min(limits.direct_from, direct_from);
    return limits;
  }
  void submit_all();
  void submit(Request& request);
  void complete(Request& request, int result);
  void wait_for_one();
  void abandon(int error);
  void note_ring_error();
  void drain() noexcept;
  void drop_done_jobs();
  void note(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
    for (auto& job : jobs_) job.all_cut = true;
  }

  PosixFile file_;
  const Settings& settings_;
  Sieve sieve_;
  std::vector<Request> requests_;
  Ring ring_;
  std::list<Job> jobs_;  // by number; requests point at them
  std::int64_t num_jobs_ = 0;
  int in_flight_ = 0;
  int ring_error_ = 0;  // with which the kernel refuses this ring
  std::exception_ptr failure_;
};

void Uring::submit(Request& request) {
  try {
    const int fd =
        request.job->writing ? file_.for_writing(request.call) : file_.for_reading(request.call);
    auto* entry = io_uring_get_sqe(ring_.get());
    const auto pieces = static_cast<unsigned>(request.call.pieces.size());
    const auto offset = static_cast<std::uint64_t>(request.call.offset);
    if (request.job->writing) {
      io_uring_prep_writev(entry, fd, request.call.pieces.data(), pieces, offset);
      ++file_.statistics().writes;
    } else {
      io_uring_prep_readv(entry, fd, request.call.pieces.data(), pieces, offset);
      ++file_.statistics().reads;
    }
    io_uring_sqe_set_data(entry, &request);
    request.busy = true;
    ++in_flight_;
    ++request.job->in_flight;
  } catch (...) {
    request.busy = false;
    note(std::current_exception());
  }
}

// Fills the free requests from the jobs, in order, and hands them to the kernel in one call.
void Uring::submit_all() {
  if (ring_error_ != 0) return;
  auto job = jobs_.begin();
  for (auto& request : requests_) {
    while (!request.busy && job != jobs_.end()) {
      if (job->all_cut || !job->calls.next(request.call)) {
        job->all_cut = true;
        ++job;
        continue;
      }
      request.pieces.assign(request.call.pieces.begin(), request.call.pieces.end());
      request.call.pieces = request.pieces;
      request.job = &*job;
      submit(request);
    }
  }
  io_uring_submit(ring_.get());
}

void Uring::drop_done_jobs() {
  std::erase_if(jobs_, [](const Job& job) { return job.all_cut && job.in_flight == 0; });
}

void Uring::complete(Request& request, int result) {
  request.busy = false;
  --in_flight_;
  --request.job->in_flight;
  auto& call = request.call;
  if (result == -EINVAL && call.direct) {
    file_.refuse_direct();
  } else if (result < 0 && result != -EINTR && result != -EAGAIN) {
    fail_io(request.job->writing ? "write" : "read", file_.path(), -result);
  } else if (result == 0) {
    if (!request.job->writing) file_.fail_end(call.offset + call.bytes);
    fail_io("write", file_.path(), ENOSPC);
  } else if (result > 0) {
    auto& sum =
        request.job->writing ? file_.statistics().bytes_written : file_.statistics().bytes_read;
    sum += result;
    consume(call, result);
    call.direct = false;
  }
  if (call.bytes > 0) submit(request);
}

void Uring::wait_for_one() {
  const int status = io_uring_submit_and_wait(ring_.get(), 1);
  if (status < 0 && status != -EINTR && status != -EAGAIN && status != -EBUSY) {
    abandon(-status);
    return;
  }
  for (io_uring_cqe* entry = nullptr; io_uring_peek_cqe(ring_.get(), &entry) == 0;) {
    auto& request = *static_cast<Request*>(io_uring_cqe_get_data(entry));
    const int result = entry->res;
    io_uring_cqe_seen(ring_.get(), entry);
    try {
      complete(request, result);
    } catch (...) {
      note(std::current_exception());
    }
  }
}

// The kernel takes nothing more from this ring, so nothing more will come back either. What it has
// not taken stays in the ring, which must not be handed over again: its requests are gone.
void Uring::abandon(int error) {
  ring_error_ = error;
  for (auto& request : requests_) request.busy = false;
  in_flight_ = 0;
  for (auto& job : jobs_) job.in_flight = 0;
  note_ring_error();
}

void Uring::note_ring_error() {
  try {
    fail_io("hand requests to io_uring for", file_.path(), ring_error_);
  } catch (...) {
    note(std::current_exception());
  }
}

void Uring::finish_all_but(int writes) {
  const AddTime time(file_.statistics().io_s);
  submit_all();
  drop_done_jobs();
  while (!jobs_.empty() && jobs_.front().number <= num_jobs_ - writes && in_flight_ > 0) {
    wait_for_one();
    submit_all();
    drop_done_jobs();
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Uring::drain() noexcept {
  for (auto& job : jobs_) job.all_cut = true;
  while (in_flight_ > 0) wait_for_one();
}

}  // namespace

std::unique_ptr<BackEnd> open_uring(const OpenRequest& request) {
  return std::make_unique<Uring>(request);
}

bool uring_available() {
  static const bool available = [] {
    io_uring ring{};
    if (io_uring_queue_init(2, &ring, 0) < 0) return false;
    io_uring_queue_exit(&ring);
    return true;
  }();
  return available;
}

}  // namespace tailrace::file

#else

namespace tailrace::file {

std::unique_ptr<BackEnd> open_uring(const OpenRequest&) {
  throw Error(Errc::invalid_input, "this tailrace was built without liburing; use back end posix");
}
bool uring_available() { return false; }

}  // namespace tailrace::file

#endif
