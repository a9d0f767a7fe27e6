// SPDX-License-Identifier: BSD-3-Clause
#include "common/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tailrace/comm.hpp"
#include "tailrace/log.hpp"

namespace tailrace::app {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const std::string& folder) {
  std::error_code none;  // no folder, no entries
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, none)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

bool is_checkpoint(const std::string& name) {
  return name.starts_with("checkpoint_") && (name.ends_with(".h5") || name.ends_with(".h5.pieces"));
}

/// What runs have left in a folder. Other files are the user's.
std::vector<fs::path> results_in(const RunFolderRequest& asked) {
  const std::string& folder = asked.path;
  std::set<std::string> names{"summary.json", "trace.json", "report.html"};
  names.insert(asked.results.begin(), asked.results.end());
  std::vector<fs::path> found;
  for (const auto& path : entries_of(folder)) {
    const auto name = path.filename().string();
    if (names.contains(name) || is_checkpoint(name)) found.push_back(path);
  }
  for (const auto& output : asked.output_folders) {
    if (output == folder || !output.starts_with(folder + "/")) continue;  // not of this run alone
    for (const auto& path : entries_of(output)) {
      const auto kind = path.extension();
      const bool store = kind == ".zarr" || kind == ".pieces";
      if (!fs::is_directory(path) || store) found.push_back(path);
    }
  }
  return found;
}

void erase(const fs::path& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  if (!failed) return;
  throw Error(Errc::io, fmt::format("cannot remove {}: {}", path.string(), failed.message()),
              failed.value());
}

/// "a, b and 3 more", relative to the folder.
std::string listed(const std::vector<fs::path>& paths, const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& path : paths) {
    if (names.size() < 3) names.push_back(path.lexically_relative(folder).string());
  }
  const auto more = paths.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

/// Whether nobody writes to a partial file or folder: who does holds a lock on it.
bool left_behind(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return true;
  const bool held = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(descriptor);
  return !held;
}

/// Step of a field file NAME_NNNNNN.h5.partial that was being written when its run was killed; -1
/// if `path` is none.
std::int64_t cut_off_step(const fs::path& path, const std::string& name) {
  const auto file = path.filename().string();
  if (!file.starts_with(name + "_") || path.extension() != ".partial") return -1;
  char* end = nullptr;
  const auto step = std::strtoll(file.c_str() + name.size() + 1, &end, 10);
  return std::string(end) == ".h5.partial" ? step : -1;
}

}  // namespace

std::string checkpoint_path(const std::string& folder, std::int64_t step) {
  return fmt::format("{}/checkpoint_{:06d}.h5", folder, step);
}

std::set<std::int64_t> checkpoint_steps(const std::string& folder) {
  std::set<std::int64_t> steps;
  for (const auto& path : entries_of(folder)) {
    const auto name = path.filename().string();
    if (!is_checkpoint(name)) continue;
    const auto step = std::strtoll(name.c_str() + std::string("checkpoint_").size(), nullptr, 10);
    if (fs::path(checkpoint_path(folder, step)).filename() == name) steps.insert(step);
  }
  return steps;
}

RunFolder::RunFolder(MPI_Comm comm, RunFolderRequest request)
    : comm_(comm),
      asked_(std::move(request)),
      newest_(asked_.restart == "latest" || asked_.restart == "latest_or_fresh") {
  check_mpi(MPI_Comm_rank(comm, &rank_));
  run_agreed(comm_, [&] {
    if (rank_ != 0) return;
    std::error_code failed;
    fs::create_directories(asked_.path, failed);
    if (failed) {
      throw Error(Errc::io, fmt::format("cannot make folder {}: {}", asked_.path, failed.message()),
                  failed.value());
    }
    lock();
    checkpoint_ = choose_checkpoint();
    if (checkpoint_.empty()) start_afresh();
    if (checkpoint_.empty()) remove_partials(std::numeric_limits<std::int64_t>::max());
    // A summary stands for a run that has ended: none while this one is under way.
    fs::remove(asked_.path + "/summary.json", failed);
  });
  checkpoint_ = broadcast_text(comm_, checkpoint_);
}

