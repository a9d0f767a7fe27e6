// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tailrace/fft.hpp"
#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {
inline namespace TAILRACE_LANES_NAMESPACE {

/// Some rows of a plane in physical space, while they are in cache: real panels [nx][lanes] with
/// lane l = row y0 + l. Lanes from `rows` on hold no row of the grid (zeros come in).
template <class Real>
struct PhysicalTile {
  std::ptrdiff_t z, y0;        ///< global indices of the plane and of the first row
  std::ptrdiff_t rows;         ///< rows of the grid in this tile (at most lanes)
  std::ptrdiff_t num_items;    ///< nx * lanes
  std::span<Real* const> in;   ///< fields that came backward; may be overwritten
  std::span<Real* const> out;  ///< products that go forward
  int thread;
};

/// A plane z after the forward transforms in x and y: units of `lanes` kx (real, then imaginary
/// parts), for a run of kept ky.
template <class Real>
struct PlaneTile {
  std::ptrdiff_t ky_start;  ///< place of the first kept ky among all kept ones
  std::ptrdiff_t ky_count;
  std::span<const std::ptrdiff_t> row;  ///< of each kept ky: its unit in the panels `in`
  std::ptrdiff_t kx_start;              ///< local index of lane 0
  std::ptrdiff_t kx_count;              ///< modes in this unit (at most lanes)
  std::span<Real* const> in;            ///< one panel a product
  std::span<Real* const> out;           ///< one address an exchanged field: unit of ky_start
  std::ptrdiff_t out_step;              ///< items from one ky to the next in `out`
  bool past_caches = false;             ///< `out` is better written by `store_past_caches`
};

/// A line of z of `lanes` neighbouring kx at one ky, in spectral space.
template <class Real>
struct SpectralTile {
  std::ptrdiff_t ky;                    ///< local index
  std::ptrdiff_t kx_start, kx_count;    ///< as above
  std::span<const std::ptrdiff_t> row;  ///< of each kept kz: its unit in the panels
  std::span<Real* const> in;   ///< exchanged fields, forward transformed; empty at the start
  std::span<Real* const> out;  ///< fields to transform backward; empty at the end
  int thread;
};

/// What a pseudo-spectral code does between the transforms. Functions are called for many tiles, by
/// several threads at once; they must not make MPI calls.
template <class Real>
class FusedOperator {
 public:
  virtual ~FusedOperator() = default;
  /// Computes the products of a tile from the fields.
  virtual void physical(const PhysicalTile<Real>& tile) = 0;
  /// Makes the fields of the second exchange from the products (derivatives in x and y
  /// may be taken here, so that fewer fields travel).
  virtual void combine(const PlaneTile<Real>& tile) = 0;
  /// Uses what arrived (if any) and gives what is to be transformed next (if any): all kept kz of
  /// each `out` panel.
  virtual void spectral(const SpectralTile<Real>& tile) = 0;
};

struct FusedShape {
  int num_fields = 3;     ///< backward, spectral to physical
  int num_products = 5;   ///< forward through x and y
  int num_exchanged = 4;  ///< forward through z
};

/// What the passes of one substage should take on this machine, to compare their time with:
/// what they touch in memory and their 1D transforms, the slowest rank's. What is moved and turned
/// within the caches is not in it.
struct PassCosts {
  double physical_memory_s = 0, physical_kernel_s = 0;
  double spectral_memory_s = 0, spectral_kernel_s = 0;
};

/// Transforms with the work between them done in cache: spectral fields go backward, products are
/// made row by row, and come forward, while physical space is never stored. Only half-transformed,
/// truncated blocks touch memory. Real transforms only.
template <class Real>
class Fused {
 public:
  /// Uses the grid, kernels and method of `transform`, which must outlive it. Collective, blocking.
  Fused(Transform<Real>& transform, const FusedShape& shape);
  ~Fused();

  /// One pass over the spectral tiles; `receive`: products of the last `physical_pass` come in;
  /// `send`: fields go out to the next one. Collective, blocking.
  void spectral_pass(FusedOperator<Real>& op, bool receive, bool send);
  /// One pass over physical space. Collective, blocking.
  void physical_pass(FusedOperator<Real>& op);
  std::ptrdiff_t buffer_bytes() const;
  /// The costs by the rates of this machine's memory and kernels, which it measures now, all ranks
  /// at once (some tenths of a second; two arrays of 64 MiB meanwhile). `spectral_bytes`: what the
  /// operator itself reads and writes in memory in a spectral pass. Collective, blocking.
  PassCosts measure_costs(double spectral_bytes) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

extern template class Fused<float>;
extern template class Fused<double>;

}  // namespace TAILRACE_LANES_NAMESPACE
}  // namespace tailrace::fft
