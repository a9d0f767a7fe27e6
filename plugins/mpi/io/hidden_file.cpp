// SPDX-License-Identifier: BSD-3-Clause
#include "io/hidden_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/log.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::plugins {
namespace {

std::atomic<bool> watches = false;
thread_local int own_calls = 0;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Known to all ranks of the job, so that each can give the file its name.
std::string temporary_name(const std::string& path, std::uint64_t job) {
  const auto slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return fmt::format("{}/.{}.tailrace-{:x}", folder_of(path), name, job);
}

// Where a symbolic link leads, whose target may not exist yet; the path itself if it is no link.
std::string target_of(std::string path) {
  constexpr int most_links = 40;  // as Linux has it
  for (int i = 0; i < most_links; ++i) {
    std::array<char, PATH_MAX> target{};
    const ssize_t bytes = ::readlink(path.c_str(), target.data(), target.size());
    if (bytes <= 0) break;
    const std::string to(target.data(), static_cast<std::size_t>(bytes));
    path = to.front() == '/' ? to : folder_of(path) + "/" + to;
  }
  return path;
}

std::uint64_t hash_of(const std::string& text) {  // FNV-1a: the same in all processes
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

FileId id_of(const struct stat& facts) {
  return {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// What a new file would not have: attributes of users, and lists of who may read it.
bool has_attributes(const std::string& path) {
  std::array<char, 4096> names{};
  const ssize_t bytes = ::listxattr(path.c_str(), names.data(), names.size());
  if (bytes < 0) return errno == ERANGE;
  for (const char* name = names.data(); name < names.data() + bytes;
       name += std::strlen(name) + 1) {
    const std::string_view text(name);
    if (text.starts_with("user.") || text.starts_with("system.posix_acl")) return true;
  }
  return false;
}

// The old file may be replaced by a new one with other content.
bool is_replaceable(const std::string& path, const struct stat& facts) {
  return S_ISREG(facts.st_mode) && facts.st_nlink == 1 && facts.st_uid == ::geteuid() &&
         !has_attributes(path);
}

// Where the file of a descriptor is now.
std::string place_of(int descriptor) {
  std::array<char, 4096> text{};
  const ssize_t bytes =
      ::readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

std::string_view name_in_folder(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Away from the numbers that programs count on: the lowest ones, or those that they copy to.
int moved_up(int descriptor) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
  const auto least = static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 2, 4096));
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, least);
  if (moved < 0) return descriptor;
  ::close(descriptor);
  return moved;
}

// Descriptors of hidden files, which the program must not close.
std::array<std::atomic<int>, 64> private_descriptors{};  // plus one; 0: none
void set_private(int descriptor, bool is_private) {
  int from = is_private ? 0 : descriptor + 1;
  const int to = is_private ? descriptor + 1 : 0;
  for (auto& one : private_descriptors) {
    const int wanted = from;
    if (one.compare_exchange_strong(from, to)) return;
    from = wanted;
  }
}

std::string text_of(const std::string& path, const WriteFailure& failure) {
  return fmt::format("{}: hidden writes failed; the file is incomplete: {} (errno {}) at byte {}",
                     path, std::strerror(failure.error), failure.error, failure.offset);
}

}  // namespace

std::string full_path(const std::string& given) {
  const std::unique_ptr<char, void (*)(void*)> whole(::realpath(given.c_str(), nullptr), std::free);
  if (whole) return whole.get();
  const std::string path = target_of(given);
  const auto slash = path.rfind('/');
  const std::unique_ptr<char, void (*)(void*)> folder(::realpath(folder_of(path).c_str(), nullptr),
                                                      std::free);
  if (!folder) return path;
  return std::string(folder.get()) + "/" +
         (slash == std::string::npos ? path : path.substr(slash + 1));
}

bool watches_posix() { return watches; }

OwnCalls::OwnCalls() { ++own_calls; }
OwnCalls::~OwnCalls() { --own_calls; }
int OwnCalls::depth() { return own_calls; }

HiddenFiles& hidden_files() {
  static HiddenFiles& one = *new HiddenFiles;
  return one;
}

HiddenOptions hidden_options() {
  HiddenOptions options;
  const char* const words = environment("TAILRACE_IO");
  std::string text(value_of_word(words, "memory").value_or(""));
  const char* const old =
      renamed_environment("TAILRACE_IO_MEMORY", "TAILRACE_IO=hidden,memory=BYTES");
  if (text.empty() && old != nullptr) text = old;
  try {
    if (!text.empty()) options.most_bytes = parse_bytes(text, "TAILRACE_IO=hidden,memory=BYTES");
  } catch (const Error& error) {
    say(LogLevel::warning, error.what());
  }
  options.writes_through = value_of_word(words, "through").has_value();
  options.syncs_files = value_of_word(words, "fsync").has_value();
  const char* const close = environment("TAILRACE_IO_CLOSE");
  constexpr std::array<std::string_view, 2> ways{"later", "wait"};
  report_ignored("TAILRACE_IO_CLOSE", unknown_word(close, ways), "later or wait; using wait");
  options.closes_later = value_of_word(close, "later").has_value();
  return options;
}

void give_name(const Opening& opening) {
  if (opening.temporary.empty()) return;
  const OwnCalls quiet;
  ::rename(opening.temporary.c_str(), opening.path.c_str());
}

// Small writes in one block of memory, in the order of the calls.
struct HiddenFile::Batch {
  static constexpr std::int64_t most_bytes = 1 << 20, most_of_a_run = 64 << 10;
  static constexpr std::size_t most_runs = 4096;
  std::vector<FileRun> places;
  std::byte* data = nullptr;
  std::int64_t bytes = 0, capacity = 0;
  BoardEntry::Range* range = nullptr;

