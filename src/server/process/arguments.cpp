// SPDX-License-Identifier: BSD-3-Clause
#include "server/process/arguments.hpp"

#include <cinttypes>
#include <cstdio>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::server {

using on_node::Endpoint;

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
      throw Error(Errc::invalid_input, fmt::format("\"{}\" is no argument of this program", word));
    }
  }
  if (arguments.block.fd < 0 || arguments.clients.empty()) {
    throw Error(Errc::invalid_input,
                "this program is started by programs that use tailrace with servers = process");
  }
  return arguments;
}

}  // namespace tailrace::server
