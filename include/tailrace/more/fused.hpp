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
/// lane l = row y0 + l. Lanes from `rows` upwards contain no grid row (their input is zero).
template <class Real>
struct PhysicalTile {
  std::ptrdiff_t z, y0;        ///< global indices of the plane and of the first row
  std::ptrdiff_t rows;         ///< rows of the grid in this tile (at most lanes)
  std::ptrdiff_t num_items;    ///< nx * lanes
  std::span<Real* const> in;   ///< backward-transformed fields; may be overwritten
  std::span<Real* const> out;  ///< products to transform forward
  int thread;
};

/// A plane z after the forward transforms in x and y: units of `lanes` kx (real, then imaginary
/// parts), for a run of kept ky.
template <class Real>
struct PlaneTile {
  std::ptrdiff_t ky_start;  ///< index of the first ky of the run among all kept ky
  std::ptrdiff_t ky_count;
  std::span<const std::ptrdiff_t> row;  ///< unit of each kept ky in the panels `in`
  std::ptrdiff_t kx_start;              ///< local index of lane 0
  std::ptrdiff_t kx_count;              ///< modes in this unit (at most lanes)
  std::span<Real* const> in;            ///< one panel per product
  std::span<Real* const> out;  ///< for each exchanged field: address of the unit of ky_start
  std::ptrdiff_t out_step;     ///< items from one ky to the next in `out`
  bool past_caches = false;    ///< prefer `store_past_caches` to write `out`
};

/// A line of z of `lanes` neighbouring kx at one ky, in spectral space.
template <class Real>
struct SpectralTile {
  std::ptrdiff_t ky;                    ///< local index
  std::ptrdiff_t kx_start, kx_count;    ///< local index of lane 0; modes in this unit
  std::span<const std::ptrdiff_t> row;  ///< unit of each kept kz in the panels
  std::span<Real* const> in;   ///< exchanged fields, forward transformed; empty at the start
  std::span<Real* const> out;  ///< fields to transform backward; empty at the end
  int thread;
};

/// The work of a pseudo-spectral code between the transforms. Several threads call the functions
/// concurrently, once per tile; the functions must not make MPI calls.
template <class Real>
class FusedOperator {
 public:
  virtual ~FusedOperator() = default;
  /// Computes the products of a tile from the fields.
  virtual void physical(const PhysicalTile<Real>& tile) = 0;
  /// Makes the fields of the second exchange from the products (taking derivatives in x and y here
  /// reduces the number of exchanged fields).
  virtual void combine(const PlaneTile<Real>& tile) = 0;
  /// Reads the fields that arrived (if any) and fills those to transform next (if any): all kept kz
  /// of each `out` panel.
  virtual void spectral(const SpectralTile<Real>& tile) = 0;
};

struct FusedShape {
  int num_fields = 3;     ///< backward, spectral to physical
  int num_products = 5;   ///< forward through x and y
  int num_exchanged = 4;  ///< forward through z
};

/// Model times of the passes of one substage on this machine, for comparison with measured times:
/// memory traffic and 1D transforms of the slowest rank. Moves and transposes within the caches are
/// not included.
struct PassCosts {
  double physical_memory_s = 0, physical_kernel_s = 0;
  double spectral_memory_s = 0, spectral_kernel_s = 0;
};

/// Transforms with the work between them done in cache: spectral fields are transformed backward,
/// products are formed row by row and transformed forward, and physical fields are never stored.
/// Only half-transformed, truncated blocks touch memory. Real transforms only.
template <class Real>
class Fused {
 public:
  /// Uses the grid, kernels and method of `transform`, which must outlive it. Collective, blocking.
  Fused(Transform<Real>& transform, const FusedShape& shape);
  ~Fused();

  /// One pass over the spectral tiles. `receive`: reads the products of the last `physical_pass`;
  /// `send`: sends fields to the next one. Collective, blocking.
  void spectral_pass(FusedOperator<Real>& op, bool receive, bool send);
  /// One pass over physical space. Collective, blocking.
  void physical_pass(FusedOperator<Real>& op);
  std::ptrdiff_t buffer_bytes() const;
  /// Computes the costs from the rates of memory and kernels, which this call measures on all ranks
  /// at once (some tenths of a second, with two temporary arrays of 64 MiB). `spectral_bytes`:
  /// memory traffic of the operator itself in a spectral pass. Collective, blocking.
  PassCosts measure_costs(double spectral_bytes) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

extern template class Fused<float>;
extern template class Fused<double>;

}  // namespace TAILRACE_LANES_NAMESPACE
}  // namespace tailrace::fft
