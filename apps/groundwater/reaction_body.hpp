// SPDX-License-Identifier: BSD-3-Clause
// Reactions of LANES cells side by side, compiled once for each instruction set: each species is
// taken for all of them by one instruction, so tables are read once for as many cells.
//
// Unknowns are ln of the free molalities. Each part of the residual is the sum of the amounts of
// species times their formulas, so its derivatives are symmetric, and none of them is negative
// definite: Newton's systems are solved by L D L^T without pivots. Activity coefficients are one
// step behind: those of the ionic strength that the last step leads to. A cell that has converged
// stands still until its neighbours have, so what comes out does not depend on them.
#pragma once

#include <cmath>
#include <cstring>

#include "reaction_kernel.hpp"

namespace tailrace::groundwater {

namespace {

typedef double Vec __attribute__((vector_size(LANES * sizeof(double))));
using Mask = decltype(Vec{} < Vec{});

constexpr double ln10 = 2.302585092994045684;

inline Vec all(double value) { return Vec{} + value; }
inline Vec smaller(Vec a, Vec b) { return a < b ? a : b; }
inline Vec larger(Vec a, Vec b) { return a > b ? a : b; }
inline Vec size_of(Vec a) { return larger(a, -a); }

inline Vec root_of(Vec a) {
  for (int lane = 0; lane < LANES; ++lane) a[lane] = std::sqrt(a[lane]);
  return a;
}

inline unsigned bits_of(Mask mask) {
  unsigned bits = 0;
  for (unsigned lane = 0; lane < LANES; ++lane) bits |= mask[lane] != 0 ? 1u << lane : 0;
  return bits;
}

/// e^x to an error of about one in the last place; x beyond +-700 counts as that.
inline Vec exp_of(Vec x) {
  x = smaller(larger(x, all(-700)), all(700));
  const Vec shift = all(0x1.8p52);  // its sum with a whole number has that in the last bits
  Vec k = x * all(1.44269504088896340736) + shift;
  const Mask whole = (Mask)k;
  k -= shift;
  const Vec r = (x - k * all(0x1.62e42fefa0000p-1)) - k * all(0x1.cf79abc9e3b3ap-40);
  // Taylor's series up to r^13 / 13!, |r| < 0.35.
  constexpr double factors[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
  Vec p = all(factors[0]);
  for (int i = 1; i < 12; ++i) p = p * r + all(factors[i]);
  p = (p * r) * r + r + all(1);
  return (Vec)((Mask)p + (whole << 52));
}

/// What a call works with, on the caller's scratch.
struct Work {
  Vec* activity;        ///< [primary] ln
  Vec* log_gamma;       ///< [activity]
  Vec* ratios;          ///< [surface]
  Vec* held;            ///< [primary] what is there to share [mol/m3]
  Vec* residual;        ///< [primary]
  Vec* matrix;          ///< [slope]
  Vec* strength_slope;  ///< [primary]
  Vec* equilibrium;     ///< [primary] bound to a site
  Vec* column;          ///< [primary]
  Vec* before;          ///< [activity]

  Work(const ReactionTables& t, double* scratch) {
    Vec* at = reinterpret_cast<Vec*>(scratch);
    const auto take = [&](std::size_t count) {
      Vec* const place = at;
      at += count;
      return place;
    };
    const auto n = t.num_primary;
    activity = take(n);
    log_gamma = take(t.activities.size());
    ratios = take(t.surface.size());
    held = take(n);
    residual = take(n);
    matrix = take(t.num_slopes());
    strength_slope = take(n);
    equilibrium = take(n);
    column = take(n);
    before = take(t.activities.size());
  }
};

inline Vec* vectors(double* p) { return reinterpret_cast<Vec*>(p); }

inline void set_to(Vec* place, std::size_t count, Vec value) {
  for (std::size_t i = 0; i < count; ++i) place[i] = value;
}

inline void find_activities(const ReactionTables& t, const Vec* log_free, Vec strength, Work& w) {
  w.log_gamma[0] = all(0);
  if (t.activities_vary) {
    const Vec bounded = smaller(strength, all(10)), root = root_of(bounded);
    const Vec linear = all(t.debye_bdot) * bounded;
    for (std::size_t a = 1; a < t.activities.size(); ++a) {
      const auto& of = t.activities[a];
      const Vec below = all(1) + all(of.size * t.debye_b) * root;
      w.log_gamma[a] = all(ln10) * (linear - all(t.debye_a * of.square) * root / below);
    }
  } else {
    set_to(w.log_gamma, t.activities.size(), all(0));
  }
  for (std::size_t j = 0; j < t.num_primary; ++j) {
    w.activity[j] = log_free[j] + w.log_gamma[t.primary_activity[j]];
  }
}

inline Vec log_product(const ReactionTables& t, const ReactionTables::Formula& formula,
                       const Work& w) {
  Vec sum = all(0);
  for (std::size_t e = formula.first; e < formula.end; ++e) {
    sum += all(t.terms[e].count) * w.activity[t.terms[e].primary];
  }
  return sum;
}

/// `amount` of something of that formula, and its derivatives where ln of it follows the formula.
inline void add_amount(const ReactionTables& t, const ReactionTables::Formula& formula, Vec amount,
                       Vec slope, Vec* sums, Vec* slopes) {
  for (std::size_t e = formula.first; e < formula.end; ++e) {
    const auto row = t.terms[e].primary;
    sums[row] += all(t.terms[e].count) * amount;
    const Vec of_row = all(t.terms[e].count) * slope;
    Vec* const line = slopes + row * (row + 1) / 2;
    for (std::size_t f = formula.first; f < formula.end;
         ++f) {  // ascending: as far as the diagonal
      if (t.terms[f].primary > row) break;
      line[t.terms[f].primary] += all(t.terms[f].count) * of_row;
    }
  }
}

/// Species in the water, `scale` times their molality; the ionic strength and its derivatives.
inline Vec add_water(const ReactionTables& t, Vec scale, const Vec* log_free, Work& w, Vec* sums,
                     Vec* slopes) {
  Vec strength = all(0);
  for (std::size_t j = 0; j < t.num_primary; ++j) {
    const Vec free = exp_of(log_free[j]), part = all(t.primary_half_square[j]) * free;
    strength += part;
    w.strength_slope[j] = part;
    sums[j] += scale * free;
    slopes[j * (j + 1) / 2 + j] += scale * free;
  }
  for (const auto& complex : t.complexes) {
    const Vec molality = exp_of(log_product(t, complex.formula, w) - all(complex.log_k) -
                                w.log_gamma[complex.activity]);
    add_amount(t, complex.formula, scale * molality, scale * molality, sums, slopes);
    if (complex.half_square == 0) continue;
    const Vec part = all(complex.half_square) * molality;
    strength += part;
    for (std::size_t e = complex.formula.first; e < complex.formula.end; ++e) {
      w.strength_slope[t.terms[e].primary] += all(t.terms[e].count) * part;
    }
  }
  return strength;
}

/// What a mineral gains [mol/m3]; `slope` by ln of its ion activity product.
inline Vec gain_of(const ReactionTables& t, const ReactionTables::Mineral& mineral, Vec there,
                   const Work& w, Vec& slope) {
  // Far from equilibrium the exponential would only hinder Newton's method.
  const Vec above = log_product(t, mineral.formula, w) - all(mineral.log_k);
  const Vec ratio = exp_of(smaller(above, all(40)));
  const Vec gain = all(mineral.speed) * (ratio - all(1));
  const Mask used_up = gain < -there;
  slope = used_up ? all(0) : all(mineral.speed) * ratio;
  return used_up ? -there : gain;
}

/// What is bound to a site in equilibrium: w.equilibrium of its primary species. With one site a
/// complex, the free sites x follow at once: x (1 + sum ratios) = density.
inline Vec find_equilibrium(const ReactionTables& t, const ReactionTables::Site& site, Work& w) {
  Vec sum = all(1);
  for (std::size_t i = site.first; i < site.end; ++i) {
    w.ratios[i] = exp_of(log_product(t, t.surface[i].formula, w) - all(t.surface[i].log_k));
    sum += w.ratios[i];
  }
  for (std::size_t p = site.first_primary; p < site.end_primary; ++p) {
    w.equilibrium[t.site_primary[p]] = all(0);
  }
  const Vec free = all(site.density) / sum;
  for (std::size_t i = site.first; i < site.end; ++i) {
    const auto& formula = t.surface[i].formula;
    for (std::size_t e = formula.first; e < formula.end; ++e) {
      w.equilibrium[t.terms[e].primary] += all(t.terms[e].count) * free * w.ratios[i];
    }
  }
  return free;
}

/// What minerals and sites gain, but for what the classes of sites give up of what they hold.
inline void add_solids(const ReactionTables& t, const Vec* minerals, Work& w, Vec* sums,
                       Vec* slopes) {
  for (std::size_t m = 0; m < t.minerals.size(); ++m) {
    if (t.minerals[m].speed == 0) continue;
    Vec slope;
    const Vec gain = gain_of(t, t.minerals[m], minerals[m], w, slope);
    add_amount(t, t.minerals[m].formula, gain, slope, sums, slopes);
  }
  for (const auto& site : t.sites) {
    if (site.density == 0) continue;
    const Vec free = all(site.follows) * find_equilibrium(t, site, w);
    for (std::size_t i = site.first; i < site.end; ++i) {
      add_amount(t, t.surface[i].formula, free * w.ratios[i], free * w.ratios[i], sums, slopes);
    }
    // The more is bound, the fewer sites are free.
    const Vec fewer = all(site.follows / site.density);
    for (std::size_t p = site.first_primary; p < site.end_primary; ++p) {
      const auto j = t.site_primary[p];
      for (std::size_t q = site.first_primary; q <= p; ++q) {
        const auto k = t.site_primary[q];  // ascending
        slopes[j * (j + 1) / 2 + k] -= fewer * w.equilibrium[j] * w.equilibrium[k];
      }
    }
  }
}

/// What the classes of sites give up in the step of what they hold [mol/m3].
inline void add_given_up(const ReactionTables& t, const Vec* bound, Vec sign, Vec* sums) {
  for (const auto& site : t.sites) {
    const auto count = site.end_primary - site.first_primary;
    for (std::size_t p = 0; p < count; ++p) {
      const Vec* row = bound + site.first_row + p;
      Vec sum = all(0);
      for (std::size_t c = site.first_class; c < site.end_class; ++c, row += count) {
        sum += all(t.weights[c]) * *row;
      }
      sums[t.site_primary[site.first_primary + p]] += sign * sum;
    }
  }
}

/// A symmetric matrix, its lower triangle by rows, becomes L below 1/D, of L D L^T. The cells whose
/// matrix is not positive definite.
inline Mask factor_symmetric(std::size_t n, Vec* matrix, Vec* column) {
  Mask bad{};
  for (std::size_t k = 0; k < n; ++k) {
    Vec& pivot = matrix[k * (k + 1) / 2 + k];
    bad |= ~(pivot > all(0));
    const Vec inverse = pivot = all(1) / pivot;
    for (std::size_t i = k + 1; i < n; ++i) column[i] = matrix[i * (i + 1) / 2 + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      Vec* const line = matrix + i * (i + 1) / 2;
      const Vec factor = column[i] * inverse;
      for (std::size_t j = k + 1; j <= i; ++j) line[j] -= factor * column[j];
      line[k] = factor;
    }
  }
  return bad;
}

/// Solves L D L^T x = b by such factors; x takes the place of b.
inline void solve_factored(std::size_t n, const Vec* factors, Vec* b) {
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) b[i] -= factors[i * (i + 1) / 2 + k] * b[k];
    b[k] *= factors[k * (k + 1) / 2 + k];
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t i = k + 1; i < n; ++i) b[k] -= factors[i * (i + 1) / 2 + k] * b[i];
  }
}

