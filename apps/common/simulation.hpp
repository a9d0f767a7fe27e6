// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/case_text.hpp"
#include "common/command_line.hpp"
#include "common/output_case.hpp"
#include "common/output_cost.hpp"
#include "common/progress.hpp"
#include "common/run_folder.hpp"
#include "common/stop_signal.hpp"
#include "tailrace/log.hpp"
#include "tailrace/session.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::app {

/// What a run has around it.
struct RunSetting {
  const RunRequest& request;
  const std::string& folder;
  RunFolder& results;  ///< in that folder
  Session& session;
  Log& log;  ///< takes what is not a table
  Trace& trace;
};

/// A run of an application, on the ranks that compute.
class Simulation {
 public:
  virtual ~Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  /// The time loop, from the present state to the end or a signal. Collective, blocking.
  virtual void advance() = 0;
  /// What follows it: the summary. Collective, blocking.
  virtual void conclude() = 0;

 protected:
  /// A run until `end` or step `max_steps` (0 = no limit). Collective, blocking.
  Simulation(const Comm& comm, const RunSetting& setting, double end, std::int64_t max_steps);

  void note_step(double spent_s);
  double mean_step_s() const;  ///< of all steps that were noted
  /// Seconds of output that people are told are hidden; NAN where this output hides nothing.
  double told_hidden_s(const OutputCase& output, double hidden_s) const;
  /// Why the run ended after `step`: a signal, "max_steps" or `otherwise`.
  std::string stopped_by(std::int64_t step, std::string otherwise) const;
  /// Tells people how the run ended: at `time`, with its unit.
  void say_end(std::int64_t step, const std::string& time, const std::string& last_checkpoint);

  const Comm& comm_;
  const Session& session_;
  Log& log_;
  std::string folder_;
  Trace& trace_;
  StopSignal stop_;
  Progress progress_;
  int signal_ = 0;              ///< that ended the time loop
  double wall_s_ = 0;           ///< of the time loop, with all output
  std::vector<double> step_s_;  ///< of the first steps
  OutputCost output_cost_;

 private:
  std::int64_t max_steps_, num_steps_ = 0;
  double all_steps_s_ = 0;
};

/// A case, as far as it is the same for all applications.
struct CaseOfRun {
  const char* program;
  const std::string &name, &source;  ///< of the field files; path of the case file
  const std::string& restart;        ///< `restart.file`
  const OutputCase& output;
  std::int64_t spans;                     ///< of the trace; 0: no trace
  std::vector<std::string> results;       ///< names of the files of a run, beside checkpoints
  std::string text;                       ///< the whole case as TOML, for RUN/case.toml
  StageFunctions functions = {};          ///< that products of streams call
  std::vector<std::string> folders = {};  ///< in RUN, of files beside those of the fields
};

/// The same from an application's `Case`, which outlives it.
template <class Case>
CaseOfRun case_of_run(const char* program, const Case& values, std::vector<std::string> results) {
  return {program,
          values.about.name,
          values.source,
          values.restart.file,
          values.output,
          values.trace.spans,
          std::move(results),
          format_case(values),
          {},
          {}};
}

/// Makes session, log, folder and trace, then the simulation by `make`, and runs it: on the ranks
/// that compute, while the others serve. `check` throws before anything is written if the ranks
/// that compute cannot run the case. Returns the exit code, on which all ranks agree: if the
/// computation has failed, the servers do not go on without it. Throws on all ranks. Collective,
/// blocking.
int run_simulation(
    const Comm& comm, const RunRequest& request, const CaseOfRun& values,
    const std::function<void(const Comm&)>& check,
    const std::function<std::unique_ptr<Simulation>(const Comm&, const RunSetting&)>& make);

}  // namespace tailrace::app
