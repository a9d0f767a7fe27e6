// SPDX-License-Identifier: BSD-3-Clause
#include "io/posix_files.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "tailrace/log.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::plugins {
namespace {

constexpr std::size_t num_refusals_of_files = 6;
constexpr std::array<const char*, num_refusals_of_files> texts_of_refusals{
    "it is opened for appending",
    "it is opened for synchronous or direct writing",
    "it cannot be opened twice, or too many files are open or not complete",
    "it is reopened as another stream, or its mode has a comma",
    "it is opened before MPI_Init",
    "it is used in a way that is not supported (mmap, fork, locks)"};

// What the calls of this process came to.
struct PosixTally {
  std::uint64_t files = 0, later = 0, hidden = 0, through = 0, flushes = 0, refused = 0;
  std::int64_t hidden_bytes = 0, through_bytes = 0;
  double room_s = 0, flush_s = 0, order_s = 0, settling_s = 0;
};

constexpr int most_descriptors = 4096;

// Descriptors that belong to a file here; looked at without a lock by each call.
std::array<std::atomic<bool>, most_descriptors> followed{};
std::atomic<int> num_open = 0;
std::atomic<bool> has_left = false;

struct Registry {
  std::mutex mutex;
  std::array<std::shared_ptr<PosixFile>, most_descriptors> files;
  std::mutex tallying;
  PosixTally tally;
  std::array<bool, num_refusals_of_files> said{};
  std::vector<std::string> patterns;
  pid_t process = 0;
  std::uint64_t num_opened = 0;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) words.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return words;
}

void before_fork() {
  if (!hidden_files().is_started()) return;
  expose_all_posix(PosixRefusal::shared_use);
  hidden_files().wait_for_closed();
}

// Never destroyed: programs write until the process ends.
Registry& registry() {
  static Registry& one = []() -> Registry& {
    auto& made = *new Registry;
    made.process = ::getpid();
    const char* const patterns = environment("TAILRACE_IO_FILES");
    const bool hides = value_of_word(environment("TAILRACE_IO"), "hidden").has_value();
    if (hides && patterns != nullptr) made.patterns = split(patterns);
    // Children share files and offsets, and read what the parent wrote.
    if (!made.patterns.empty()) {
      pthread_atfork(before_fork, nullptr, nullptr);
      std::at_quick_exit([] {
        if (leave_posix()) ::_exit(EXIT_FAILURE);
      });
    }
    return made;
  }();
  return one;
}

// A child of fork or vfork has its parent's files, or even its memory.
bool is_own_process() { return registry().process == ::getpid(); }

template <class Change>
void count(Change&& change) {
  const std::lock_guard lock(registry().tallying);
  change(registry().tally);
}

class Adds {
 public:
  explicit Adds(double PosixTally::*member) : member_(member), begin_s_(now_s()) {}
  ~Adds() {
    count([&](PosixTally& tally) { tally.*member_ += now_s() - begin_s_; });
  }
  Adds(const Adds&) = delete;
  Adds& operator=(const Adds&) = delete;

 private:
  double PosixTally::*member_;
  double begin_s_;
};