/// Takes up `strength` and `log_free`; the largest change of the logarithm of an activity
/// coefficient.
inline Vec renew_activities(const ReactionTables& t, const Vec* log_free, Vec strength, Work& w) {
  Vec change = all(0);
  std::memcpy(w.before, w.log_gamma, t.activities.size() * sizeof(Vec));
  find_activities(t, log_free, strength, w);
  for (std::size_t a = 0; a < t.activities.size(); ++a) {
    change = larger(change, size_of(w.log_gamma[a] - w.before[a]));
  }
  return change;
}

unsigned solve(const ReactionTables& t, const CellGroup& cells, double* scratch) {
  Work w(t, scratch);
  const auto n = t.num_primary;
  Vec* const log_free = vectors(cells.log_free);
  const Vec* const brought = vectors(cells.brought);
  const Vec per_litre = *vectors(cells.per_litre);
  Vec& strength = *vectors(cells.strength);
  for (std::size_t j = 0; j < n; ++j) w.held[j] = per_litre * brought[j];
  add_given_up(t, vectors(cells.bound), all(1), w.held);
  find_activities(t, log_free, strength, w);
  Vec last = all(1e300);
  Mask active = ~Mask{}, failed{};
  for (int iteration = 0; iteration < 100 && bits_of(active) != 0; ++iteration) {
    for (std::size_t j = 0; j < n; ++j) w.residual[j] = -w.held[j];
    set_to(w.matrix, t.num_slopes(), all(0));
    Vec next = add_water(t, all(t.density) * per_litre, log_free, w, w.residual, w.matrix);
    add_solids(t, vectors(cells.minerals), w, w.residual, w.matrix);
    const Mask bad = factor_symmetric(n, w.matrix, w.column);
    solve_factored(n, w.matrix, w.residual);
    Vec largest = all(0);
    for (std::size_t j = 0; j < n; ++j) {
      const Vec step = size_of(w.residual[j]);
      largest = step > largest || step != step ? step : largest;
    }
    failed |= active & (bad | ~(largest < all(1e300)));
    active &= ~failed;
    for (std::size_t j = 0; j < n; ++j) {
      const Vec step = active ? smaller(larger(w.residual[j], all(-2)), all(2)) : all(0);
      log_free[j] -= step;
      next -= w.strength_slope[j] * step;
    }
    strength = active ? larger(next, all(0)) : strength;
    const Vec change = renew_activities(t, log_free, strength, w);
    const Mask near = (largest < all(1e-9)) & (change < all(1e-10));
    const Mask round_off = (largest < all(1e-8)) & (largest >= last) & (change < all(1e-8));
    active &= ~(near | round_off);
    last = largest;
  }
  return bits_of(active | failed);
}

