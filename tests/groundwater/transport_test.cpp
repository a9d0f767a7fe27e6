// SPDX-License-Identifier: BSD-3-Clause
// Advection by both schemes: order, range, mass, what is linear between species, ranks.
#include "transport.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/case_text.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {
namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

/// Saturated ground of porosity 0.5, with the flow of the pressure heads `head(x, y)` [m].
class Problem {
 public:
  using Place = std::function<double(double x, double y)>;

  Problem(MPI_Comm comm, const std::string& text, int num_species, const Place& head)
      : values_(app::parse_case<Case>(text, "transport.toml", {})),
        comm_(comm),
        grid_(comm_, axes_of(values_), rank_grid(values_, comm_.num_ranks())),
        ground_(make_ground(values_, grid_)),
        flow_(values_, grid_, ground_),
        sums_(comm_, {.type = NumberType::float64, .max_items = 8}),
        transport_(values_, flow_, at(num_species), sums_),
        num_species_(at(num_species)) {
    std::vector<double> heads;
    for (std::ptrdiff_t i = 0; i < grid_.num_wide(); ++i) {
      const Cell cell = grid_.wide_cell(i);
      heads.push_back(head(grid_.axis(2).centre(cell[2]), grid_.axis(1).centre(cell[1])));
    }
    std::vector<double> residual(at(grid_.num_own()));
    water_.resize(residual.size());
    flow_.evaluate(heads, {}, 0, residual, {});
    for (std::ptrdiff_t i = 0; i < grid_.num_own(); ++i) water_[at(i)] = flow_.volume(i) * 0.5;
  }

  std::vector<double> field(const Place& value) const {
    std::vector<double> out;
    for (std::ptrdiff_t i = 0; i < grid_.num_own(); ++i) {
      const Cell cell = grid_.own_cell(i);
      out.push_back(value(grid_.axis(2).centre(cell[2]), grid_.axis(1).centre(cell[1])));
    }
    return out;
  }
  void step(double dt, const std::vector<std::vector<double>>& incoming,
            std::vector<double>& totals) {
    std::string why;
    ASSERT_TRUE(transport_.step(dt, water_, water_, incoming, totals, why)) << why;
  }
  /// Mass of a species [mol], and what came in with the last step [mol/s].
  std::pair<double, double> mass(const std::vector<double>& totals, std::size_t s) {
    double sum = 0;
    for (std::size_t i = 0; i < water_.size(); ++i) {
      sum += 1000 * water_[i] * totals[s * water_.size() + i];
    }
    return {sums_.allreduce(sum), sums_.allreduce(transport_.inflows()[s])};
  }
  /// Mean of |totals - exact| over the cells of all ranks.
  double error(const std::vector<double>& totals, const Place& exact) {
    const auto expected = field(exact);
    double sum = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) sum += std::abs(totals[i] - expected[i]);
    return sums_.allreduce(sum) / sums_.allreduce(static_cast<double>(expected.size()));
  }
  std::pair<double, double> range(const std::vector<double>& totals) {
    double least = 1e300, most = -1e300;
    for (const double value : totals) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
    return {sums_.allreduce(least, ReduceOp::min), sums_.allreduce(most, ReduceOp::max)};
  }
  const Grid& grid() const { return grid_; }

 private:
  Case values_;
  Comm comm_;
  Grid grid_;
  Ground ground_;
  FlowEquations flow_;
  Reduction sums_;
  Transport transport_;
  std::size_t num_species_;
  std::vector<double> water_;
};

/// Uniform flow along x: `flux` in at one end, out at the other. Velocity: twice the flux.
std::string column(const std::string& advection, int nx, double flux) {
  return fmt::format(
      "[grid]\nnx = {}\nlx = 4.0\n[flow]\ngravity = false\n"
      "[[flow.materials]]\nname = 'm'\nconductivity = [1.0]\nporosity = 0.5\n"
      "[[flow.boundaries]]\nname = 'in'\nface = 'x_min'\ntype = 'flux'\nvalues = [{}]\n"
      "[[flow.boundaries]]\nname = 'out'\nface = 'x_max'\ntype = 'flux'\nvalues = [{}]\n"
      "[transport]\ndiffusion = 0.0\nadvection = '{}'\n[chemistry]\nfile = 'any'\n",
      nx, flux, -flux, advection);
}

double hump(double x) {
  const double from = std::abs(x - 1);
  return from < 0.8 ? std::pow(std::cos(M_PI / 1.6 * from), 4) : 0;
}

/// Error of a hump that moves from 1 to 3 in steps in which water passes `passed` of a cell.
double moved_hump_error(const std::string& advection, int nx, double passed) {
  const double velocity = 1;
  Problem problem(MPI_COMM_WORLD, column(advection, nx, velocity / 2), 1,
                  [&](double x, double) { return -velocity / 2 * x; });
  auto totals = problem.field([](double x, double) { return hump(x); });
  const double dt = passed * 4 / nx;
  const auto steps = static_cast<int>(std::lround(2 / dt));
  for (int i = 0; i < steps; ++i) problem.step(dt, {{0.0}, {0.0}}, totals);
  return problem.error(totals, [](double x, double) { return hump(x - 2); });
}

TEST(Transport, OrderOfASmoothHump) {
  std::array<double, 2> upwind{}, limited{};
  for (const int level : {0, 1}) {
    const int nx = 80 << level;
    upwind[at(level)] = moved_hump_error("upwind", nx, 0.5);
    limited[at(level)] = moved_hump_error("limited", nx, 0.5);
  }
  RecordProperty("upwind", fmt::format("{} {}", upwind[0], upwind[1]));
  RecordProperty("limited", fmt::format("{} {}", limited[0], limited[1]));
  EXPECT_LT(upwind[0] / upwind[1], 2.1);
  EXPECT_GT(limited[0] / limited[1], 3.4);
  EXPECT_LT(limited[1], 0.05 * upwind[1]);
}

