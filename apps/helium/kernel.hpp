// SPDX-License-Identifier: BSD-3-Clause
// H f on a block: the inner loop of the program.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "blocks.hpp"

namespace tailrace::helium {

/// The numbers of the Hamiltonian, as the kernel wants them. Tables along r are padded, so that
/// whole SIMD vectors can be read.
struct KernelTables {
  /// A term A r1^k r2^-(k+1) of the repulsion between two channels, r1 <= r2.
  struct Term {
    int k;
    double factor;
  };
  /// Two channels that the repulsion couples, left <= right, and their terms; the pairs of a
  /// channel with itself come first, in order, as they carry the potentials, too.
  struct Pair {
    int left, right;
    int first_term, num_terms;
    double cusp;  ///< on r1 = r2: sum of -A (2k + 1) h / 12, to be divided by r^2
  };
  /// What a channel takes from another by a pair.
  struct Link {
    int from, pair;
  };
  /// Dipole coupling: `factor` times (length) r f, or (velocity) df/dr + s f, of electron 1 or 2.
  struct Dipole {
    int from, electron, slope;  ///< slope: the table s
    double factor;
  };

  int num_channels = 0, num_powers = 0;
  std::ptrdiff_t padded = 0;                      ///< length of a table along r
  std::vector<double> r, powers, inverse_powers;  ///< [i]; [k][i] r^k; [k][i] r^-(k+1)
  std::vector<double> potentials;                 ///< [l][i]
  std::vector<double> slopes;                     ///< [table][i]
  std::vector<int> l1, l2;
  std::vector<Term> terms;
  std::vector<Pair> pairs;
  std::vector<Link> links;                             ///< of all channels, one after another
  std::vector<int> first_link;                         ///< num_channels + 1
  std::vector<Dipole> dipoles;                         ///< the same for the field
  std::vector<int> first_dipole, second_electron;      ///< electron 1 comes first
  double kinetic_0 = 0, kinetic_1 = 0, kinetic_2 = 0;  ///< of i, i +- 1, i +- 2, both directions
  double slope_1 = 0, slope_2 = 0;                     ///< df/dr: of i +- 1, i +- 2
};

/// What a field adds: nothing, E (z1 + z2), or A (p1 + p2).
enum class Coupling { none, length, velocity };

/// Products of the result y, summed over a block, the diagonal counted once and all else twice.
struct KernelSums {
  double input = 0;       ///< <x, x>
  double with_input = 0;  ///< Re <x, y>
  double squared = 0;     ///< <y, y>
};

/// What x is made of before it is read: scale (y - alpha x) of the y and x of the application
/// before. Its rows go into lines, too.
struct NextInput {
  double alpha, scale;
  double* lines[2];  ///< real and imaginary part; the second null: a real function
};

/// y = H x - before y on a block.
struct KernelTask {
  const KernelTables* tables;
  const Block* block;
  Coupling coupling = Coupling::none;
  double field = 0;   ///< E or A
  double* x[2] = {};  ///< framed real and imaginary part; the second null: a real function
  double* y[2] = {};  ///< framed, too; its frame is left alone
  double before = 0;  ///< 0: y is not read
  const NextInput* next = nullptr;  ///< with it x is the y of before, y the x; null: x as it is
  double* scratch = nullptr;        ///< `kernel_scratch` doubles on a cache line
};

struct Kernel {
  std::string_view name;
  KernelSums (*apply)(const KernelTask& task);
};

/// Doubles of scratch that a call needs.
std::size_t kernel_scratch(const KernelTables& tables);

/// The kernel for the widest vectors that this processor has; `TAILRACE_KERNEL` (generic,
/// avx2, avx512) asks for another. Throws `Errc::invalid_input` for one that is not here. Local.
const Kernel& choose_kernel();

}  // namespace tailrace::helium
