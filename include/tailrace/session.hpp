// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tailrace/comm.hpp"
#include "tailrace/more/stage.hpp"
#include "tailrace/output.hpp"
#include "tailrace/stream.hpp"

namespace tailrace {

/// The ranks of a program, split into those that compute and those that serve output.
///
///     tailrace::Session session(MPI_COMM_WORLD, {.servers = "1 per node"});
///     if (!session.computes()) return session.serve();
///     solve(session.compute(), session.open("fields", {}));
///
/// The same program runs unchanged with "none", "hidden", "thread" or "process", where every rank
/// computes.
class Session {
 public:
  /// `options` determine who writes; the options of `open` determine what is written, and how.
  /// Throws on all ranks: `Errc::invalid_input` for options out of range or functions without a
  /// name, `Errc::io` if a server cannot be started. Collective over `world`, blocking.
  explicit Session(MPI_Comm world, OutputOptions options = {});
  /// Calls `close`, but prints errors instead of throwing.
  ~Session();
  Session(Session&&) noexcept;

  bool computes() const;
  /// The ranks that compute. Call it only if `computes()`.
  const Comm& compute() const;
  /// Serves until all compute ranks have closed; returns 0, or 1 if output was lost. Call it only
  /// if `computes()` is false. Blocking.
  int serve();
  /// Number and kind of the servers, the transport, and the reasons. Local.
  const std::string& describe() const;
  int num_servers() const;               ///< 0: none
  bool hides() const;                    ///< files are written while the ranks compute
  const std::string& transport() const;  ///< "" without servers

  /// Opens an output; its options cannot change who writes. Names must be distinct, and all compute
  /// ranks make the same calls in the same order. Throws `Errc::invalid_input` on all of them.
  /// Collective over the compute ranks, blocking.
  Output open(const std::string& name, OutputOptions options = {});
  /// Opens an output with the options of version 0.1.
  template <std::same_as<StreamOptions01> Options = StreamOptions01>
  [[deprecated("use OutputOptions, which has what was in `output`")]] Output open(
      const std::string& name, Options options) {
    return open(name, static_cast<OutputOptions>(std::move(options)));
  }
  /// Finishes all outputs and ends the servers. Throws like `Output::finish`. If a program does not
  /// call it, MPI_Finalize does, and prints a warning and any errors. Collective over the compute
  /// ranks, blocking.
  void close();

  class State;

 private:
  friend class Output;
  explicit Session(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// For the program that `OutputOptions::server_program` names: serves the jobs that started it,
/// with these functions, until they have ended. `words` are the arguments that follow the program's
/// own. Returns the exit status for `main`: 0 if nothing was lost; a failure is printed. The
/// process does not inherit its parent's core binding or open files, runs at a lower priority, and
/// makes no MPI calls. Blocking.
int serve_as_process(std::span<const char* const> words, StageFunctions functions);

}  // namespace tailrace
