// SPDX-License-Identifier: BSD-3-Clause
// A File resolves its hints, then hands every call to a strategy. With strategy=auto that is made
// at the first call, when it is known whether it reads or writes.
#include "tailrace/more/file.hpp"

#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/common_path.hpp"
#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "core/say.hpp"
#include "core/system_call.hpp"
#include "file/strategy.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

// A local disk takes several direct writes at once; anything else is done when the call returns.
bool background_writes_pay(const Settings& settings, FileAccess access) {
  const bool two_phase =
      settings.strategy != "shared_independent" && settings.strategy != "library_collective";
  return two_phase && access != FileAccess::read && settings.direct_io != Switch::off &&
         settings.file_system.kind == FileSystem::Kind::local;
}

/// The entry that hint `strategy` names. Throws `Errc::invalid_input`, listing what there is, if
/// it is unknown or does not run on `back_end`. Local.
const StrategyEntry& find_strategy(std::string_view name, const BackEndEntry& back_end) {
  const auto* entry = find_line(strategy_table(), name);
  if (entry == nullptr) {
    refuse_input("strategy={} is unknown; there are {}", name,
                 names_instead(name, strategy_table()));
  }
  if (entry->applies(back_end)) return *entry;
  refuse_input("strategy={} does not run on back_end={}; it needs {}", name, back_end.name,
               entry->applies_text);
}

/// The back end that hint `back_end` names, or the one that `auto` stands for. Local.
const BackEndEntry& choose_back_end(Settings& settings, FileAccess access) {
  if (settings.back_end != "auto") {
    const auto& entry = find_back_end(settings.back_end);
    if (!entry.available()) {
      refuse_input("back_end={} is not available here: it needs {}", entry.name,
                   entry.applies_text);
    }
    return entry;
  }
  const auto& uring = find_back_end("uring");
  if (background_writes_pay(settings, access) && uring.available()) {
    settings.choose("back_end", "uring",
                    "direct writes to a local disk continue in the background");
    return uring;
  }
  settings.choose("back_end", "posix", "no back end is faster here than plain system calls");
  return find_back_end("posix");
}

/// What `auto` stands for, by the file system; the reason is noted in `settings`. Local.
const StrategyEntry& choose_strategy(Settings& settings, const BackEndEntry& back_end,
                                     FileAccess access, Direction direction) {
  const auto choose = [&](const char* name, const std::string& reason) -> const StrategyEntry& {
    settings.choose("strategy", name, reason);
    return find_strategy(name, back_end);
  };
  if (back_end.has_collective) {
    return choose("library_collective", fmt::format("what {} offers", back_end.name));
  }
  const auto& system = settings.file_system;
  if (system.kind == FileSystem::Kind::network) {
    return choose("collective",
                  fmt::format("the fastest with pieces of any size on {}", system.name));
  }
  if (direction == Direction::write && background_writes_pay(settings, access)) {
    return choose("collective", "the buffers of the writers bypass the page cache");
  }
  return choose("by_length",
                fmt::format("long pieces are copied once, into the cache of {}", system.name));
}

}  // namespace
}  // namespace tailrace::file

namespace tailrace {

using file::Direction;

file::TwoPhase& FilePool::State::two_phase(const file::TwoPhaseShape& shape) {
  for (const auto& engine : engines_) {
    if (engine->shape() == shape) return *engine;
  }
  engines_.push_back(std::make_unique<file::TwoPhase>(comm_, shape));
  return *engines_.back();
}

const NodeMap& FilePool::State::nodes() {
  if (!nodes_) nodes_.emplace(comm_);
  return *nodes_;
}

FilePool::FilePool(const Comm& comm) : state_(std::make_unique<State>(comm)) {}
FilePool::~FilePool() = default;
FilePool::FilePool(FilePool&&) noexcept = default;

class File::State {
 public:
  State(FilePool& pool, const std::string& path, FileAccess access, const Hints& hints,
        Trace* trace);
  ~State();
  void write(const FilePart& part, const void* data);
  void read(const FilePart& part, void* data);
  void close();
  FileStatistics total_statistics() const;

  file::Settings settings;
  FileStatistics statistics;
  std::unique_ptr<FilePool> own_pool;  // of the constructor without a pool

 private:
  void make_strategy(const file::StrategyEntry& entry);
  file::Strategy& strategy(Direction direction);
  /// Runs `action`, whose time is that of moving data but for what it spends on the file itself.
  template <class Action>
  void moving(Action&& action) {
    const double start_s = now_s() - statistics.io_s;
    action();
    statistics.move_s += now_s() - statistics.io_s - start_s;
  }
  void check_open(const char* call) const;

