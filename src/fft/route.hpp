// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "geometry.hpp"
#include "move/block_exchange.hpp"
#include "tailrace/lanes.hpp"

namespace tailrace::fft {

/// How a route is cut into pieces that travel independently: a piece is either one field (whole), or
/// all fields of a part of the local planes or rows.
struct Cut {
  bool by_field = true;
  int fields = 1;
  int chunks = 1;

  int num_pieces() const { return by_field ? fields : chunks; }
  int fields_in_piece() const { return by_field ? 1 : fields; }
  /// The units (of `count` local ones) that are in `piece`.
  Range units(std::ptrdiff_t count, int piece) const {
    return by_field ? Range{0, count} : split_evenly(count, chunks, piece);
  }
  int piece_of(int field, std::ptrdiff_t count, std::ptrdiff_t unit_index) const {
    return by_field ? field : static_cast<int>(part_of(count, chunks, unit_index));
  }
  int field_in_piece(int field) const { return by_field ? 0 : field; }
};

/// Rows of blocks are an odd number of units apart, so that a scatter does not hit one cache set.
constexpr std::ptrdiff_t padded(std::ptrdiff_t count) { return count == 0 ? 0 : count | 1; }

// The four exchanges of a transform. A unit is `unit<Real>` items: the real, then the imaginary
// parts of `lanes` neighbours. Each class knows the order of its blocks; the fastest index is the one
// that the *reader* runs along, so the writer scatters whole units and the reader streams.
//
//   class      from rank  to rank   order of a block                        lanes
//   XToY       y part     kx part   [field][z][kx group][y]                 kx
//   YToZ       z part     ky part   [field][ky][kx group][z]                kx
//   ZToY       ky part    z part    [field][z][kx group][ky]                kx
//   YToX       kx part    y part    [field][z][y group][kx]                 y

template <class Real>
class YToZ {
 public:
  YToZ(const Comm& column, const Geometry& geometry, Cut cut, std::string_view method);
  Real* send(int piece, int peer, int field, std::ptrdiff_t ky, std::ptrdiff_t group,
             std::ptrdiff_t z) const {
    const auto zs = cut.units(g_.zs().count, piece);
    return block(exchange.send_block(piece, peer)) +
           (((field * ky_count(peer) + ky) * groups_ + group) * padded(zs.count) + z) * unit<Real>;
  }
  const Real* receive(int piece, int peer, int field, std::ptrdiff_t ky, std::ptrdiff_t group) const {
    return block(exchange.receive_block(piece, peer)) +
           ((field * g_.kys().count + ky) * groups_ + group) * padded(zs_from(piece, peer).count) *
               unit<Real>;
  }
  /// The planes that come from `peer` in `piece`, counted from the first of that peer.
  Range zs_from(int piece, int peer) const {
    return cut.units(g_.z_of[static_cast<std::size_t>(peer)].count, piece);
  }

 private:
  static Real* block(std::byte* address) { return reinterpret_cast<Real*>(address); }
  std::ptrdiff_t ky_count(int peer) const { return g_.ky_of[static_cast<std::size_t>(peer)].count; }
  const Geometry& g_;
  std::ptrdiff_t groups_;

 public:
  Cut cut;
  BlockExchange exchange;
};

template <class Real>
class ZToY {
 public:
  ZToY(const Comm& column, const Geometry& geometry, Cut cut, std::string_view method);
  Real* send(int piece, int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group,
             std::ptrdiff_t ky) const {
    const auto kys = cut.units(g_.kys().count, piece);
    return block(exchange.send_block(piece, peer)) +
           (((field * z_count(peer) + z) * groups_ + group) * padded(kys.count) + ky) * unit<Real>;
  }
  const Real* receive(int piece, int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group) const {
    return block(exchange.receive_block(piece, peer)) +
           ((field * g_.zs().count + z) * groups_ + group) * padded(kys_from(piece, peer).count) *
               unit<Real>;
  }
  Range kys_from(int piece, int peer) const {
    return cut.units(g_.ky_of[static_cast<std::size_t>(peer)].count, piece);
  }

 private:
  static Real* block(std::byte* address) { return reinterpret_cast<Real*>(address); }
  std::ptrdiff_t z_count(int peer) const { return g_.z_of[static_cast<std::size_t>(peer)].count; }
  const Geometry& g_;
  std::ptrdiff_t groups_;

 public:
  Cut cut;
  BlockExchange exchange;
};

template <class Real>
class XToY {
 public:
  XToY(const Comm& row, const Geometry& geometry, Cut cut, std::string_view method);
  Real* send(int piece, int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group,
             std::ptrdiff_t y) const {
    const auto zs = cut.units(g_.zs().count, piece);
    return reinterpret_cast<Real*>(exchange.send_block(piece, peer)) +
           (((field * zs.count + z) * groups(peer) + group) * padded(g_.ys().count) + y) *
               unit<Real>;
  }
  /// All of the peer's y, contiguous.
  const Real* receive(int piece, int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group) const {
    const auto zs = cut.units(g_.zs().count, piece);
    return reinterpret_cast<const Real*>(exchange.receive_block(piece, peer)) +
           ((field * zs.count + z) * groups(g_.ry) + group) *
               padded(g_.y_of[static_cast<std::size_t>(peer)].count) * unit<Real>;
  }

 private:
  std::ptrdiff_t groups(int peer) const {
    return num_groups(g_.kx_of[static_cast<std::size_t>(peer)].count, lanes<Real>);
  }
  const Geometry& g_;

 public:
  Cut cut;
  BlockExchange exchange;
};

template <class Real>
class YToX {
 public:
  YToX(const Comm& row, const Geometry& geometry, Cut cut, std::string_view method);
  Real* send(int piece, int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group,
             std::ptrdiff_t kx) const {
    const auto zs = cut.units(g_.zs().count, piece);
    return reinterpret_cast<Real*>(exchange.send_block(piece, peer)) +
           (((field * zs.count + z) * groups(peer) + group) * padded(g_.kxs().count) + kx) *
               unit<Real>;
  }
  /// All of the peer's kx, contiguous.
  const Real* receive(int piece, int peer, int field, std::ptrdiff_t z, std::ptrdiff_t group) const {
    const auto zs = cut.units(g_.zs().count, piece);
    return reinterpret_cast<const Real*>(exchange.receive_block(piece, peer)) +
           ((field * zs.count + z) * groups(g_.ry) + group) *
               padded(g_.kx_of[static_cast<std::size_t>(peer)].count) * unit<Real>;
  }

 private:
  std::ptrdiff_t groups(int peer) const {
    return num_groups(g_.y_of[static_cast<std::size_t>(peer)].count, lanes<Real>);
  }
  const Geometry& g_;

 public:
  Cut cut;
  BlockExchange exchange;
};

}  // namespace tailrace::fft
