// SPDX-License-Identifier: BSD-3-Clause
#include "flow.hpp"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/case_text.hpp"
#include "halo.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {
namespace {

/// Two grounds, uneven widths, every kind of boundary, a well.
Case mixed(const std::string& mobility) {
  const std::string text =
      "[grid]\ndx = [0.1, 0.2, 0.3]\ndy = [0.5, 0.25]\ndz = [0.1, 0.1, 0.2, 0.3]\n"
      "[[grid.regions]]\nname = 'low'\nfrom = [0, 0, 0]\nto = [0.6, 0.75, 0.2]\n"
      "[[flow.materials]]\nname = 'loam'\nconductivity = [1e-3, 2e-3, 3e-3]\n"
      "curve = 'van_genuchten'\nalpha = 2.0\nn = 1.8\nresidual = 0.1\nstorage = 1e-3\n"
      "[[flow.materials]]\nname = 'sand'\nregion = 'low'\nconductivity = [1e-2]\n"
      "curve = 'gardner'\nalpha = 3.0\n"
      "[[flow.boundaries]]\nname = 'a'\nface = 'x_min'\nvalues = [0.2]\n"
      "[[flow.boundaries]]\nname = 'b'\nface = 'z_max'\ntype = 'flux'\nvalues = [1e-4]\n"
      "[[flow.boundaries]]\nname = 'c'\nface = 'z_min'\ntype = 'free_drainage'\n"
      "[[flow.boundaries]]\nname = 'd'\nface = 'y_max'\ntype = 'pressure_head'\n"
      "times = [0, 10]\nvalues = [-1.0, -2.0]\n"
      "[[flow.boundaries]]\nname = 'e'\nface = 'y_min'\ntype = 'seepage'\n"
      "[[flow.boundaries]]\nname = 'f'\nface = 'z_max'\ntype = 'seepage'\n"
      "[[flow.wells]]\nname = 'w'\nregion = 'low'\nvalues = [-1e-3]\n";
  const std::vector<std::string> settings{"flow.mobility=" + mobility};
  return app::parse_case<Case>(text, "mixed.toml", settings);
}

struct Problem {
  explicit Problem(const Case& from)
      : values(from),
        comm(MPI_COMM_WORLD),
        grid(comm, axes_of(values), rank_grid(values, comm.num_ranks())),
        ground(make_ground(values, grid)),
        equations(values, grid, ground) {}
  Case values;
  Comm comm;
  Grid grid;
  Ground ground;
  FlowEquations equations;
};

std::vector<double> wavy(const Grid& grid) {
  std::vector<double> h;
  for (std::ptrdiff_t i = 0; i < grid.num_wide(); ++i) {
    const Cell cell = grid.wide_cell(i);
    h.push_back(-1.3 + std::sin(static_cast<double>(3 * cell[0] + 5 * cell[1] + 7 * cell[2])));
  }
  return h;
}

/// At heads raised by so much: unsaturated, or partly saturated.
void expect_slopes(const char* mobility, double raised) {
  Problem p(mixed(mobility));
  const auto num_own = static_cast<std::size_t>(p.grid.num_own());
  std::vector<double> h = wavy(p.grid), old(num_own, 0.01), low(num_own), high(num_own);
  for (double& value : h) value += raised;
  std::vector<double> jacobian(p.equations.graph().columns.size());
  p.equations.evaluate(h, old, 50, low, jacobian);
  std::vector<double> found(jacobian.size(), 0.0);
  for (std::size_t k = 0; k < h.size(); ++k) {
    const double step = 1e-6, at = h[k];
    h[k] = at - step;
    p.equations.evaluate(h, old, 50, low, {});
    h[k] = at + step;
    p.equations.evaluate(h, old, 50, high, {});
    h[k] = at;
    const auto column = p.grid.row(p.grid.wide_cell(static_cast<std::ptrdiff_t>(k)));
    const auto& graph = p.equations.graph();
    for (std::size_t i = 0; i < num_own; ++i) {
      const double slope = (high[i] - low[i]) / (2 * step);
      bool there = false;
      for (auto e = graph.row_starts[i]; e < graph.row_starts[i + 1]; ++e) {
        if (graph.columns[static_cast<std::size_t>(e)] != column) continue;
        there = true;
        EXPECT_NEAR(jacobian[static_cast<std::size_t>(e)], slope, 1e-6 * std::abs(slope) + 1e-11);
      }
      if (!there) {
        EXPECT_EQ(slope, 0);
      }
    }
  }
}

TEST(Flow, JacobianIsTheDerivativeOfTheResidual) {
  for (const char* mobility : {"upwind", "central"}) {
    for (const double raised : {0.0, 1.5, 3.0}) expect_slopes(mobility, raised);
  }
}

TEST(Flow, ResidualsAddUpToStorageLessInflow) {
  Problem p(mixed("upwind"));
  const auto num_own = static_cast<std::size_t>(p.grid.num_own());
  std::vector<double> h = wavy(p.grid), old(num_own, 0.01), residual(num_own), now(num_own);
  std::vector<double> own(num_own);
  for (std::size_t i = 0; i < num_own; ++i) {
    const Cell cell = p.grid.own_cell(static_cast<std::ptrdiff_t>(i));
    own[i] = h[static_cast<std::size_t>(p.grid.wide_index(cell))];
  }
  p.equations.contents(own, now);
  p.equations.evaluate(h, old, 50, residual, {});
  double rest = 0, size = 0;
  for (std::size_t i = 0; i < num_own; ++i) {
    rest += residual[i] - (now[i] - old[i]) / 50;
    size += std::abs(residual[i]);
  }
  for (const auto& term : p.equations.terms()) rest += term.rate;
  Reduction sums(p.comm);
  const double total = sums.allreduce(rest);
  EXPECT_NEAR(total, 0, 1e-14 * sums.allreduce(size));
}

TEST(Flow, ValuesChangeInTime) {
  Problem p(mixed("upwind"));
  EXPECT_EQ(p.equations.next_change(0), 10);
  EXPECT_EQ(p.equations.next_change(10), std::numeric_limits<double>::infinity());
}

TEST(Grid, RowsAreThoseOfTheRanksInOrder) {
  Problem p(mixed("upwind"));
  const auto rows = p.grid.rows().boxes(p.comm.rank());
  for (std::ptrdiff_t own = 0; own < p.grid.num_own(); ++own) {
    EXPECT_EQ(p.grid.row(p.grid.own_cell(own)), rows[0].start[0] + own);
  }
}

TEST(Grid, HalosHoldTheNeighboursCells) {
  Problem p(mixed("upwind"));
  std::vector<double> own, wide(static_cast<std::size_t>(p.grid.num_wide()), -1);
  for (std::ptrdiff_t i = 0; i < p.grid.num_own(); ++i) {
    own.push_back(static_cast<double>(p.grid.row(p.grid.own_cell(i))));
  }
  Halo(p.grid).fill(own, wide);
  for (std::ptrdiff_t i = 0; i < p.grid.num_wide(); ++i) {
    EXPECT_EQ(wide[static_cast<std::size_t>(i)],
              static_cast<double>(p.grid.row(p.grid.wide_cell(i))));
  }
}

TEST(Ground, CorrelatedNumbersHaveTheirVariance) {
  double sum = 0, squares = 0, products = 0;
  const int count = 20000;
  for (int i = 0; i < count; ++i) {
    const double a = correlated_normal({3.37 * i, 0.2, 0.7}, {1, 1, 1}, 5);
    sum += a;
    squares += a * a;
    products += a * correlated_normal({3.37 * i + 0.1, 0.2, 0.7}, {1, 1, 1}, 5);
  }
  EXPECT_NEAR(sum / count, 0, 0.03);
  EXPECT_NEAR(squares / count, 1, 0.05);
  EXPECT_GT(products / count, 0.8);
}

TEST(Case, IsTheSameAgainFromItsToml) {
  const Case once = mixed("central");
  const std::string text = format_case(once);
  EXPECT_EQ(format_case(app::parse_case<Case>(text, "mixed.toml", {})), text);
}

}  // namespace
}  // namespace tailrace::groundwater
