// SPDX-License-Identifier: BSD-3-Clause
#include "move/arrivals.hpp"

namespace tailrace {

void Arrivals::arrive(int num_ranks) {
  const auto all = static_cast<std::uint64_t>(num_ranks);
  const auto count = count_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (count % all == 0) ended_.advance(static_cast<std::uint32_t>(count / all));
}

}  // namespace tailrace
