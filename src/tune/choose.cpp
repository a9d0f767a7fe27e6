// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "chooser/memory.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/more/tune.hpp"
#include "tune/core_wait.hpp"
#include "tune/memory.hpp"

namespace tailrace::tune {

namespace {

/// The same settings for all: those of rank 0. Only rank 0 needs the name of the file.
Settings agree_on(const Comm& comm, Settings settings) {
  struct {
    double budget_s;
    std::ptrdiff_t memory_bytes;
    int mode;
  } packed{settings.budget_s, settings.memory_bytes, static_cast<int>(settings.mode)};
  check_mpi(MPI_Bcast(&packed, sizeof packed, MPI_BYTE, 0, comm.raw()));
  settings.budget_s = packed.budget_s;
  settings.memory_bytes = packed.memory_bytes;
  settings.mode = static_cast<Mode>(packed.mode);
  return settings;
}

/// How many ranks of this communicator are where, and how oversubscribed the nodes are by the whole
/// job.
std::string describe_places(const Comm& comm, const WaitFacts& facts) {
  const std::string crowd = fmt::format("{} ranks on {} cores", facts.ranks_on_node, facts.cores);
  return fmt::format("{}; {}", NodeMap(comm).describe(), crowd);
}

/// The winner that is remembered for what `wanted` names, if `candidates` still has it.
std::optional<Remembered> find(const Comm& comm, const std::string& file, const Remembered& wanted,
                               std::span<const Candidate> candidates) {
  std::string text;
  if (comm.rank() == 0) {
    const auto entries = recall(file);
    for (const Remembered& entry : *entries) {
      const bool known =
          std::ranges::find(candidates, entry.winner, &Candidate::name) != candidates.end();
      if (known && same_problem(entry, wanted)) text = to_text(entry);
    }
  }
  text = broadcast_text(comm.raw(), std::move(text));
  if (text.empty()) return std::nullopt;
  return from_text(text);
}

/// A file that cannot be written costs only the measuring next time.
void try_to_remember(const std::string& file, const Remembered& winner) {
  if (file.empty()) return;
  try {
    remember(file, std::span(&winner, 1));
  } catch (const Error& error) {
    static const bool once =
        (say(LogLevel::warning,
             fmt::format("measured results cannot be stored: {} (TAILRACE_TUNE_FILE names "
                         "another file, \"\" none)",
                         error.what())),
         true);
    static_cast<void>(once);
  }
}

/// True if what is remembered is doubtful and all ranks have their cores now.
bool can_do_better(const Comm& comm, const Remembered& found, const WaitFacts& facts) {
  constexpr int most_looks = 4;  // of a process
  static int looks = 0;
  int look = 0;
  const bool has_core = facts.ranks_on_node <= facts.cores;
  if (comm.rank() == 0 && has_core && looks < most_looks && is_doubtful(found)) look = ++looks;
  check_mpi(MPI_Bcast(&look, 1, MPI_INT, 0, comm.raw()));
  return look != 0 && !disturbs(look_at_core_wait(comm, facts));
}

bool too_large(const Comm& comm, std::ptrdiff_t bytes, std::ptrdiff_t limit) {
  return largest_on_all(comm, bytes) > limit;
}

Choice choice_of(const Remembered& found) {
  Choice choice;
  choice.name = found.winner;
  choice.why = fmt::format("remembered since {}: {}", found.date.substr(0, 10), found.why);
  choice.timings = found.timings;
  choice.null_spread = found.null_spread;
  return choice;
}

Choice fallback(const Problem& problem, const char* reason) {
  Choice choice;
  choice.name = problem.fallback;
  choice.why = fmt::format("{} ({})", problem.fallback_why, reason);
  return choice;
}

}  // namespace

Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates,
              const Settings& settings) {
  const Settings agreed = agree_on(comm, settings);
  if (agreed.mode == Mode::off) return fallback(problem, "tuning is off");
  const WaitFacts facts = find_wait_facts(comm);
  if (facts.simulated) return fallback(problem, "no tuning under a simulator");

  Remembered wanted;
  wanted.operation = problem.operation;
  wanted.key = problem.key;
  wanted.places = describe_places(comm, facts);
  wanted.machine = this_machine();
  const auto found = find(comm, agreed.file, wanted, candidates);
  const bool large =
      agreed.mode == Mode::first_use && too_large(comm, problem.memory_bytes, agreed.memory_bytes);
  const bool again =
      found && agreed.mode == Mode::first_use && !large && can_do_better(comm, *found, facts);
  if (found && !again) return choice_of(*found);
  if (agreed.mode == Mode::remembered) return fallback(problem, "not measured here yet");
  if (large) return fallback(problem, "measuring takes more memory than TAILRACE_TUNE_MEMORY");
  const CoreWait wait(facts);
  Choice choice;
  try {
    choice = measure(comm, candidates, agreed, problem.fallback);
  } catch (const AgreedError& error) {  // no memory to try them, say
    if (error.code() == Errc::invalid_input) throw;
    return found ? choice_of(*found) : fallback(problem, "none could be measured");
  }
  wanted.waited = wait.share(comm);
  if (found && disturbs(wanted.waited)) {
    wanted = *found;
    ++wanted.repeats;
    choice = choice_of(*found);
  } else {
    wanted.winner = choice.name;
    wanted.why = choice.why;
    wanted.date = chooser::date_text();
    wanted.null_spread = choice.null_spread;
    wanted.timings = choice.timings;
  }
  if (comm.rank() == 0) try_to_remember(agreed.file, wanted);
  return choice;
}

Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates) {
  Settings settings;
  run_agreed(comm.raw(), [&] { settings = Settings::from_environment(); });
  return choose(comm, problem, candidates, settings);
}

}  // namespace tailrace::tune
