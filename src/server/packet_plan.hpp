// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "move/strided_copy.hpp"
#include "server/packet.hpp"
#include "server/team.hpp"
#include "store/contents_check.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::server {

/// The stripes that servers' shares of arrays follow: hint `striping_unit`, where the program gives
/// it, else `stripe_bytes`. Known without a look at the file system. Local.
std::ptrdiff_t stripe_of_shares(const OutputOptions& options);

/// The indices of the slowest axis of an array that a server has, unless it serves the clients of
/// its node: about equal shares, which begin at stripes of the array where whole rows do. Local.
Range share_of_server(const Index& extents, int num_dims, ItemType type,
                      std::ptrdiff_t stripe_bytes, int server, int num_servers);

/// Which items of a step's arrays go to which server, for one set of shapes, on one client.
class PacketPlan {
 public:
  /// `stripe_bytes` as `stripe_of_shares` says; `lowered`: float64 goes as float32. Local.
  PacketPlan(const FileContents& contents, const Team& team, std::ptrdiff_t stripe_bytes,
             bool lowered);
  /// True if `contents` has the same shapes on this client. Local.
  bool fits(const FileContents& contents) const {
    return store::same_shapes(shapes_, contents, team_.client);
  }
  /// Where other clients' shapes may have changed: whom each server is to wait for. Local.
  void count_clients(const FileContents& contents);

  struct Piece {
    PacketBox entry;  ///< its place is counted from the end of the table of boxes, rounded to pages
    StridedCopy copy;         ///< of an array; if lowered: of one index of the slowest axis
    std::ptrdiff_t step = 0;  ///< bytes between two indices of the slowest axis, if lowered
  };
  struct Packet {
    int server = 0;
    bool describes = false;     ///< this client sends the description
    std::int64_t expected = 0;  ///< see `PacketHeader`
    std::ptrdiff_t payload_bytes = 0;
    std::vector<Piece> pieces;
  };
  const std::vector<Packet>& packets() const { return packets_; }
  /// Bytes of a packet with its description. Local.
  static std::ptrdiff_t bytes_of(const Packet& packet, std::ptrdiff_t description_bytes);
  /// Fills `memory`, which is as large as `bytes_of` says. Local.
  void pack(const Packet& packet, const FileContents& contents,
            std::span<const std::byte> description, std::int32_t stream, std::int64_t number,
            std::span<std::byte> memory);
  /// Its copies out of arrays. Local.
  std::vector<StridedCopy*> copies();
  /// Bytes of items that this client sends. Local.
  std::ptrdiff_t payload_bytes() const;

 private:
  void add_pieces(Packet& packet, std::size_t variable, const Box& share);
  Piece make_piece(std::size_t variable, std::size_t box, const Box& part) const;
  void lower(const Piece& piece, const std::byte* from, std::byte* to);

  Box share(const Variable& variable, int server) const;

  const Team& team_;
  std::ptrdiff_t stripe_bytes_;
  bool lowered_;
  std::vector<store::Shape> shapes_;
  std::vector<Packet> packets_;
  std::vector<double> row_;  // of one index of the slowest axis
};

}  // namespace tailrace::server
