// SPDX-License-Identifier: BSD-3-Clause
#include "route.hpp"

namespace tailrace::fft {

namespace {

// A shape whose entries are given by functions of (piece, peer).
template <class Send, class Receive>
BlockShape make_shape(std::ptrdiff_t item_bytes, int pieces, int peers, Send send,
                      Receive receive) {
  BlockShape shape;
  shape.item_bytes = item_bytes;
  for (int piece = 0; piece < pieces; ++piece) {
    auto& to = shape.send.emplace_back();
    auto& from = shape.receive.emplace_back();
    for (int peer = 0; peer < peers; ++peer) {
      to.push_back(send(piece, peer));
      from.push_back(receive(piece, peer));
    }
  }
  return shape;
}

template <class Real>
constexpr auto unit_bytes = unit<Real> * static_cast<std::ptrdiff_t>(sizeof(Real));

std::ptrdiff_t count_of(const std::vector<Range>& ranges, int part) {
  return ranges[static_cast<std::size_t>(part)].count;
}

template <class Real>
BlockShape y_to_z_shape(const Geometry& g, const Cut& cut) {
  const auto groups = num_groups(g.kxs().count, lanes<Real>);
  const auto size = [&](int piece, std::ptrdiff_t kys, std::ptrdiff_t zs) {
    return cut.fields_in_piece() * kys * groups * padded(cut.units(zs, piece).count);
  };
  return make_shape(
      unit_bytes<Real>, cut.num_pieces(), g.pz,
      [&](int piece, int peer) { return size(piece, count_of(g.ky_of, peer), g.zs().count); },
      [&](int piece, int peer) { return size(piece, g.kys().count, count_of(g.z_of, peer)); });
}

template <class Real>
BlockShape z_to_y_shape(const Geometry& g, const Cut& cut) {
  const auto groups = num_groups(g.kxs().count, lanes<Real>);
  const auto size = [&](int piece, std::ptrdiff_t zs, std::ptrdiff_t kys) {
    return cut.fields_in_piece() * zs * groups * padded(cut.units(kys, piece).count);
  };
  return make_shape(
      unit_bytes<Real>, cut.num_pieces(), g.pz,
      [&](int piece, int peer) { return size(piece, count_of(g.z_of, peer), g.kys().count); },
      [&](int piece, int peer) { return size(piece, g.zs().count, count_of(g.ky_of, peer)); });
}

// Both exchanges of a row of ranks: groups of what the reader's lanes hold, runs of the other axis.
template <class Real>
BlockShape row_shape(const Geometry& g, const Cut& cut, const std::vector<Range>& lane_axis,
                     const std::vector<Range>& run_axis) {
  const auto size = [&](int piece, int lane_part, int run_part) {
    return cut.fields_in_piece() * cut.units(g.zs().count, piece).count *
           num_groups(count_of(lane_axis, lane_part), lanes<Real>) *
           padded(count_of(run_axis, run_part));
  };
  return make_shape(
      unit_bytes<Real>, cut.num_pieces(), g.py,
      [&](int piece, int peer) { return size(piece, peer, g.ry); },
      [&](int piece, int peer) { return size(piece, g.ry, peer); });
}

}  // namespace

template <class Real>
YToZ<Real>::YToZ(const Comm& column, const Geometry& geometry, Cut cut_, std::string_view method)
    : g_(geometry),
      groups_(num_groups(geometry.kxs().count, lanes<Real>)),
      cut(cut_),
      exchange(column, y_to_z_shape<Real>(geometry, cut_), method) {}

template <class Real>
ZToY<Real>::ZToY(const Comm& column, const Geometry& geometry, Cut cut_, std::string_view method)
    : g_(geometry),
      groups_(num_groups(geometry.kxs().count, lanes<Real>)),
      cut(cut_),
      exchange(column, z_to_y_shape<Real>(geometry, cut_), method) {}

template <class Real>
XToY<Real>::XToY(const Comm& row, const Geometry& geometry, Cut cut_, std::string_view method)
    : g_(geometry),
      cut(cut_),
      exchange(row, row_shape<Real>(geometry, cut_, geometry.kx_of, geometry.y_of), method) {}

template <class Real>
YToX<Real>::YToX(const Comm& row, const Geometry& geometry, Cut cut_, std::string_view method)
    : g_(geometry),
      cut(cut_),
      exchange(row, row_shape<Real>(geometry, cut_, geometry.y_of, geometry.kx_of), method) {}

template class YToZ<float>;
template class YToZ<double>;
template class ZToY<float>;
template class ZToY<double>;
template class XToY<float>;
template class XToY<double>;
template class YToX<float>;
template class YToX<double>;

}  // namespace tailrace::fft
