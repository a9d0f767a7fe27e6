// SPDX-License-Identifier: BSD-3-Clause
#include "route.hpp"

#include <optional>

#include "move/tuned.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::fft {

namespace {

template <class Real>
constexpr auto unit_bytes = unit<Real>* static_cast<std::ptrdiff_t>(sizeof(Real));

std::ptrdiff_t count_of(const std::vector<Range>& ranges, int part) {
  return ranges[static_cast<std::size_t>(part)].count;
}

// A shape with size(piece, reader, writer) units from each writer to each reader.
template <class Size>
BlockShape make_shape(std::ptrdiff_t item_bytes, int pieces, int peers, int rank, Size size) {
  BlockShape shape;
  shape.item_bytes = item_bytes;
  for (int piece = 0; piece < pieces; ++piece) {
    auto& send = shape.send.emplace_back();
    auto& receive = shape.receive.emplace_back();
    for (int peer = 0; peer < peers; ++peer) {
      send.push_back(size(piece, peer, rank));
      receive.push_back(size(piece, rank, peer));
    }
  }
  return shape;
}

}  // namespace

template <class Real>
BlockShape ColumnExchange<Real>::blocks(int rank, std::ptrdiff_t num_kx,
                                        const std::vector<Range>& readers,
                                        const std::vector<Range>& writers, Cut cut) {
  return make_shape(unit_bytes<Real>, cut.num_pieces(), static_cast<int>(readers.size()), rank,
                    [&](int piece, int reader, int writer) {
                      return cut.fields_in_piece() * count_of(readers, reader) *
                             num_groups(num_kx, lanes<Real>) *
                             padded(cut.units(count_of(writers, writer), piece).count);
                    });
}

template <class Real>
ColumnExchange<Real>::ColumnExchange(const Comm& column, int rank, std::ptrdiff_t num_kx,
                                     const std::vector<Range>& readers,
                                     const std::vector<Range>& writers, Cut cut_,
                                     std::string_view method)
    : readers_(readers),
      writers_(writers),
      rank_(rank),
      groups_(num_groups(num_kx, lanes<Real>)),
      cut(cut_),
      exchange(column, blocks(rank, num_kx, readers, writers, cut_), method) {}

template <class Real>
BlockShape RowExchange<Real>::blocks(int rank, std::ptrdiff_t num_planes,
                                     const std::vector<Range>& lane_axis,
                                     const std::vector<Range>& run_axis, Cut cut) {
  return make_shape(unit_bytes<Real>, cut.num_pieces(), static_cast<int>(lane_axis.size()), rank,
                    [&](int piece, int reader, int writer) {
                      return cut.fields_in_piece() * cut.units(num_planes, piece).count *
                             num_groups(count_of(lane_axis, reader), lanes<Real>) *
                             padded(count_of(run_axis, writer));
                    });
}

template <class Real>
RowExchange<Real>::RowExchange(const Comm& row, int rank, std::ptrdiff_t num_planes,
                               const std::vector<Range>& lane_axis,
                               const std::vector<Range>& run_axis, Cut cut_,
                               std::string_view method)
    : lane_axis_(lane_axis),
      run_axis_(run_axis),
      rank_(rank),
      planes_(num_planes),
      cut(cut_),
      exchange(row, blocks(rank, num_planes, lane_axis, run_axis, cut_), method) {}

template class ColumnExchange<float>;
template class ColumnExchange<double>;
template class RowExchange<float>;
template class RowExchange<double>;

std::string choose_method(const Comm& whole, const Comm& part, const BlockShape& shape,
                          const std::string& asked) {
  std::string name = asked;
  std::optional<Error> failure;
  try {
    const std::vector<std::ptrdiff_t> nothing(static_cast<std::size_t>(part.num_ranks()), 0);
    if (asked == "auto") {
      name = choose_block_method(whole, part, shape, Surroundings(part)).name;
    } else {
      const BlockExchange trial(part, {1, {nothing}, {nothing}}, asked);
    }
  } catch (const Error& error) {
    failure = error;
  }
  agree(whole.raw(), failure ? &*failure : nullptr);
  return name;
}

}  // namespace tailrace::fft
