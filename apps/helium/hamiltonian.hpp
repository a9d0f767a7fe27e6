// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "angular.hpp"
#include "atom.hpp"
#include "blocks.hpp"
#include "kernel.hpp"
#include "radial.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::helium {

/// A function of both electrons as the ranks hold it: packed (see `Blocks`), the real part, then,
/// if it is complex, the imaginary part.
using Wave = std::vector<double>;

/// H = sum of both electrons' `Radial` + 1/r12 + field. 1/r12 on r1 = r2 has the correction
/// -(2 k + 1) h / (12 r^2) of each multipole k, by which the whole is of fourth order in h.
class Hamiltonian {
 public:
  /// Collective, blocking. Throws `Errc::invalid_input` on all ranks for a grid that cannot be.
  Hamiltonian(const Comm& comm, const AtomOptions& options);

  const AtomOptions& options() const { return options_; }
  const Radial& radial() const { return radial_; }
  const std::vector<Channel>& channels() const { return channels_; }
  Blocks& blocks() { return blocks_; }
  const Blocks& blocks() const { return blocks_; }
  std::string_view kernel() const { return kernel_->name; }
  const KernelTables& tables() const { return tables_; }
  /// An upper bound of the largest energy of the grid; 0 is about the smallest.
  double spectral_radius() const;

  /// x of `apply`: `scale` times a packed function of `parts` parts. Collective, blocking.
  void set_input(const double* x, double scale, int parts);
  /// x in lines (`Blocks::lined_size` items a part). Local.
  void keep_input(int parts, double* lines) const;
  /// y = H x - before y in a field: E in the length gauge, A in the velocity gauge. `parts` 1: x
  /// and y are real (no field). Both are kept here, in frames, and y is not read where `before` is
  /// 0. With `next` what was y becomes x first, scale (y - alpha x), and what was x is y. Returns
  /// products of y over all ranks. The neighbours' part of y and the sums are on their way at the
  /// same time. Collective, blocking.
  KernelSums apply(Coupling coupling, double field, int parts, double before = 0,
                   const NextInput* next = nullptr);
  /// y = y - alpha x. Returns <y, y> over all ranks. Collective, blocking.
  double subtract(double alpha, int parts);

  /// <x, y> of packed arrays of one part on this rank, the diagonal counted once and all else
  /// twice. Local.
  double local_dot(const double* x, const double* y) const;
  /// Sums `count` numbers over the ranks. Collective, blocking.
  void add_up(double* numbers, int count);

  /// A guess of the ground state (singlet), or of 1s2s (triplet): real, of norm 1. Collective.
  Wave first_guess();

 private:
  /// Items by which the frames' places differ: not in the same sets of the caches.
  static constexpr std::ptrdiff_t apart = 17 * Block::line;
  double* frame(int which, int part) const {
    return frames_[which][part].as<double>() + (2 * which + part) * apart;
  }
  void make_tables();
  void make_pairs();
  void make_dipoles();
  double guess_at(double r1, double r2) const;
  KernelSums meet(const KernelSums& own, int parts);

  AtomOptions options_;
  Radial radial_;
  std::vector<Channel> channels_;
  Blocks blocks_;
  KernelTables tables_;
  const Kernel* kernel_;
  Buffer frames_[2][2];  ///< of x and y, whichever is which; real and imaginary part
  int x_ = 0;            ///< which of them is x
  std::vector<double> scratch_;
  Reduction reduction_;
};

}  // namespace tailrace::helium
