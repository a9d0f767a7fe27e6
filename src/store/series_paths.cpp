// SPDX-License-Identifier: BSD-3-Clause
#include "store/series_paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/replaced.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"

namespace tailrace::store {

namespace fs = std::filesystem;

fs::path real_path(const fs::path& folder) {
  std::error_code failed;
  const auto found = fs::weakly_canonical(folder, failed);
  return failed ? folder.lexically_normal() : found;
}

std::string relative_to(const std::string& folder, const std::string& file) {
  const fs::path path(file);
  return (real_path(path.parent_path()) / path.filename())
      .lexically_relative(real_path(folder))
      .string();
}

std::string target_of(const std::string& folder, const std::string& text) {
  return (real_path(folder) / text).lexically_normal().string();
}

bool leads_to_file(const std::string& path) {
  struct stat status {};
  return uninterrupted([&] { return stat(path.c_str(), &status); }) == 0;
}

// Pieces of "file_per_rank" go with their file, which finds them by its own name.
void move_away(const std::string& file, const std::string& superseded) {
  const auto name = fs::path(file).filename().string();
  const auto folder = free_folder(superseded, name);
  const auto to = folder + "/" + name;
  rename_file(file, to);
  const auto pieces = name_beside(file, ".pieces");
  if (leads_to_file(pieces)) rename_file(pieces, name_beside(to, ".pieces"));
}

void make_folder(const std::string& folder) {
  if (uninterrupted([&] { return mkdir(folder.c_str(), 0777); }) != 0 && errno != EEXIST) {
    fail_io("make folder", folder, errno);
  }
}

void make_link(const std::string& text, const std::string& link) {
  if (uninterrupted([&] { return symlink(text.c_str(), link.c_str()); }) != 0) {
    fail_io("make the link", link, errno);
  }
}

void remove_link(const std::string& link) {
  if (uninterrupted([&] { return unlink(link.c_str()); }) != 0 && errno != ENOENT) {
    fail_io("remove", link, errno);
  }
}

std::map<std::int64_t, std::string> numbered_links(const std::string& folder,
                                                   std::string_view suffix) {
  std::map<std::int64_t, std::string> links;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto name = entry->path().filename().string();
    std::int64_t number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    std::error_code no_link;
    auto text = fs::read_symlink(entry->path(), no_link).string();
    const bool is_one = number >= 0 && name == fmt::format("{}{}", number, suffix);
    if (is_one && !no_link) links[number] = std::move(text);
  }
  if (failed && failed.value() != ENOENT) fail_io("read", folder, failed.value());
  return links;
}

void commit_with_link(const std::string& link, const std::function<void()>& commit) {
  try {
    flush_folder(folder_of(link));
    commit();
  } catch (...) {
    uninterrupted([&] { return unlink(link.c_str()); });
    throw;
  }
}

std::string free_folder(const std::string& superseded, const std::string& name) {
  auto folder = superseded;
  for (int n = 2; fs::symlink_status(folder + "/" + name).type() != fs::file_type::not_found; ++n) {
    folder = superseded + "/" + std::to_string(n);
  }
  fs::create_directories(folder);
  return folder;
}

}  // namespace tailrace::store
