// SPDX-License-Identifier: BSD-3-Clause
// A File resolves its hints, then hands every call to a strategy. With strategy=auto that is made
// at the first call, when the sizes of the pieces are known.
#include "tailrace/more/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "core/buffer.hpp"
#include "core/say.hpp"
#include "file/pieces_index.hpp"
#include "file/pool.hpp"
#include "file/strategies/choose.hpp"
#include "file/strategy.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

using file::Direction;

class File::State {
 public:
  State(FilePool& pool, std::string path, FileAccess access, const Hints& hints, Trace* trace);
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
  file::Strategy& strategy(const FilePart& part, Direction direction);
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

File::State::State(FilePool& pool, std::string path, FileAccess access, const Hints& hints,
                   Trace* trace)
    : settings(file::resolve(FilePool::State::of(pool).comm(), path, hints)),
      pool_(FilePool::State::of(pool)),
      comm_(pool_.comm()),
      path_(std::move(path)),
      access_(access),
      trace_(trace) {
  back_end_ = &file::choose_back_end(settings, access_);
  if (access_ != FileAccess::read && back_end_->warn != nullptr) back_end_->warn(settings);
  if (access_ == FileAccess::read) {
    int pieces = 0;
    run_agreed(comm_.raw(), [&] {
      if (comm_.rank() == 0) pieces = file::is_pieces_index(path_) ? 1 : 0;
    });
    check_mpi(MPI_Bcast(&pieces, 1, MPI_INT, 0, comm_.raw()));
    if (pieces == 1 && settings.strategy == "auto") {
      settings.choose("strategy", "file_per_rank", "the file is an index of pieces");
      settings.strategy = "file_per_rank";
    }
  }
  if (settings.strategy != "auto") {
    make_strategy(file::find_strategy(settings.strategy, *back_end_));
  } else if (back_end_->has_collective) {
    make_strategy(file::choose_strategy(comm_, settings, *back_end_, FilePart(), Direction::write));
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

file::Strategy& File::State::strategy(const FilePart& part, Direction direction) {
  if (!strategy_) {
    make_strategy(file::choose_strategy(comm_, settings, *back_end_, part, direction));
  }
  return *strategy_;
}

void File::State::check_open(const char* call) const {
  if (closed_) {
    throw Error(Errc::invalid_input, fmt::format("{}: {} is closed", call, path_));
  }
}

void File::State::write(const FilePart& part, const void* data) {
  check_open("write");
  if (access_ == FileAccess::read) {
    throw Error(Errc::invalid_input,
                fmt::format("write: {} was opened for reading; open it with FileAccess::write or "
                            "update",
                            path_));
  }
  const Span span(trace_, Activity::write, "write file");
  const auto* bytes = static_cast<const std::byte*>(data);
  if (FilePart::Data::of(part).packed()) {
    if (packed_.bytes() < part.bytes()) packed_ = Buffer(part.bytes());
    FilePart::Data::of(part).pack(bytes, packed_.data());
    bytes = packed_.data();
  }
  strategy(part, Direction::write).write(part, bytes);
}

void File::State::read(const FilePart& part, void* data) {
  check_open("read");
  const Span span(trace_, Activity::wait, "read file");
  auto* bytes = static_cast<std::byte*>(data);
  if (!FilePart::Data::of(part).packed()) return strategy(part, Direction::read).read(part, bytes);
  if (packed_.bytes() < part.bytes()) packed_ = Buffer(part.bytes());
  strategy(part, Direction::read).read(part, packed_.data());
  FilePart::Data::of(part).unpack(packed_.data(), bytes);
}

void File::State::close() {
  check_open("close");
  closed_ = true;
  if (strategy_) strategy_->close(settings.sync && access_ != FileAccess::read);
  strategy_.reset();
}

FileStatistics File::State::total_statistics() const {
  const auto& own = statistics;
  FileStatistics total;
  const std::int64_t counts[] = {own.opens,      own.reads,         own.writes,
                                 own.bytes_read, own.bytes_written, own.locks};
  std::int64_t sums[6] = {};
  const double times[] = {own.io_s, own.move_s};
  double longest[2] = {};
  check_mpi(MPI_Allreduce(counts, sums, 6, MPI_INT64_T, MPI_SUM, comm_.raw()));
  check_mpi(MPI_Allreduce(times, longest, 2, MPI_DOUBLE, MPI_MAX, comm_.raw()));
  total.opens = sums[0];
  total.reads = sums[1];
  total.writes = sums[2];
  total.bytes_read = sums[3];
  total.bytes_written = sums[4];
  total.locks = sums[5];
  total.io_s = longest[0];
  total.move_s = longest[1];
  return total;
}

File::File(FilePool& pool, std::string path, FileAccess access, const Hints& hints, Trace* trace)
    : state_(std::make_unique<State>(pool, std::move(path), access, hints, trace)) {}

File::File(const Comm& comm, std::string path, FileAccess access, const Hints& hints,
           Trace* trace) {
  auto pool = std::make_unique<FilePool>(comm);
  state_ = std::make_unique<State>(*pool, std::move(path), access, hints, trace);
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