void RunFolder::lock() {
  constexpr double wait_s = 1;  // the run before may be about to end
  try {
    lock_ = FileLock(asked_.path + "/.lock", wait_s);
  } catch (const Error& error) {
    if (error.sys_errno() == EAGAIN) {
      throw Error(
          Errc::io,
          fmt::format("another run is using {}; wait until it ends, or give another --run-dir",
                      asked_.path),
          EAGAIN);
    }
    if (error.sys_errno() == EACCES || error.sys_errno() == EROFS) throw;
    say(LogLevel::warning,
        fmt::format("{}: two simultaneous runs in this folder would not be detected",
                    error.what()));
  }
}

/// Of the checkpoints in the folder the newest one that has all field files of earlier steps behind
/// it: a file that was cut off is written again when the run passes its step.
std::string RunFolder::choose_checkpoint() const {
  const auto& file = asked_.restart;
  if (!newest_) return file;
  const auto steps = checkpoint_steps(asked_.path);
  if (steps.empty() && file == "latest") {
    throw Error(Errc::invalid_input,
                fmt::format("restart.file = \"latest\", but {} holds no checkpoint_NNNNNN.h5; "
                            "\"latest_or_fresh\" would start a new run",
                            asked_.path));
  }
  if (steps.empty()) return "";
  auto step = *steps.rbegin();
  for (const auto& path : entries_of(asked_.path + "/fields")) {
    const auto cut_off = cut_off_step(path, asked_.case_name);
    if (cut_off < 0 || cut_off >= step) continue;
    const auto after = steps.upper_bound(cut_off);
    if (after == steps.begin()) {
      say(LogLevel::warning,
          fmt::format("the fields of step {} are incomplete and lost: there is no older checkpoint",
                      cut_off));
    } else {
      step = *std::prev(after);
    }
  }
  return checkpoint_path(asked_.path, step);
}

void RunFolder::start_afresh() const {
  const auto found = results_in(asked_);
  if (found.empty()) return;
  if (!asked_.overwrite) {
    throw Error(Errc::invalid_input,
                fmt::format("{} holds the results of a run ({}): give another --run-dir, continue "
                            "it with --set restart.file=latest, or give --overwrite to remove them",
                            asked_.path, listed(found, asked_.path)));
  }
  for (const auto& path : found) erase(path);
}

/// Field files of steps from `restart_step` on keep theirs until they are written again: if the run
/// is killed before, the next one must know of them.
void RunFolder::remove_partials(std::int64_t restart_step) const {
  auto folders = asked_.output_folders;
  folders.insert(asked_.path);
  for (const auto& folder : folders) {
    if (!(folder + "/").starts_with(asked_.path + "/")) continue;
    for (const auto& path : entries_of(folder)) {
      if (path.extension() != ".partial" || cut_off_step(path, asked_.case_name) >= restart_step)
        continue;
      if (left_behind(path)) erase(path);
    }
  }
}

void RunFolder::go_on_from(std::int64_t step) {
  run_agreed(comm_, [&] {
    if (rank_ != 0) return;
    std::vector<fs::path> later;
    for (const auto other : checkpoint_steps(asked_.path)) {
      if (other <= step) continue;
      later.emplace_back(checkpoint_path(asked_.path, other));
    }
    remove_partials(step);
    if (later.empty() || newest_) return;
    if (!asked_.overwrite) {
      throw Error(
          Errc::invalid_input,
          fmt::format("{} holds checkpoints later than step {}, from which this run would "
                      "continue ({}): give another --run-dir, or --overwrite to remove them",
                      asked_.path, step, listed(later, asked_.path)));
    }
    for (const auto& path : later) {
      erase(path);
      erase(path.string() + ".pieces");
    }
  });
}

}  // namespace tailrace::app
