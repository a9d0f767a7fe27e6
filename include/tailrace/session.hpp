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
  /// `options` say who writes; what is written, and how, is said where an output is opened. Throws
  /// `Errc::invalid_input` on all ranks for options out of range and functions without a name,
  /// `Errc::io` if a server cannot be started. Collective over `world`, blocking.
  explicit Session(MPI_Comm world, OutputOptions options = {});
  /// `close`, but prints errors.
  ~Session();
  Session(Session&&) noexcept;

  bool computes() const;
  /// The ranks that compute. Only where `computes()`.
  const Comm& compute() const;
  /// Serves until all compute ranks have closed; returns 0, or 1 if output was lost. Only where not
  /// `computes()`. Blocking.
  int serve();
  /// How many servers there are, of what kind, by which transport, and why. Local.
  const std::string& describe() const;
  int num_servers() const;               ///< 0: none
  bool hides() const;                    ///< files are written while the ranks compute
  const std::string& transport() const;  ///< "" without servers

  /// Opens an output; who writes is not among its options. Names are distinct; the same calls in
  /// the same order on all compute ranks. Throws `Errc::invalid_input` on all of them. Collective
  /// over the compute ranks, blocking.
  Output open(const std::string& name, OutputOptions options = {});
  /// The same with options of 0.1.
  template <std::same_as<StreamOptions01> Options = StreamOptions01>
  [[deprecated("use OutputOptions, which has what was in `output`")]] Output open(
      const std::string& name, Options options) {
    return open(name, static_cast<OutputOptions>(std::move(options)));
  }
  /// Finishes all outputs and ends the servers. Throws like `Output::finish`. MPI_Finalize does the
  /// same for a program that forgot, and prints that and errors. Collective over the compute ranks,
  /// blocking.
  void close();

  class State;

 private:
  friend class Output;
  explicit Session(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// The rest of a program that `OutputOptions::server_program` names: serves, with these functions,
/// the programs that started it, until they have left. `words` are those that follow its own.
/// Returns what `main` is to return: 0 if nothing was lost; a failure is printed. It takes no cores
/// and open files of its parent over, runs at a lower priority, and makes no MPI call. Blocking.
int serve_as_process(std::span<const char* const> words, StageFunctions functions);

}  // namespace tailrace
