// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace::testing {

/// The values of `servers` that need no rank of their own and can be had here: processes need all
/// ranks on one node. Collective.
inline std::vector<std::string> kinds_here(const Comm& comm) {
  std::vector<std::string> kinds{"none", "hidden", "thread"};
  if (NodeMap(comm).num_nodes() == 1) kinds.emplace_back("process");
  return kinds;
}

/// True for the refusal of a transport that these nodes, ranks or this MPI do not allow.
inline bool says_not_here(const Error& error) {
  const std::string text = error.what();
  return error.code() == Errc::invalid_input &&
         (text.find("cannot be used here") != std::string::npos ||
          text.find("needs a server and a compute rank on every node") != std::string::npos);
}

}  // namespace tailrace::testing
