// SPDX-License-Identifier: BSD-3-Clause
// The open files and the groups of ranks that have any; the start, and the line at the end.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "common/mpi_start.hpp"
#include "io/hidden_file.hpp"
#include "io/open_file.hpp"
#include "io/posix_files.hpp"
#include "tailrace/log.hpp"
#include "tailrace/more/launched_alone.hpp"

namespace tailrace::plugins {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<OpenFile>> files;
  // Kept to the end: programs open a file a step, and what these hold takes long to make.
  std::vector<std::shared_ptr<Ranks>> ranks;
  FileTally closed;
};

// Never destroyed: MPI ends before this library does.
Registry& registry() {
  static Registry& one = *new Registry;
  return one;
}

FileMode chosen = FileMode::measured;
bool started = false;
bool ended = false;  // MPI

std::string hidden_text_of(const FileTally& tally) {
  std::string text =
      fmt::format(", {} writes hidden behind the computation ({:.1f} MB; {} of them independent)",
                  tally.hidden, static_cast<double>(tally.hidden_bytes) / 1e6, tally.alone);
  if (tally.through > 0) {
    text += fmt::format(", {} written at once ({:.1f} MB)", tally.through,
                        static_cast<double>(tally.through_bytes) / 1e6);
  }
  if (tally.later > 0)
    text += fmt::format(", {} files closed before they were complete", tally.later);
  return text + fmt::format(
                    "; waited {:.3g} s for memory, {:.3g} s for overlapping writes, {:.3g} s at "
                    "{} reads of data not yet written, {:.3g} s at syncs, closes and other "
                    "calls, {:.3g} s for files closed earlier",
                    tally.room_s, tally.order_s, tally.flush_s, tally.flushes, tally.settling_s,
                    hidden_files().waited_s());
}

std::string text_of(const FileTally& tally) {
  std::string text =
      fmt::format("{} collective reads and writes seen", tally.seen[0] + tally.seen[1]);
  const char* names[] = {"reads", "writes"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (tally.taken[i] == 0) continue;
    text += fmt::format(", {} {} taken ({:.1f} MB)", tally.taken[i], names[i],
                        static_cast<double>(tally.bytes[i]) / 1e6);
  }
  if (chosen == FileMode::hidden) text += hidden_text_of(tally);
  std::uint64_t refused = 0;
  std::string reasons;
  for (std::size_t i = 1; i < tally.refused.size(); ++i) {
    if (tally.refused[i] == 0) continue;
    refused += tally.refused[i];
    reasons +=
        fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", refusal_texts[i], tally.refused[i]);
  }
  return text + fmt::format(", {} left to MPI{}", refused, reasons);
}

// What programs leave open. Of files of several nodes no thread can tell when they are whole.
// Collective over MPI_COMM_WORLD if `is_together`. Blocking.
void leave_all(bool is_together) {
  HiddenFiles& hidden = hidden_files();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<HiddenFile*> on_nodes;
  for (const auto& file : all.files) {
    HiddenFile* const own = file->hidden();
    if (own == nullptr) continue;
    if (own->spans_nodes()) {
      own->settle();
      on_nodes.push_back(own);
    } else {
      file->leave();
    }
  }
  if (!is_together) {
    hidden.drain();
    return;
  }
  hidden.finish();
  int failed = hidden.has_failed() ? 1 : 0;
  for (const HiddenFile* file : on_nodes) {
    if (file->failure().error != 0) failed = 1;
  }
  PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failed != 0) hidden.set_failed();
  for (HiddenFile* file : on_nodes) {
    if (failed == 0) file->publish();
  }
}

