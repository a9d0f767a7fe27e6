// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/transports/node_memory.hpp"

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

}  // namespace tailrace::server
