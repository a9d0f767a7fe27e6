// SPDX-License-Identifier: BSD-3-Clause
#include "server/step_loop.hpp"

#include <utility>

#include "core/say.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

/// Adds the processor time of its thread, while it lives, to that of a job.
class JobCpuTime {
 public:
  explicit JobCpuTime(StepJob& job) : job_(job) {}
  ~JobCpuTime() { job_.cpu_s += cpu_s_of_thread() - start_s_; }
  JobCpuTime(const JobCpuTime&) = delete;
  JobCpuTime& operator=(const JobCpuTime&) = delete;

 private:
  StepJob& job_;
  double start_s_ = cpu_s_of_thread();
};

}  // namespace

void StepLoop::start(const std::shared_ptr<StepJob>& job, std::function<void()> ended) {
  const bool has_products = !job->options->products.empty();
  if (!setting_.in_background) {
    if (has_products) make_products(*job);
    write(*job);
    ended();
    return;
  }
  auto then_write = [this, job, ended = std::move(ended)] {
    write(*job);
    ended();
  };
  if (!has_products) {
    files_.post(std::move(then_write));
    return;
  }
  products_.post([this, job, then_write = std::move(then_write)] {
    make_products(*job);
    files_.post(then_write);
  });
}

FileSettings StepLoop::file_settings(const StepJob& job) {
  const bool says = job.files->rank() == 0 && !said_.exchange(true);
  FileSettings settings{*job.options, setting_.threads, says};
  settings.output.trace = setting_.trace;
  return settings;
}

// Products are made by all members together.
void StepLoop::make_products(StepJob& job) {
  const JobCpuTime counted(job);
  std::vector<Pipeline::Result> results;
  std::vector<Pipeline::Failure> failures;
  const auto failure = failure_of([&] {
    if (!pipeline_) pipeline_.emplace(job.options->products, setting_.functions);
    const Span span(setting_.trace, Activity::compute, "products", 1);
    pipeline_->run(job.step, *job.products, setting_.threads, results, failures);
  });
  if (failure) job.outcome.add_failure(*failure);
  for (const auto& product : failures) job.outcome.add_failure(product.error);
  for (auto& result : results) {
    job.outputs.push_back(output_of(std::move(result), file_settings(job), *job.files));
  }
}

// What nobody will ask about must not go unseen.
void StepLoop::write(StepJob& job) {
  const JobCpuTime counted(job);
  if (!series_ && !job.options->series.empty()) {
    series_ = make_series_writer(parse_series(job.options->series));
  }
  job.outcome.add(write_files(job.outputs, *job.options, *job.files, series_.get()));
  job.outputs.clear();
  if (job.files->rank() != 0) return;
  if (series_) series_->end_step();
  const auto& outcome = job.outcome;
  if (outcome.failure && job.options->on_failure == OnFailure::proceed) {
    say(LogLevel::error, outcome.failure->what());
  }
  if (!outcome.instead.empty()) say(LogLevel::warning, outcome.instead);
}

}  // namespace tailrace::server
