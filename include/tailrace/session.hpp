// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tailrace/comm.hpp"
#include "tailrace/more/stage.hpp"
#include "tailrace/stream.hpp"

namespace tailrace {

struct SessionOptions {
  /// Who writes: "none" (the compute ranks, inside `write`), "hidden" (threads of the compute ranks
  /// that write, as of `Output`), "thread" (a server in a thread on each node; on several nodes
  /// without MPI_THREAD_MULTIPLE its messages advance in calls of the streams, as those of "hidden"
  /// always do), "process" (a supervised process; one node only), "N" or "N per node" (dedicated
  /// ranks) or "auto". The environment variable TAILRACE_SERVERS overrides it.
  std::string servers = "auto";
  /// Ranks that serve: "spread" over the nodes, or "own_nodes" (the last ones).
  std::string placement = "spread";
  /// A name of `transport_table()` or "auto". TAILRACE_TRANSPORT overrides it.
  std::string transport = "auto";
  /// Staging memory of all compute ranks of a node together, at most: it is taken as steps need it.
  /// Receive memory of a server rank, by transports other than "node": it takes more only for a
  /// step that does not fit, at most about one step.
  std::ptrdiff_t memory_bytes = std::ptrdiff_t{1} << 30;
  int senders_at_once = 4;               ///< of a server (transport "credit")
  std::ptrdiff_t chunk_bytes = 4 << 20;  ///< of a message
  /// How the compute side of "credit" and "push" advances: "calls" of `progress`, or "thread" (a
  /// helper thread; needs MPI_THREAD_MULTIPLE).
  std::string progress = "calls";
  int threads = 1;  ///< of a server, for products and compression
  /// If the other side is silent for longer, or a rank that must write, too, does not come for
  /// longer, the call fails; 0: never. With messages, it must be longer than compute ranks compute
  /// without a call of MPI or of a stream.
  double watchdog_s = 600;
  std::string folder = ".";       ///< where output will go; "auto" measures there
  Trace* trace = nullptr;         ///< not owned
  StageFunctions functions = {};  ///< your functions, which products call
  /// Where servers = "process": the file of a program that serves with your functions, and the
  /// words that it is started with, before those that it hands on to `serve_as_process`. {}:
  /// `tailrace-server`, which has no functions.
  std::vector<std::string> server_program = {};
};

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
  /// Collective over `world`, blocking. Throws `Errc::invalid_input` on all ranks for options out
  /// of range and functions without a name, `Errc::io` if a server cannot be started.
  explicit Session(MPI_Comm world, SessionOptions options = {});
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

  /// Opens an output. Names are distinct; the same calls in the same order on all compute ranks.
  /// Throws `Errc::invalid_input` on all of them. Collective over the compute ranks, blocking.
  Stream open(const std::string& name, StreamOptions options = {});
  /// Finishes all streams and ends the servers. Throws like `Stream::finish`. MPI_Finalize does the
  /// same for a program that forgot, and prints that and errors. Collective over the compute ranks,
  /// blocking.
  void close();

  class State;

 private:
  std::unique_ptr<State> state_;
};

/// The rest of a program that `SessionOptions::server_program` names: serves, with these functions,
/// the programs that started it, until they have left. `words` are those that follow its own.
/// Returns what `main` is to return: 0 if nothing was lost; a failure is printed. It takes no cores
/// and open files of its parent over, runs at a lower priority, and makes no MPI call. Blocking.
int serve_as_process(std::span<const char* const> words, StageFunctions functions);

}  // namespace tailrace
