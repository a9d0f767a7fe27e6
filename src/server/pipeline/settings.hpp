// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/pipeline/pipeline.hpp"

namespace tailrace::server {

/// Reads the settings of a stage one by one. Everything throws `Errc::invalid_input` naming stage,
/// key, value and what would be right. Local.
class SettingsReader {
 public:
  SettingsReader(const char* stage, const StageSettings& settings)
      : stage_(stage), settings_(settings) {}

  std::string text(const char* key, const std::string& otherwise);
  std::string required(const char* key);
  /// One of `allowed`.
  std::string word(const char* key, const std::string& otherwise,
                   const std::vector<std::string>& allowed);
  /// Words between commas, each one of `allowed` (any if that is empty).
  std::vector<std::string> words(const char* key, const std::string& otherwise,
                                 const std::vector<std::string>& allowed);
  std::int64_t number(const char* key, std::int64_t otherwise, std::int64_t least,
                      std::int64_t most = INT64_MAX);
  double real(const char* key, double otherwise);
  /// Numbers between commas; none if the key is not given.
  std::vector<double> reals(const char* key);
  bool yes(const char* key, bool otherwise);
  bool has(const char* key) { return find(key) != nullptr; }
  /// After all keys have been asked for: a setting that nobody asked for is unknown.
  void finish() const;

 private:
  const std::string* find(const char* key);
  [[noreturn]] void refuse(const char* key, const std::string& value,
                           const std::string& right) const;
  double to_real(const char* key, const std::string& value) const;

  const char* stage_;
  const StageSettings& settings_;
  std::vector<std::string> known_;
};

/// `text` cut at commas.
std::vector<std::string> split_list(const std::string& text);

/// "NAME key=value key="a b" ..." in its parts. Throws `Errc::invalid_input`. Local.
struct StageText {
  std::string name;
  StageSettings settings;
};
StageText parse_stage(const std::string& text);

// The makers of all stages, one file each; stage_table.cpp lists them.
using MadeStage = std::unique_ptr<Stage>;
MadeStage make_sum(const StageSettings& settings);
MadeStage make_mean(const StageSettings& settings);
MadeStage make_minmax(const StageSettings& settings);
MadeStage make_variance(const StageSettings& settings);
MadeStage make_weighted(const StageSettings& settings);
MadeStage make_arrival(const StageSettings& settings);
MadeStage make_time(const StageSettings& settings);
MadeStage make_spectrum(const StageSettings& settings);
MadeStage make_histogram(const StageSettings& settings);
MadeStage make_ensemble(const StageSettings& settings);
MadeStage make_call(const StageSettings& settings);
MadeStage make_python(const StageSettings& settings);
MadeStage make_results(const StageSettings& settings);
MadeStage make_tasks(const StageSettings& settings);
MadeStage make_convert(const StageSettings& settings);
MadeStage make_coarsen(const StageSettings& settings);
MadeStage make_slice(const StageSettings& settings);
MadeStage make_transpose(const StageSettings& settings);
MadeStage make_compress(const StageSettings& settings);

}  // namespace tailrace::server