  bool has_room(std::int64_t more) const {
    return bytes + more <= capacity && places.size() < most_runs;
  }
  void add(FileRun place, const std::byte* from) {
    std::memcpy(data + bytes, from, static_cast<std::size_t>(place.bytes));
    bytes += place.bytes;
    // A failure is reported with the offset of the run.
    if (!places.empty() && places.back().end() == place.offset &&
        places.back().bytes + place.bytes <= most_of_a_run) {
      places.back().bytes += place.bytes;
    } else {
      places.push_back(place);
    }
  }
};

std::shared_ptr<HiddenFile> HiddenFile::make(const std::string& path, const Opening& opening) {
  const OwnCalls quiet;
  struct stat facts {};
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(descriptor);
    return nullptr;
  }
  std::shared_ptr<HiddenFile> file(new HiddenFile);
  file->descriptor_ = moved_up(descriptor);
  set_private(file->descriptor_, true);
  Board& board = hidden_files().board();
  hidden_files().reap();
  static std::mutex taking;  // an entry is free until its state is set
  const std::lock_guard lock(taking);
  BoardEntry* const entry = board.take();
  if (entry == nullptr) return nullptr;
  file->path_ = opening.path.empty() ? path : opening.path;
  file->temporary_ = opening.temporary;
  file->id_ = id_of(facts);
  file->spans_nodes_ = opening.spans_nodes;
  file->num_ranks_ = opening.num_ranks;
  entry->device = file->id_.device;
  entry->inode = file->id_.inode;
  entry->group = opening.group;
  entry->name = hash_of(file->path_);
  entry->state = BoardEntry::open;
  file->entry_ = entry;
  return file;
}

HiddenFile::~HiddenFile() {
  const OwnCalls quiet;
  if (descriptor_ >= 0) {
    set_private(descriptor_, false);
    ::close(descriptor_);
  }
  if (entry_ != nullptr) entry_->state = BoardEntry::unused;
}

void HiddenFile::post(std::vector<FileRun> places, Buffer copy, std::uint64_t stamp) {
  const std::lock_guard lock(posting_);
  {
    const std::lock_guard batching(batching_);
    batch_.reset();  // what follows must not be written before this
  }
  Board::add(*entry_, {places.front().offset, places.back().end()}, stamp);
  hidden_files().thread().post(
      std::move(copy), [self = shared_from_this(), places = std::move(places)](const auto* data) {
        if (self->entry_->error.load() == 0) self->write(places, data);
        ++self->entry_->written;
      });
}

bool HiddenFile::append(FileRun place, const std::byte* data) {
  const std::lock_guard lock(batching_);
  if (!batch_ || !batch_->has_room(place.bytes)) return false;
  BoardEntry::Range& range = *batch_->range;
  range.begin = std::min<std::int64_t>(range.begin.load(), place.offset);
  range.end = std::max<std::int64_t>(range.end.load(), place.end());
  batch_->add(place, data);
  return true;
}

