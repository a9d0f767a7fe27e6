// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "server/mpi_group.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/stream_state.hpp"
#include "server/team.hpp"
#include "server/write_step.hpp"
#include "tailrace/session.hpp"

namespace tailrace::server {

/// A stream without servers: the compute ranks write inside `write`, and make the products
/// themselves.
class DirectStream : public Stream::State {
 public:
  /// Collective over the compute ranks, blocking. Throws on all of them.
  DirectStream(std::string name, StreamOptions options, const Team& team,
               const SessionOptions& session);
  WriteResult write(const std::string& path, const FileContents& given) override;
  void progress() override {}
  void finish() override {}

 private:
  Outcome write_variables(const std::string& path, const FileContents& contents);
  Outcome write_products(const std::string& path, const FileContents& contents);
  void settle(const std::string& path, const Outcome& outcome);

  const Team& team_;
  int threads_;
  Trace* trace_;
  MpiGroup group_;
  Pipeline pipeline_;
  std::optional<Output> output_;
  std::int64_t number_ = 0;
};

/// A stream without servers: threads of the compute ranks that write, as an `Output` has them.
class HiddenStream : public Stream::State {
 public:
  /// Collective over the compute ranks, blocking. Throws `Errc::invalid_input` on all of them for
  /// options that need servers.
  HiddenStream(std::string name, StreamOptions options, const Team& team, Trace* trace);
  WriteResult write(const std::string& path, const FileContents& given) override;
  void progress() override { output_->progress(); }
  void finish() override { output_->finish(); }
  OutputStatistics statistics() const override { return output_->statistics(); }
  const std::string& last_complete() const override { return output_->last_complete(); }

 private:
  std::optional<Output> output_;
};

}  // namespace tailrace::server
