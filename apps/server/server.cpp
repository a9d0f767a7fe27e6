// SPDX-License-Identifier: BSD-3-Clause
// tailrace-server: the process that writes output where servers = process. Started by the first
// rank of each node; supervises the process that serves, and makes no MPI call.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>

#include "server/process/launcher.hpp"

int main(int argc, char** argv) {
  using namespace tailrace::server;
  try {
    const std::span<const char* const> words(argv + 1, static_cast<std::size_t>(argc - 1));
    const auto arguments = ProcessArguments::parse(words);
    settle_in_background();
    return supervise(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tailrace-server: %s\n", error.what());
    return serve_failed;
  }
}
