// SPDX-License-Identifier: BSD-3-Clause
#include "dense/blas/choices.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "chooser/cache_folder.hpp"

namespace tailrace::dense {

namespace {

namespace fs = std::filesystem;

bool remembers() {
  const char* const value = std::getenv("TAILRACE_BLAS_REMEMBERS");
  return value == nullptr || std::string_view(value) != "0";
}

/// The same in every process, unlike std::hash.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  return hash;
}

fs::path file_of(const std::string& machine) {
  const auto folder = cache_folder();
  if (folder.empty()) return {};
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%016llx.txt",
                static_cast<unsigned long long>(hash_of(machine)));
  return folder / "blas" / name.data();
}

/// Held while the file in `folder` is read and appended to. A file system without locks has
/// none: there two processes that end in the same moment may lose a choice, which is measured
/// again.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (descriptor_ >= 0 && flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Appends to a file, which begins with `head`: it stays the file, with its mode, group and links.
/// What is no regular file, or begins otherwise, is left alone. A failure costs measuring again.
void append(const fs::path& path, const std::string& head, std::string text) {
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC;
  const int file = open(path.c_str(), flags, 0666);
  struct stat status {};
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    std::string start(head.size(), '\0');
    const auto bytes = pread(file, start.data(), start.size(), 0);
    if (bytes == 0) text.insert(0, head);
    if (bytes == 0 || start == head) {
      const auto done = write(file, text.data(), text.size());
      // Not half a line: the disk is full.
      if (done >= 0 && static_cast<std::size_t>(done) < text.size() &&
          ftruncate(file, status.st_size) != 0) {
        std::perror(path.c_str());
      }
    }
  }
  if (file >= 0) close(file);
}

}  // namespace

std::string machine_of_choices(int threads) {
  std::string processor = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  const char* const libraries = std::getenv("TAILRACE_BLAS_LIBRARIES");
  return processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " processors, " +
         std::to_string(threads) + " threads, " + (libraries != nullptr ? libraries : "installed");
}

Choices recall_choices(const std::string& machine) {
  Choices choices;
  const auto path = file_of(machine);
  std::error_code failed;
  // A pipe would have no writer, and a device no end.
  if (!remembers() || !fs::is_regular_file(path, failed)) return choices;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != machine) return choices;
  while (std::getline(file, line)) {
    const auto tab = line.find('\t');
    if (tab != std::string::npos) choices[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return choices;
}

void remember_choices(const std::string& machine, const Choices& choices) {
  const auto path = file_of(machine);
  if (choices.empty() || path.empty() || !remembers()) return;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  const FolderLock lock(path.parent_path());
  const auto known = recall_choices(machine);
  std::string added;
  for (const auto& [calls, variant] : choices) {
    const auto found = known.find(calls);
    if (found == known.end() || found->second != variant) added += calls + '\t' + variant + '\n';
  }
  if (!added.empty()) append(path, machine + '\n', added);
}

}  // namespace tailrace::dense
