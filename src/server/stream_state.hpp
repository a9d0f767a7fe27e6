// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/meeting.hpp"
#include "server/team.hpp"
#include "tailrace/session.hpp"
#include "tailrace/stream.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

/// What a stream does, with servers or without.
class Stream::State {
 public:
  /// `meeting`, of the session's compute ranks, begins every collective call; not owned.
  State(std::string name, StreamOptions options, Meeting& meeting)
      : name_(std::move(name)),
        options_(std::move(options)),
        meeting_(meeting),
        opened_s_(now_s()) {}
  virtual ~State() = default;
  virtual WriteResult write(const std::string& path, const FileContents& contents) = 0;
  virtual void progress() = 0;
  virtual void finish() = 0;
  virtual OutputStatistics statistics() const {
    auto now = statistics_;
    now.run_s = now_s() - opened_s_;
    return now;
  }
  /// The session ends: nothing more can be written. Local.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }
  const std::string& name() const { return name_; }
  virtual const std::string& last_complete() const { return last_complete_; }

 protected:
  /// The meeting of `what` ("write") of this stream.
  void meet(const char* what, std::span<std::int64_t> votes = {}) {
    meeting_.begin(std::string(what) + " of stream " + name_, votes);
  }

  std::string name_;
  StreamOptions options_;
  Meeting& meeting_;
  OutputStatistics statistics_;
  std::string last_complete_;
  double opened_s_;
  bool closed_ = false;
};

}  // namespace tailrace

namespace tailrace::server {

/// A stream without servers: the compute ranks write inside `write`, and make the products
/// themselves. Collective over the compute ranks, blocking. Throws on all of them.
std::shared_ptr<Stream::State> open_direct_stream(std::string name, StreamOptions options,
                                                  Meeting& meeting, const Team& team,
                                                  const SessionOptions& session);

/// A stream without servers: threads of the compute ranks that write, as an `Output` has them.
/// Collective over the compute ranks, blocking. Throws `Errc::invalid_input` on all of them for
/// options that need servers.
std::shared_ptr<Stream::State> open_hidden_stream(std::string name, StreamOptions options,
                                                  Meeting& meeting, const Team& team, Trace* trace);

}  // namespace tailrace::server