void balance(const ReactionTables& t, const CellGroup& cells, const CellBalance& out,
             double* scratch) {
  Work w(t, scratch);
  const Vec* const log_free = vectors(cells.log_free);
  Vec& strength = *vectors(cells.strength);
  find_activities(t, log_free, strength, w);
  set_to(vectors(out.totals), t.num_primary, all(0));
  set_to(vectors(out.gains), t.num_primary, all(0));
  set_to(vectors(out.total_slopes), t.num_slopes(), all(0));
  set_to(vectors(out.gain_slopes), t.num_slopes(), all(0));
  strength =
      add_water(t, all(t.density), log_free, w, vectors(out.totals), vectors(out.total_slopes));
  add_solids(t, vectors(cells.minerals), w, vectors(out.gains), vectors(out.gain_slopes));
  add_given_up(t, vectors(cells.bound), all(-1), vectors(out.gains));
}

unsigned relate(const ReactionTables& t, const CellBalance& cells, double* scratch) {
  const auto n = t.num_primary;
  Vec* const factors = vectors(cells.total_slopes);
  const Vec* const slopes = vectors(cells.gain_slopes);
  const Mask bad = factor_symmetric(n, factors, Work(t, scratch).column);
  Vec* row = vectors(cells.relations);
  for (const auto i : t.gaining) {
    for (std::size_t k = 0; k < n; ++k) {
      row[k] = k <= i ? slopes[i * (i + 1) / 2 + k] : slopes[k * (k + 1) / 2 + i];
    }
    solve_factored(n, factors, row);
    row += n;
  }
  return bits_of(bad);
}

