// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "move/device_copies.hpp"
#include "move/strided_copy.hpp"
#include "server/step.hpp"
#include "server/team.hpp"
#include "store/contents_check.hpp"
#include "tailrace/box.hpp"
#include "tailrace/output.hpp"

namespace tailrace::server {

/// What every packet begins with; then come the description of the step, if this client sends it,
/// the table of boxes and, each at its own place, their items, row-major without gaps.
struct PacketHeader {
  static constexpr std::uint64_t packet_mark = 0x746c7263'70616b31;
  std::uint64_t mark = packet_mark;
  std::int64_t bytes = 0;  ///< of the whole packet
  std::int32_t stream = 0;
  std::int32_t client = 0;
  std::int64_t number = 0;             ///< of the step in its stream
  std::int64_t description_bytes = 0;  ///< of what follows the header; 0: another client sends it
  std::int64_t boxes_at = 0;           ///< where the table of boxes begins
  std::int64_t num_boxes = 0;
  std::int64_t expected = 0;  ///< with a description: clients that send a packet to this server
};
static_assert(sizeof(PacketHeader) == 64);

/// An entry of the table of boxes.
struct PacketBox {
  std::int64_t variable = 0;  ///< place in the description
  Box box;
  std::int64_t at = 0;  ///< first byte, counted from the packet's
};

/// What a server tells its clients about a step. Fixed size, plain bytes: it travels
/// through shared memory and messages alike.
struct Notice {
  enum class Kind : std::int32_t {
    none,
    committed,  ///< the step is safe on disk, products included
    failed,     ///< a file or a stage of it failed; `text`, `sys_errno` and `code` say how
    fallback,   ///< could not be written where it belongs, and is safe elsewhere
    text        ///< the beginning of the next notice's text, which is too long for one
  };
  static constexpr int text_bytes = 440;
  Kind kind = Kind::none;
  std::int32_t stream = 0;
  std::int64_t number = 0;  ///< of the step in its stream, from 0 by calls of `write`
  std::int32_t code = 0;    ///< Errc
  std::int32_t sys_errno = 0;
  double write_s = 0;          ///< busiest server
  double cpu_s = 0;            ///< processor time of the only server; NaN of several
  std::int64_t bytes = 0;      ///< written, all servers
  double seconds = 0;          ///< from the last client's handing over to the end
  char text[text_bytes] = {};  ///< ends in a zero
};
static_assert(sizeof(Notice) <= 512);

/// A notice with its whole text.
struct WholeNotice {
  Notice notice;
  std::string text;
};

/// What a server must know of a step besides its bytes: it comes with the packet of one client, so
/// that servers need no state from before (a restarted one has none).
struct Description {
  std::string stream;     ///< its name
  OutputOptions options;  ///< all but what only clients use; no pointers
  Step step;              ///< fields without parts
};

/// The step of `contents`, without parts. Local.
Step bare_step(const OutputOptions& options, const std::string& path, std::int64_t number,
               const FileContents& contents);

/// The other way round: the arrays of `step` as contents without data; `layouts` must live as long.
/// Local.
FileContents contents_of(const Step& step, std::vector<Layout>& layouts);
/// Plain bytes and back. Local.
std::vector<std::byte> to_bytes(const std::string& stream, const OutputOptions& options,
                                const std::string& path, std::int64_t number,
                                const FileContents& contents, bool lowered);
Description to_description(std::span<const std::byte> bytes);

/// The stripes that servers' shares of arrays follow: hint `striping_unit`, where the program gives
/// it, else `stripe_bytes`. Known without a look at the file system. Local.
std::ptrdiff_t stripe_of_shares(const OutputOptions& options);

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
  /// Fills `memory`, which is as large as `bytes_of` says; the caller finishes `copies`. If
  /// lowered, arrays must be on the host. Local.
  void pack(const Packet& packet, const FileContents& contents,
            std::span<const std::byte> description, std::int32_t stream, std::int64_t number,
            std::span<std::byte> memory, DeviceCopies& copies);
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
