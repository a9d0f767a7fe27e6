// SPDX-License-Identifier: BSD-3-Clause
// The open files and the groups of ranks that have any; the start, and the line at the end.
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
#include "io/open_file.hpp"
#include "tailrace/log.hpp"
#include "tailrace/more/hints.hpp"

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

std::string text_of(const FileTally& tally) {
  std::string text =
      fmt::format("{} collective reads and writes seen", tally.seen[0] + tally.seen[1]);
  const char* names[] = {"reads", "writes"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (tally.taken[i] == 0) continue;
    text += fmt::format(", {} {} taken ({:.1f} MB)", tally.taken[i], names[i],
                        static_cast<double>(tally.bytes[i]) / 1e6);
  }
  if (tally.hidden > 0) {
    text += fmt::format(", {} hidden behind the computation ({:.3g} s waited for them)",
                        tally.hidden, tally.settling_s);
  }
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

// What programs leave open.
void settle_all() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& file : all.files) {
    if (file->settle() != MPI_SUCCESS)
      say(LogLevel::warning, "tailrace io: hidden writes of a file that was not closed failed");
  }
}
__attribute__((destructor)) void at_exit() {
  if (chosen == FileMode::hidden) settle_all();
}

// MPI_COMM_SELF's attributes are deleted by MPI_Finalize, in any language, before all else.
int end(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  settle_all();
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

std::int64_t most_hidden_bytes() {
  constexpr std::int64_t usual = 256 << 20;
  std::string text(value_of_word(environment("TAILRACE_IO"), "memory").value_or(""));
  const char* const old =
      renamed_environment("TAILRACE_IO_MEMORY", "TAILRACE_IO=hidden,memory=BYTES");
  if (text.empty() && old != nullptr) text = old;
  if (text.empty()) return usual;
  try {
    return parse_bytes(text, "TAILRACE_IO=hidden,memory=BYTES");
  } catch (const Error& error) {
    say(LogLevel::warning, error.what());
    return usual;
  }
}

void only_sessions() { say_only_sessions("io", "taking MPI-IO"); }

// Rank 0 decides for all.
void mpi_started() {
  if (started) return;
  const char* text = environment("TAILRACE_IO");
  constexpr std::array<std::string_view, 5> words{"measured", "ours", "mpi", "hidden", "memory"};
  report_ignored("TAILRACE_IO", unknown_word(text, words),
                 "measured, ours, mpi or hidden, and memory=BYTES; measured is taken");
  int told = 0;
  for (int mode = 1; mode < 4; ++mode) {
    if (value_of_word(text, words[static_cast<std::size_t>(mode)])) told = mode;
  }
  if (PMPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  chosen = static_cast<FileMode>(told);
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

int settle(MPI_File file) {
  OpenFile* const own = chosen == FileMode::hidden ? open_file(file) : nullptr;
  return own != nullptr ? own->settle() : MPI_SUCCESS;
}

void opened(MPI_Comm comm, const std::string& path, int mode, MPI_Info info, MPI_File file) {
  int num_ranks = 1;
  PMPI_Comm_size(comm, &num_ranks);
  if (!started || num_ranks == 1 || !is_of_this_world(comm)) return;
  try {
    auto made = std::make_unique<OpenFile>(comm, path, mode, file, info);
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.files.push_back(std::move(made));
  } catch (const std::exception& error) {
    say(LogLevel::warning, error.what());
  }
}

int closing(MPI_File file) {
  Registry& all = registry();
  std::unique_ptr<OpenFile> own;
  {
    const std::lock_guard lock(all.mutex);
    for (auto& one : all.files) {
      if (one->file() != file) continue;
      own = std::move(one);
      one = std::move(all.files.back());
      all.files.pop_back();
      all.closed.add(own->tally());
      break;
    }
  }
  return own ? own->close() : MPI_SUCCESS;
}

}  // namespace tailrace::plugins
