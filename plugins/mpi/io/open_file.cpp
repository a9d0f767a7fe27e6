// SPDX-License-Identifier: BSD-3-Clause
#include "io/open_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "common/graphics.hpp"
#include "io/plan.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/log.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::plugins {
namespace {

// A buffer whose runs are shorter than this on average is packed first: to copy a short run costs
// less than to move it by itself.
constexpr std::int64_t least_memory_run = 4096;

int mpi_code(const Error& error) {
  const bool is_io = error.code() == Errc::io || error.code() == Errc::corrupt;
  return code_of(error.sys_errno(), is_io ? MPI_ERR_IO : MPI_ERR_OTHER);
}

std::int64_t size_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

bool is_regular(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// ROMIO's names may begin with the kind of file system ("ufs:"). Nothing if there is no such file.
std::string name_of(const std::string& given) {
  std::string path = given;
  if (!is_regular(path)) {
    const auto colon = given.find(':');
    if (colon == std::string::npos) return "";
    path = given.substr(colon + 1);
    if (!is_regular(path)) return "";
  }
  const std::unique_ptr<char, void (*)(void*)> full(::realpath(path.c_str(), nullptr), std::free);
  return full ? full.get() : "";
}

// Hints of the program that we know, a line each.
std::string known_hints(MPI_Info info) {
  std::string lines;
  if (info == MPI_INFO_NULL) return lines;
  for (const HintInfo& hint : hint_table()) {
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    PMPI_Info_get(info, std::string(hint.name).c_str(), MPI_MAX_INFO_VAL, value.data(), &found);
    if (found != 0) lines += std::string(hint.name) + "=" + value.data() + "\n";
  }
  return lines;
}

// Files stay in the node's cache, as MPI's own calls leave them, unless something else is asked
// for; MPI_File_sync makes them durable.
Hints hints_from(const std::string& lines) {
  Hints hints{{"direct_io", "false"}, {"sync", "false"}};
  for (std::size_t at = 0; at < lines.size();) {
    const auto end = lines.find('\n', at);
    const auto equals = lines.find('=', at);
    try {
      hints.set(lines.substr(at, equals - at), lines.substr(equals + 1, end - equals - 1));
    } catch (const Error&) {
      // MPI ignores values that it does not understand; so do we.
    }
    at = end + 1;
  }
  return hints;
}

// Copies what lies together to the runs of a buffer.
void scatter(const std::byte* from, const std::vector<FileRun>& runs, std::byte* to,
             std::int64_t bytes) {
  for (const FileRun& run : runs) {
    const auto part = std::min<std::int64_t>(run.bytes, bytes);
    std::memcpy(to + run.offset, from, static_cast<std::size_t>(part));
    from += part;
    bytes -= part;
  }
}

}  // namespace

int code_of(int error, int other) {
  if (error == ENOSPC) return MPI_ERR_NO_SPACE;
  if (error == EDQUOT) return MPI_ERR_QUOTA;
  if (error == EACCES || error == EPERM) return MPI_ERR_ACCESS;
  return error == EROFS ? MPI_ERR_READ_ONLY : other;
}

void gather(const std::byte* from, const std::vector<FileRun>& runs, std::byte* to) {
  for (const FileRun& run : runs) {
    std::memcpy(to, from + run.offset, static_cast<std::size_t>(run.bytes));
    to += run.bytes;
  }
}
void FileTally::add(const FileTally& other) {
  for (std::size_t i = 0; i < 2; ++i) {
    seen[i] += other.seen[i];
    taken[i] += other.taken[i];
    bytes[i] += other.bytes[i];
  }
  hidden += other.hidden;
  alone += other.alone;
  through += other.through;
  hidden_bytes += other.hidden_bytes;
  through_bytes += other.through_bytes;
  flushes += other.flushes;
  room_s += other.room_s;
  flush_s += other.flush_s;
  order_s += other.order_s;
  settling_s += other.settling_s;
  later += other.later;
  for (std::size_t i = 0; i < refused.size(); ++i) refused[i] += other.refused[i];
}

Ranks::Ranks(MPI_Comm user) : comm(user), pool(comm) { PMPI_Comm_group(user, &group); }

OpenFile::OpenFile(MPI_Comm comm, const std::string& path, int mode, MPI_File file, MPI_Info info,
                   const Opening& opening)
    : file_(file), mode_(mode) {
  if (PMPI_Comm_dup(comm, &duplicate_.raw) != MPI_SUCCESS) {
    throw Error(Errc::mpi, "no communicator left");
  }
  const bool hides = file_mode() == FileMode::hidden && hidden_files().is_started();
  {
    const OwnCalls quiet;  // the file has been waited for
    path_ = name_of(opening.temporary.empty() ? path : opening.temporary);
    struct stat facts {};
    if (hides && ::stat(path_.c_str(), &facts) == 0)
      id_ = {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
  }
  PMPI_Comm_size(comm, &num_ranks_);
  hints_ = hints_from(broadcast_text(duplicate_.raw, known_hints(info)));
  if (file_mode() == FileMode::mpi) never_ = Refusal::told;
  if ((mode & (MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN)) == MPI_MODE_SEQUENTIAL) {
    never_ = Refusal::mode;
  }
  if (path_.empty()) never_ = Refusal::open;
  const bool is_written = (mode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
  if (hides && is_written && (mode & MPI_MODE_DELETE_ON_CLOSE) != 0) never_ = Refusal::mode;
  if (hides && is_written && never_ == Refusal::none) {
    hidden_ = HiddenFile::make(path_, opening);
    if (!hidden_) never_ = Refusal::open;
  }
  // Alone on the node's disk, a rank gains nothing by writing with others.
  if (num_ranks_ == 1 && !hidden_ && never_ == Refusal::none) never_ = Refusal::told;
  int why = static_cast<int>(never_);
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &why, 1, MPI_INT, MPI_MAX, duplicate_.raw));
  never_ = static_cast<Refusal>(why);
  if (never_ != Refusal::none) {
    // MPI writes it; a temporary name would not become the file's. Any rank may be the first.
    give_name(opening);
    hidden_.reset();
  }
}

OpenFile::~OpenFile() = default;

void OpenFile::set_view(std::int64_t start, MPI_Datatype unit, MPI_Datatype type, bool is_native) {
  int bytes = 0;
  PMPI_Type_size(unit, &bytes);
  unit_bytes_ = bytes;
  is_native_ = is_native;
  view_ = View(start, type, true);
}

OpenFile::Plan OpenFile::plan(const Transfer& call) const {
  Plan plan;
  const auto because = [&plan](Refusal why) {
    plan.why = why;
    return std::move(plan);
  };
  if (!is_native_ || !view_.is_usable() || unit_bytes_ <= 0) return because(Refusal::view);
  int is_atomic = 0;
  PMPI_File_get_atomicity(file_, &is_atomic);
  if (is_atomic != 0) return because(Refusal::atomic);
  if (uses_graphics_processors()) return because(Refusal::memory);
  const View items(0, call.type, false);
  int item_bytes = 0;
  if (call.type != MPI_DATATYPE_NULL) PMPI_Type_size(call.type, &item_bytes);
  if (call.count < 0 || !items.is_usable()) return because(Refusal::type);
  plan.bytes = call.count * item_bytes;
  if (plan.bytes % unit_bytes_ != 0) return because(Refusal::size);
  MPI_Offset offset = 0;
  if (call.offset) {
    offset = *call.offset;
  } else if (PMPI_File_get_position(file_, &offset) != MPI_SUCCESS) {
    return because(Refusal::mode);
  }
  if (offset < 0) return because(Refusal::size);
  plan.first = offset * unit_bytes_;
  if (!view_.find(plan.first, plan.bytes, plan.places) || !items.find(0, plan.bytes, plan.memory)) {
    return because(Refusal::size);
  }
  if (!plan.places.empty()) plan.end = plan.places.back().end();
  try {
    const auto num_runs = static_cast<std::int64_t>(plan.memory.size());
    plan.is_packed = num_runs > 1 && plan.bytes / num_runs < least_memory_run;
    plan.make_part(plan.places);
  } catch (const Error&) {
    return because(Refusal::overlap);
  }
  return plan;
}

OpenFile::Agreed OpenFile::agree(const Plan& own, bool writes) const {
  int rank = 0;
  PMPI_Comm_rank(duplicate_.raw, &rank);
  std::array<std::int64_t, 6> all{static_cast<std::int64_t>(own.why),
                                  own.end,
                                  own.bytes,
                                  static_cast<std::int64_t>(own.places.size()),
                                  !writes && rank == 0 ? size_of(path_) : 0,
                                  own.failure.error};
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, all.data(), 6, MPI_INT64_T, MPI_MAX, duplicate_.raw));
  Agreed agreed{static_cast<Refusal>(all[0]), all[1], all[2], all[3], all[4], all[5] != 0};
  // Other nodes may know that the file is longer.
  if (!writes && agreed.why == Refusal::none && agreed.end > agreed.file_bytes) {
    agreed.file_bytes = size_of(path_);
    check_mpi(
        PMPI_Allreduce(MPI_IN_PLACE, &agreed.file_bytes, 1, MPI_INT64_T, MPI_MAX, duplicate_.raw));
  }
  return agreed;
}

