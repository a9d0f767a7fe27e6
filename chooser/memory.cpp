// SPDX-License-Identifier: BSD-3-Clause
#include "chooser/memory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "chooser/absolute_path.hpp"
#include "chooser/cache_folder.hpp"
#include "chooser/environment.hpp"

namespace tailrace::chooser {

namespace {

namespace fs = std::filesystem;

constexpr int schema_version = 1;
constexpr const char* schema_name = "tailrace tune";
constexpr std::ptrdiff_t most_entries = 5000;  // of an operation; the oldest are forgotten

[[noreturn]] void fail(const char* doing, const std::string& path, int error) {
  throw MemoryError(std::string("cannot ") + doing + " " + path + ": " + std::strerror(error) +
                        " (errno " + std::to_string(error) + ")",
                    error);
}

/// Makes a call again that a signal has interrupted.
template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode)
      : fd_(uninterrupted([&] { return open(path.c_str(), flags | O_CLOEXEC, mode); })) {}
  ~Descriptor() { close_now(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool close_now() { return fd_ < 0 || close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

/// Where `path` leads, also to what does not exist yet.
std::string followed_links(std::string path) {
  std::error_code failed;
  constexpr int most_links = 40;  // as Linux
  for (int links = 0; links < most_links && fs::is_symlink(path, failed); ++links) {
    path = fs::path(path).parent_path() / fs::read_symlink(path, failed);
  }
  return path;
}

/// Gives a new file the owner, group, mode and access list of the one that it replaces; where that
/// is not allowed, the group has no rights.
void give_access(int file, const std::string& path, const struct stat& old) {
  constexpr const char* list_name = "system.posix_acl_access";
  std::array<char, 4096> list;
  const auto bytes = getxattr(path.c_str(), list_name, list.data(), list.size());
  if (bytes <= 0) fremovexattr(file, list_name);  // an inherited one
  const bool allowed = (fchown(file, old.st_uid, old.st_gid) == 0 ||
                        fchown(file, static_cast<uid_t>(-1), old.st_gid) == 0) &&
                       (bytes <= 0 || fsetxattr(file, list_name, list.data(),
                                                static_cast<std::size_t>(bytes), 0) == 0);
  if (!allowed) fremovexattr(file, list_name);
  if (fchmod(file, old.st_mode & (allowed ? 0777U : 0707U)) != 0) fail("write", path, errno);
}

/// The file gets its name when it is whole.
void replace(const std::string& path, const std::string& text) {
  struct stat old {};
  const bool replaces = stat(path.c_str(), &old) == 0;
  if (!replaces && errno != ENOENT) fail("write", path, errno);
  std::array<char, 65> host{};
  gethostname(host.data(), host.size() - 1);
  const auto name = ".tailrace." + std::to_string(stable_hash(path)) + "." +
                    std::string(host.data()) + "." + std::to_string(getpid()) + ".partial";
  const auto partial = fs::path(path).parent_path() / name;
  // Not through a link, nor into a pipe of this name.
  Descriptor file(partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
                  replaces ? 0600 : 0666);
  if (file.get() < 0) fail("write", path, errno);
  try {
    if (replaces) give_access(file.get(), path, old);
    for (std::size_t done = 0; done < text.size();) {
      const auto bytes =
          uninterrupted([&] { return write(file.get(), text.data() + done, text.size() - done); });
      if (bytes <= 0) fail("write", path, bytes < 0 ? errno : ENOSPC);
      done += static_cast<std::size_t>(bytes);
    }
    if (!file.close_now()) fail("write", path, errno);
    if (std::rename(partial.c_str(), path.c_str()) != 0) fail("write", path, errno);
  } catch (const MemoryError&) {
    unlink(partial.c_str());
    throw;
  }
}

/// What tells problems apart.
std::string identity_of(const Json& entry) {
  std::string text;
  for (const char* name : {"operation", "key", "places"}) {
    text += entry.at(name).get_ref<const std::string&>() + '\0';
  }
  return text + entry.at("machine").dump(-1, ' ', false, Json::error_handler_t::replace);
}

void merge(std::vector<Json>& entries, std::span<const Json> added) {
  std::map<std::string, const Json*> last;
  for (const Json& entry : added) last[identity_of(entry)] = &entry;
  std::erase_if(entries, [&](const Json& old) { return last.contains(identity_of(old)); });
  for (const Json& entry : added) {
    if (last.at(identity_of(entry)) == &entry) entries.push_back(entry);
  }
  std::map<std::string, std::ptrdiff_t> too_many;
  for (const Json& entry : entries) ++too_many[entry.at("operation")];
  for (auto& [operation, count] : too_many) count -= most_entries;
  std::erase_if(entries, [&](const Json& old) { return too_many[old.at("operation")]-- > 0; });
}

std::vector<Json> parse(const std::string& path, const std::string& text) {
  if (text.empty()) return {};
  try {
    Json json = Json::parse(text);
    if (json.at("schema") != schema_name) throw std::runtime_error("another schema");
    const int version = json.at("version").get<int>();
    if (version != schema_version) {
      throw std::runtime_error("version " + std::to_string(version) +
                               ", and this library knows version " +
                               std::to_string(schema_version));
    }
    std::vector<Json> entries;
    for (Json& entry : json.at("entries")) {
      for (const char* name : {"operation", "key", "places", "winner", "date"}) {
        static_cast<void>(entry.at(name).get_ref<const std::string&>());
      }
      static_cast<void>(entry.at("machine").at("processor"));
      entries.push_back(std::move(entry));
    }
    return entries;
  } catch (const std::exception& error) {
    throw MemoryError(path + " is not a results file of the tuner: " + error.what(), 0);
  }
}

/// What tells a file from what it was before: a new one takes its name at each change.
using Stamp = std::tuple<ino_t, off_t, time_t, long>;

Stamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

/// The file that this process has read or written last: to parse a thousand entries takes longer
/// than to make what a winner is asked for. It stays to the end, as some ask from destructors.
struct LastSeen {
  std::mutex mutex;
  std::string path;
  Stamp stamp;
  Entries entries;
};

LastSeen& last_seen() {
  static auto& seen = *new LastSeen;
  return seen;
}

Entries keep(const std::string& path, const Stamp& stamp, std::vector<Json> entries) {
  auto& seen = last_seen();
  const std::lock_guard lock(seen.mutex);
  seen.path = path;
  seen.stamp = stamp;
  return seen.entries = std::make_shared<const std::vector<Json>>(std::move(entries));
}

/// The entries, also of a file that does not exist. Whatever else has this name is somebody's, and
/// stays.
std::vector<Json> read_to_change(const std::string& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return {};
  return *read_entries(path);
}

}  // namespace

std::string memory_file() {
  if (environment("TAILRACE_TUNE_FILE") != nullptr) return environment_path("TAILRACE_TUNE_FILE");
  const auto folder = cache_folder();
  return folder.empty() ? "" : (folder / "tune.json").string();
}

Entries read_entries(const std::string& path) {
  const Stamp stamp = stamp_of(path);
  auto& seen = last_seen();
  {
    const std::lock_guard lock(seen.mutex);
    if (seen.entries && seen.path == path && seen.stamp == stamp) return seen.entries;
  }
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail("open", path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw MemoryError("cannot read " + path + ": it is not a regular file", EINVAL);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("open", path, errno);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) fail("read", path, EIO);
  return keep(path, stamp, parse(path, text));
}

void add_entries(const std::string& given, std::span<const Json> added) {
  std::error_code failed;
  const auto file = followed_links(absolute_path(given));
  fs::create_directories(fs::path(file).parent_path(), failed);
  read_to_change(file);  // before anything is made beside it
  // A file system that has no locks has none: there two jobs that finish in the same moment may
  // lose an entry, which costs a measurement.
  const Descriptor lock(file + ".lock", O_RDWR | O_CREAT, 0666);
  if (lock.get() >= 0) uninterrupted([&] { return flock(lock.get(), LOCK_EX); });
  std::vector<Json> entries = read_to_change(file);
  merge(entries, added);
  const Json json{{"schema", schema_name}, {"version", schema_version}, {"entries", entries}};
  // Words of others (a processor's name) need not be UTF-8.
  replace(file, json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
  keep(file, stamp_of(file), std::move(entries));
}

std::string date_text(std::int64_t ago_s) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() -
                                                        std::chrono::seconds(ago_s));
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return hash;
}

}  // namespace tailrace::chooser
