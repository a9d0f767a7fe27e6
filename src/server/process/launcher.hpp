// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/team.hpp"
#include "server/transport.hpp"
#include "server/transports/node_sender.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace::server {

/// What the program `tailrace-server` is told when it is started.
struct ProcessArguments {
  int server = 0;  ///< its number
  int threads = 1;
  double watchdog_s = 120;
  on_node::Endpoint block;                 ///< `ServerBlock`, memory of the node's first client
  std::vector<on_node::Endpoint> clients;  ///< `ClientBlock`s

  std::vector<std::string> words() const;
  /// Throws `Errc::invalid_input` for words that `words` does not make.
  static ProcessArguments parse(std::span<const char* const> words);
};

/// The server process of a node, seen by its clients. The first client of the node starts the
/// program `tailrace-server`, which supervises the process that serves: killed, it is started again
/// at once, and finds the packets that it had not released. All share memory without names, so
/// nothing stays behind. The processes end when all clients have left; when a client dies they
/// finish the steps that are whole, and end after at most `watchdog_s`.
class ServerProcess {
 public:
  /// Makes this rank's staging memory, and starts the process of its node. `threads` is what it may
  /// use for products; `program` is `OutputOptions::server_program`. Throws `Errc::io` on all
  /// ranks if it cannot be started, saying where the program was looked for. Collective over
  /// `team.all`, blocking.
  ServerProcess(const Team& team, const TransportSettings& settings, int threads,
                std::vector<std::string> program = {});
  /// As `finish`, but if clients have not left the process is told to end, and errors are printed.
  ~ServerProcess() { end(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// This rank's sender; once. It may outlive this object. Local.
  std::unique_ptr<Sender> take_sender() { return std::move(sender_); }
  /// After `Sender::leave`: waits until the process has ended. False if it lost output (the streams
  /// were told what). Throws `Errc::io` after `limit_s`. Blocking on the node's first client, at
  /// once on the others. Local.
  bool finish(double limit_s);

 private:
  struct Place {
    on_node::Endpoint client, block;
  };
  on_node::ServerBlock& block() const {
    return *reinterpret_cast<on_node::ServerBlock*>(block_.data());
  }
  void start(const Team& team, const std::vector<Place>& places, ProcessArguments arguments);
  void wait_until_serving();
  bool has_ended();
  void end() noexcept;

  on_node::Memory block_;  // made by the node's first client, mapped by the others
  std::unique_ptr<on_node::NodeSender> sender_;
  int server_ = 0;
  int child_ = 0;  // of the first client: the supervisor, until it has ended
  double watchdog_s_;
  std::vector<std::string> program_;
};

/// The file of the program `tailrace-server`: in the folder TAILRACE_BIN_DIR, beside the running
/// program, where it was built, or where it was installed. Throws `Errc::io` naming these places if
/// it is in none. Local.
std::string find_server_program();

/// The environment without the variables by which launchers tell ranks who they are, for programs
/// that are none. Local.
std::vector<std::string> environment_of_programs();
/// As the system's calls take words: valid as long as these. Local.
std::vector<char*> pointers_to(const std::vector<std::string>& words);
/// Starts a program that is to know nothing of this process's MPI: with no open files but standard
/// error (standard output goes there, too), default signals, a session of its own and an
/// environment without the launcher's variables. Returns its process number. Throws `Errc::io`.
/// Local.
int start_program(const std::string& path, const std::vector<std::string>& words);

/// For the start of such a program: closes all files but the standard ones, leaves the cores that
/// the parent was bound to, and lowers its priority. Local.
void settle_in_background();

/// Exit statuses of a process that serves.
constexpr int serve_kept_all = 0;
constexpr int serve_lost_some = 1;
constexpr int serve_failed = 3;

/// What a program of servers does (`serve_as_process`): runs the process that serves (a child), and
/// starts it again whenever it dies, until it has served to the end or dies again and again.
/// Returns the exit status: 0 if nothing was lost. SIGTERM, SIGINT and SIGHUP are ignored: what a
/// batch system sends to end a job ends the clients, and then the servers finish what is whole. If
/// the supervisor itself is killed, its child serves to the end, but is not started again. Throws
/// `Errc::io` if the clients' memory cannot be had. Blocking.
int supervise(const ProcessArguments& arguments, StageFunctions functions);

}  // namespace tailrace::server