FileId id_of(const struct stat& facts) {
  return {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
}

bool same(FileId one, FileId other) {
  return one.inode == other.inode && one.device == other.device;
}

FileId id_of(const struct statx& facts) {
  return {makedev(facts.stx_dev_major, facts.stx_dev_minor), facts.stx_ino};
}
bool is_regular(const struct stat& facts) { return S_ISREG(facts.st_mode); }
bool is_regular(const struct statx& facts) { return S_ISREG(facts.stx_mode); }
void reach(struct stat& facts, std::int64_t end) {
  facts.st_size = std::max<off_t>(facts.st_size, end);
}
void reach(struct statx& facts, std::int64_t end) {
  facts.stx_size = std::max(facts.stx_size, static_cast<decltype(facts.stx_size)>(end));
}

// Determines first where waiting data ends, and then asks the system for the size. In the other
// order, a write that completes in between would be missing in both.
template <class Facts>
int ask(Facts* facts, const std::function<int()>& pass) {
  const int code = pass();
  if (code != 0 || OwnCalls::depth() != 0 || !watches_posix() || !hidden_files().is_started())
    return code;
  const FileId file = id_of(*facts);
  if (!is_regular(*facts)) return code;
  const std::int64_t end = hidden_files().board().pending_end(file);
  const int again = pass();
  if (again == 0 && same(file, id_of(*facts))) reach(*facts, end);
  return again;
}

std::shared_ptr<PosixFile> file_of(FileId id) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (int i = 0; i < most_descriptors; ++i) {
    if (!followed[static_cast<std::size_t>(i)]) continue;
    const auto& file = all.files[static_cast<std::size_t>(i)];
    if (file && same(file->id(), id)) return file;
  }
  return nullptr;
}

std::vector<std::shared_ptr<PosixFile>> open_files() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<std::shared_ptr<PosixFile>> found;
  for (std::size_t i = 0; i < most_descriptors; ++i) {
    if (!followed[i] || !all.files[i]) continue;
    if (std::find(found.begin(), found.end(), all.files[i]) == found.end())
      found.push_back(all.files[i]);
  }
  return found;
}

// The file if this was its last descriptor.
std::shared_ptr<PosixFile> unfollow(int descriptor) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto number = static_cast<std::size_t>(descriptor);
  followed[number] = false;
  std::shared_ptr<PosixFile> file = std::move(all.files[number]);
  all.files[number].reset();
  if (!file) return nullptr;
  --num_open;
  return --file->num_descriptors == 0 ? file : nullptr;
}

// Returns false if its number is too large.
bool follow(int descriptor, const std::shared_ptr<PosixFile>& file) {
  if (descriptor >= most_descriptors) return false;
  const auto number = static_cast<std::size_t>(descriptor);
  if (followed[number]) {  // it was closed by a call that is not seen
    if (const auto last = unfollow(descriptor)) last->close(false);
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (!all.files[number]) ++num_open;
  ++file->num_descriptors;
  all.files[number] = file;
  followed[number] = true;
  return true;
}

// Keeps a file open while it gets one more descriptor: another thread may close its last one.
class Kept {
 public:
  explicit Kept(std::shared_ptr<PosixFile> file) {
    if (!file) return;
    const std::lock_guard lock(registry().mutex);
    if (file->num_descriptors == 0) return;  // it is being closed
    ++file->num_descriptors;
    file_ = std::move(file);
  }
  ~Kept() {
    if (!file_) return;
    bool is_last = false;
    {
      const std::lock_guard lock(registry().mutex);
      is_last = --file_->num_descriptors == 0;
    }
    if (is_last) file_->close(false);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  const std::shared_ptr<PosixFile>& file() const { return file_; }

 private:
  std::shared_ptr<PosixFile> file_;
};

bool may_write(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// Flags that leave no time to write behind, or no place.
std::optional<PosixRefusal> refusal_of(int flags) {
  if ((flags & O_APPEND) != 0) return PosixRefusal::appends;
  if ((flags & (O_SYNC | O_DSYNC | O_DIRECT)) != 0) return PosixRefusal::synchronous;
  return {};
}

// To open a pipe may wait for another rank.
bool is_special(const char* path) {
  const OwnCalls quiet;
  const int error = errno;
  struct stat facts {};
  const bool found = ::stat(path, &facts) == 0 && !S_ISREG(facts.st_mode);
  errno = error;
  return found;
}

bool start() {
  static std::mutex starting;  // threads may open their first files at the same time
  const std::lock_guard lock(starting);
  if (hidden_files().is_started()) return true;
  if (hidden_files().board().is_made() || is_before_mpi()) return false;
  hidden_files().start_alone(hidden_options());
  return hidden_files().is_started();
}

}  // namespace

bool is_posix_pattern(const char* path) {
  if (path == nullptr || OwnCalls::depth() != 0 || has_left) return false;
  const auto& patterns = registry().patterns;
  if (patterns.empty()) return false;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const bool has_folder = pattern.find('/') != std::string::npos;
    return ::fnmatch(pattern.c_str(), has_folder ? path : name, 0) == 0;
  });
}

