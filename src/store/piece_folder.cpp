// SPDX-License-Identifier: BSD-3-Clause
#include "store/piece_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "core/whole_file.hpp"

namespace tailrace::store {

namespace {

std::string file_name(int generation, int writer) {
  return generation == 0 ? fmt::format("{:05d}.h5", writer)
                         : fmt::format("{:05d}.{}.h5", writer, generation);
}

bool take_number(std::string_view& text, int& number) {
  const auto* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || number < 0) return false;
  text = std::string_view(result.ptr, static_cast<std::size_t>(end - result.ptr));
  return true;
}

/// The generation of a piece file of this name, or -1 if it is none.
int generation_of(std::string_view name) {
  int writer = 0;
  int generation = 0;
  const std::string_view whole = name;
  if (!take_number(name, writer)) return -1;
  if (name != ".h5") {
    if (name.substr(0, 1) != ".") return -1;
    name.remove_prefix(1);
    if (!take_number(name, generation) || name != ".h5") return -1;
  }
  return whole == file_name(generation, writer) ? generation : -1;
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

/// Calls `visit(name, generation)` for each piece file. An errno if the folder cannot be read.
template <class Visit>
int for_each_piece(const std::string& folder, Visit&& visit) {
  const std::unique_ptr<DIR, CloseFolder> entries(
      uninterrupted([&] { return opendir(folder.c_str()); }));
  if (!entries) return errno;
  while (const dirent* entry = readdir(entries.get())) {
    const int generation = generation_of(entry->d_name);
    if (generation >= 0) visit(folder + "/" + entry->d_name, generation);
  }
  return 0;
}

}  // namespace

std::string pieces_folder(const std::string& path) { return name_beside(path, ".pieces"); }

std::string piece_path(const std::string& path, int generation, int writer) {
  return pieces_folder(path) + "/" + file_name(generation, writer);
}

std::string piece_reference(const std::string& path, int generation, int writer) {
  return piece_path(path.substr(path.find_last_of('/') + 1), generation, writer);
}

int prepare_pieces(const std::string& path, const Access& access) {
  const auto folder = pieces_folder(path);
  const auto mode = access.mode_to_create(0777);
  const int made = uninterrupted([&] { return mkdir(folder.c_str(), mode); });
  if (made != 0 && errno != EEXIST) fail_errno(errno);
  if (made == 0 && access.exists()) {
    const Descriptor opened = open_descriptor(folder, O_RDONLY | O_DIRECTORY);
    if (!opened) fail_errno(errno);
    access.of_folder_for_files().apply(opened.get(), 0700);
  }
  std::vector<int> taken;
  const int error = for_each_piece(
      folder, [&](const std::string&, int generation) { taken.push_back(generation); });
  if (error != 0) fail_errno(error);
  int generation = 0;
  while (std::ranges::find(taken, generation) != taken.end()) ++generation;
  return generation;
}

void give_access(const std::string& path, int generation, const Access& access) {
  if (!access.exists()) return;
  const int error = for_each_piece(pieces_folder(path), [&](const std::string& file, int found) {
    if (found != generation) return;
    const Descriptor opened = open_descriptor(file, O_RDONLY);
    if (!opened) fail_errno(errno);
    access.apply(opened.get());
  });
  if (error != 0) fail_errno(error);
}

void flush_pieces(const std::string& path) { flush_folder(pieces_folder(path)); }

std::vector<std::string> other_pieces(const std::string& path, int generation) {
  std::vector<std::string> files;
  for_each_piece(pieces_folder(path), [&](const std::string& file, int found) {
    if (found != generation) files.push_back(file);
  });
  return files;
}

void remove_pieces(const std::string& path, const std::vector<std::string>& files) noexcept {
  if (files.empty()) return;
  for (const auto& file : files) {
    uninterrupted([&] { return unlink(file.c_str()); });
  }
  rmdir(pieces_folder(path).c_str());  // fails if something is left in it
}

void remove_pieces(const std::string& path, int generation) noexcept {
  const auto folder = pieces_folder(path);
  const int missing = for_each_piece(folder, [&](const std::string& file, int found) {
    if (found == generation) uninterrupted([&] { return unlink(file.c_str()); });
  });
  if (missing == 0) rmdir(folder.c_str());
}

}  // namespace tailrace::store
