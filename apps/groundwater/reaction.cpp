// SPDX-License-Identifier: BSD-3-Clause
#include "reaction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "small_solve.hpp"

namespace tailrace::groundwater {

namespace {

constexpr double ln10 = 2.302585092994045684;
constexpr std::size_t line = 64 / sizeof(double);

double share_of(const Site& site, std::size_t r) { return site.rates.empty() ? 1 : site.shares[r]; }

/// The part of the way to its equilibrium that class r goes in a step.
double weight_of(const Site& site, std::size_t r, double dt) {
  if (site.rates.empty()) return 1;
  const double speed = dt * site.rates[r];
  return speed / (1 + speed);
}

/// The place of a species' activity among those that differ.
std::size_t find_activity(std::vector<ReactionTables::Activity>& known, const Species& species) {
  const double square = species.charge * species.charge;
  if (square == 0) return 0;
  for (std::size_t a = 1; a < known.size(); ++a) {
    if (known[a].square == square && known[a].size == species.ion_size) return a;
  }
  known.push_back({square, species.ion_size});
  return known.size() - 1;
}

/// Row `row` of an array [row][cell] into or out of a group; cells past the last one are as it.
void load_rows(std::span<const double> from, std::size_t num_cells, std::size_t first,
               std::size_t width, double* to) {
  const std::size_t rows = num_cells == 0 ? 0 : from.size() / num_cells;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < width; ++c) {
      to[r * width + c] = from[r * num_cells + std::min(first + c, num_cells - 1)];
    }
  }
}

void store_rows(const double* from, std::size_t num_cells, std::size_t first, std::size_t width,
                std::span<double> to) {
  const std::size_t rows = to.size() / num_cells, count = std::min(width, num_cells - first);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < count; ++c) to[r * num_cells + first + c] = from[r * width + c];
  }
}

}  // namespace

std::size_t num_classes(const Site& site) { return std::max<std::size_t>(site.rates.size(), 1); }

Reactions::Reactions(const Chemistry& chemistry, std::vector<double> areas,
                     const ReactionKernel& kernel)
    : chemistry_(&chemistry), kernel_(&kernel) {
  make_tables(areas);
  make_group();
  set_step(0);
}

ReactionTables::Formula Reactions::add_formula(const Formula& formula) {
  const std::size_t first = tables_.terms.size();
  for (const auto& term : formula) tables_.terms.push_back({term.primary, term.count});
  std::sort(tables_.terms.begin() + static_cast<std::ptrdiff_t>(first), tables_.terms.end(),
            [](const auto& a, const auto& b) { return a.primary < b.primary; });
  return {first, tables_.terms.size()};
}

void Reactions::make_tables(const std::vector<double>& areas) {
  auto& t = tables_;
  const auto& c = *chemistry_;
  t.num_primary = c.num_primary();
  t.density = c.water_density;
  t.debye_a = c.debye_a;
  t.debye_b = c.debye_b;
  t.debye_bdot = c.debye_bdot;
  t.activities_vary = c.activities;
  t.activities = {{0, 0}};
  for (const auto& species : c.primary) {
    t.primary_activity.push_back(find_activity(t.activities, species));
    t.primary_half_square.push_back(species.charge * species.charge / 2);
  }
  for (const auto& species : c.complexes) {
    t.complexes.push_back({add_formula(species.formula), species.log_k * ln10,
                           find_activity(t.activities, species),
                           species.charge * species.charge / 2});
  }
  for (std::size_t m = 0; m < c.minerals.size(); ++m) {
    const auto& mineral = c.minerals[m];
    t.minerals.push_back({add_formula(mineral.formula), mineral.log_k * ln10, 0});
    speeds_.push_back(areas[m] * mineral.rate);
  }
  for (std::size_t s = 0; s < c.sites.size(); ++s) {
    const auto& site = c.sites[s];
    ReactionTables::Site made{};
    made.first = t.surface.size();
    for (const auto& complex : c.surface) {
      if (complex.site != s) continue;
      t.surface.push_back({add_formula(complex.formula), complex.log_k * ln10});
    }
    made.end = t.surface.size();
    made.first_primary = t.site_primary.size();
    for (const auto j : c.primary_of_site(s)) t.site_primary.push_back(j);
    made.end_primary = t.site_primary.size();
    made.first_class = t.weights.size();
    for (std::size_t r = 0; r < num_classes(site); ++r) t.shares.push_back(share_of(site, r));
    t.weights.resize(t.shares.size());
    made.end_class = t.weights.size();
    made.first_row = t.num_rows;
    t.num_rows += num_classes(site) * (made.end_primary - made.first_primary);
    made.density = site.density;
    t.sites.push_back(made);
  }
  std::vector<char> gains(t.num_primary, 0);
  for (std::size_t m = 0; m < t.minerals.size(); ++m) {
    if (speeds_[m] == 0) continue;
    for (const auto& term : c.minerals[m].formula) gains[term.primary] = 1;
  }
  for (const auto j : t.site_primary) gains[j] = 1;
  for (std::size_t j = 0; j < t.num_primary; ++j) {
    if (gains[j] != 0) t.gaining.push_back(j);
  }
}

