// SPDX-License-Identifier: BSD-3-Clause
#include "store/completion.hpp"

#include <algorithm>

#include "core/wait.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::store {

Completion::Completion(const Comm& comm, bool in_background, int slots)
    : comm_(comm.duplicate()),
      in_background_(in_background),
      slots_(static_cast<std::size_t>(slots)) {}

void Completion::post(FileJob& job, void (FileTask::*work)()) {
  job.failure.reset();
  job.done = false;
  const auto run = [&job, work] {
    job.failure = failure_of([&] { (job.task.*work)(); });
    job.done = true;
    job.done.notify_one();
  };
  if (in_background_) {
    worker_.post(run);
  } else {
    run();
  }
}

void Completion::begin(bool is_writer) {
  Slot& file = slot(num_begun_++);
  file.stage = Stage::writing;
  file.failing_rank = comm_.num_ranks();
  file.posted = is_writer;
  file.job.failure.reset();
  if (is_writer) post(file.job, &FileTask::write);
}

bool Completion::job_done(Slot& file, bool wait) {
  if (!file.posted) return true;
  if (wait) file.job.done.wait(false);
  return file.job.done;
}

void Completion::start_agreement(Slot& file, Stage stage) {
  own_vote_ = file.posted && file.job.failure ? comm_.rank() : comm_.num_ranks();
  check_mpi(MPI_Iallreduce(&own_vote_, &vote_, 1, MPI_INT, MPI_MIN, comm_.raw(), &request_));
  file.stage = stage;
}

void Completion::start_gather(Slot& file, const FileTask::Gather& gather) {
  const auto own = gather.counts[static_cast<std::size_t>(comm_.rank())];
  check_mpi(MPI_Igatherv(gather.own.data(), own, MPI_BYTE, gather.all.data(), gather.counts.data(),
                         gather.places.data(), MPI_BYTE, 0, comm_.raw(), &request_));
  file.stage = Stage::gathering;
}

void Completion::start_commit(Slot& file) {
  file.posted = comm_.rank() == 0;
  file.stage = Stage::committing;
  if (file.posted) post(file.job, &FileTask::commit);
}

bool Completion::agreement_done(bool wait) {
  // Not inside MPI, where it would spin on the core of the thread that writes.
  if (wait) wait_for(request_, {.inside_mpi = false});
  return is_done(request_);
}

// One stage of the oldest file that has not ended; false if it cannot be passed yet. Strictly one
// file after another, so that every rank starts the reductions in the same order.
bool Completion::advance(bool wait) {
  Slot& file = slot(num_ended_);
  switch (file.stage) {
    case Stage::writing:
      if (!job_done(file, wait)) return false;
      start_agreement(file, Stage::agreeing);
      return true;
    case Stage::agreeing: {
      if (!agreement_done(wait)) return false;
      file.failing_rank = vote_;
      if (vote_ < comm_.num_ranks()) {
        if (comm_.rank() == 0) file.job.task.discard();
        break;
      }
      const auto gather = file.job.task.gather();
      if (gather) {
        start_gather(file, *gather);
      } else {
        start_commit(file);
      }
      return true;
    }
    case Stage::gathering:
      if (!agreement_done(wait)) return false;
      start_commit(file);
      return true;
    case Stage::committing:
      if (!job_done(file, wait)) return false;
      start_agreement(file, Stage::agreeing_commit);
      return true;
    case Stage::agreeing_commit:
      if (!agreement_done(wait)) return false;
      file.failing_rank = vote_;
      if (vote_ < comm_.num_ranks() && comm_.rank() == 0) file.job.task.discard();
      break;
    case Stage::ended:
      break;
  }
  file.stage = Stage::ended;
  ++num_ended_;
  return true;
}

void Completion::progress() {
  while (num_ended_ < num_begun_ && advance(false)) {
  }
}

void Completion::wait(std::int64_t count) {
  while (num_ended_ < std::min(count, num_begun_)) advance(true);
}

std::int64_t Completion::find(const std::string& path, std::int64_t from) {
  for (auto number = from; number < num_begun_; ++number) {
    if (slot(number).job.task.whole_path() == path) return number;
  }
  return -1;
}

void Completion::check(std::int64_t number) {
  Slot& file = slot(number);
  if (file.failing_rank == comm_.num_ranks()) return;
  const bool mine = file.failing_rank == comm_.rank();
  const auto& task = file.job.task;
  with_place(task.path(), task.step(),
             [&] { agree(comm_.raw(), mine ? &*file.job.failure : nullptr); });
}

}  // namespace tailrace::store