// A failure that no call of the program returned is the status of the process.
__attribute__((destructor)) void at_exit() {
  const bool has_failed = leave_posix();
  if (!has_failed && (chosen != FileMode::hidden || !hidden_files().is_started())) return;
  if (chosen == FileMode::hidden && !ended) leave_all(false);
  if (!hidden_files().has_failed()) return;
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

// MPI_COMM_SELF's attributes are deleted by MPI_Finalize, in any language, before all else.
int end(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  if (chosen == FileMode::hidden && hidden_files().is_started()) {
    leave_all(true);
    ended = true;
  }
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* wanted = environment("TAILRACE_REPORT", "TAILRACE_IO_REPORT");
  if (rank != 0 || (wanted != nullptr && std::strcmp(wanted, "0") == 0)) return MPI_SUCCESS;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  FileTally total = all.closed;
  for (const auto& file : all.files) total.add(file->tally());
  std::fprintf(stderr, "tailrace io: rank 0: %s\n", text_of(total).c_str());
  return MPI_SUCCESS;
}

bool same_ranks(MPI_Group group, MPI_Group other) {
  int result = MPI_UNEQUAL;
  PMPI_Group_compare(group, other, &result);
  return result == MPI_IDENT;
}

}  // namespace

FileMode file_mode() { return chosen; }

bool is_before_mpi() { return !started && tailrace::detail::variable_of_several() != nullptr; }

void only_sessions() { say_only_sessions("io", "taking MPI-IO"); }

// Rank 0 decides for all.
void mpi_started() {
  if (started) return;
  const char* text = environment("TAILRACE_IO");
  constexpr std::array<std::string_view, 7> words{"measured", "ours",    "mpi",  "hidden",
                                                  "memory",   "through", "fsync"};
  report_ignored("TAILRACE_IO", unknown_word(text, words),
                 "measured, ours, mpi or hidden, and memory=BYTES, through, fsync; using measured");
  int told = 0;
  for (int mode = 1; mode < 4; ++mode) {
    if (value_of_word(text, words[static_cast<std::size_t>(mode)])) told = mode;
  }
  if (PMPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  chosen = static_cast<FileMode>(told);
  if (chosen == FileMode::hidden) {
    HiddenOptions options = hidden_options();
    // Rank 0's, whose environment a launcher may pass to no other rank.
    PMPI_Bcast(&options, sizeof options, MPI_BYTE, 0, MPI_COMM_WORLD);
    hidden_files().start(options);
  }
  int at_end = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &at_end, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, nullptr);
  started = true;
}

std::shared_ptr<Ranks> ranks_of(MPI_Comm comm) {
  Registry& all = registry();
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  std::shared_ptr<Ranks> found;
  {
    const std::lock_guard lock(all.mutex);
    for (const auto& one : all.ranks) {
      if (same_ranks(one->group, group)) found = one;
    }
  }
  PMPI_Group_free(&group);
  if (found) return found;
  found = std::make_shared<Ranks>(comm);
  const std::lock_guard lock(all.mutex);
  all.ranks.push_back(found);
  return found;
}

OpenFile* open_file(MPI_File file) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& one : all.files) {
    if (one->file() == file) return one.get();
  }
  return nullptr;
}

Opening opening(MPI_Comm comm, const std::string& path, int mode) {
  if (!started || chosen != FileMode::hidden || !hidden_files().is_started() ||
      !is_of_this_world(comm)) {
    return {};
  }
  return hidden_files().open(comm, path, mode);
}

void opened(MPI_Comm comm, const std::string& path, int mode, MPI_Info info, MPI_File file,
            const Opening& how) {
  int num_ranks = 1;
  PMPI_Comm_size(comm, &num_ranks);
  const bool hides = chosen == FileMode::hidden && hidden_files().is_started();
  if (!started || (num_ranks == 1 && !hides) || !is_of_this_world(comm)) return;
  try {
    auto made = std::make_unique<OpenFile>(comm, path, mode, file, info, how);
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.files.push_back(std::move(made));
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
    give_name(how);
  }
}

std::unique_ptr<OpenFile> closing(MPI_File file) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::unique_ptr<OpenFile> own;
  for (auto& one : all.files) {
    if (one->file() != file) continue;
    own = std::move(one);
    one = std::move(all.files.back());
    all.files.pop_back();
    break;
  }
  return own;
}

void add_closed(const FileTally& tally) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.closed.add(tally);
}

}  // namespace tailrace::plugins
