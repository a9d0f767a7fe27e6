// SPDX-License-Identifier: BSD-3-Clause
#include "server/process/launcher.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/say.hpp"
#include "server/process/arguments.hpp"
#include "server/process/start_program.hpp"
#include "server/transports/node_sender.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

using namespace on_node;

namespace {

constexpr double start_limit_s = 60;

}  // namespace

class ServerProcess::State {
 public:
  State(const Team& team, const TransportSettings& settings, int threads);
  ~State() { end(); }
  bool finish(double limit_s);
  ServerBlock& block() const { return *reinterpret_cast<ServerBlock*>(block_.data()); }

  std::unique_ptr<NodeSender> sender;

 private:
  struct Place {
    Endpoint client, block;
  };
  void start(const Team& team, const std::vector<Place>& places, ProcessArguments arguments);
  void wait_until_serving();
  bool has_ended();
  void end() noexcept;

  Memory block_;  // made by the node's first client, mapped by the others
  int server_ = 0;
  int child_ = 0;  // of the first client: the supervisor, until it has ended
  double watchdog_s_;
};

ServerProcess::State::State(const Team& team, const TransportSettings& settings, int threads)
    : server_(team.server_of_client(team.client)), watchdog_s_(settings.watchdog_s) {
  int first = 0;
  while (team.server_of_client(first) != server_) ++first;
  run_agreed(team.all.raw(), [&] {
    sender =
        std::make_unique<NodeSender>(team.client, std::vector<int>{server_}, settings.client_bytes);
    if (team.client == first) block_ = Memory(sizeof(ServerBlock));
  });
  Place here{sender->endpoint(), {}};
  if (block_) here.block = block_.endpoint();
  std::vector<Place> places(static_cast<std::size_t>(team.num_clients()));
  check_mpi(MPI_Allgather(&here, sizeof here, MPI_BYTE, places.data(), sizeof here, MPI_BYTE,
                          team.all.raw()));
  ProcessArguments arguments;
  arguments.server = server_;
  arguments.threads = threads;
  arguments.watchdog_s = settings.watchdog_s;
  arguments.block = places[static_cast<std::size_t>(first)].block;
  try {
    run_agreed(team.all.raw(), [&] { start(team, places, std::move(arguments)); });
  } catch (const Error&) {
    end();
    throw;
  }
}

void ServerProcess::State::start(const Team& team, const std::vector<Place>& places,
                                 ProcessArguments arguments) {
  sender->set_server_block(server_, arguments.block);
  if (!block_) {
    block_ = Memory(arguments.block);
    return;
  }
  for (int client = 0; client < team.num_clients(); ++client) {
    if (team.server_of_client(client) != server_) continue;
    arguments.clients.push_back(places[static_cast<std::size_t>(client)].client);
  }
  block().pid.store(getpid(), std::memory_order_relaxed);  // until there is a supervisor
  child_ = start_program(find_server_program(), arguments.words());
  wait_until_serving();
}

void ServerProcess::State::wait_until_serving() {
  const double end_s = now_s() + start_limit_s;
  while (block().state.load(std::memory_order_acquire) == ServerBlock::starting) {
    if (has_ended()) {
      throw Error(Errc::io, "the output server process ended at once; standard error says why");
    }
    if (now_s() > end_s) {
      throw Error(Errc::io,
                  fmt::format("the output server process (pid {}) is not ready after {} s", child_,
                              start_limit_s));
    }
    usleep(1000);
  }
  if (block().state.load(std::memory_order_acquire) == ServerBlock::gone) {
    throw Error(Errc::io, block().text, block().sys_errno);
  }
}

// The supervisor, and the process that it may have left alone.
bool ServerProcess::State::has_ended() {
  if (child_ > 0) {
    const pid_t ended = waitpid(child_, nullptr, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    child_ = 0;
  }
  const int worker = block().worker.load(std::memory_order_acquire);
  return worker == 0 || !ProcessWatch(worker).alive();
}

bool ServerProcess::State::finish(double limit_s) {
  const double end_s = now_s() + limit_s;
  while (child_ != 0 && !has_ended()) {
    if (now_s() > end_s) {
      throw Error(Errc::io,
                  fmt::format("the output server process (pid {}) has not ended {} s after "
                              "its clients left",
                              block().pid.load(), limit_s));
    }
    usleep(1000);
  }
  return block().outcome.load(std::memory_order_acquire) != ServerBlock::lost_some;
}

void ServerProcess::State::end() noexcept {
  if (child_ == 0) return;
  // Without effect if all have left.
  block().stop.store(1, std::memory_order_release);
  try {
    finish(watchdog_s_);
  } catch (const std::exception& error) {
    say(LogLevel::error, fmt::format("{}; it is killed", error.what()));
    const int worker = block().worker.load(std::memory_order_acquire);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    if (worker > 0) kill(worker, SIGKILL);
  }
}

ServerProcess::ServerProcess(const Team& team, const TransportSettings& settings, int threads)
    : state_(std::make_unique<State>(team, settings, threads)) {}
ServerProcess::~ServerProcess() = default;
std::unique_ptr<Sender> ServerProcess::take_sender() { return std::move(state_->sender); }
bool ServerProcess::finish(double limit_s) { return state_->finish(limit_s); }

}  // namespace tailrace::server