void Reactions::make_group() {
  const auto& t = tables_;
  const std::size_t width = kernel_->width, n = t.num_primary;
  const std::size_t rows[] = {n,
                              n,
                              1,
                              t.minerals.size(),
                              t.num_rows,
                              1,
                              n,
                              t.num_slopes(),
                              n,
                              t.num_slopes(),
                              n * t.gaining.size()};
  std::size_t all = line + reaction_scratch(t);
  for (const auto r : rows) all += (r * width + line - 1) / line * line;
  memory_.assign(all, 0.0);
  const auto beyond = std::bit_cast<std::uintptr_t>(memory_.data()) / sizeof(double) % line;
  double* at = memory_.data() + (beyond == 0 ? 0 : line - beyond);
  double** const places[] = {&group_.brought,       &group_.log_free,       &group_.strength,
                             &group_.minerals,      &group_.bound,          &group_.per_litre,
                             &balance_.totals,      &balance_.total_slopes, &balance_.gains,
                             &balance_.gain_slopes, &balance_.relations};
  for (std::size_t p = 0; p < std::size(rows); ++p) {
    *places[p] = at;
    at += (rows[p] * width + line - 1) / line * line;
  }
  scratch_ = at;
}

void Reactions::set_step(double dt) {
  auto& t = tables_;
  const std::size_t n = t.num_primary;
  for (std::size_t m = 0; m < speeds_.size(); ++m) t.minerals[m].speed = speeds_[m] * dt;
  for (std::size_t s = 0; s < t.sites.size(); ++s) {
    auto& site = t.sites[s];
    site.follows = 0;
    for (std::size_t c = site.first_class; c < site.end_class; ++c) {
      t.weights[c] = weight_of(chemistry_->sites[s], c - site.first_class, dt);
      site.follows += t.weights[c] * t.shares[c];
    }
  }
  if (chemistry_->decays.empty()) return;
  std::vector<double> matrix(n * n);  // (1 + dt rates) remains = 1, column by column
  for (std::size_t j = 0; j < n; ++j) matrix[j * n + j] = 1;
  for (const auto& decay : chemistry_->decays) {
    matrix[decay.primary * n + decay.primary] += dt * decay.rate;
    for (const auto& product : decay.products) {
      matrix[product.primary * n + decay.primary] -= dt * decay.rate * product.count;
    }
  }
  remains_.assign(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    auto copy = matrix;
    std::vector<double> column(n);
    column[j] = 1;
    solve_small(copy, column);
    for (std::size_t i = 0; i < n; ++i) remains_[i * n + j] = column[i];
  }
}

CellStates Reactions::states_of(const Solution& water, std::span<const double> minerals,
                                std::size_t num_cells) {
  CellStates out;
  out.num_cells = num_cells;
  Speciation speciation(*chemistry_);
  std::vector<double> bound(tables_.num_primary);
  const auto append = [&](std::vector<double>& to, double value) {
    to.insert(to.end(), num_cells, value);
  };
  for (const double value : water.log_free) append(out.log_free, value);
  append(out.strength, speciation.ionic_strength(water));
  for (const double amount : minerals) append(out.minerals, amount);
  for (std::size_t s = 0; s < chemistry_->sites.size(); ++s) {
    speciation.bound(s, water, bound, {});
    for (std::size_t r = 0; r < num_classes(chemistry_->sites[s]); ++r) {
      for (const auto j : chemistry_->primary_of_site(s)) {
        append(out.bound, share_of(chemistry_->sites[s], r) * bound[j]);
      }
    }
  }
  return out;
}

void Reactions::load(std::size_t first, const CellStates& states) {
  const std::size_t width = kernel_->width, count = states.num_cells;
  load_rows(states.log_free, count, first, width, group_.log_free);
  load_rows(states.strength, count, first, width, group_.strength);
  load_rows(states.minerals, count, first, width, group_.minerals);
  load_rows(states.bound, count, first, width, group_.bound);
}

