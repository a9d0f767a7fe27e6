// SPDX-License-Identifier: BSD-3-Clause
#include "store/series_links.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "store/series_index.hpp"

namespace tailrace::store {
namespace {

namespace fs = std::filesystem;

std::string link_in(const std::string& folder, std::int64_t number) {
  return folder + "/" + std::to_string(number) + ".h5";
}

// The index shows only the first steps of this file, which gets a second name.
void link_away(const std::string& file, const std::string& superseded) {
  const auto name = fs::path(file).filename().string();
  const auto to = free_folder(superseded, name) + "/" + name;
  if (uninterrupted([&] { return link(file.c_str(), to.c_str()); }) != 0) {
    fail_io("make the link", to, errno);
  }
}

// An empty one: what is there belongs to an index that has never got its name.
void make_links_folder(const std::string& path, std::int64_t version) {
  make_folder(series_folder(path));
  const auto folder = series_links_folder(path, version);
  make_folder(folder);
  for (const auto& [number, text] : numbered_links(folder, ".h5"))
    remove_link(link_in(folder, number));
  flush_folder(series_folder(path));  // before an index leads there
}

// Readers that have the index of before open still use its links.
void remove_old_folders(const std::string& path, std::int64_t version) {
  std::error_code failed, ignored;
  for (fs::directory_iterator entry(series_folder(path), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto name = entry->path().filename().string();
    const bool used = name == std::to_string(version) || name == std::to_string(version - 1);
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    if (!used && is_number) fs::remove_all(entry->path(), ignored);
  }
}

/// All steps, with absolute names of their files: those of the list, then those of the links. Those
/// whose file is gone are left out.
std::vector<SeriesStep> steps_of(const std::string& path, const SeriesList& list) {
  std::vector<SeriesStep> steps;
  const auto folder = real_path(folder_of(path));
  const auto absolute = [&](const std::string& file) {
    return (folder / file).lexically_normal().string();
  };
  std::string merged;
  bool is_there = false;
  for (const auto& step : list.steps) {
    if (step.merged.empty()) {
      auto file = absolute(step.file);
      if (leads_to_file(file)) steps.push_back({std::move(file), step.values});
      continue;
    }
    if (step.merged != merged) is_there = leads_to_file(absolute(step.merged));
    merged = step.merged;
    if (is_there) steps.push_back({absolute(step.file), step.values, absolute(merged)});
  }
  const auto links = series_links_folder(path, list.version);
  for (const auto& [number, text] : numbered_links(links, ".h5")) {
    auto file = target_of(links, text);
    if (leads_to_file(file)) steps.push_back({std::move(file), {}});
  }
  return steps;
}

/// A list of `steps`, with their values.
SeriesList list_of(const std::string& path, const std::string& form, const FileContents& contents,
                   std::vector<SeriesStep> steps, std::int64_t version) {
  SeriesList list{form, varying_names(contents), std::move(steps), version};
  const auto folder = real_path(folder_of(path));
  for (auto& step : list.steps) {
    if (step.values.size() != list.names.size()) {
      step.values = values_in_file(step.file, list.names);
    }
    step.file = fs::path(step.file).lexically_relative(folder).string();
    if (!step.merged.empty())
      step.merged = fs::path(step.merged).lexically_relative(folder).string();
  }
  return list;
}

/// The steps that a file holds; none if it cannot be read, so that it is left alone.
std::vector<std::int64_t> steps_if_any(const std::string& file) {
  std::vector<std::int64_t> steps;
  (void)failure_of([&] { steps = steps_in_file(file); });
  return steps;
}

/// The number of the last of `steps`, if its file says it.
std::optional<std::int64_t> number_of_last(const std::vector<SeriesStep>& steps) {
  const auto& merged = steps.back().merged;
  if (merged.empty()) {
    const auto numbers = steps_if_any(steps.back().file);
    return numbers.size() == 1 ? std::optional(numbers.front()) : std::nullopt;
  }
  const auto numbers = steps_if_any(merged);
  const auto row = std::ranges::count(steps, merged, &SeriesStep::merged) - 1;
  if (row >= std::ssize(numbers)) return std::nullopt;
  return numbers[static_cast<std::size_t>(row)];
}

/// Takes the steps from `step` on from the end of `steps`, and returns them, the last one first. A
/// file that cannot be read, such as one that a power failure has damaged, goes with those around
/// it, because the steps of a series increase.
std::vector<SeriesStep> take_later(std::vector<SeriesStep>& steps, std::int64_t step) {
  auto looked_at = steps;
  auto num_staying = steps.size();
  while (!looked_at.empty()) {
    const auto its_step = number_of_last(looked_at);
    if (its_step && *its_step < step) break;
    looked_at.pop_back();
    if (its_step) num_staying = looked_at.size();
  }
  const auto first = steps.begin() + static_cast<std::ptrdiff_t>(num_staying);
  std::vector<SeriesStep> later(first, steps.end());
  steps.erase(first, steps.end());
  std::ranges::reverse(later);
  return later;
}

/// Whether somebody may have changed the file of a step, or added arrays to it, after `merged` was
/// written.
bool is_newer(const std::string& file, const std::string& merged) {
  std::error_code failed, also_failed;
  const auto time = fs::last_write_time(file, failed);
  return time > fs::last_write_time(merged, also_failed) || failed || also_failed;
}

// Only what surely is the step that `merged` holds, too, in a file of the same name.
void remove_single_files(const std::string& merged, const std::vector<std::string>& files) {
  const auto numbers = steps_if_any(merged);
  for (std::size_t s = 0; s < std::min(files.size(), numbers.size()); ++s) {
    if (!leads_to_file(files[s]) || steps_if_any(files[s]) != std::vector{numbers[s]}) continue;
    if (is_newer(files[s], merged)) continue;
    uninterrupted([&] { return unlink(files[s].c_str()); });
  }
}

/// What a killed attempt has left: files of steps that have been merged.
void remove_single_files(const std::vector<SeriesStep>& steps) {
  for (std::size_t at = 0; at < steps.size();) {
    const auto& merged = steps[at].merged;
    std::vector<std::string> files;
    do {
      files.push_back(steps[at++].file);
    } while (at < steps.size() && steps[at].merged == merged);
    const bool any = !merged.empty() && std::ranges::any_of(files, leads_to_file);
    if (any) remove_single_files(merged, files);
  }
}

/// The place in `steps` of the first of those that have files of their own; the others are before.
std::size_t first_single(const std::vector<SeriesStep>& steps) {
  const auto last = std::ranges::find_if(
      steps.rbegin(), steps.rend(), [](const SeriesStep& step) { return !step.merged.empty(); });
  return static_cast<std::size_t>(std::distance(last, steps.rend()));
}

/// Notes that the steps of `batch`, which follow those that have been merged, are in one file.
void mark_merged(std::vector<SeriesStep>& steps, const SeriesBatch& batch) {
  auto at = first_single(steps);
  for (const auto& file : batch.files) {
    if (at >= steps.size() || steps[at].file != file) {
      throw Error(Errc::io, fmt::format("{} is no longer the file of its step", file));
    }
    steps[at++].merged = batch.merged;
  }
}

std::string merged_folder(const std::string& path) {
  return real_path(followed_links(path) + ".merged").string();
}

/// What an attempt has left that was killed before the index listed it: files of several steps, of
/// which some are `step` or later ones, that no step of `listed` is in.
std::vector<std::string> unlisted_files(const std::string& path, std::int64_t step,
                                        const std::vector<SeriesStep>& listed) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::directory_iterator entry(merged_folder(path), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto file = entry->path().string();
    if (std::ranges::find(listed, file, &SeriesStep::merged) != listed.end()) continue;
    const auto steps = steps_if_any(file);
    if (!steps.empty() && steps.back() >= step) files.push_back(file);
  }
  return files;
}

/// Moves the files of steps that have left the index, those of `later`. `staying`: the others.
void move_later(const std::vector<SeriesStep>& later, const std::vector<SeriesStep>& staying,
                const std::string& own, BegunSeries& done) {
  std::string merged;
  for (const auto& step : later) {
    if (step.file != own && leads_to_file(step.file)) done.move(step.file);
    if (step.merged.empty() || step.merged == merged) continue;
    merged = step.merged;
    const bool is_shared = !staying.empty() && staying.back().merged == merged;
    done.move(merged, is_shared ? link_away : move_away);
  }
}

}  // namespace

void BegunSeries::move(const std::string& file,
                       void (*how)(const std::string&, const std::string&)) {
  const auto failure = failure_of([&] { how(file, folder); });
  if (failure) failed.push_back(file + ": " + failure->what());
  if (!failure) moved.push_back(file);
}

void SeriesLinks::look() {
  const auto list = list_of_series(path_);
  if (!list) throw Error(Errc::io, fmt::format("series {} no longer exists", path_), ENOENT);
  const auto folder = series_links_folder(path_, list->version);
  const auto links = numbered_links(folder, ".h5");
  num_links_ = links.empty() ? 0 : static_cast<std::size_t>(links.rbegin()->first) + 1;
  last_ = links.empty() ? "" : links.rbegin()->second;
  if (links.empty() && !list->steps.empty()) {
    last_ = relative_to(folder, folder_of(path_) + list->steps.back().file);
  }
  num_listed_ = list->steps.size();
  num_merged_ = first_single(list->steps);
  folder_ = folder;
}

void SeriesLinks::publish(const std::string& file, const std::function<void()>& commit) {
  if (!folder_) look();
  const auto folder = *folder_;
  const auto text = relative_to(folder, file);
  if (text == last_) {  // this file is written again
    commit();
    return;
  }
  const auto link = link_in(folder, static_cast<std::int64_t>(num_links_));
  try {
    make_link(text, link);
  } catch (const Error&) {
    folder_.reset();
    throw;
  }
  commit_with_link(link, commit);
  ++num_links_;
  last_ = text;
}

bool SeriesLinks::are_many() const {
  constexpr std::size_t few = 64;
  return folder_ && num_links_ >= std::max(few, num_listed_ / 16);
}

std::size_t SeriesLinks::num_single() {
  if (!folder_) look();
  return num_listed_ - num_merged_ + num_links_;
}

std::optional<SeriesBatch> SeriesLinks::next_batch(std::size_t count, std::size_t skip) {
  const auto list = list_of_series(path_);
  if (!list) throw Error(Errc::io, fmt::format("series {} no longer exists", path_), ENOENT);
  const auto steps = steps_of(path_, *list);
  const auto first = first_single(steps) + skip;
  if (steps.size() <= first + count) return std::nullopt;
  SeriesBatch batch;
  for (auto at = first; at < first + count; ++at) batch.files.push_back(steps[at].file);
  const auto folder = merged_folder(path_);
  make_folder(folder);
  const auto from = steps_if_any(batch.files.front()), to = steps_if_any(batch.files.back());
  if (from.empty() || to.empty()) {
    throw Error(Errc::corrupt, fmt::format("{} has no step", batch.files.front()));
  }
  batch.merged = fmt::format("{}/{:06d}-{:06d}.h5", folder, from.front(), to.front());
  // Of another attempt, or of one that was killed before the index listed it.
  if (leads_to_file(batch.merged)) move_away(batch.merged, folder_of(path_) + "superseded");
  return batch;
}

void SeriesLinks::move_to_list(const FileContents& contents,
                               const std::vector<SeriesBatch>& merged) {
  const auto before = list_of_series(path_);
  if (!before) throw Error(Errc::io, fmt::format("series {} no longer exists", path_), ENOENT);
  auto steps = steps_of(path_, *before);
  for (const auto& batch : merged) mark_merged(steps, batch);
  const auto list = list_of(path_, before->form, contents, std::move(steps), before->version + 1);
  folder_.reset();
  make_links_folder(path_, list.version);
  write_series_index(path_, contents, list);
  remove_old_folders(path_, list.version);
  if (merged.empty()) return;
  for (const auto& batch : outdated_) remove_single_files(batch.merged, batch.files);
  outdated_ = merged;
}

BegunSeries begin_series(const std::string& path, const std::string& file,
                         const FileContents& contents, const std::string& form) {
  BegunSeries done;
  done.folder = folder_of(path) + "superseded";
  const auto before = list_of_series(path);
  const auto own = target_of(folder_of(path), relative_to(folder_of(path), file));
  std::vector<SeriesStep> steps;
  if (before) steps = steps_of(path, *before);
  const auto unlisted = unlisted_files(path, contents.step, steps);
  const auto later = take_later(steps, contents.step);
  done.is_other = before && before->form != form;
  const auto staying = steps;
  if (done.is_other) steps.clear();
  const auto list =
      list_of(path, form, contents, std::move(steps), before ? before->version + 1 : 0);
  make_links_folder(path, list.version);
  const bool is_shown = std::ranges::any_of(
      later, [&](const SeriesStep& step) { return step.file == own && leads_to_file(own); });
  if (is_shown && !done.is_other) {
    // Until it is replaced, the file that is there is shown.
    const auto folder = series_links_folder(path, list.version);
    make_link(relative_to(folder, file), link_in(folder, 0));
  }
  write_series_index(path, contents, list);
  remove_old_folders(path, list.version);
  move_later(later, staying, own, done);
  for (const auto& one : unlisted) done.move(one);
  if (!done.is_other) remove_single_files(staying);
  flush_folder(series_folder(path));
  return done;
}

}  // namespace tailrace::store