void refuse_posix(const std::string& path, PosixRefusal why) {
  const auto number = static_cast<std::size_t>(why);
  bool is_new = false;
  count([&](PosixTally& tally) {
    ++tally.refused;
    is_new = !std::exchange(registry().said[number], true);
  });
  if (!is_new) return;
  say(LogLevel::info,
      fmt::format("{}: written as without --with hidden: {}", path, texts_of_refusals[number]));
}

bool has_posix_files() { return num_open.load() > 0; }

std::shared_ptr<PosixFile> posix_file(int descriptor) {
  if (descriptor < 0 || descriptor >= most_descriptors ||
      !followed[static_cast<std::size_t>(descriptor)] || OwnCalls::depth() != 0 ||
      !is_own_process()) {
    return nullptr;
  }
  const OwnCalls quiet;  // before the lock: a signal handler may write, too
  std::shared_ptr<PosixFile> file;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    file = all.files[static_cast<std::size_t>(descriptor)];
  }
  if (!file) return nullptr;
  // The number may have been closed, and given again, by calls that are not seen.
  const int error = errno;
  struct stat facts {};
  const bool is_same = ::fstat(descriptor, &facts) == 0 && same(id_of(facts), file->id());
  errno = error;
  if (is_same) return file;
  if (const auto last = unfollow(descriptor)) last->close(false);
  return nullptr;
}

std::shared_ptr<PosixFile> posix_file(const char* path) {
  if (path == nullptr || OwnCalls::depth() != 0 || !has_posix_files() || !is_own_process())
    return nullptr;
  const OwnCalls quiet;
  const int error = errno;
  const std::string full = full_path(path);
  std::shared_ptr<PosixFile> found;
  for (const auto& file : open_files()) {
    struct stat facts {};
    const bool has_place = ::stat(file->place().c_str(), &facts) == 0;
    if (file->path() == full && has_place && same(id_of(facts), file->id())) found = file;
  }
  struct stat facts {};
  if (!found && ::stat(full.c_str(), &facts) == 0) found = file_of(id_of(facts));
  errno = error;
  return found;
}

int open_posix(const char* path, int flags, const std::function<int(const char*, int)>& open) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (!is_own_process() || is_special(path)) return open(path, flags);
  if (!start()) {
    if (writes && !hidden_files().board().is_made()) refuse_posix(path, PosixRefusal::before_mpi);
    return open(path, flags);
  }
  HiddenFiles& all = hidden_files();
  const Kept kept(posix_file(path));
  std::shared_ptr<PosixFile> file = kept.file();
  if (!file) {
    {
      const Adds waiting(&PosixTally::settling_s);
      all.wait_for(path);
    }
    if (all.take_failure(full_path(path))) {
      errno = EIO;
      return -1;
    }
  }
  const OwnCalls quiet;
  const Board::Opens one_at_a_time(all.board());
  Opening opening;
  int descriptor = -1;
  if (file) {  // one more descriptor of a file that is open
    if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
      errno = EEXIST;
      return -1;
    }
    if ((flags & O_TRUNC) != 0) file->settle();
    descriptor = open(file->path() == full_path(path) ? file->place().c_str() : path, flags);
  } else {
    Wish wish;
    wish.creates = (flags & O_CREAT) != 0 && (flags & O_EXCL) == 0 && !refusal_of(flags);
    wish.writes = writes;
    wish.empties = (flags & O_TRUNC) != 0 && all.board().covers_job();
    wish.is_alone = true;
    opening = all.decide(path, wish);
    if (!opening.temporary.empty()) {
      const int how = (flags & ~O_TRUNC) | (opening.is_made ? 0 : O_EXCL);
      descriptor = open(opening.temporary.c_str(), how);
      if (descriptor < 0) {
        // Another rank makes the file: it is one file of both.
        if (errno == EEXIST) ::rename(opening.temporary.c_str(), opening.path.c_str());
        if (opening.is_made) ::unlink(opening.temporary.c_str());
        opening.temporary.clear();
      }
    }
    if (opening.temporary.empty()) {
      struct stat old {};
      const bool empties = (flags & O_TRUNC) != 0 && ::stat(path, &old) == 0;
      if (empties) all.board().wait(id_of(old), {}, true);  // of other ranks
      descriptor = open(path, flags);
    }
  }
  if (descriptor < 0) return descriptor;
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return descriptor;
  if (file && !same(file->id(), id_of(facts))) file.reset();
  if (descriptor >= most_descriptors) {
    give_name(opening);
    if (file) file->expose(PosixRefusal::descriptor);
    if (!file && writes) refuse_posix(path, PosixRefusal::descriptor);
    return descriptor;
  }
  if (!file) {
    file = std::make_shared<PosixFile>(id_of(facts), opening);
    if (writes) count([](PosixTally& tally) { ++tally.files; });
  }
  follow(descriptor, file);
  if (const auto why = refusal_of(flags); writes && why) {
    refuse_posix(file->path(), *why);
    file->expose(*why);
  } else if (writes && !file->start(descriptor)) {
    give_name(opening);
  }
  return descriptor;
}