void Reactions::store(std::size_t first, CellStates& states) const {
  const std::size_t width = kernel_->width, count = states.num_cells;
  store_rows(group_.log_free, count, first, width, states.log_free);
  store_rows(group_.strength, count, first, width, states.strength);
  store_rows(group_.minerals, count, first, width, states.minerals);
  store_rows(group_.bound, count, first, width, states.bound);
}

std::size_t Reactions::step(std::span<const double> contents, std::span<double> totals,
                            CellStates& states) {
  const std::size_t width = kernel_->width, count = states.num_cells;
  decay(contents, totals, states);
  std::size_t failed = 0;
  for (std::size_t first = 0; first < count; first += width) {
    load(first, states);
    load_rows(totals, count, first, width, group_.brought);
    for (std::size_t c = 0; c < width; ++c) {
      group_.per_litre[c] = 1000 * contents[std::min(first + c, count - 1)];
    }
    const unsigned bits = kernel_->solve(tables_, group_, scratch_);
    const std::size_t here = std::min(width, count - first);
    failed += static_cast<std::size_t>(std::popcount(bits & ((1ull << here) - 1)));
    kernel_->settle(tables_, group_, scratch_);
    store(first, states);
    store_rows(group_.brought, count, first, width, totals);
  }
  return failed;
}

// What has decayed of what is bound stays bound if it is the same species, else it goes to the
// water, from where the sites take it up again.
void Reactions::decay(std::span<const double> contents, std::span<double> totals,
                      CellStates& states) {
  if (remains_.empty()) return;
  const std::size_t n = tables_.num_primary, count = states.num_cells;
  decayed_.assign(n * count, 0.0);
  std::vector<double> after(n);
  for (std::size_t i = 0; i < count; ++i) {
    const double per_litre = 1000 * contents[i];
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += remains_[j * n + k] * totals[k * count + i];
      after[j] = sum;
    }
    for (std::size_t j = 0; j < n; ++j) {
      decayed_[j * count + i] = per_litre * (after[j] - totals[j * count + i]);
      totals[j * count + i] = after[j];
    }
    for (const auto& site : tables_.sites) {
      std::size_t row = site.first_row;
      for (std::size_t c = site.first_class; c < site.end_class; ++c) {
        for (std::size_t p = site.first_primary; p < site.end_primary; ++p, ++row) {
          const auto j = tables_.site_primary[p];
          double& bound = states.bound[row * count + i];
          for (std::size_t k = 0; k < n; ++k) {
            const double change = (remains_[k * n + j] - (k == j ? 1 : 0)) * bound;
            decayed_[k * count + i] += change;
            if (k != j) totals[k * count + i] += change / per_litre;
          }
          bound *= remains_[j * n + j];
        }
      }
    }
  }
}

CellBalance Reactions::balance(std::size_t first, CellStates& states) {
  load(first, states);
  kernel_->balance(tables_, group_, balance_, scratch_);
  store_rows(group_.strength, states.num_cells, first, kernel_->width, states.strength);
  return balance_;
}

bool Reactions::relate(std::size_t num_cells, std::span<double> factors) {
  const unsigned bits = kernel_->relate(tables_, balance_, scratch_);
  std::copy_n(balance_.total_slopes, factors.size(), factors.begin());
  return (bits & ((1ull << num_cells) - 1)) == 0;
}

void Reactions::divide(std::span<const double> factors, std::span<double> changes) {
  std::ranges::copy(factors, balance_.total_slopes);
  std::ranges::copy(changes, balance_.totals);
  kernel_->divide(tables_, balance_);
  std::copy_n(balance_.totals, changes.size(), changes.begin());
}

void Reactions::settle(std::span<const double> contents, std::span<double> totals,
                       CellStates& states) {
  const std::size_t width = kernel_->width, count = states.num_cells, n = tables_.num_primary;
  for (std::size_t first = 0; first < count; first += width) {
    load(first, states);
    std::vector<double> strength(group_.strength, group_.strength + width);
    kernel_->balance(tables_, group_, balance_, scratch_);
    std::copy(strength.begin(), strength.end(), group_.strength);
    for (std::size_t c = 0; c < width; ++c) {
      group_.per_litre[c] = 1000 * contents[std::min(first + c, count - 1)];
      for (std::size_t j = 0; j < n; ++j) {
        group_.brought[j * width + c] =
            balance_.totals[j * width + c] + balance_.gains[j * width + c] / group_.per_litre[c];
      }
    }
    kernel_->settle(tables_, group_, scratch_);
    store(first, states);
    store_rows(group_.brought, count, first, width, totals);
  }
}

}  // namespace tailrace::groundwater
