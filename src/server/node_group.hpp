// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "move/node_window.hpp"
#include "server/group.hpp"

namespace tailrace::server {

/// Members on one node, which pass their bytes on through shared memory: background threads need
/// neither MPI nor the main thread for that. For one thread at a time.
class NodeGroup : public Group {
 public:
  /// `node`: the members. This member is called `name` in errors. Throws `Errc::io` on all members
  /// if there is no memory. Collective over `node`, blocking.
  NodeGroup(const Comm& node, std::string name);
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return name_; }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override;

 private:
  /// In front of a member's segment; what follows are `size_` sizes, and as many parts.
  struct Head {
    SequenceFlag written;  ///< rounds that this member has written
    SequenceFlag read;     ///< and read
  };
  struct Segment {
    Head* head;
    std::int64_t* sizes;  ///< of its messages, to each member
    std::byte* parts;     ///< of `part_bytes_` to each member
  };
  Segment segment(int member) const;
  void write(const std::vector<std::vector<std::byte>>& outgoing, std::size_t at);
  bool read(std::vector<std::vector<std::byte>>& incoming, std::size_t at);

  int rank_, size_;
  std::string name_;
  std::size_t part_bytes_;
  std::uint32_t round_ = 0;
  NodeWindow window_;
};

}  // namespace tailrace::server
