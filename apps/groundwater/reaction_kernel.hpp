// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tailrace::groundwater {

/// A chemistry as the kernels read it, and how far its solids go in a step.
struct ReactionTables {
  struct Term {
    std::size_t primary;
    double count;
  };
  struct Formula {
    std::size_t first, end;  ///< in `terms`
  };
  struct Complex {
    Formula formula;
    double log_k;          ///< natural logarithm, as all here
    std::size_t activity;  ///< its place in `activities`
    double half_square;    ///< of its charge
  };
  struct Mineral {
    Formula formula;
    double log_k;
    double speed;  ///< what grows in the step, times (Q/K - 1) [mol/m3]
  };
  struct Surface {
    Formula formula;
    double log_k;
  };
  /// Its rows of bound amounts are [class][primary of the site].
  struct Site {
    std::size_t first, end;                  ///< of `surface`
    std::size_t first_primary, end_primary;  ///< of `site_primary`
    std::size_t first_class, end_class;      ///< of `weights` and `shares`
    std::size_t first_row;
    double density;
    double follows;  ///< part of the equilibrium that all classes take up in the step
  };
  struct Activity {
    double square, size;  ///< of the charge; of the ion [angstrom]
  };

  std::size_t num_primary = 0, num_rows = 0;
  double density = 1, debye_a = 0, debye_b = 0, debye_bdot = 0;
  bool activities_vary = true;
  std::vector<Term> terms;
  std::vector<std::size_t> primary_activity;  ///< place in `activities`
  std::vector<double> primary_half_square;
  std::vector<Complex> complexes;
  std::vector<Activity> activities;  ///< those that differ; the first is that of no charge
  std::vector<Mineral> minerals;
  std::vector<Surface> surface;
  std::vector<Site> sites;
  std::vector<std::size_t> site_primary;
  std::vector<std::size_t> gaining;     ///< primary species of minerals that react and of sites
  std::vector<double> weights, shares;  ///< of classes: part of the way gone; of the sites

  std::size_t num_slopes() const { return num_primary * (num_primary + 1) / 2; }
};

/// As many cells as a kernel takes side by side: arrays [row][cell], on cache lines.
struct CellGroup {
  double* brought = nullptr;    ///< [primary] total concentrations [mol/L]
  double* log_free = nullptr;   ///< [primary] ln of free molalities [mol/kg]
  double* strength = nullptr;   ///< [1] ionic strength that the activities follow [mol/kg]
  double* minerals = nullptr;   ///< [mineral] [mol/m3 of ground]
  double* bound = nullptr;      ///< [row] [mol/m3 of ground]
  double* per_litre = nullptr;  ///< [1] litres of water in a m3 of ground
};

/// What a cell holds at its `log_free` and what its solids gain in the step, with the derivatives
/// by ln of the free molalities (lower triangles by rows; all are symmetric).
struct CellBalance {
  double* totals = nullptr;        ///< [primary] [mol/L]
  double* total_slopes = nullptr;  ///< [slope]
  double* gains = nullptr;         ///< [primary] [mol/m3 of ground]
  double* gain_slopes = nullptr;   ///< [slope]
  double* relations = nullptr;     ///< [gaining][primary], by `ReactionKernel::relate`
};

/// Reactions of a group of cells over a step of backward Euler, for one instruction set.
struct ReactionKernel {
  std::string_view name;
  std::size_t width;  ///< cells side by side, at most 32
  /// Takes `log_free` and `strength` to the water that holds what was brought less what the solids
  /// gain. The bits of cells for which Newton's method does not converge.
  unsigned (*solve)(const ReactionTables& tables, const CellGroup& cells, double* scratch);
  /// `balance` at `log_free`, with activities at `strength`, which becomes that of these
  /// `log_free`.
  void (*balance)(const ReactionTables& tables, const CellGroup& cells, const CellBalance& out,
                  double* scratch);
  /// Rows of gain_slopes total_slopes^-1, of which those of other species are 0; `total_slopes`
  /// become their factors L D L^T. The bits of cells where they are not positive definite.
  unsigned (*relate)(const ReactionTables& tables, const CellBalance& cells, double* scratch);
  /// `totals`, as changes, become those of ln of the free molalities, by factors of `relate`.
  void (*divide)(const ReactionTables& tables, const CellBalance& cells);
  /// Gives the solids what they gain at `log_free`, and takes it from `brought`.
  void (*settle)(const ReactionTables& tables, const CellGroup& cells, double* scratch);
};

/// Doubles of scratch that a call needs. Local.
std::size_t reaction_scratch(const ReactionTables& tables);

/// Those that this processor can run: the fastest first, the last takes one cell at a time. Local.
std::vector<const ReactionKernel*> reaction_kernels();

/// The first of them, or the one that TAILRACE_KERNEL names. Throws
/// `Errc::invalid_input` if there is none of that name. Local.
const ReactionKernel& choose_reaction_kernel();

}  // namespace tailrace::groundwater
