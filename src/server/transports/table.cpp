// SPDX-License-Identifier: BSD-3-Clause
// All transports. Adding one: its file, its line in entries.hpp, here and in CMakeLists.txt.
#include <array>
#include <string>

#include <fmt/format.h>

#include "core/method_table.hpp"
#include "server/transport.hpp"
#include "server/transports/entries.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

std::span<const Transport> transport_table() {
  static const std::array table{push_ordered(), push_any(), credit(), pull(), node(), shmem()};
  return table;
}

const Transport& find_transport(const std::string& name) {
  if (const auto* transport = find_line(transport_table(), name)) return *transport;
  throw Error(Errc::invalid_input, fmt::format("there is no transport \"{}\"; there are {}", name,
                                               names_instead(name, transport_table())));
}

}  // namespace tailrace::server
