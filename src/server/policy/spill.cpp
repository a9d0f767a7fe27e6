// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/spill.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "chooser/absolute_path.hpp"
#include "core/system_call.hpp"

namespace tailrace::server {
namespace {

std::string default_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace

Spill::Spill(const std::string& folder)
    : folder_(absolute_path(folder.empty() ? default_folder() : folder)) {}

void Spill::open() {
  if (file_) return;
  file_ = open_nameless(folder_);
  if (!file_) fail_io("make the file for spilled output in", folder_, errno);
}

/// The first gap that is large enough, or the end of what waits.
std::ptrdiff_t Spill::place_for(std::ptrdiff_t bytes) const {
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> used;
  used.reserve(waiting_.size());
  for (const auto& packet : waiting_) used.emplace_back(packet.offset, packet.bytes);
  std::sort(used.begin(), used.end());
  std::ptrdiff_t place = 0;
  for (const auto& [offset, length] : used) {
    if (offset - place >= bytes) break;
    place = offset + length;
  }
  return place;
}

bool Spill::has_room(std::ptrdiff_t bytes) const {
  struct statvfs system {};
  if (statvfs(folder_.c_str(), &system) != 0 || access(folder_.c_str(), W_OK | X_OK) != 0) {
    return false;
  }
  const auto growth = std::max<std::ptrdiff_t>(0, place_for(bytes) + bytes - end_);
  return static_cast<double>(system.f_bavail) * static_cast<double>(system.f_frsize) >=
         static_cast<double>(growth);
}

void Spill::put(std::span<const std::byte> packet, int server, int priority) {
  open();
  const Waiting waiting{place_for(std::ssize(packet)), std::ssize(packet), server, priority};
  const int error = write_at(file_.get(), packet.data(), waiting.bytes, waiting.offset);
  if (error != 0) {
    // What it has added is given back.
    if (uninterrupted([&] { return ftruncate(file_.get(), end_); }) != 0) {
      end_ = lseek(file_.get(), 0, SEEK_END);
    }
    fail_io("write the file for spilled output in", folder_, error);
  }
  end_ = std::max(end_, waiting.offset + waiting.bytes);
  waiting_.push_back(waiting);
}

void Spill::forget_after(std::size_t count) {
  while (waiting_.size() > count) waiting_.pop_back();
}

void Spill::take(std::span<std::byte> memory) {
  const auto packet = waiting_.front();
  assert(std::ssize(memory) == packet.bytes);
  const int error = read_at(file_.get(), memory.data(), packet.bytes, packet.offset);
  if (error != 0) fail_io("read the file for spilled output in", folder_, error);
  waiting_.pop_front();
  // An emptied file takes no space; if that fails, its space is used again.
  if (waiting_.empty() && uninterrupted([&] { return ftruncate(file_.get(), 0); }) == 0) end_ = 0;
}

}  // namespace tailrace::server
