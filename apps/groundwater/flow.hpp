// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"
#include "grid.hpp"
#include "properties.hpp"

namespace tailrace::groundwater {

/// Water through one boundary or well, or into the store [m3/s]; positive = into the ground.
struct FlowTerm {
  std::string name;
  double rate = 0;
};

/// Water that enters an own cell from outside [m3/s] (negative: leaves), through boundary or well
/// number `term` of `terms()`; `area` [m2] is the boundary's, `reach` that by
/// its distance from the centre [m]; 0 of a well.
struct Passage {
  std::ptrdiff_t own = 0;
  std::size_t term = 0;
  double inflow = 0, area = 0, reach = 0;
};

/// The structure of a matrix that couples each own cell with its neighbours: block rows of own
/// cells, ascending global block columns.
struct CellGraph {
  std::vector<std::int64_t> row_starts, columns;
  /// Place in `columns` of the own cell, and of its neighbours: axis z, y, x, below then above
  /// (-1: none).
  std::vector<std::int64_t> diagonal;
  std::vector<std::array<std::int64_t, 6>> neighbours;
};
CellGraph make_graph(const Grid& grid);

/// Richards' equation d(content)/dt = div(K kr grad(h + z)) + wells on a grid, by finite volumes
/// over cells and one step of backward Euler: residuals [m3/s] (outflow - inflow + storage) and
/// their analytic derivatives by the pressure heads h [m]. Conductivities of walls are harmonic
/// means.
class FlowEquations {
 public:
  /// Collective, blocking.
  FlowEquations(const Case& values, const Grid& grid, const Ground& ground);

  /// Takes up boundary values and well rates as they are from `time` [s] on. Local.
  void set_time(double time);
  /// The next time after `time` at which a boundary value or a rate changes, or infinity. Local.
  double next_change(double time) const;

  /// Water content of own cells [m3] at the pressure heads of own cells. Local.
  void contents(std::span<const double> h, std::span<double> out) const;
  /// Residuals of own cells from the pressure heads of wide cells and the contents at the start of
  /// the step of `dt` [s]; dt = 0: the steady equation. `jacobian` may be empty, else one value an
  /// entry of `graph().columns`. Local.
  void evaluate(std::span<const double> wide_h, std::span<const double> old_contents, double dt,
                std::span<double> residual, std::span<double> jacobian);
  /// Whether the derivatives are a symmetric matrix whatever the heads: mobility is 1 everywhere.
  /// Local, the same on all ranks.
  bool symmetric() const;
  /// What round-off makes of the residuals of own cells [m3/s], their sizes summed, at the heads
  /// last evaluated. Local.
  double round_off() const { return round_off_; }
  /// Raises `deepest`, a number for each boundary, to the largest pressure head [m] at faces of own
  /// cells on top of the grid through which the boundary's flux enters ground that drains, at the
  /// heads last evaluated. Local.
  void add_ponding(std::span<double> deepest) const;
  /// Rates of boundaries, then wells, of this rank at the heads last evaluated. Local.
  std::vector<FlowTerm> terms() const;
  /// Water that passes from own cells through their walls [m3/s]: each cell's lower and upper walls
  /// along z, y, x, counted in the direction of the axis, at the heads last evaluated. Local.
  std::span<const std::array<double, 6>> wall_rates() const { return wall_rates_; }

  /// Of this rank, at the heads last evaluated. Local.
  std::vector<Passage> passages() const;
  /// Water content of wide cells [m3/m3] at the heads last evaluated. Local.
  double content(std::ptrdiff_t wide) const {
    return water_[static_cast<std::size_t>(wide)].content;
  }

  const CellGraph& graph() const { return graph_; }
  double height(const Cell& cell) const;  ///< z of its centre [m], 0 without gravity
  const Grid& grid() const { return *grid_; }
  const Ground& ground() const { return *ground_; }
  double volume(std::ptrdiff_t own) const { return volumes_[static_cast<std::size_t>(own)]; }

 private:
  using Type = BoundaryType;
  struct Series {
    std::vector<double> times, values;
    double now = 0;
    void set(double time);
    double next(double time) const;
  };
  struct Boundary {
    std::string name;
    Type type = Type::head;
    Series series;
    double rate = 0;
  };
  struct Face {
    std::ptrdiff_t own = 0, wide = 0;
    int side = 0;  ///< 0 .. 5: z, y, x; below, above
    std::size_t boundary = 0;
    double conductance = 0;  ///< K area / distance [m2/s]
    double area = 0, conductivity = 0;
    double height = 0;      ///< z of the face
    double reach = 0;       ///< area / distance [m]
    double inflow = 0;      ///< [m3/s]
    double ponded = 0;      ///< pressure head on the ground where a flux enters from above [m]
    bool runs_off = false;  ///< of a flux: a seepage boundary has this face, too
    std::vector<std::size_t> fluxes;  ///< of seepage: faces of fluxes at the same place
  };
  struct Well {
    std::string name;
    Series series;
    std::vector<std::ptrdiff_t> cells;
    std::vector<double> shares;  ///< of the rate, one a cell
  };
  /// Flow through a wall and its derivatives by the two pressure heads.
  struct WallFlow {
    double rate = 0, by_here = 0, by_there = 0;
    double size = 0;  ///< of what the rate is a difference of [m3/s]
  };

  void add_boundaries(const Case& values);
  void join_seepage();
  void add_wells(const Case& values);
  void make_walls();
  WallFlow wall(double conductance, double h, double z, const Water& water, double h_there,
                double z_there, const Water& there) const;
  double ponded_at(const Face& face, double h, double value) const;
  WallFlow to_outside(const Face& face, double h, double outside) const;
  WallFlow seepage(Face& face, double h);
  void add_faces(std::span<const double> wide_h, std::span<double> residual,
                 std::span<double> jacobian);

  const Grid* grid_;
  const Ground* ground_;
  bool gravity_, central_;
  CellGraph graph_;
  std::vector<double> volumes_;
  std::vector<std::ptrdiff_t> wide_of_;                ///< wide index of own cells
  std::vector<std::array<std::ptrdiff_t, 6>> beside_;  ///< wide index of neighbours, -1: none
  std::vector<std::array<double, 6>> conductances_;    ///< of walls [m2/s]
  std::vector<double> heights_;                        ///< of wide cells
  std::vector<Water> water_;                           ///< of wide cells
  std::vector<std::array<double, 6>> wall_rates_;
  double round_off_ = 0;
  std::vector<Boundary> boundaries_;
  std::vector<Face> faces_;  ///< those of seepage last
  std::vector<Well> wells_;
};

}  // namespace tailrace::groundwater