int closing_posix(int descriptor, bool returns_failure) {
  if (!posix_file(descriptor)) return 0;
  const std::shared_ptr<PosixFile> file = unfollow(descriptor);
  return file ? file->close(returns_failure) : 0;
}

void copied_posix(int from, int to) {
  if (to < 0) return;
  const Kept kept(posix_file(from));
  if (const auto& file = kept.file(); file && !follow(to, file))
    file->expose(PosixRefusal::descriptor);
}

void expose_posix(int descriptor, PosixRefusal why) {
  if (const auto file = posix_file(descriptor)) file->expose(why);
}

void publish_posix() {
  if (!has_posix_files() || OwnCalls::depth() != 0 || !hidden_files().is_started()) return;
  for (const auto& file : open_files()) file->publish();
}

void expose_all_posix(PosixRefusal why) {
  if (!has_posix_files() || OwnCalls::depth() != 0 || !is_own_process()) return;
  for (const auto& file : open_files()) file->expose(why);
}

int ask_facts(struct stat* facts, const std::function<int()>& pass) { return ask(facts, pass); }
int ask_facts(struct statx* facts, const std::function<int()>& pass) { return ask(facts, pass); }

bool leave_posix() {
  // A signal handler that ends the program within a call of ours would wait for that call's locks.
  if (OwnCalls::depth() != 0) return false;
  if (!is_own_process() || has_left.exchange(true)) return false;
  HiddenFiles& all = hidden_files();
  if (!all.is_started()) return false;
  for (std::size_t i = 0; i < most_descriptors; ++i) {
    if (!followed[i]) continue;
    if (const auto file = unfollow(static_cast<int>(i))) file->close(false);
  }
  const double begin_s = now_s();
  all.drain();
  all.reap();
  PosixTally tally;
  count([&](PosixTally& total) {
    total.settling_s += now_s() - begin_s;
    tally = total;
  });
  const char* const wanted = environment("TAILRACE_REPORT", "TAILRACE_IO_REPORT");
  const bool speaks = wanted == nullptr || std::strcmp(wanted, "0") != 0;
  if (tally.files > 0 && speaks && detail::is_first_process()) {
    std::fprintf(stderr,
                 "tailrace io: %llu files written by POSIX: %llu writes hidden behind the "
                 "computation (%.1f MB), %llu written at once (%.1f MB), %llu files closed before "
                 "they were complete, %llu files left as they are; %.3g s for copies and "
                 "their memory; waited %.3g s for overlapping writes, %.3g s at %llu reads of data "
                 "not yet written, "
                 "%.3g s at syncs, opens, closes and the end\n",
                 static_cast<unsigned long long>(tally.files),
                 static_cast<unsigned long long>(tally.hidden),
                 static_cast<double>(tally.hidden_bytes) / 1e6,
                 static_cast<unsigned long long>(tally.through),
                 static_cast<double>(tally.through_bytes) / 1e6,
                 static_cast<unsigned long long>(tally.later),
                 static_cast<unsigned long long>(tally.refused), tally.room_s, tally.order_s,
                 tally.flush_s, static_cast<unsigned long long>(tally.flushes), tally.settling_s);
  }
  return all.has_failed();
}

