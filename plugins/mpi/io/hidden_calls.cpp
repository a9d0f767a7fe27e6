// SPDX-License-Identifier: BSD-3-Clause
// The calls of a file whose writes are hidden.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/open_file.hpp"
#include "io/plan.hpp"
#include "tailrace/error.hpp"
#include "tailrace/log.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::plugins {
namespace {

// Smaller writes of files of several nodes are made at once: the ranks of other nodes do not know
// what waits here, and HDF5 and netCDF read each other's headers after no more than a barrier.
constexpr std::int64_t least_between_nodes = 64 << 10;

// Adds the time from its making on.
class Adds {
 public:
  explicit Adds(double& to) : to_(to), begin_s_(now_s()) {}
  ~Adds() { to_ += now_s() - begin_s_; }
  Adds(const Adds&) = delete;
  Adds& operator=(const Adds&) = delete;

 private:
  double& to_;
  double begin_s_;
};

}  // namespace

int OpenFile::run_hidden(const Transfer& call) {
  const std::lock_guard lock(in_hidden_);
  if (!call.writes) {
    look(call);
    if (hidden_->spans_nodes()) settle();
    PMPI_Barrier(duplicate_.raw);  // one rank may read for another
    ++tally_.refused[static_cast<std::size_t>(Refusal::reads)];
    return call.pass();
  }
  Plan own = prepare(call, true);
  own.failure = hidden_->failure();
  const Agreed agreed = agree(own, true);
  if (agreed.failed) return report(hidden_->failure());
  if (agreed.why != Refusal::none) return refuse(call, agreed.why);
  return stage(call, own, ++stamp_);
}

int OpenFile::write_alone(const Transfer& call) {
  if (!hidden_) {
    settle();
    return call.pass();
  }
  const std::lock_guard lock(in_hidden_);
  Plan own = prepare(call, true);
  const WriteFailure failure = hidden_->failure();
  if (failure.error != 0) return report(failure);
  if (own.why != Refusal::none) {
    ++tally_.refused[static_cast<std::size_t>(own.why)];
    settle();
    return call.pass();
  }
  ++tally_.alone;
  return stage(call, own, 0);
}

int OpenFile::stage(const Transfer& call, Plan& plan, std::uint64_t stamp) {
  if (plan.bytes > 0) {
    HiddenFiles& all = hidden_files();
    const Bytes bytes{plan.places.front().offset, plan.end};
    const HiddenOptions& options = all.options();
    const bool is_now = plan.bytes > options.most_bytes ||
                        (hidden_->spans_nodes() && plan.bytes < least_between_nodes) ||
                        (options.writes_through && !all.thread().has_room(plan.bytes));
    {
      const Adds waiting(tally_.order_s);
      all.board().wait(id_, bytes, is_now, hidden_->group(), stamp);
    }
    const auto* const data = static_cast<const std::byte*>(call.data);
    if (is_now) {
      const bool lies_together = plan.memory.size() == 1;
      Buffer copy(lies_together ? 0 : plan.bytes, false);
      if (!lies_together) gather(data, plan.memory, copy.data());
      hidden_->write(plan.places, lies_together ? data + plan.memory[0].offset : copy.data());
      ++tally_.through;
      tally_.through_bytes += plan.bytes;
      const WriteFailure failure = hidden_->failure();
      if (failure.error != 0) return report(failure);
    } else {
      Buffer copy;
      {
        const Adds waiting(tally_.room_s);
        copy = all.thread().room(plan.bytes);
      }
      gather(data, plan.memory, copy.data());
      hidden_->post(std::move(plan.places), std::move(copy), stamp);
      ++tally_.hidden;
      tally_.hidden_bytes += plan.bytes;
    }
  }
  if (stamp != 0) {
    ++tally_.taken[1];
    tally_.bytes[1] += plan.bytes;
  }
  call.set_status(plan.bytes);
  if (call.offset) return MPI_SUCCESS;
  return PMPI_File_seek(file_, plan.bytes / unit_bytes_, MPI_SEEK_CUR);
}