int OpenFile::refuse(const Transfer& call, Refusal why) {
  ++tally_.refused[static_cast<std::size_t>(why)];
  if (hidden_) settle_together();
  return call.pass();
}

int OpenFile::run(const Transfer& call) {
  ++tally_.seen[call.writes ? 1 : 0];
  if (hidden_) return run_hidden(call);
  if (!call.writes) look(call);
  if (never_ != Refusal::none) return refuse(call, never_);
  // MPI says what is wrong with a call that the mode of the file forbids.
  if ((mode_ & (call.writes ? MPI_MODE_RDONLY : MPI_MODE_WRONLY)) != 0) {
    return refuse(call, Refusal::mode);
  }
  const bool measures = file_mode() == FileMode::measured;
  MpiStreak& streak = streaks_[call.writes ? 1 : 0];
  Refusal& why = why_mpi_[call.writes ? 1 : 0];
  if (measures && streak.passes()) return refuse(call, why);
  if (!ranks_) ranks_ = ranks_of(duplicate_.raw);
  const std::unique_lock lock(ranks_->in_use, std::try_to_lock);
  Plan own = prepare(call, lock.owns_lock());
  const Agreed agreed = agree(own, call.writes);
  why = agreed.why;
  Trials* const trial = why == Refusal::none && measures
                            ? &ranks_->trials.of(call.writes, agreed.bytes, agreed.runs)
                            : nullptr;
  const Implementation implementation =
      trial == nullptr ? Implementation::ours : trial->next(duplicate_.raw);
  const bool decided = trial == nullptr || trial->is_decided();
  if (decided && implementation == Implementation::mpi) why = Refusal::slower;
  streak.asked(why != Refusal::none);
  if (why != Refusal::none) return refuse(call, why);
  if (decided) return run_ours(call, own, agreed);
  const double begin_s = now_s();
  const int code = implementation == Implementation::ours ? run_ours(call, own, agreed)
                                                          : refuse(call, Refusal::measured);
  trial->took(implementation, now_s() - begin_s);
  return code;
}

