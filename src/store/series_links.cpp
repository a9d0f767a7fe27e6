// SPDX-License-Identifier: BSD-3-Clause
#include "store/series_links.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "core/agreed_error.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "store/series_index.hpp"

namespace tailrace::store {
namespace {

namespace fs = std::filesystem;

/// The number of a link of this name, "12.h5", or -1 if it is none.
std::int64_t number_of_link(std::string_view name) {
  std::int64_t number = -1;
  const auto* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, number);
  const bool whole = error == std::errc() && std::string_view(rest, end) == ".h5";
  return whole && std::to_string(number) + ".h5" == name ? number : -1;
}

/// The text of each link, by its number. Throws `Errc::io`.
std::map<std::int64_t, std::string> links_in(const std::string& folder) {
  std::map<std::int64_t, std::string> links;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto number = number_of_link(entry->path().filename().string());
    std::error_code no_link;
    auto text = fs::read_symlink(entry->path(), no_link).string();
    if (number >= 0 && !no_link) links[number] = std::move(text);
  }
  if (failed && failed.value() != ENOENT) fail_io("read", folder, failed.value());
  return links;
}

// Links count from where their folder really is.
fs::path real_path(const fs::path& folder) {
  std::error_code failed;
  const auto found = fs::weakly_canonical(folder, failed);
  return failed ? folder.lexically_normal() : found;
}

std::string link_text(const std::string& folder, const std::string& file) {
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

void remove_link(const std::string& link) {
  if (uninterrupted([&] { return unlink(link.c_str()); }) != 0 && errno != ENOENT) {
    fail_io("remove", link, errno);
  }
}

/// A folder that has no file of this name yet: superseded, superseded/2, superseded/3, ...
std::string free_folder(const std::string& superseded, const std::string& name) {
  auto folder = superseded;
  for (int n = 2; fs::symlink_status(folder + "/" + name).type() != fs::file_type::not_found; ++n) {
    folder = superseded + "/" + std::to_string(n);
  }
  fs::create_directories(folder);
  return folder;
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

/// The links of an earlier attempt.
class Earlier {
 public:
  Earlier(const std::string& path, const std::string& file)
      : path_(path), folder_(series_folder(path)), text_(link_text(folder_, file)) {
    for (const auto& [number, text] : links_in(folder_)) {
      if (leads_to_file(target_of(folder_, text))) {
        links_.emplace_back(number, text);
      } else {
        remove_link(series_link(path_, number));
      }
    }
  }

  void supersede(std::int64_t step, Superseded& done) {
    while (!links_.empty()) {
      const auto& [number, text] = links_.back();
      const auto target = target_of(folder_, text);
      const auto its_step = step_of(target);
      const bool replaced = text == text_;
      if (!replaced && (!its_step || *its_step < step)) break;
      if (replaced && (!its_step || *its_step <= step)) break;
      remove_link(series_link(path_, number));
      if (!replaced) {
        const auto failure = failure_of([&] { move_away(target, done.folder); });
        if (failure) done.failed.push_back(target + ": " + failure->what());
        if (!failure) done.moved.push_back(target);
      }
      links_.pop_back();
    }
  }

  // From the end, so that what readers see is a series at every moment.
  void remove_all() {
    for (; !links_.empty(); links_.pop_back()) {
      remove_link(series_link(path_, links_.back().first));
    }
  }

  std::int64_t close_gaps() {
    std::int64_t next = 0;
    for (const auto& [number, text] : links_) {
      if (number != next) rename_file(series_link(path_, number), series_link(path_, next));
      ++next;
    }
    return next;
  }

 private:
  // A file that cannot be read is left alone.
  static std::optional<std::int64_t> step_of(const std::string& file) {
    std::optional<std::int64_t> step;
    (void)failure_of([&] { step = step_of_file(file); });
    return step;
  }

  const std::string& path_;
  std::string folder_, text_;
  std::vector<std::pair<std::int64_t, std::string>> links_;  ///< number and text, in order
};

}  // namespace

void SeriesLinks::publish(const std::string& file, const std::function<void()>& commit) {
  const auto folder = series_folder(path_);
  if (!count_) {
    const auto links = links_in(folder);
    count_ = links.empty() ? 0 : links.rbegin()->first + 1;
    if (!links.empty()) last_ = links.rbegin()->second;
  }
  const auto text = link_text(folder, file);
  if (text == last_) {  // this file is written again
    commit();
    return;
  }
  const auto link = series_link(path_, *count_);
  if (uninterrupted([&] { return symlink(text.c_str(), link.c_str()); }) != 0) {
    const int error = errno;
    count_.reset();
    fail_io("make the link", link, error);
  }
  try {
    flush_folder(folder);
    commit();
  } catch (...) {
    uninterrupted([&] { return unlink(link.c_str()); });
    throw;
  }
  ++*count_;
  last_ = text;
}

Superseded begin_attempt(const std::string& path, std::int64_t step, const std::string& file,
                         bool keep) {
  const auto folder = series_folder(path);
  if (uninterrupted([&] { return mkdir(folder.c_str(), 0777); }) != 0 && errno != EEXIST) {
    fail_io("make folder", folder, errno);
  }
  Superseded done;
  done.folder = folder_of(path) + "superseded";
  Earlier earlier(path, file);
  earlier.supersede(step, done);
  if (!keep) earlier.remove_all();
  done.kept = earlier.close_gaps();
  flush_folder(folder);
  return done;
}

}  // namespace tailrace::store