  FilePool::State& pool_;
  const Comm& comm_;
  std::string path_;
  FileAccess access_;
  Trace* trace_;
  const file::BackEndEntry* back_end_ = nullptr;
  std::unique_ptr<file::Strategy> strategy_;
  Buffer packed_;
  bool closed_ = false;
};

File::State::State(FilePool& pool, const std::string& path, FileAccess access, const Hints& hints,
                   Trace* trace)
    : pool_(FilePool::State::of(pool)),
      comm_(pool_.comm()),
      path_(common_path(comm_, "File", path)),
      access_(access),
      trace_(trace) {
  settings = file::resolve(comm_, path_, hints);
  require_all(comm_.raw(), !path_.empty(), "File: the path is empty");
  back_end_ = &file::choose_back_end(settings, access_);
  if (access_ != FileAccess::read && back_end_->warn != nullptr) back_end_->warn(settings);
  if (access_ == FileAccess::read) {
    run_agreed(comm_.raw(), [&] {  // `auto` opens a file only when its first part is read
      const bool there = comm_.rank() != 0 || ::access(path_.c_str(), F_OK) == 0;
      if (!there) fail_io("open", path_, errno);
    });
  }
  if (settings.strategy != "auto") {
    make_strategy(file::find_strategy(settings.strategy, *back_end_));
  } else if (back_end_->has_collective) {
    make_strategy(file::choose_strategy(settings, *back_end_, access_, Direction::write));
  } else if (access_ == FileAccess::write) {
    run_agreed(comm_.raw(), [&] {
      if (comm_.rank() == 0) file::create_file(path_, settings);
    });
    access_ = FileAccess::update;  // it is there, and empty
  }
}

File::State::~State() {
  if (closed_ || std::uncaught_exceptions() > 0) return;
  try {
    close();
  } catch (const std::exception& error) {
    // Lost data must not go unseen.
    if (comm_.rank() == 0) say(LogLevel::error, fmt::format("file lost: {}", error.what()));
  }
}

void File::State::make_strategy(const file::StrategyEntry& entry) {
  strategy_ = entry.make({pool_, comm_, path_, access_, settings, *back_end_, statistics, trace_});
  if (comm_.rank() == 0) file::show(path_, settings);
}

file::Strategy& File::State::strategy(Direction direction) {
  if (!strategy_) {
    make_strategy(file::choose_strategy(settings, *back_end_, access_, direction));
  }
  return *strategy_;
}

void File::State::check_open(const char* call) const {
  if (closed_) {
    refuse_input("{}: {} is closed", call, path_);
  }
}

void File::State::write(const FilePart& part, const void* data) {
  check_open("write");
  if (access_ == FileAccess::read) {
    refuse_input("write: {} was opened for reading; open it with FileAccess::write or update",
                 path_);
  }
  const Span span(trace_, Activity::write, "write file");
  const auto* bytes = static_cast<const std::byte*>(data);
  if (FilePart::Data::of(part).packed()) {
    if (packed_.bytes() < part.bytes()) packed_ = Buffer(part.bytes());
    FilePart::Data::of(part).pack(bytes, packed_.data());
    bytes = packed_.data();
  }
  auto& chosen = strategy(Direction::write);
  moving([&] { chosen.write(part, bytes); });
}

void File::State::read(const FilePart& part, void* data) {
  check_open("read");
  const Span span(trace_, Activity::wait, "read file");
  auto* bytes = static_cast<std::byte*>(data);
  const bool packed = FilePart::Data::of(part).packed();
  if (packed && packed_.bytes() < part.bytes()) packed_ = Buffer(part.bytes());
  auto& chosen = strategy(Direction::read);
  moving([&] { chosen.read(part, packed ? packed_.data() : bytes); });
  if (packed) FilePart::Data::of(part).unpack(packed_.data(), bytes);
}

void File::State::close() {
  check_open("close");
  closed_ = true;
  if (strategy_) strategy_->close(settings.sync && access_ != FileAccess::read);
  strategy_.reset();
}

FileStatistics File::State::total_statistics() const {
  auto all = statistics;
  for (auto* count :
       {&all.opens, &all.reads, &all.writes, &all.bytes_read, &all.bytes_written, &all.locks}) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, count, 1, MPI_INT64_T, MPI_SUM, comm_.raw()));
  }
  for (auto* seconds : {&all.io_s, &all.move_s}) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm_.raw()));
  }
  return all;
}

File::File(FilePool& pool, std::string path, FileAccess access, const Hints& hints, Trace* trace)
    : state_(std::make_unique<State>(pool, path, access, hints, trace)) {}

File::File(const Comm& comm, std::string path, FileAccess access, const Hints& hints,
           Trace* trace) {
  auto pool = std::make_unique<FilePool>(comm);
  state_ = std::make_unique<State>(*pool, path, access, hints, trace);
  state_->own_pool = std::move(pool);
}

File::~File() {
  if (!state_) return;
  const auto pool = std::move(state_->own_pool);  // outlives what uses it
  state_.reset();
}
File::File(File&&) noexcept = default;

void File::write(const FilePart& part, const void* data) { state_->write(part, data); }
void File::read(const FilePart& part, void* data) { state_->read(part, data); }
void File::close() { state_->close(); }
const std::vector<HintValue>& File::settings() const { return state_->settings.shown; }
const FileStatistics& File::statistics() const { return state_->statistics; }
FileStatistics File::total_statistics() const { return state_->total_statistics(); }

}  // namespace tailrace
