// SPDX-License-Identifier: BSD-3-Clause
// docs/servers.md says of transports what their table says.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "server/transport.hpp"

namespace tailrace::server {
namespace {

TEST(ServersDoc, HoldsTheTableOfTransports) {
  std::ifstream file(TAILRACE_SERVERS_DOC);
  const std::string doc{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(doc.empty()) << TAILRACE_SERVERS_DOC;
  std::string table = "| transport | |\n|---|---|\n";
  for (const auto& transport : transport_table()) {
    table += "| `" + std::string(transport.name) + "` | " + transport.summary + " |\n";
  }
  EXPECT_NE(doc.find("\n" + table + "\n"), std::string::npos) << "it should be\n" << table;
}

}  // namespace
}  // namespace tailrace::server
