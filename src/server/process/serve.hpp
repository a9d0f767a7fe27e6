// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "server/transports/node_blocks.hpp"

namespace tailrace::server {

struct ServeOptions {
  int server = 0;
  int threads = 1;
  double watchdog_s = 120;
  on_node::Endpoint block;                 ///< `fd` is a descriptor of this process
  std::vector<on_node::Endpoint> clients;  ///< the same
  std::vector<int> client_pids;
};

/// Exit statuses of a process that serves.
constexpr int serve_kept_all = 0;
constexpr int serve_lost_some = 1;
constexpr int serve_failed = 3;

/// Serves clients through shared memory until all have left, without MPI. When a client dies, or
/// the block says `stop`, it finishes the steps that are whole; if that takes longer than
/// `watchdog_s` the process ends at once. Returns the exit status; a failure is printed and noted
/// in the block. Blocking.
int serve_clients(const ServeOptions& options);

}  // namespace tailrace::server
