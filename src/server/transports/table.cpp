// SPDX-License-Identifier: BSD-3-Clause
// All transports. Adding one: its file, its line in entries.hpp, here and in CMakeLists.txt.
#include <array>
#include <string>

#include <fmt/format.h>

#include "server/transports/choose.hpp"
#include "server/transports/entries.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

std::span<const Transport> transport_table() {
  static const std::array table{push_ordered(), push_any(), credit(), pull(), node(), shmem()};
  return table;
}

const Transport& find_transport(const std::string& name) {
  std::string names;
  for (const Transport& transport : transport_table()) {
    if (name == transport.name) return transport;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", transport.name);
  }
  throw Error(Errc::invalid_input,
              fmt::format("there is no transport \"{}\"; there are {} (or auto)", name, names));
}

const Transport& choose_transport(const Team& team, std::string& why) {
  const Transport& on_node = find_transport("node");
  const auto not_on_node = on_node.refuses(team);
  if (not_on_node.empty()) {
    why = "node: every client shares a node with its server";
    return on_node;
  }
  const Transport& one_sided = find_transport("pull");
  const auto not_one_sided = one_sided.refuses(team);
  if (not_one_sided.empty()) {
    why = fmt::format("pull: not node ({}); one-sided reads move without the compute ranks' help",
                      not_on_node);
    return one_sided;
  }
  // Data that is sent unasked is there sooner than data that is asked for, measured with clients
  // that call rarely and often.
  const Transport& messages = find_transport("push_any");
  const auto no_messages = messages.refuses(team);
  if (!no_messages.empty()) {
    throw Error(Errc::invalid_input,
                fmt::format("no transport fits: not node ({}), not pull ({}), not push_any ({})",
                            not_on_node, not_one_sided, no_messages));
  }
  why = fmt::format("push_any: not node ({}), not pull ({})", not_on_node, not_one_sided);
  return messages;
}

}  // namespace tailrace::server
