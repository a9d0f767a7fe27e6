// SPDX-License-Identifier: BSD-3-Clause
// The transposes by heFFTe's reshape, each of its algorithms. heFFTe's axis 0 is x, the fastest.

#include <heffte.h>

#include <complex>
#include <vector>

#include "transpose_part.hpp"

namespace {

using Boxes = std::vector<heffte::box3d<>>;
using bench::TransposePart;

/// The part `index` of `count` of n items.
std::pair<std::ptrdiff_t, std::ptrdiff_t> share(std::ptrdiff_t n, int count, int index) {
  const std::ptrdiff_t start = n * index / count;
  return {start, n * (index + 1) / count - start};
}

/// Rank `rank`'s part of a cube divided along axes `first` and `second`.
TransposePart part_of(std::ptrdiff_t n, std::array<int, 2> grid, int rank, std::size_t first,
                      std::size_t second) {
  TransposePart part{{0, 0, 0}, {n, n, n}};
  std::tie(part.start[first], part.extents[first]) = share(n, grid[0], rank / grid[1]);
  std::tie(part.start[second], part.extents[second]) = share(n, grid[1], rank % grid[1]);
  return part;
}

heffte::box3d<> box_of(const TransposePart& part) {
  std::array<int, 3> low{}, high{}, order{};
  for (std::size_t d = 0; d < 3; ++d) {
    low[2 - d] = static_cast<int>(part.start[d]);
    high[2 - d] = static_cast<int>(part.start[d] + part.extents[d] - 1);
    order[2 - d] = 2 - static_cast<int>(part.order[d]);
  }
  return {low, high, order};
}

void run(const bench::Arguments& args, int rank, int num_ranks) {
  const std::ptrdiff_t n = args.number("n", 256);
  const std::string pattern = args.text("pattern", "pencils");
  const bool slabs = pattern == "slabs";
  const std::array<int, 2> grid =
      slabs ? std::array{1, num_ranks} : bench::transpose_grid(num_ranks);
  std::vector<TransposePart> from, to;
  Boxes in, out;
  for (int r = 0; r < num_ranks; ++r) {
    from.push_back(slabs ? part_of(n, grid, r, 1, 0) : part_of(n, grid, r, 0, 1));
    to.push_back(slabs ? part_of(n, grid, r, 0, 1) : part_of(n, grid, r, 0, 2));
    if (slabs) to.back().order = {1, 0, 2};
    if (pattern == "pencils") to.back().order = {0, 2, 1};
    in.push_back(box_of(from.back()));
    out.push_back(box_of(to.back()));
  }
  const auto own = static_cast<std::size_t>(rank);
  std::vector<std::complex<double>> source(static_cast<std::size_t>(from[own].num_items()));
  std::vector<std::complex<double>> target(static_cast<std::size_t>(to[own].num_items()));
  const std::pair<heffte::reshape_algorithm, const char*> ways[] = {
      {heffte::reshape_algorithm::alltoallv, "heFFTe, alltoallv"},
      {heffte::reshape_algorithm::p2p, "heFFTe, p2p"},
      {heffte::reshape_algorithm::p2p_plined, "heFFTe, p2p_plined"}};
  for (const auto& [way, name] : ways) {
    auto options = heffte::default_options<heffte::backend::fftw>();
    options.algorithm = way;
    const auto reshape = heffte::make_reshape3d<heffte::backend::fftw, int>(
        nullptr, in, out, MPI_COMM_WORLD, options);
    std::vector<std::complex<double>> work(reshape->size_workspace());
    const bench::PeerTranspose peer{
        name, pattern, n, from[own], to[own], source.data(), target.data(), [&] {
          reshape->apply(1, source.data(), target.data(), work.data());
        }};
    bench::measure(peer, bench::Effort::from(args));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  run(bench::Arguments(argc, argv), program.rank, program.num_ranks);
  return 0;
}
