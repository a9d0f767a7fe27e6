// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/tune.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "objects.hpp"
#include "tailrace/c/tune.h"

namespace tailrace::c {

namespace {

/// A candidate of C, run by the tuner.
class CTrial : public tune::Trial {
 public:
  explicit CTrial(const tailrace_candidate& candidate) : candidate_(candidate) {}
  void run() override {
    const int returned = candidate_.run(candidate_.user);
    if (returned != 0) {
      throw Error(Errc::invalid_input,
                  fmt::format("candidate {} returned {}", candidate_.name, returned));
    }
  }
  std::uint64_t checksum() override {
    return candidate_.checksum != nullptr ? candidate_.checksum(candidate_.user) : 0;
  }

 private:
  tailrace_candidate candidate_;
};

std::vector<tune::Candidate> candidates_of(const tailrace_candidate* given, int count) {
  std::vector<tune::Candidate> all;
  for (const auto& candidate : list(given, count, "candidates")) {
    require(candidate.run != nullptr, "run of a candidate is NULL");
    all.push_back({text(candidate.name, "name of a candidate"),
                   [candidate] { return std::make_unique<CTrial>(candidate); }});
  }
  require(!all.empty(), "there must be a candidate");
  return all;
}

tune::Settings settings_of(const tailrace_tune_settings* given) {
  if (given == nullptr) return tune::Settings::from_environment();
  tune::Settings settings;
  settings.mode = enumerator<tune::Mode>(given->mode, 3, "mode");
  settings.file = text_or(given->file, "");
  settings.budget_s = given->budget_s;
  settings.memory_bytes = given->memory_bytes;
  require(settings.budget_s >= 0, "budget_s must not be negative");  // nor NaN
  require(settings.memory_bytes >= 0, "memory_bytes of the settings must not be negative");
  return settings;
}

std::string tune_choose(Ref<tailrace_comm> ranks, const tailrace_tune_problem* problem,
                        int num_candidates, const tailrace_candidate* candidates,
                        const tailrace_tune_settings* settings, int* chosen) {
  tune::Problem wanted;
  tune::Settings limits;
  std::vector<tune::Candidate> all;
  prepare_together(*ranks, [&] {
    require_address(problem, "problem");
    require_address(chosen, "chosen");
    wanted.operation = text(problem->operation, "operation");
    wanted.key = text(problem->key, "key");
    wanted.fallback = text(problem->fallback, "fallback");
    wanted.fallback_why = "named by the program";
    wanted.memory_bytes = problem->memory_bytes;
    require(wanted.memory_bytes >= 0, "memory_bytes of the problem must not be negative");
    limits = settings_of(settings);
    all = candidates_of(candidates, num_candidates);
    const auto is_fallback = [&](const auto& one) { return one.name == wanted.fallback; };
    require(std::ranges::any_of(all, is_fallback), "fallback must be the name of a candidate");
  });
  const auto choice = tune::choose(*ranks, wanted, all, limits);
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (all[c].name == choice.name) *chosen = static_cast<int>(c);
  }
  return choice.why;
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

tailrace_tune_settings tailrace_tune_defaults(void) {
  const tune::Settings settings;
  return {.mode = TAILRACE_TUNE_FIRST_USE,
          .file = "",
          .budget_s = settings.budget_s,
          .memory_bytes = settings.memory_bytes};
}

#include "calls/tune.inc"
