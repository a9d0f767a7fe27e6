// SPDX-License-Identifier: BSD-3-Clause
// What is kept of all communicators, as their attributes; the start, and the line at the end.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "collectives/budget.hpp"
#include "collectives/program_comm.hpp"
#include "common/mpi_start.hpp"

namespace tailrace::plugins {

constinit thread_local std::array<LastComm, 1 << num_last_bits> last_comms{};
constinit std::atomic<std::uint64_t> num_freed{0};

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<ProgramComm>> comms;
  Tally gone;  // of communicators that were freed
};

// Never destroyed: communicators may be freed when the program's own objects are gone.
Registry& registry() {
  static Registry& one = *new Registry;
  return one;
}

Mode chosen = Mode::measured;
bool started = false;
bool ending = false;
int keyval = MPI_KEYVAL_INVALID;

int forget(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  num_freed.fetch_add(1);
  auto* theirs = static_cast<ProgramComm*>(value);
  Registry& all = registry();
  std::unique_ptr<ProgramComm> own;
  {
    const std::lock_guard lock(all.mutex);
    for (auto& one : all.comms) {
      if (one.get() != theirs) continue;
      own = std::move(one);
      one = std::move(all.comms.back());
      all.comms.pop_back();
      break;
    }
    all.gone.add(theirs->tally());
  }
  if (own) own->let_go(ending);
  return MPI_SUCCESS;
}

std::string text_of(const Tally& tally) {
  std::uint64_t seen = 0;
  std::uint64_t taken = 0;
  std::string by_call;
  for (std::size_t i = 0; i < tally.seen.size(); ++i) {
    seen += tally.seen[i];
    taken += tally.taken[i];
    if (tally.taken[i] == 0) continue;
    by_call += fmt::format("{}{} {}", by_call.empty() ? " (" : ", ", call_names[i], tally.taken[i]);
  }
  if (taken > 0) by_call += fmt::format("), {:.3g} s gained as measured", tally.gained_s);
  std::string left;
  for (std::size_t i = 1; i < tally.refused.size(); ++i) {
    if (tally.refused[i] == 0) continue;
    left += fmt::format("{}{} {}", left.empty() ? ": " : ", ", reason_texts[i], tally.refused[i]);
  }
  return fmt::format("{} calls seen, {} taken{}, {} left to MPI{}", seen, taken, by_call,
                     seen - taken, left);
}

// MPI_COMM_SELF's attributes are deleted by MPI_Finalize, in any language, before all else.
int end(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  ending = true;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* wanted = environment("TAILRACE_REPORT", "TAILRACE_COLLECTIVES_REPORT");
  if (rank != 0 || (wanted != nullptr && std::strcmp(wanted, "0") == 0)) return MPI_SUCCESS;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Tally total = all.gone;
  for (const auto& theirs : all.comms) total.add(theirs->tally());
  std::fprintf(stderr, "tailrace collectives: rank 0: %s\n", text_of(total).c_str());
  return MPI_SUCCESS;
}

}  // namespace

Mode mode() { return chosen; }

void only_sessions() { say_only_sessions("collectives", "taking collective calls"); }

// Rank 0 decides for all.
void mpi_started() {
  if (started) return;
  const Inside inside;
  start_budget();
  const char* text = environment("TAILRACE_COLLECTIVES");
  const std::string word = text == nullptr ? "" : text;
  int told = word == "node" ? 1 : word == "mpi" ? 2 : 0;
  if (told == 0 && !word.empty() && word != "measured") told = 3;
  if (PMPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (told == 3 && rank == 0) {
    std::fprintf(stderr,
                 "tailrace collectives: TAILRACE_COLLECTIVES is '%s': expected measured, node or "
                 "mpi; using measured\n",
                 word.c_str());
  }
  chosen = told == 1 ? Mode::ours : told == 2 ? Mode::mpi : Mode::measured;
  int at_end = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &at_end, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, nullptr);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr);
  started = true;
}

ProgramComm* find_program_comm(MPI_Comm comm) {
  if (!started || ending || comm == MPI_COMM_NULL) return nullptr;
  const std::uint64_t freed = num_freed.load(std::memory_order_acquire);
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval, &value, &found) != MPI_SUCCESS) return nullptr;
  if (found == 0) {
    auto made = std::make_unique<ProgramComm>(comm);
    value = made.get();
    Registry& all = registry();
    {
      const std::lock_guard lock(all.mutex);
      all.comms.push_back(std::move(made));
    }
    if (PMPI_Comm_set_attr(comm, keyval, value) != MPI_SUCCESS) return nullptr;
  }
  last_comm(comm) = {comm, static_cast<ProgramComm*>(value), freed};
  return static_cast<ProgramComm*>(value);
}

}  // namespace tailrace::plugins
