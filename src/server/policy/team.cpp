// SPDX-License-Identifier: BSD-3-Clause
#include "server/team.hpp"

#include <algorithm>
#include <cassert>

#include "tailrace/box.hpp"

namespace tailrace::server {

/// The clients of a node are dealt out evenly to its servers, in order.
int Team::server_of_client(int client_number) const {
  const auto node_of = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  const auto rank = rank_of_client[static_cast<std::size_t>(client_number)];
  const int node = node_of(rank);
  int num = 0;
  int last = -1;
  for (int s = 0; s < num_servers(); ++s) {
    if (node_of(rank_of_server[static_cast<std::size_t>(s)]) != node) continue;
    ++num;
    last = s;
  }
  assert(num > 0);
  if (num == 1) return last;
  std::ptrdiff_t place = 0;
  std::ptrdiff_t num_here = 0;
  for (const int other : rank_of_client) {
    if (node_of(other) != node) continue;
    ++num_here;
    if (other < rank) ++place;
  }
  auto left = part_of(num_here, num, place);
  for (int s = 0;; ++s) {
    if (node_of(rank_of_server[static_cast<std::size_t>(s)]) == node && left-- == 0) return s;
  }
}

}  // namespace tailrace::server
