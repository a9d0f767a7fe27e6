// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/description.hpp"
#include "server/packet.hpp"
#include "server/step.hpp"
#include "server/transport.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

/// Which step of which stream.
struct StepKey {
  std::int32_t stream = 0;
  std::int64_t number = 0;
  auto operator<=>(const StepKey&) const = default;
};

/// A step of which packets have arrived.
struct PendingStep {
  std::vector<Arrival> arrivals;
  std::optional<Description> description;
  std::int64_t expected = -1;
  double first_s = 0;  ///< when the first packet came

  bool whole() const {
    return expected >= 0 && static_cast<std::int64_t>(arrivals.size()) >= expected;
  }
};

/// Takes a packet in: checks it, and reads the description if it has one. Throws `Errc::corrupt`.
void add_packet(PendingStep& step, const Arrival& arrival, double now);
PacketHeader header_of(const Arrival& arrival);
/// The step with all its parts, which point into the packets. Local.
Step whole_step(const PendingStep& step);

}  // namespace tailrace::server
