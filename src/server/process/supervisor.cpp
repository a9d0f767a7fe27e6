// SPDX-License-Identifier: BSD-3-Clause
#include "server/process/launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/say.hpp"
#include "core/worker.hpp"
#include "server/server.hpp"
#include "server/transports/node_memory.hpp"
#include "server/transports/node_receiver.hpp"
#include "tailrace/error.hpp"
#include "tailrace/session.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

using namespace on_node;

namespace {

/// What a process serves: descriptors in it are those of this process and its children.
struct Served {
  ProcessArguments arguments;
  StageFunctions functions;
  std::vector<int> client_pids;
};

constexpr double look_s = 0.25;

// Stops a server whose clients have died.
class Watchdog {
 public:
  Watchdog(const Served& served, const NodeReceiver& receiver, Server& server)
      : limit_s_(served.arguments.watchdog_s), receiver_(receiver), server_(server) {
    for (const int pid : served.client_pids) clients_.emplace_back(pid);
    thread_ = start_background_thread([this] { look(); });
  }
  ~Watchdog() {
    done_.ring();
    thread_.join();
  }

 private:
  // Looks now and then: a bell and the ends of processes cannot be waited for together.
  void look() {
    while (done_.count() == 0 && !must_stop()) done_.wait(0, look_s);
    if (done_.count() != 0) return;
    server_.stop();
    const double end_s = now_s() + limit_s_;
    while (done_.count() == 0 && now_s() < end_s) done_.wait(0, look_s);
    if (done_.count() == 0) _exit(serve_lost_some);
  }

  bool must_stop() const {
    if (receiver_.block().stop.load(std::memory_order_acquire) != 0) return true;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!clients_[i].alive() && !receiver_.wants_to_leave(i)) return true;
    }
    return false;
  }

  double limit_s_;
  const NodeReceiver& receiver_;
  Server& server_;
  std::vector<ProcessWatch> clients_;
  Doorbell done_{};
  std::thread thread_;
};

int serve(const Served& served) {
  ServerSettings settings;
  settings.threads = served.arguments.threads;
  settings.functions = served.functions;
  settings.may_restart = true;
  std::vector<Endpoint> clients = served.arguments.clients;
  for (Endpoint& client : clients) {
    client.pid = getpid();
    settings.clients.push_back(client.client);
  }
  Endpoint here = served.arguments.block;
  here.pid = getpid();
  NodeReceiver receiver(served.arguments.server, clients, Memory(here));
  Server server(receiver, std::move(settings));
  bool kept_all = false;
  {
    const Watchdog watchdog(served, receiver, server);
    kept_all = server.run();
  }
  receiver.block().outcome.store(kept_all ? ServerBlock::kept_all : ServerBlock::lost_some);
  return kept_all ? serve_kept_all : serve_lost_some;
}

/// Serves clients through shared memory until all have left, without MPI. When a client dies, or
/// the block says `stop`, it finishes the steps that are whole; if that takes longer than
/// `watchdog_s` the process ends at once. Returns the exit status; a failure is printed and noted
/// in the block. Blocking.
int serve_clients(const Served& served) {
  prctl(PR_SET_NAME, "tailrace-server");
  Endpoint here = served.arguments.block;
  here.pid = getpid();
  try {
    const Memory memory(here);
    try {
      return serve(served);
    } catch (const std::exception& error) {
      auto& block = *reinterpret_cast<ServerBlock*>(memory.data());
      std::strncpy(block.text, error.what(), ServerBlock::text_bytes - 1);
      throw;
    }
  } catch (const std::exception& error) {
    say(LogLevel::error, fmt::format("the output server process fails: {}", error.what()));
  }
  return serve_failed;
}

constexpr std::size_t num_deaths = 5;  // so many in `deaths_s` without a step ended: it gives up
constexpr double deaths_s = 10;
constexpr int look_ms = 1000;

/// How a child ended; nothing where other code of the program has waited for it.
using EndStatus = std::optional<int>;

