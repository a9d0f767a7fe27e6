// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/worker.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/series_writer.hpp"
#include "server/step.hpp"
#include "server/write_step.hpp"
#include "tailrace/more/output_options.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace {
class Trace;
}

namespace tailrace::server {

/// A step at work on a member of the group that writes it.
struct StepJob {
  virtual ~StepJob() = default;
  const OutputOptions* options = nullptr;  ///< live as long as the job
  Group* products = nullptr;               ///< of those that make its products
  Group* files = nullptr;                  ///< the same members
  std::vector<StepOutput> outputs;         ///< of its variables; products add theirs
  Step step;                               ///< with its parts, if it has products
  Outcome outcome;
  double cpu_s = 0;  ///< processor time of its products and files on this member
};

/// What becomes of the steps of a stream, whoever writes it: products are made, then files are
/// written. In the background two threads do that, each one step after another, so that products of
/// a step are made while the files of the step before are written.
class StepLoop {
 public:
  struct Setting {
    StageFunctions functions = {};  ///< that products may call
    int threads = 1;                ///< for products and compression
    Trace* trace = nullptr;         ///< not owned
    bool in_background = true;      ///< else `start` does it all
  };
  explicit StepLoop(Setting setting) : setting_(std::move(setting)) {}
  /// Has `job` done, which becomes `ended`, told by the thread that does it. All members start the
  /// same jobs in the same order. Collective over the groups; blocking if not in the background.
  void start(const std::shared_ptr<StepJob>& job, std::function<void()> ended);
  /// How the files of `job` are written; the first says what is to be said about the hints. Local.
  FileSettings file_settings(const StepJob& job);

 private:
  void make_products(StepJob& job);
  void write(StepJob& job);

  Setting setting_;
  std::optional<Pipeline> pipeline_;
  std::unique_ptr<SeriesWriter> series_;  // of the thread that writes
  std::atomic<bool> said_ = false;
  Worker products_, files_;  // end before what they use
};

}  // namespace tailrace::server
