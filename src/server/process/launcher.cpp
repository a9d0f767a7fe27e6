// SPDX-License-Identifier: BSD-3-Clause
#include "server/process/launcher.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

using namespace on_node;

namespace {

constexpr double start_limit_s = 60;

}  // namespace

ServerProcess::ServerProcess(const Team& team, const TransportSettings& settings, int threads,
                             std::vector<std::string> program)
    : server_(team.server_of_client(team.client)),
      watchdog_s_(settings.watchdog_s),
      program_(std::move(program)) {
  int first = 0;
  while (team.server_of_client(first) != server_) ++first;
  run_agreed(team.all.raw(), [&] {
    sender_ =
        std::make_unique<NodeSender>(team.client, std::vector<int>{server_}, settings.client_bytes);
    if (team.client == first) block_ = Memory(sizeof(ServerBlock));
  });
  Place here{sender_->endpoint(), {}};
  if (block_) here.block = block_.endpoint();
  const auto places = gather_from_all(team.all, here);
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

void ServerProcess::start(const Team& team, const std::vector<Place>& places,
                          ProcessArguments arguments) {
  sender_->set_server_block(server_, arguments.block);
  if (!block_) {
    block_ = Memory(arguments.block);
    return;
  }
  for (int client = 0; client < team.num_clients(); ++client) {
    if (team.server_of_client(client) != server_) continue;
    arguments.clients.push_back(places[static_cast<std::size_t>(client)].client);
  }
  block().pid.store(getpid(), std::memory_order_relaxed);  // until there is a supervisor
  auto words = program_;
  if (words.empty()) words.push_back(find_server_program());
  for (auto& word : arguments.words()) words.push_back(std::move(word));
  child_ = start_program(words.front(), {words.begin() + 1, words.end()});
  wait_until_serving();
}

void ServerProcess::wait_until_serving() {
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
bool ServerProcess::has_ended() {
  if (child_ > 0) {
    const pid_t ended = waitpid(child_, nullptr, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    child_ = 0;
  }
  const int worker = block().worker.load(std::memory_order_acquire);
  return worker == 0 || !ProcessWatch(worker).alive();
}

bool ServerProcess::finish(double limit_s) {
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

void ServerProcess::end() noexcept {
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

std::vector<std::string> ProcessArguments::words() const {
  const auto at = [](const Endpoint& e) {
    return fmt::format("{}:{}:{}:{}", e.client, e.pid, e.fd, e.bytes);
  };
  std::vector<std::string> words{fmt::format("server={}", server),
                                 fmt::format("threads={}", threads),
                                 fmt::format("watchdog_s={}", watchdog_s), "block=" + at(block)};
  for (const Endpoint& client : clients) words.push_back("client=" + at(client));
  return words;
}

ProcessArguments ProcessArguments::parse(std::span<const char* const> words) {
  ProcessArguments arguments;
  for (const char* word : words) {
    Endpoint e;
    const auto is_endpoint = [&](const char* format) {
      return std::sscanf(word, format, &e.client, &e.pid, &e.fd, &e.bytes) == 4;
    };
    if (is_endpoint("client=%" SCNd32 ":%" SCNd32 ":%" SCNd32 ":%" SCNd64)) {
      arguments.clients.push_back(e);
    } else if (is_endpoint("block=%" SCNd32 ":%" SCNd32 ":%" SCNd32 ":%" SCNd64)) {
      arguments.block = e;
    } else if (std::sscanf(word, "server=%d", &arguments.server) != 1 &&
               std::sscanf(word, "threads=%d", &arguments.threads) != 1 &&
               std::sscanf(word, "watchdog_s=%lf", &arguments.watchdog_s) != 1) {
      refuse_input("\"{}\" is not an argument of this program", word);
    }
  }
  if (arguments.block.fd < 0 || arguments.clients.empty()) {
    throw Error(Errc::invalid_input,
                "this program is started by programs that use tailrace with servers = process");
  }
  return arguments;
}

}  // namespace tailrace::server