TEST(Transport, OfSecondOrderInSpaceInLongSteps) {
  // Backward Euler's own error, v^2 dt / 2, is left; upwind has v dx / 2 besides.
  const double upwind = moved_hump_error("upwind", 160, 1.25);
  const double limited = moved_hump_error("limited", 160, 1.25);
  EXPECT_LT(limited, 0.7 * upwind);
}

/// Oblique uniform flow over uneven cells.
struct Plane {
  static constexpr double along_x = 0.5, along_y = 0.2;
  Problem problem;

  Plane(MPI_Comm comm, const std::string& advection, int num_species)
      : problem(comm, text(advection), num_species,
                [](double x, double y) { return -along_x * x - along_y * y; }) {}

  static std::string text(const std::string& advection) {
    std::string out =
        "[grid]\ndx = [0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.25, 0.15, 0.1, 0.2, 0.1, 0.3]\n"
        "ny = 10\nly = 1.0\n[flow]\ngravity = false\n"
        "[[flow.materials]]\nname = 'm'\nconductivity = [1.0]\nporosity = 0.5\n"
        "[transport]\ndiffusion = 1e-4\nadvection = '" +
        advection + "'\n[chemistry]\nfile = 'any'\n";
    const std::array<std::pair<const char*, double>, 4> faces{
        std::pair{"x_min", along_x}, {"x_max", -along_x}, {"y_min", along_y}, {"y_max", -along_y}};
    for (const auto& [face, flux] : faces) {
      out += fmt::format(
          "[[flow.boundaries]]\nname = '{0}'\nface = '{0}'\ntype = 'flux'\n"
          "values = [{1}]\n",
          face, flux);
    }
    return out;
  }
};

double block(double x, double y) { return x > 0.3 && x < 0.9 && y > 0.2 && y < 0.6 ? 1 : 0; }
double other(double x, double y) { return 3 - 2 * block(x, y); }
const std::vector<std::vector<double>> clean{{0.0, 3.0}, {0.0, 3.0}, {0.0, 3.0}, {0.0, 3.0}};

/// Both species of a plane, one after the other.
std::vector<double> blocks(const Problem& problem) {
  auto totals = problem.field(block);
  const auto second = problem.field(other);
  totals.insert(totals.end(), second.begin(), second.end());
  return totals;
}

TEST(Transport, LimitedKeepsRangeMassAndWhatIsLinear) {
  for (const double dt :
       {0.02, 0.1, 0.6}) {  // 0.28, 1.4 and 8.4 times what the smallest cell holds
    Plane plane(MPI_COMM_WORLD, "limited", 2);
    auto& problem = plane.problem;
    auto totals = blocks(problem);
    auto before = std::array{problem.mass(totals, 0).first, problem.mass(totals, 1).first};
    for (int i = 0; i < 12; ++i) {
      problem.step(dt, clean, totals);
      const auto count = totals.size() / 2;
      const auto range = problem.range({totals.begin(), totals.begin() + std::ssize(totals) / 2});
      EXPECT_GE(range.first, -1e-12);
      EXPECT_LE(range.second, 1 + 1e-12);
      for (std::size_t s = 0; s < 2; ++s) {
        const auto [now, inflow] = problem.mass(totals, s);
        EXPECT_NEAR(now, before[s] + dt * inflow, 1e-11 * 3000);
        before[s] = now;
      }
      for (std::size_t c = 0; c < count; ++c) {
        EXPECT_NEAR(totals[count + c], 3 - 2 * totals[c], 1e-8);
      }
    }
  }
}

TEST(Transport, LimitedIsSharperThanUpwind) {
  std::array<double, 2> widest{};
  for (const int s : {0, 1}) {
    Plane plane(MPI_COMM_WORLD, s == 0 ? "upwind" : "limited", 2);
    auto totals = blocks(plane.problem);
    for (int i = 0; i < 12; ++i) plane.problem.step(0.02, clean, totals);
    widest[at(s)] = plane.problem.error(totals, [](double x, double y) {
      return block(x - 12 * 0.02 * 2 * Plane::along_x, y - 12 * 0.02 * 2 * Plane::along_y);
    });
  }
  EXPECT_LT(widest[1], 0.8 * widest[0]);
}

TEST(Transport, AConstantStays) {
  Plane plane(MPI_COMM_WORLD, "limited", 1);
  auto totals = plane.problem.field([](double, double) { return 0.7; });
  for (int i = 0; i < 5; ++i) plane.problem.step(0.1, {{0.7}, {0.7}, {0.7}, {0.7}}, totals);
  for (const double total : totals) EXPECT_NEAR(total, 0.7, 1e-11);
}

TEST(Transport, LimitedIsTheSameOnAnyRanks) {
  Plane alone(MPI_COMM_SELF, "limited", 2), together(MPI_COMM_WORLD, "limited", 2);
  auto expected = blocks(alone.problem), totals = blocks(together.problem);
  for (int i = 0; i < 12; ++i) {
    alone.problem.step(0.05, clean, expected);
    together.problem.step(0.05, clean, totals);
  }
  const auto& grid = together.problem.grid();
  for (std::ptrdiff_t i = 0; i < grid.num_own(); ++i) {
    const Cell cell = grid.own_cell(i);
    const auto there = (cell[0] * 10 + cell[1]) * 12 + cell[2];
    EXPECT_NEAR(totals[at(i)], expected[at(there)], 1e-9);
  }
}

}  // namespace
}  // namespace tailrace::groundwater
