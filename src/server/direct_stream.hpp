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

}  // namespace tailrace::server
