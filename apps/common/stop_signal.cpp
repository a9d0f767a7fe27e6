// SPDX-License-Identifier: BSD-3-Clause
#include "common/stop_signal.hpp"

#include <csignal>

#include <fmt/format.h>

namespace tailrace::app {

namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t received = 0;

void remember(int signal) { received = signal; }

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // system calls under way go on
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  received = 0;
  set_handler(SIGTERM, remember);
  set_handler(SIGINT, remember);
}

StopSignal::StopSignal(const Comm& comm) : StopSignal() {
  votes_.emplace(comm, ReductionShape{NumberType::int32, 1});
}

StopSignal::~StopSignal() {
  set_handler(SIGTERM, SIG_DFL);
  set_handler(SIGINT, SIG_DFL);
}

void StopSignal::start(bool has_trouble) {
  any_ = has_trouble ? trouble : static_cast<int>(received);
  votes_->start_allreduce(std::span(&any_, 1), ReduceOp::max);
}

int StopSignal::finish() {
  votes_->finish();
  return any_;
}

bool StopSignal::is_wanted() { return received != 0; }

std::string StopSignal::name(int signal) {
  if (signal == SIGTERM) return "SIGTERM";
  if (signal == SIGINT) return "SIGINT";
  return fmt::format("signal {}", signal);
}

}  // namespace tailrace::app