void HiddenFile::post(FileRun place, const std::byte* data) {
  WriteBehind& thread = hidden_files().thread();
  const std::int64_t capacity =
      std::min(Batch::most_bytes, hidden_files().options().most_bytes / 4);
  if (place.bytes > capacity / 4) {
    Buffer copy = thread.room(place.bytes);
    std::memcpy(copy.data(), data, static_cast<std::size_t>(place.bytes));
    post({place}, std::move(copy), 0);
    return;
  }
  if (append(place, data)) return;
  Buffer memory = thread.room(capacity);
  const std::lock_guard lock(posting_);
  const auto batch = std::make_shared<Batch>();
  batch->data = memory.data();
  batch->capacity = capacity;
  batch->add(place, data);
  {
    // The thread may wait for this lock below, so it is not held while the board is full.
    const std::lock_guard batching(batching_);
    batch_.reset();
  }
  batch->range = &Board::add(*entry_, {place.offset, place.end()}, 0);
  {
    const std::lock_guard batching(batching_);
    batch_ = batch;
  }
  thread.post(std::move(memory), [self = shared_from_this(), batch](const auto* copies) {
    {
      const std::lock_guard batching(self->batching_);
      if (self->batch_ == batch) self->batch_.reset();
    }
    if (self->entry_->error.load() == 0) self->write(batch->places, copies);
    ++self->entry_->written;
  });
}

void HiddenFile::write(const std::vector<FileRun>& places, const std::byte* data) {
  const WriteFailure failure = write_runs(descriptor_, places, data);
  if (failure.error != 0) fail(failure);
}

void HiddenFile::fail(WriteFailure failure) {
  entry_->error_offset = failure.offset;
  entry_->error = failure.error;
}

void HiddenFile::settle() {
  for (Pause pause; entry_->written.load() != entry_->posted.load();) pause();
}

WriteFailure HiddenFile::failure() const {
  WriteFailure found{entry_->error.load(), entry_->error_offset.load()};
  if (found.error != 0) return found;
  hidden_files().board().each([&](BoardEntry& entry) {
    if (entry.group.load() != group() || entry.error.load() == 0) return true;
    found = {entry.error.load(), entry.error_offset.load()};
    return false;
  });
  return found;
}

int HiddenFile::publish() {
  if (temporary_.empty() || has_name_) return 0;
  const OwnCalls quiet;
  if (wants_sync_ || hidden_files().options().syncs_files) {
    if (::fsync(descriptor_) != 0) return errno;
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    struct stat facts {};
    const bool has_name = error == ENOENT && ::stat(path_.c_str(), &facts) == 0 &&
                          id_of(facts).inode == id_.inode && id_of(facts).device == id_.device;
    if (!has_name && (error != ENOENT || !publish_elsewhere())) return error;
  }
  has_name_ = true;
  if (wants_sync_ || hidden_files().options().syncs_files) sync_folder(folder_of(path_));
  return 0;
}

// If its folder was moved, or if it got its name and was then moved or deleted.
bool HiddenFile::publish_elsewhere() {
  const std::string place = place_of(descriptor_);
  if (place.empty() || place == temporary_) return false;
  const auto name = name_in_folder(place);
  const auto temporary = name_in_folder(temporary_);
  if (name == temporary) {
    const std::string named = fmt::format("{}/{}", folder_of(place), name_in_folder(path_));
    return ::rename(place.c_str(), named.c_str()) == 0;
  }
  return !name.starts_with(temporary);  // else somebody has deleted it
}

bool is_private(int descriptor) {
  if (descriptor < 0 || !hidden_files().is_started() || OwnCalls::depth() != 0) return false;
  return std::any_of(private_descriptors.begin(), private_descriptors.end(),
                     [&](const auto& one) { return one.load() == descriptor + 1; });
}