void divide(const ReactionTables& t, const CellBalance& cells) {
  solve_factored(t.num_primary, vectors(cells.total_slopes), vectors(cells.totals));
}

void settle(const ReactionTables& t, const CellGroup& cells, double* scratch) {
  Work w(t, scratch);
  Vec* const brought = vectors(cells.brought);
  Vec* const minerals = vectors(cells.minerals);
  Vec* const bound = vectors(cells.bound);
  const Vec per_litre = *vectors(cells.per_litre);
  find_activities(t, vectors(cells.log_free), *vectors(cells.strength), w);
  for (std::size_t m = 0; m < t.minerals.size(); ++m) {
    Vec slope;
    const auto& mineral = t.minerals[m];
    const Vec gain = gain_of(t, mineral, minerals[m], w, slope);
    minerals[m] = larger(all(0), minerals[m] + gain);
    for (std::size_t e = mineral.formula.first; e < mineral.formula.end; ++e) {
      brought[t.terms[e].primary] -= all(t.terms[e].count) * gain / per_litre;
    }
  }
  for (const auto& site : t.sites) {
    find_equilibrium(t, site, w);
    Vec* row = bound + site.first_row;
    for (std::size_t c = site.first_class; c < site.end_class; ++c) {
      for (std::size_t p = site.first_primary; p < site.end_primary; ++p, ++row) {
        const auto j = t.site_primary[p];
        const Vec gain = all(t.weights[c]) * (all(t.shares[c]) * w.equilibrium[j] - *row);
        *row += gain;
        brought[j] -= gain / per_litre;
      }
    }
  }
}

}  // namespace

}  // namespace tailrace::groundwater
