// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "server/process/arguments.hpp"

namespace tailrace::server {

/// Exit statuses of a process that serves.
constexpr int serve_kept_all = 0;
constexpr int serve_lost_some = 1;
constexpr int serve_failed = 3;

/// The program `tailrace-server`: runs the process that serves (a child), and starts it again
/// whenever it dies, until it has served to the end or dies again and again. Returns the exit
/// status: 0 if nothing was lost. SIGTERM, SIGINT and SIGHUP are ignored: what a batch system sends
/// to end a job ends the clients, and then the servers finish what is whole. If the supervisor
/// itself is killed, its child serves to the end, but is not started again.
/// Throws `Errc::io` if the clients' memory cannot be had. Blocking.
int supervise(const ProcessArguments& arguments);

}  // namespace tailrace::server