std::vector<int> private_descriptors_now() {
  std::vector<int> found;
  if (!hidden_files().is_started() || OwnCalls::depth() != 0) return found;
  for (const auto& one : private_descriptors) {
    if (const int number = one.load(); number != 0) found.push_back(number - 1);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void HiddenFile::close_later() {
  hidden_files().thread().post({}, [self = shared_from_this()](const auto*) { self->finish(); });
}

// Of the last two ranks that come here at the same time both may find all done: one completes.
void HiddenFile::finish() {
  entry_->state = BoardEntry::done;
  int num_done = 0;
  BoardEntry* first = nullptr;
  hidden_files().board().each([&](BoardEntry& entry) {
    if (entry.group.load() != group() || entry.state.load() != BoardEntry::done) return true;
    if (first == nullptr) first = &entry;
    ++num_done;
    return true;
  });
  if (num_done == num_ranks_ && first->claimed.exchange(1) == 0) complete();
}

void HiddenFile::complete() {
  const OwnCalls quiet;
  WriteFailure failed = failure();
  const bool is_written = failed.error == 0;
  if (is_written) failed.error = publish();
  if (failed.error == 0 && temporary_.empty() && wants_sync_ && ::fsync(descriptor_) != 0)
    failed.error = errno;
  if (!is_written && !temporary_.empty()) ::unlink(temporary_.c_str());
  // Complete, but it cannot get its name.
  if (is_written && failed.error != 0 && !has_name_ && !temporary_.empty()) {
    say(LogLevel::warning,
        fmt::format("{}: the data is complete in {}", path_, place_of(descriptor_)));
  }
  hidden_files().board().each([&](BoardEntry& entry) {
    if (entry.group.load() != group()) return true;
    if (failed.error != 0) {
      entry.error_offset = failed.offset;
      entry.error = failed.error;
    }
    entry.outcome = failed.error == 0 ? BoardEntry::whole : BoardEntry::failed;
    return true;
  });
}

void HiddenFiles::start(const HiddenOptions& options) {
  options_ = options;
  board_.make();
  process_ = ::getpid();
  watches = true;
  // The thread is not in the child, which must neither wait for it nor write what is queued.
  pthread_atfork(nullptr, nullptr, [] { hidden_files().is_child_ = true; });
}

void HiddenFiles::start_alone(const HiddenOptions& options) {
  options_ = options;
  board_.make_alone();
  process_ = ::getpid();
  watches = true;
  pthread_atfork(nullptr, nullptr, [] { hidden_files().is_child_ = true; });
}

bool HiddenFiles::take_failure(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(failed_paths_.begin(), failed_paths_.end(), path);
  if (found == failed_paths_.end()) return false;
  failed_paths_.erase(found);
  return true;
}

WriteBehind& HiddenFiles::thread() {
  const std::lock_guard lock(mutex_);
  if (!thread_) {
    auto made = std::make_unique<WriteBehind>(options_.most_bytes);
    made->post({}, [](const std::byte*) {});  // throws here if there may be no more threads
    thread_ = std::move(made);
  }
  return *thread_;
}

bool HiddenFiles::has_thread() {
  const std::lock_guard lock(mutex_);
  return thread_ != nullptr;
}

Opening HiddenFiles::open(MPI_Comm comm, const std::string& path, int mode) {
  const double begin_s = now_s();
  Opening opening;
  wait_for(path);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  const std::string full = full_path(path);
  int failed = take_failure(full) ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm);
  if (failed != 0) opening.code = MPI_ERR_IO;
  waited_s_ += now_s() - begin_s;
  if (opening.code != MPI_SUCCESS) return opening;
  std::array<std::uint64_t, 2> said{};
  if (rank == 0) {
    const bool is_plain = (mode & (MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_SEQUENTIAL)) == 0;
    Wish wish;
    wish.creates = is_plain && (mode & MPI_MODE_CREATE) != 0;
    wish.writes = (mode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
    wish.is_exclusive = (mode & MPI_MODE_EXCL) != 0;
    wish.empties = is_in_library_create();
    opening = decide(path, wish);
    int world_rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    said = {opening.temporary.empty() ? 0U : 1U,
            (static_cast<std::uint64_t>(world_rank) + 1) << 32 | ++num_opened_};
  }
  PMPI_Bcast(said.data(), 2, MPI_UINT64_T, 0, comm);
  opening.path = broadcast_text(comm, opening.path);
  if (said[0] != 0) opening.temporary = broadcast_text(comm, opening.temporary);
  opening.group = said[1];
  opening.spans_nodes = !board_.covers(comm);
  PMPI_Comm_size(comm, &opening.num_ranks);
  return opening;
}

Opening HiddenFiles::decide(const std::string& path, const Wish& wish) {
  const OwnCalls quiet;
  Opening opening;
  opening.path = full_path(path);
  if (!options_.closes_later || !wish.creates || !wish.writes) return opening;
  struct stat facts {};
  const bool exists = ::lstat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT) return opening;
  const FileId old = exists ? id_of(facts) : FileId{};
  if (exists && (wish.is_exclusive || !wish.empties || !is_replaceable(path, facts)))
    return opening;
  const std::string folder = folder_of(opening.path);
  // A name that begins with the kind of file system ("ufs:name") is MPI's to understand.
  if (path.find(':') != std::string::npos || ::access(folder.c_str(), W_OK) != 0) return opening;
  opening.temporary = temporary_name(opening.path, board_.job());
  // Ranks that have it open write into one file.
  if (wish.is_alone && board_.has_open(hash_of(opening.path), old)) {
    ::rename(opening.temporary.c_str(), opening.path.c_str());
    opening.temporary.clear();
    return opening;
  }
  if (!wish.is_alone) ::unlink(opening.temporary.c_str());
  if (exists) {  // the new file has the old one's permissions
    const int made = ::open(opening.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                            facts.st_mode & 07777);
    if (made < 0) {
      opening.temporary.clear();
      return opening;
    }
    struct stat now {};
    const bool has_group = ::fstat(made, &now) == 0 &&
                           (now.st_gid == facts.st_gid || ::fchown(made, -1U, facts.st_gid) == 0);
    ::fchmod(made, facts.st_mode & 07777);
    ::close(made);
    if (!has_group) {  // others could no longer read it
      ::unlink(opening.temporary.c_str());
      opening.temporary.clear();
      return opening;
    }
    opening.is_made = true;
  }
  return opening;
}

void HiddenFiles::wait_for(const std::string& path) {
  if (!is_started()) return;
  const OwnCalls quiet;
  const std::string full = full_path(path);
  const std::uint64_t name = hash_of(full);
  struct stat facts {};
  const FileId id = ::stat(full.c_str(), &facts) == 0 ? id_of(facts) : FileId{};
  bool is_open = false;
  board_.each([&](BoardEntry& entry) {
    const bool is_same =
        entry.name.load() == name ||
        (id.inode != 0 && entry.inode.load() == id.inode && entry.device.load() == id.device);
    if (!is_same) return true;
    const std::uint64_t group = entry.group.load();
    // While a rank has not closed it, those that have closed it cannot complete it, and that rank
    // may be this one, or wait for this one.
    if (board_.is_open(group)) {
      is_open = true;
      return true;
    }
    for (Pause pause; entry.state.load() >= BoardEntry::closed && entry.group.load() == group &&
                      entry.outcome.load() == BoardEntry::unknown;)
      pause();
    return true;
  });
  if (is_open) ::rename(temporary_name(full, board_.job()).c_str(), full.c_str());
  reap();
}

void HiddenFiles::wait_for_closed() {
  // A child waits for its parent, unless that has been killed.
  const auto is_orphan = [&] { return is_child_ && ::kill(process_, 0) != 0 && errno == ESRCH; };
  for (Pause pause; board_.has_unfinished(true) && !is_orphan();) pause();
}

void HiddenFiles::keep(std::shared_ptr<HiddenFile> file) {
  const std::lock_guard lock(mutex_);
  closed_.push_back(std::move(file));
}

void HiddenFiles::reap() {
  std::vector<std::shared_ptr<HiddenFile>> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto is_ended = [](const auto& file) {
      return file->entry_->outcome.load() != BoardEntry::unknown;
    };
    const auto first = std::stable_partition(closed_.begin(), closed_.end(),
                                             [&](const auto& file) { return !is_ended(file); });
    ended.assign(std::make_move_iterator(first), std::make_move_iterator(closed_.end()));
    closed_.erase(first, closed_.end());
    for (const auto& file : ended) {
      const bool is_new = file->entry_->outcome.load() == BoardEntry::failed && !file->is_reported_;
      if (is_new) failed_paths_.push_back(file->path_);
    }
  }
  for (const auto& file : ended) {
    if (file->entry_->outcome.load() != BoardEntry::failed || file->is_reported_) continue;
    say(LogLevel::warning, text_of(file->path_, file->failure()));
    failed_ = true;
  }
}

void HiddenFiles::drain() {
  std::unique_ptr<WriteBehind> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = std::move(thread_);
  }
}

void HiddenFiles::finish() {
  const double begin_s = now_s();
  const auto is_over = [&] {
    reap();
    const std::lock_guard lock(mutex_);
    return closed_.empty();
  };
  for (Pause pause; !is_over();) pause();
  waited_s_ += now_s() - begin_s;
}

}  // namespace tailrace::plugins
