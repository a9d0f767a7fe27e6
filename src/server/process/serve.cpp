// SPDX-License-Identifier: BSD-3-Clause
#include "server/process/serve.hpp"

#include <cstring>
#include <exception>
#include <thread>

#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/background_thread.hpp"
#include "core/say.hpp"
#include "server/server.hpp"
#include "server/transports/node_receiver.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

using namespace on_node;

namespace {

constexpr double look_s = 0.25;

// Stops a server whose clients have died.
class Watchdog {
 public:
  Watchdog(const ServeOptions& options, const NodeReceiver& receiver, Server& server)
      : limit_s_(options.watchdog_s), receiver_(receiver), server_(server) {
    for (const int pid : options.client_pids) clients_.emplace_back(pid);
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

int serve(const ServeOptions& options) {
  ServerSettings settings;
  settings.threads = options.threads;
  settings.may_restart = true;
  std::vector<Endpoint> clients = options.clients;
  for (Endpoint& client : clients) {
    client.pid = getpid();
    settings.clients.push_back(client.client);
  }
  Endpoint here = options.block;
  here.pid = getpid();
  NodeReceiver receiver(options.server, clients, Memory(here));
  Server server(receiver, std::move(settings));
  bool kept_all = false;
  {
    const Watchdog watchdog(options, receiver, server);
    kept_all = server.run();
  }
  receiver.block().outcome.store(kept_all ? ServerBlock::kept_all : ServerBlock::lost_some);
  return kept_all ? serve_kept_all : serve_lost_some;
}

}  // namespace

int serve_clients(const ServeOptions& options) {
  prctl(PR_SET_NAME, "tailrace-server");
  Endpoint here = options.block;
  here.pid = getpid();
  try {
    const Memory memory(here);
    try {
      return serve(options);
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

}  // namespace tailrace::server