bool PosixFile::start(int descriptor) {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  return hidden(descriptor) != nullptr;
}

HiddenFile* PosixFile::hidden(int descriptor) {
  if (hidden_ || is_exposed_) return hidden_.get();
  const OwnCalls quiet;
  opening_.group = std::uint64_t{1} << 63 | static_cast<std::uint64_t>(::getpid()) << 32;
  {
    const std::lock_guard lock(registry().mutex);
    opening_.group |= ++registry().num_opened;
  }
  opening_.spans_nodes = !hidden_files().board().covers_job();
  // Wherever the program has moved it meanwhile.
  try {
    hidden_files().thread();  // throws if there may be no more threads
    hidden_ = HiddenFile::make(fmt::format("/proc/self/fd/{}", descriptor), opening_);
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
  }
  if (!hidden_) {
    is_exposed_ = true;
    refuse_posix(opening_.path, PosixRefusal::descriptor);
  }
  return hidden_.get();
}

std::string PosixFile::place() {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  if (!hidden_ || !hidden_->is_temporary() || hidden_->has_name()) return opening_.path;
  if (::access(opening_.temporary.c_str(), F_OK) == 0) return opening_.temporary;
  hidden_->publish();  // another rank has given it its name
  return opening_.path;
}

ssize_t PosixFile::write(int descriptor, const iovec* pieces, int num_pieces,
                         std::optional<off_t> offset, const std::function<ssize_t()>& pass) {
  const OwnCalls quiet;  // before the lock, as above
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (int i = 0; i < num_pieces; ++i) bytes += static_cast<std::int64_t>(pieces[i].iov_len);
  constexpr std::int64_t most_of_a_call = 0x7ffff000;  // Linux writes no more at once
  if (bytes == 0 || (offset && *offset < 0) || !may_write(descriptor)) return pass();
  HiddenFiles& all = hidden_files();
  HiddenFile* const file = hidden(descriptor);
  if (file != nullptr) {
    const WriteFailure failure = file->failure();
    if (failure.error != 0) {
      errno = report(failure);
      return -1;
    }
  }
  const off_t begin = offset ? *offset : ::lseek(descriptor, 0, SEEK_CUR);
  if (begin < 0 || begin > INT64_MAX - bytes) return pass();
  const Bytes range{begin, begin + bytes};
  const HiddenOptions& options = all.options();
  const bool is_now = file == nullptr || is_exposed_ || bytes > most_of_a_call ||
                      bytes > options.most_bytes ||
                      (options.writes_through && !all.thread().has_room(bytes));
  if (is_now) {
    {
      const Adds waiting(&PosixTally::order_s);
      all.board().wait(id_, Bytes{}, true);  // of O_APPEND also what decides the place
    }
    const ssize_t done = pass();
    count([&](PosixTally& tally) {
      ++tally.through;
      tally.through_bytes += std::max<ssize_t>(done, 0);
    });
    return done;
  }
  all.board().wait(id_, range, false);
  {
    const double begin_s = now_s();
    off_t at = begin;
    for (int i = 0; i < num_pieces; ++i) {
      const auto piece = static_cast<std::int64_t>(pieces[i].iov_len);
      if (piece == 0) continue;
      const FileRun place{at, piece};
      const auto* const data = static_cast<const std::byte*>(pieces[i].iov_base);
      try {
        file->post(place, data);
      } catch (const std::bad_alloc&) {  // no memory for a copy
        settle();
        file->write({place}, data);
      }
      at += piece;
    }
    const double took_s = now_s() - begin_s;
    count([&](PosixTally& tally) {
      ++tally.hidden;
      tally.hidden_bytes += bytes;
      tally.room_s += took_s;
    });
  }
  if (!offset) ::lseek(descriptor, begin + bytes, SEEK_SET);
  return bytes;
}

