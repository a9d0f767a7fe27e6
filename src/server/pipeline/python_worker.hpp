// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace tailrace::server {

/// A Python process that runs a function of the user (tailrace/worker.py), joined by a socket. It
/// ends with this object, and with this process however that ends.
class PythonWorker {
 public:
  struct Settings {
    std::string python;
    std::string file;
    std::string function;
    double limit_s = 60;  ///< of a call; the start has at least 60 s
  };

  /// Starts it and waits until it has the function. Throws `Errc::invalid_input` with the last
  /// lines of Python's traceback, `Errc::io` if there is no such Python.
  explicit PythonWorker(const Settings& settings);
  ~PythonWorker();
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  /// Sends `request` with the descriptor of shared memory; returns what follows "ok\n". Throws
  /// `Errc::invalid_input` with the traceback, `Errc::io` if the process died or took too long;
  /// then it is of no more use.
  std::string call(const std::string& request, int memory);

  pid_t pid() const { return pid_; }

 private:
  struct Started {};
  /// Only starts it: an object that is whole ends the process whatever comes then.
  PythonWorker(const Settings& settings, Started) : settings_(settings) { start(); }
  void start();
  void send(const std::string& text, int memory);
  std::string receive(double limit_s);
  /// False if it takes too long.
  bool read(char* data, std::size_t bytes, double until_s);
  /// Waits a second for the process to end, then ends it; the status that waitpid gives, if it
  /// gives one (not where the program ignores SIGCHLD).
  std::optional<int> await_end();
  /// "ended with status 1", once it is gone.
  std::string how_it_ended();
  [[noreturn]] void fail_dead();

  Settings settings_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace tailrace::server
