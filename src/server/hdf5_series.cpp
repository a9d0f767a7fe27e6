// SPDX-License-Identifier: BSD-3-Clause
#include "server/hdf5_series.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/say.hpp"
#include "server/packet.hpp"
#include "store/series_index.hpp"
#include "store/series_merge.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/whole_file.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

std::string contents_path(const std::string& path) {
  return fmt::format("{}/contents", store::series_folder(path));
}

Step saved_step(const std::string& path) {
  const auto text = read_whole_file(contents_path(path));
  return to_description(std::as_bytes(std::span(text))).step;
}

}  // namespace

void save_series_contents(const std::string& path, const FileContents& contents) {
  const auto bytes = to_bytes("", OutputOptions{}, path, 0, contents, false);
  write_whole_file(contents_path(path),
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Hdf5Series::~Hdf5Series() {
  if (!has_begun_ || has_failed_) return;
  (void)failure_of([&] {
    for (start_merge(); merge_; start_merge()) {
      merge_->outcome.wait();
      take_merged();
    }
    if (!merged_.empty()) renew_list(true);
  });
}

void Hdf5Series::publish(const std::string& path, const StepFile&,
                         const std::function<void()>& commit) {
  links_.publish(path, commit);
  if (!is_automatic_) return;
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  if (!failed) step_bytes_ = std::max(step_bytes_, static_cast<std::int64_t>(bytes));
  steps_per_file_ = static_cast<std::size_t>(automatic_steps_per_file(step_bytes_));
}

void Hdf5Series::end_step() {
  has_begun_ = true;
  if (has_failed_) return;
  const auto failure = failure_of([&] {
    take_merged();
    start_merge();
    // Files that have been merged stay until the list after the next, so that a reader that has
    // just opened the index finds them: it needs some time.
    constexpr double least_s = 2;
    const bool is_time = !merged_.empty() && now_s() - renewed_s_ >= least_s;
    if (is_time || links_.are_many()) renew_list(is_time);
  });
  if (!failure) return;
  has_failed_ = true;
  say(LogLevel::warning,
      fmt::format("series {}: it will take longer to open: {}", path_, failure->what()));
}

void Hdf5Series::renew_list(bool has_merged) {
  std::vector<Layout> layouts;
  const auto contents = contents_of(saved_step(path_), layouts);
  if (!has_merged) return links_.move_to_list(contents);
  links_.move_to_list(contents, merged_);
  merged_.clear();
  renewed_s_ = now_s();
}

/// Steps that are in files of several, of which the list does not know yet.
std::size_t Hdf5Series::num_merged() const {
  std::size_t steps = 0;
  for (const auto& batch : merged_) steps += batch.files.size();
  return steps;
}

void Hdf5Series::start_merge() {
  if (!merges() || merge_) return;
  const auto done = num_merged();
  if (links_.num_single() <= done + steps_per_file_) return;
  auto batch = links_.next_batch(steps_per_file_, done);
  if (!batch) return;
  auto promise = std::make_shared<std::promise<std::optional<Error>>>();
  merge_ = {*batch, promise->get_future()};
  worker_.post([path = path_, batch = std::move(*batch), promise] {
    promise->set_value(failure_of([&] {
      std::vector<Layout> layouts;
      store::merge_steps(batch, contents_of(saved_step(path), layouts));
    }));
  });
}

void Hdf5Series::take_merged() {
  using namespace std::chrono_literals;
  if (!merge_ || merge_->outcome.wait_for(0s) != std::future_status::ready) return;
  const auto failure = merge_->outcome.get();
  if (!failure) merged_.push_back(std::move(merge_->batch));
  merge_.reset();
  if (failure) stop_merging(*failure);
}

// Nobody has asked for files of several steps where the number is chosen here: that steps such as
// those of `file_per_rank` cannot be merged is no defect then.
void Hdf5Series::stop_merging(const Error& why) {
  const bool is_expected = is_automatic_ && why.code() == Errc::invalid_input;
  steps_per_file_ = 1;
  is_automatic_ = false;
  say(is_expected ? LogLevel::info : LogLevel::warning,
      fmt::format("series {}: from now on, steps stay in separate files: {}", path_, why.what()));
}

}  // namespace tailrace::server
