// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::server {

/// What servers tell each other about a step; who gets it is up to the sender.
struct PeerMessage {
  enum class Kind : std::int32_t { assembled, run, needs, place, written, again, ended };
  Kind kind = Kind::assembled;
  std::int32_t from = 0;
  std::int32_t stream = 0;
  std::int32_t file = 0;  ///< of the step
  std::int64_t number = 0;
  std::vector<std::int64_t> values;
  std::int32_t code = -1;  ///< Errc of a failure, or -1
  std::int32_t sys_errno = 0;
  std::string text;  ///< of a failure
};

/// Messages between servers. One thread.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Never waits. To itself, too. Between two servers, order is kept.
  virtual void send(int server, const PeerMessage& message) = 0;
  virtual bool take(PeerMessage& message) = 0;
};

}  // namespace tailrace::server