OpenFile::Plan OpenFile::prepare(const Transfer& call, bool is_alone) {
  Plan own;
  try {
    own = plan(call);
  } catch (const std::bad_alloc&) {
    own.why = Refusal::size;
  }
  if (!is_alone) own.why = Refusal::busy;
  return own;
}

bool OpenFile::open_ours() {
  if (ours_) return true;
  const auto access = (mode_ & MPI_MODE_RDONLY) != 0 ? FileAccess::read : FileAccess::update;
  try {
    ours_.emplace(ranks_->pool, path_, access, hints_);
  } catch (const Error& error) {  // on all ranks alike
    never_ = Refusal::open;
  }
  return ours_.has_value();
}

int OpenFile::run_ours(const Transfer& call, Plan& plan, const Agreed& agreed) {
  if (!open_ours()) return refuse(call, never_);
  std::int64_t done = plan.bytes;
  try {
    if (!call.writes && agreed.end > agreed.file_bytes) {
      // What is behind the end of the file is not read.
      std::vector<FileRun> there;
      done = 0;
      for (FileRun run : plan.places) {
        run.bytes = std::clamp<std::int64_t>(agreed.file_bytes - run.offset, 0, run.bytes);
        done += run.bytes;
        if (run.bytes > 0) there.push_back(run);
      }
      plan.make_part(there);
    }
    const int code = move(call, plan, done);
    if (code != MPI_SUCCESS) return code;
  } catch (const Error& error) {
    // Pieces of two ranks overlap, or spread too far: all ranks find it before anything is moved.
    if (error.code() == Errc::invalid_input) return refuse(call, Refusal::overlap);
    if (error.sys_errno() == EACCES || error.sys_errno() == EPERM) {  // to open it, to read beside
      never_ = Refusal::open;
      return refuse(call, never_);
    }
    say(LogLevel::warning, error.what());
    return fail(mpi_code(error));
  }
  ++tally_.taken[call.writes ? 1 : 0];
  tally_.bytes[call.writes ? 1 : 0] += done;
  call.set_status(done);
  return MPI_SUCCESS;
}

int OpenFile::move(const Transfer& call, Plan& plan, std::int64_t bytes) {
  auto* data = static_cast<std::byte*>(call.data);
  std::vector<std::byte> packed(plan.is_packed ? static_cast<std::size_t>(plan.bytes) : 0);
  std::byte* const moved = plan.is_packed ? packed.data() : data;
  if (call.writes) {
    if (plan.is_packed) gather(data, plan.memory, moved);
    ours_->write(plan.part, moved);
  } else {
    ours_->read(plan.part, moved);
    if (plan.is_packed) scatter(moved, plan.memory, data, bytes);
  }
  if (call.offset) return MPI_SUCCESS;
  return PMPI_File_seek(file_, bytes / unit_bytes_, MPI_SEEK_CUR);
}

int OpenFile::fail(int code) const {
  PMPI_File_call_errhandler(file_, code);
  return code;
}

int OpenFile::close() {
  if (hidden_) return close_hidden();
  if (!ours_) return MPI_SUCCESS;
  try {
    ours_->close();
  } catch (const Error& error) {
    say(LogLevel::warning, error.what());
    return fail(mpi_code(error));
  }
  return MPI_SUCCESS;
}

}  // namespace tailrace::plugins
