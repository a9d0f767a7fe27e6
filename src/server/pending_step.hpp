// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/description.hpp"
#include "server/packet.hpp"
#include "server/step_file.hpp"
#include "server/transport.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

/// Which step of which stream.
struct StepKey {
  std::int32_t stream = 0;
  std::int64_t number = 0;
  auto operator<=>(const StepKey&) const = default;
};

/// One file of a step on its way: this server's part, and on the leader what all have told.
struct FileOnItsWay {
  Step step;  ///< to begin again, if it must be
  std::string format;
  std::unique_ptr<StepFile> file;
  // Of the leader.
  std::vector<std::vector<std::int64_t>> needs;
  int num_needs = 0, num_written = 0;
  bool ended = false;
  std::optional<Error> failure;
  double seconds = 0;      ///< the slowest server's
  std::int64_t bytes = 0;  ///< of all servers
  double first_failure_s = 0;
  double again_s = 0;  ///< when to try again; 0: not
  bool beginning_again = false;
};

/// A step of which packets have arrived.
struct PendingStep {
  std::vector<Arrival> arrivals;
  std::optional<Description> description;
  std::int64_t expected = -1;
  double first_s = 0;  ///< when the first packet came
  bool told = false;   ///< the leader knows that this server has everything
  std::vector<FileOnItsWay> files;
  std::optional<Error> failure;  ///< of a product, or of a file that has ended
  std::string instead;           ///< where a file went that could not be written in its place
  // Of the leader.
  int num_assembled = 0;
  bool running = false;  ///< all servers were told to run it
  bool files_begun = false;

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