std::string describe(EndStatus status) {
  if (!status) return "ended with a status that other code of the program has taken";
  if (WIFSIGNALED(*status)) {
    return fmt::format("killed by signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status)));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(*status));
}

class Supervisor {
 public:
  Supervisor(const ProcessArguments& arguments, StageFunctions functions);
  int run();
  /// The server is gone for ever: every client's next call says `text`.
  void give_up(std::string text);

 private:
  int start_worker();
  EndStatus wait_for(int worker);
  std::optional<int> served(EndStatus status) const;
  bool dies_too_often();

  Served served_;
  std::vector<Descriptor> descriptors_;
  Memory block_memory_;
  ServerBlock& block_;
  std::deque<double> deaths_;  // when
  std::uint64_t num_ended_ = 0;
};

Supervisor::Supervisor(const ProcessArguments& arguments, StageFunctions functions)
    : served_{arguments, std::move(functions), {}},
      block_memory_(arguments.block),
      block_(*reinterpret_cast<ServerBlock*>(block_memory_.data())) {
  // Opened once: a worker that is started later has them, too, even if the clients are gone then.
  const auto keep = [this](Endpoint endpoint) {
    endpoint.fd = descriptors_.emplace_back(open_endpoint(endpoint)).get();
    return endpoint;
  };
  served_.arguments.block = keep(arguments.block);
  for (Endpoint& client : served_.arguments.clients) {
    served_.client_pids.push_back(client.pid);
    client = keep(client);
  }
  block_.pid.store(getpid(), std::memory_order_release);
}

int Supervisor::start_worker() {
  const pid_t worker = fork();
  if (worker < 0) {
    throw Error(Errc::io, fmt::format("no process can be started: {}", std::strerror(errno)),
                errno);
  }
  if (worker == 0) _exit(serve_clients(served_));
  block_.worker.store(worker, std::memory_order_release);
  return worker;
}

// The worker ends by itself when its clients have left or died; if it cannot, it is ended.
EndStatus Supervisor::wait_for(int worker) {
  const ProcessWatch watch(worker);
  std::vector<ProcessWatch> clients;
  for (const int pid : served_.client_pids) clients.emplace_back(pid);
  double dead_s = 0;
  for (int status = 0;;) {
    const pid_t ended = waitpid(worker, &status, WNOHANG);
    if (ended == worker) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    pollfd look{.fd = watch.descriptor(), .events = POLLIN, .revents = 0};
    poll(&look, 1, look_ms);
    const bool dead =
        std::ranges::none_of(clients, [](const ProcessWatch& client) { return client.alive(); });
    if (!dead) continue;
    if (dead_s == 0) dead_s = now_s();
    if (now_s() > dead_s + served_.arguments.watchdog_s + 5) kill(worker, SIGKILL);
  }
}

// The exit status of a worker that has served to the end; nothing if it has died before.
std::optional<int> Supervisor::served(EndStatus status) const {
  if (!status) {
    const auto outcome = block_.outcome.load(std::memory_order_acquire);
    if (outcome == ServerBlock::not_known) return std::nullopt;
    return outcome == ServerBlock::kept_all ? serve_kept_all : serve_lost_some;
  }
  if (!WIFEXITED(*status)) return std::nullopt;
  const int code = WEXITSTATUS(*status);
  return code == serve_kept_all || code == serve_lost_some ? std::optional(code) : std::nullopt;
}

bool Supervisor::dies_too_often() {
  const std::uint64_t num_ended = block_.num_ended.load(std::memory_order_acquire);
  if (num_ended != num_ended_) deaths_.clear();
  num_ended_ = num_ended;
  deaths_.push_back(now_s());
  while (deaths_.front() < now_s() - deaths_s) deaths_.pop_front();
  return deaths_.size() >= num_deaths;
}

int Supervisor::run() {
  for (;;) {
    const int worker = start_worker();
    const auto status = wait_for(worker);
    if (const auto code = served(status)) return *code;
    if (dies_too_often()) {
      throw Error(Errc::io,
                  fmt::format("the output server process died {} times within {} s without "
                              "finishing a step; it was last {}{}{}",
                              num_deaths, deaths_s, describe(status),
                              block_.text[0] != 0 ? ": " : "", block_.text));
    }
    say(LogLevel::warning,
        fmt::format("the output server process was {}; it is restarted", describe(status)));
    block_.num_restarts.fetch_add(1);
  }
}

void Supervisor::give_up(std::string text) {
  text.resize(std::min(text.size(), ServerBlock::text_bytes - 1));
  std::memcpy(block_.text, text.c_str(), text.size() + 1);
  block_.state.store(ServerBlock::gone, std::memory_order_release);
  for (Endpoint client : served_.arguments.clients) {
    client.pid = getpid();
    client.bytes = sizeof(ClientBlock);
    const Memory memory(client);
    reinterpret_cast<ClientBlock*>(memory.data())->bell.ring();
  }
}

}  // namespace

int supervise(const ProcessArguments& arguments, StageFunctions functions) {
  // With SIGXFSZ ignored a file that is too long is an error like any other.
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, nobody learns how a child ended
  prctl(PR_SET_NAME, "tailrace-superv");
  Supervisor supervisor(arguments, std::move(functions));
  try {
    return supervisor.run();
  } catch (const Error& error) {
    supervisor.give_up(error.what());
    throw;
  }
}

}  // namespace tailrace::server

namespace tailrace {

int serve_as_process(std::span<const char* const> words, StageFunctions functions) {
  using namespace server;
  try {
    const auto arguments = ProcessArguments::parse(words);
    settle_in_background();
    return supervise(arguments, std::move(functions));
  } catch (const std::exception& error) {
    say(LogLevel::error, fmt::format("the output server process: {}", error.what()));
    return serve_failed;
  }
}

}  // namespace tailrace