ssize_t PosixFile::read(int descriptor, std::size_t bytes, std::optional<off_t> offset,
                        const std::function<ssize_t()>& pass) {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  const off_t begin = offset ? *offset : ::lseek(descriptor, 0, SEEK_CUR);
  if (begin < 0 || bytes == 0) return pass();
  Board& board = hidden_files().board();
  const double begin_s = now_s();
  const auto most = static_cast<std::int64_t>(
      std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(INT64_MAX - begin)));
  bool waited = board.wait(id_, {begin, begin + most}, true);
  const std::int64_t end = board.pending_end(id_);
  ssize_t done = pass();
  // A hole before what waits is read as zeros only if the file reaches beyond it.
  if (done >= 0 && done < most && end > begin + done) {
    waited = true;
    board.wait(id_, {}, true);
    if (!offset) ::lseek(descriptor, begin, SEEK_SET);
    done = pass();
  }
  if (waited) {
    count([&](PosixTally& tally) {
      ++tally.flushes;
      tally.flush_s += now_s() - begin_s;
    });
  }
  return done;
}

int PosixFile::truncate(off_t bytes, const std::function<int()>& pass) {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  if (bytes < hidden_files().board().pending_end(id_)) settle();
  return pass();
}

int PosixFile::sync(const std::function<int()>& pass) {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  if (hidden_ && hidden_files().options().closes_later && !hidden_->spans_nodes() &&
      is_in_library_close()) {
    hidden_->wants_sync();
    return 0;
  }
  settle();
  if (hidden_) {
    WriteFailure failure = hidden_->failure();
    if (failure.error == 0) failure.error = hidden_->publish();
    if (failure.error != 0) {
      errno = report(failure);
      return -1;
    }
  }
  return pass();
}

void PosixFile::settle() {
  const Adds waiting(&PosixTally::settling_s);
  hidden_files().board().wait(id_, {}, true);
}

void PosixFile::publish() {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  settle();
  if (hidden_ && hidden_->failure().error == 0) hidden_->publish();
}

void PosixFile::expose(PosixRefusal why) {
  publish();
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_exposed_, true) && hidden_) refuse_posix(opening_.path, why);
}

int PosixFile::report(const WriteFailure& failure) {
  if (hidden_->is_reported()) return failure.error;
  say(LogLevel::warning,
      fmt::format("{}: hidden writes failed; the file is incomplete: {} (errno {}) at byte {}",
                  opening_.path, std::strerror(failure.error), failure.error, failure.offset));
  hidden_->set_reported();
  return failure.error;
}

int PosixFile::close(bool returns_failure) {
  const OwnCalls quiet;
  const std::lock_guard lock(mutex_);
  is_exposed_ = true;  // what another thread is about to write
  if (!hidden_) return 0;
  const bool is_later = hidden_files().options().closes_later && !hidden_->spans_nodes();
  if (!is_later) settle();
  hidden_->mark_closed();
  WriteFailure failure = hidden_->failure();
  if (failure.error == 0 && !is_later) failure.error = hidden_->publish();
  const int error = failure.error == 0 || !returns_failure ? 0 : report(failure);
  if (is_later) count([](PosixTally& tally) { ++tally.later; });
  hidden_->close_later();
  hidden_files().keep(std::move(hidden_));
  hidden_.reset();
  return error;
}

}  // namespace tailrace::plugins