void OpenFile::look(const Transfer& call) {
  if (!hidden_files().is_started() || id_.inode == 0) return;
  const Plan own = plan(call);
  const Bytes all;
  const bool is_known = own.why == Refusal::none;
  if (is_known && own.places.empty()) return;
  const Bytes bytes = is_known ? Bytes{own.places.front().offset, own.end} : all;
  const Adds waiting(tally_.flush_s);
  Board& board = hidden_files().board();
  const std::int64_t end = board.pending_end(id_);
  bool waited = board.wait(id_, bytes, true);
  // A hole before what waits is read as zeros only if the file reaches beyond it.
  MPI_Offset size = 0;
  if (end > bytes.end && PMPI_File_get_size(file_, &size) == MPI_SUCCESS && size < bytes.end)
    waited |= board.wait(id_, {}, true);
  if (waited) ++tally_.flushes;
}

void OpenFile::settle() {
  if (!hidden_files().is_started() || id_.inode == 0) return;
  const Adds waiting(tally_.settling_s);
  hidden_files().board().wait(id_, {}, true);
}

void OpenFile::settle_together() {
  settle();
  if (hidden_) PMPI_Barrier(duplicate_.raw);
}

int OpenFile::sync(const std::function<int()>& pass) {
  if (!hidden_) {
    settle();
    return pass();
  }
  // That of a library's own close: it ends behind the computation as the rest does.
  if (hidden_files().options().closes_later && !hidden_->spans_nodes() && is_in_library_close()) {
    hidden_->wants_sync();
    return MPI_SUCCESS;
  }
  {
    const Adds waiting(tally_.settling_s);
    hidden_->settle();
  }
  int code = pass();
  WriteFailure failure = hidden_->failure();
  int failed = failure.error;
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, duplicate_.raw));
  if (failed != 0) return report(hidden_->failure());
  if (!hidden_->is_temporary()) return code;
  // Other programs read it from now on.
  failure.error = hidden_->publish();
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &failure.error, 1, MPI_INT, MPI_MAX, duplicate_.raw));
  return failure.error != 0 ? report(failure) : code;
}

int OpenFile::set_size(std::int64_t bytes, const std::function<int()>& pass) {
  if (!hidden_) {
    settle();
    return pass();
  }
  std::int64_t end = hidden_files().board().pending_end(id_);
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_INT64_T, MPI_MAX, duplicate_.raw));
  if (bytes < end) settle_together();
  return pass();
}

int OpenFile::get_size(MPI_Offset* bytes, const std::function<int()>& pass) {
  if (!hidden_files().is_started() || id_.inode == 0) return pass();
  const std::int64_t pending = hidden_files().board().pending_end(id_);
  const int code = pass();
  if (code == MPI_SUCCESS) *bytes = std::max<MPI_Offset>(*bytes, pending);
  return code;
}

int OpenFile::report(const WriteFailure& failure) const {
  const int code = code_of(failure.error, MPI_ERR_IO);
  say(LogLevel::warning,
      fmt::format("{}: hidden writes failed; the file is incomplete: {} (errno {}) at byte {}",
                  hidden_->path(), std::strerror(failure.error), failure.error, failure.offset));
  hidden_->set_reported();
  return fail(code);
}

int OpenFile::close_hidden() {
  is_later_ = hidden_files().options().closes_later && !hidden_->spans_nodes();
  if (!is_later_) {
    const Adds waiting(tally_.settling_s);
    hidden_->settle();
  }
  // Otherwise it is complete before any rank returns, and no call needs to wait for it.
  if (is_later_) hidden_->mark_closed();
  std::array<std::int64_t, 2> all{};
  WriteFailure failure = hidden_->failure();
  all = {failure.error, failure.offset};
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT64_T, MPI_MAX, duplicate_.raw));
  failure = {static_cast<int>(all[0]), all[1]};
  if (failure.error == 0 && !is_later_ && hidden_->is_temporary()) {
    int rank = 0;
    PMPI_Comm_rank(duplicate_.raw, &rank);
    if (rank == 0) failure.error = hidden_->publish();
    check_mpi(PMPI_Bcast(&failure.error, 1, MPI_INT, 0, duplicate_.raw));
  }
  return failure.error == 0 ? MPI_SUCCESS : report(failure);
}

void OpenFile::closed() {
  if (!hidden_) return;
  if (is_later_) {
    ++tally_.later;
    hidden_->close_later();
    hidden_files().keep(hidden_);
  }
  hidden_.reset();
}

void OpenFile::leave() {
  if (!hidden_) return;
  hidden_->mark_closed();
  hidden_->close_later();
  hidden_files().keep(hidden_);
  hidden_.reset();
}

}  // namespace tailrace::plugins
