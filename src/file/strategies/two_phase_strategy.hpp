// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "file/strategies/two_phase.hpp"
#include "file/strategy.hpp"

namespace tailrace::file {

/// What `spokesperson`, `collective` and `grouped` have in common: they differ in who writes.
/// Only writers open the file.
class TwoPhaseStrategy : public Strategy {
 public:
  /// Collective, blocking. Throws on all ranks if the file cannot be made.
  TwoPhaseStrategy(const StrategyRequest& request, TwoPhase& engine);
  void write(const FilePart& part, const std::byte* data) override;
  void read(const FilePart& part, std::byte* data) override;
  void close(bool flush) override;

 private:
  std::optional<Error> first_of(std::optional<Error> failure);

  const Comm& comm_;
  FileStatistics& statistics_;
  TwoPhase& engine_;
  std::unique_ptr<BackEnd> file_;
  std::optional<Error> open_failure_;  // on this rank, told at the next call
};

/// The stripe, buffer and movement for these writers, as the settings say; notes what it chose.
TwoPhaseShape two_phase_shape(const StrategyRequest& request, std::vector<int> writers);

}  // namespace tailrace::file
