// SPDX-License-Identifier: BSD-3-Clause
// tailrace-server: the process that writes output where servers = process. Started by the first
// rank of each node; supervises the process that serves, and makes no MPI call.
#include <cstddef>

#include "tailrace/session.hpp"

int main(int argc, char** argv) {
  return tailrace::serve_as_process({argv + 1, static_cast<std::size_t>(argc - 1)}, {});
}
