// SPDX-License-Identifier: BSD-3-Clause
#include "flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "tailrace/reduction.hpp"

namespace tailrace::groundwater {

namespace {

/// The neighbour of `cell` on side 0 .. 5: z, y, x; below, above.
Cell beside(Cell cell, int side) {
  cell[at(side / 2)] += side % 2 == 0 ? -1 : 1;
  return cell;
}

}  // namespace

CellGraph make_graph(const Grid& grid) {
  CellGraph graph;
  graph.row_starts.push_back(0);
  for (std::ptrdiff_t own = 0; own < grid.num_own(); ++own) {
    const Cell cell = grid.own_cell(own);
    std::vector<std::pair<std::int64_t, int>> entries{{grid.row(cell), 6}};
    for (int side = 0; side < 6; ++side) {
      const Cell there = beside(cell, side);
      if (grid.inside(there)) entries.emplace_back(grid.row(there), side);
    }
    std::sort(entries.begin(), entries.end());
    auto& places = graph.neighbours.emplace_back();
    places.fill(-1);
    for (const auto& [column, side] : entries) {
      const auto place = std::ssize(graph.columns);
      graph.columns.push_back(column);
      if (side == 6) {
        graph.diagonal.push_back(place);
      } else {
        places[at(side)] = place;
      }
    }
    graph.row_starts.push_back(std::ssize(graph.columns));
  }
  return graph;
}

void FlowEquations::Series::set(double time) {
  if (values.empty()) return;
  now = values.front();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] <= time * (1 + 1e-12)) now = values[i];
  }
}

double FlowEquations::Series::next(double time) const {
  for (const double change : times) {
    if (change > time * (1 + 1e-12)) return change;
  }
  return std::numeric_limits<double>::infinity();
}

FlowEquations::FlowEquations(const Case& values, const Grid& grid, const Ground& ground)
    : grid_(&grid),
      ground_(&ground),
      gravity_(values.flow.gravity),
      central_(values.flow.mobility == "central"),
      graph_(make_graph(grid)) {
  const auto count = at(grid.num_own());
  volumes_.reserve(count);
  wall_rates_.resize(count);
  water_.resize(at(grid.num_wide()));
  for (std::ptrdiff_t i = 0; i < grid.num_wide(); ++i) {
    heights_.push_back(height(grid.wide_cell(i)));
  }
  make_walls();
  add_boundaries(values);
  add_wells(values);
  set_time(0);
}

double FlowEquations::height(const Cell& cell) const {
  return gravity_ ? grid_->axis(0).centre(cell[0]) : 0;
}

void FlowEquations::make_walls() {
  for (std::ptrdiff_t own = 0; own < grid_->num_own(); ++own) {
    const Cell cell = grid_->own_cell(own);
    const auto here = grid_->wide_index(cell);
    volumes_.push_back(grid_->volume(cell));
    wide_of_.push_back(here);
    auto& neighbours = beside_.emplace_back();
    auto& conductances = conductances_.emplace_back();
    for (int side = 0; side < 6; ++side) {
      const int d = side / 2;
      const Cell there = beside(cell, side);
      neighbours[at(side)] = -1;
      if (!grid_->inside(there)) continue;
      const auto other = grid_->wide_index(there);
      const auto& k = ground_->conductivity[at(d)];
      neighbours[at(side)] = other;
      conductances[at(side)] =
          grid_->area(cell, d) / (grid_->axis(d).width(cell[at(d)]) / (2 * k[at(here)]) +
                                  grid_->axis(d).width(there[at(d)]) / (2 * k[at(other)]));
    }
  }
}

void FlowEquations::add_boundaries(const Case& values) {
  const std::array<const char*, 6> names{"z_min", "z_max", "y_min", "y_max", "x_min", "x_max"};
  for (const auto& from : values.flow.boundaries.items) {
    Boundary boundary;
    boundary.name = from.name;
    boundary.type = app::value_of(boundary_types, from.type);
    boundary.series = {from.times, from.values};
    const int side =
        static_cast<int>(std::find(names.begin(), names.end(), from.face) - names.begin());
    const int d = side / 2;
    const auto region = find_region(values, from.region, values.source);
    for (const auto own : cells_in(*grid_, region)) {
      const Cell cell = grid_->own_cell(own);
      const auto edge = side % 2 == 0 ? 0 : grid_->axis(d).num_cells() - 1;
      if (cell[at(d)] != edge) continue;
      Face face;
      face.own = own;
      face.wide = wide_of_[at(own)];
      face.side = side;
      face.boundary = boundaries_.size();
      face.area = grid_->area(cell, d);
      face.conductivity = ground_->conductivity[at(d)][at(face.wide)];
      const double half = grid_->axis(d).width(cell[at(d)]) / 2;
      face.reach = face.area / half;
      face.conductance = face.conductivity * face.reach;
      face.height = height(cell);
      if (gravity_ && d == 0) face.height += side % 2 == 0 ? -half : half;
      faces_.push_back(face);
    }
    boundaries_.push_back(std::move(boundary));
  }
  join_seepage();
}

/// Seepage comes after the fluxes at the same place, as it takes what the ground does not.
void FlowEquations::join_seepage() {
  const auto type = [&](const Face& face) { return boundaries_[face.boundary].type; };
  std::ranges::stable_partition(faces_, [&](const Face& f) { return type(f) != Type::seepage; });
  std::map<std::pair<std::ptrdiff_t, int>, std::vector<std::size_t>> fluxes;
  for (std::size_t f = 0; f < faces_.size(); ++f) {
    const auto place = std::pair(faces_[f].own, faces_[f].side);
    if (type(faces_[f]) == Type::flux) fluxes[place].push_back(f);
    if (type(faces_[f]) != Type::seepage) continue;
    faces_[f].fluxes = fluxes[place];
    for (const auto flux : fluxes[place]) faces_[flux].runs_off = true;
  }
}

void FlowEquations::add_wells(const Case& values) {
  for (const auto& from : values.flow.wells.items) {
    Well well;
    well.name = from.name;
    well.series = {from.times, from.values};
    well.cells = cells_in(*grid_, find_region(values, from.region, values.source));
    for (const auto own : well.cells) {
      well.shares.push_back(ground_->conductivity[2][at(wide_of_[at(own)])] * volumes_[at(own)]);
    }
    wells_.push_back(std::move(well));
  }
  if (wells_.empty()) return;
  std::vector<double> sums;
  for (const auto& well : wells_) {
    sums.push_back(std::accumulate(well.shares.begin(), well.shares.end(), 0.0));
  }
  Reduction reduction(grid_->comm(), {.type = NumberType::float64, .max_items = std::ssize(sums)});
  reduction.allreduce(std::span(sums));
  for (std::size_t w = 0; w < wells_.size(); ++w) {
    require_all(grid_->comm().raw(), sums[w] > 0,
                values.source + ": well `" + wells_[w].name +
                    "`: its region holds the centre of no cell; make it larger");
    for (auto& share : wells_[w].shares) share /= sums[w];
  }
}

void FlowEquations::set_time(double time) {
  for (auto& boundary : boundaries_) boundary.series.set(time);
  for (auto& well : wells_) well.series.set(time);
}

double FlowEquations::next_change(double time) const {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& boundary : boundaries_) next = std::min(next, boundary.series.next(time));
  for (const auto& well : wells_) next = std::min(next, well.series.next(time));
  return next;
}

void FlowEquations::contents(std::span<const double> h, std::span<double> out) const {
  for (std::size_t i = 0; i < h.size(); ++i) {
    const auto& soil = ground_->soils[ground_->soil_of[at(wide_of_[i])]];
    out[i] = volumes_[i] * water_at(soil, h[i]).content;
  }
}

FlowEquations::WallFlow FlowEquations::wall(double conductance, double h, double z,
                                            const Water& water, double h_there, double z_there,
                                            const Water& there) const {
  const double drop = (h + z) - (h_there + z_there);
  double mobility = 0, by_here = 0, by_there = 0;
  if (central_) {
    mobility = (water.mobility + there.mobility) / 2;
    by_here = water.dmobility / 2;
    by_there = there.dmobility / 2;
  } else if (drop >= 0) {
    mobility = water.mobility;
    by_here = water.dmobility;
  } else {
    mobility = there.mobility;
    by_there = there.dmobility;
  }
  const double size = std::abs(h) + std::abs(z) + std::abs(h_there) + std::abs(z_there);
  return {conductance * mobility * drop, conductance * (by_here * drop + mobility),
          conductance * (by_there * drop - mobility), conductance * mobility * size};
}

void FlowEquations::evaluate(std::span<const double> wide_h, std::span<const double> old_contents,
                             double dt, std::span<double> residual, std::span<double> jacobian) {
  for (std::size_t i = 0; i < water_.size(); ++i) {
    water_[i] = water_at(ground_->soils[ground_->soil_of[i]], wide_h[i]);
  }
  std::fill(jacobian.begin(), jacobian.end(), 0.0);
  double sizes = 0;  // of the numbers whose differences the residuals are
  const bool slopes = !jacobian.empty();
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const auto here = at(wide_of_[i]);
    double sum = dt > 0 ? (volumes_[i] * water_[here].content - old_contents[i]) / dt : 0;
    double diagonal = dt > 0 ? volumes_[i] * water_[here].dcontent / dt : 0;
    if (dt > 0) sizes += std::abs(volumes_[i] * water_[here].content) / dt;
    for (std::size_t side = 0; side < 6; ++side) {
      wall_rates_[i][side] = 0;
      if (beside_[i][side] < 0) continue;
      const auto there = at(beside_[i][side]);
      const WallFlow flow = wall(conductances_[i][side], wide_h[here], heights_[here], water_[here],
                                 wide_h[there], heights_[there], water_[there]);
      sum += flow.rate;
      sizes += flow.size;
      diagonal += flow.by_here;
      wall_rates_[i][side] = side % 2 == 0 ? -flow.rate : flow.rate;
      if (slopes) jacobian[at(graph_.neighbours[i][side])] = flow.by_there;
    }
    residual[i] = sum;
    if (slopes) jacobian[at(graph_.diagonal[i])] = diagonal;
  }
  round_off_ = std::numeric_limits<double>::epsilon() * sizes;
  add_faces(wide_h, residual, jacobian);
  for (const auto& well : wells_) {
    for (std::size_t c = 0; c < well.cells.size(); ++c) {
      residual[at(well.cells[c])] -= well.series.now * well.shares[c];
    }
  }
}

/// From the cell of `face`, of pressure head `h`, to the pressure head `outside` at the face.
FlowEquations::WallFlow FlowEquations::to_outside(const Face& face, double h,
                                                  double outside) const {
  const auto& soil = ground_->soils[ground_->soil_of[at(face.wide)]];
  return wall(face.conductance, h, heights_[at(face.wide)], water_[at(face.wide)], outside,
              face.height, water_at(soil, outside));
}

/// What leaves so that the pressure head at the face is at most 0: of the fluxes at the same place
/// what the ground does not take up, which has not been in the ground, and water of the ground.
FlowEquations::WallFlow FlowEquations::seepage(Face& face, double h) {
  WallFlow flow = to_outside(face, h, 0);
  double given = 0;
  for (const auto f : face.fluxes) given += faces_[f].inflow;
  flow.rate += given;
  if (flow.rate <= 0) return {.size = flow.size};
  const double not_taken = std::clamp(given, 0.0, flow.rate);
  for (const auto f : face.fluxes) {
    if (given > 0) faces_[f].inflow *= 1 - not_taken / given;
  }
  face.inflow = not_taken - flow.rate;
  return flow;
}

void FlowEquations::add_faces(std::span<const double> wide_h, std::span<double> residual,
                              std::span<double> jacobian) {
  for (auto& boundary : boundaries_) boundary.rate = 0;
  for (auto& face : faces_) {
    auto& boundary = boundaries_[face.boundary];
    const double value = boundary.series.now, h = wide_h[at(face.wide)];
    const Water& water = water_[at(face.wide)];
    WallFlow flow;
    face.inflow = 0;
    switch (boundary.type) {
      case Type::flux:
        flow.rate = -value * face.area;
        face.inflow = value * face.area;
        flow.size = std::abs(flow.rate);
        face.ponded = ponded_at(face, h, value);
        break;
      case Type::free_drainage:
        flow.rate = face.conductivity * face.area * water.mobility;
        flow.by_here = face.conductivity * face.area * water.dmobility;
        flow.size = flow.rate;
        face.inflow = -flow.rate;
        break;
      case Type::head:
        flow = to_outside(face, h, value - face.height);
        face.inflow = -flow.rate;
        break;
      case Type::pressure_head:
        flow = to_outside(face, h, value);
        face.inflow = -flow.rate;
        break;
      case Type::seepage:
        flow = seepage(face, h);
        break;
    }
    residual[at(face.own)] += flow.rate;
    if (!jacobian.empty()) jacobian[at(graph_.diagonal[at(face.own)])] += flow.by_here;
    round_off_ += std::numeric_limits<double>::epsilon() * flow.size;
    boundary.rate -= flow.rate;
    wall_rates_[at(face.own)][at(face.side)] += face.side % 2 == 0 ? -flow.rate : flow.rate;
  }
}

/// Pressure head [m] at a face on top through which the flux `value` enters the cell of pressure
/// head `h`; 0 where the ground takes it up, or is full whatever the head.
double FlowEquations::ponded_at(const Face& face, double h, double value) const {
  const auto& soil = ground_->soils[ground_->soil_of[at(face.wide)]];
  const bool onto_ground = gravity_ && face.side == 1 && value > 0 && h > 0;
  if (!onto_ground || face.runs_off || soil.curve == Soil::Curve::saturated) return 0;
  const double rise = value * face.area / face.conductance;
  return std::max(0.0, h + heights_[at(face.wide)] - face.height + rise);
}

void FlowEquations::add_ponding(std::span<double> deepest) const {
  for (const auto& face : faces_) {
    deepest[face.boundary] = std::max(deepest[face.boundary], face.ponded);
  }
}

std::vector<Passage> FlowEquations::passages() const {
  std::vector<Passage> out;
  for (const auto& face : faces_) {
    out.push_back({face.own, face.boundary, face.inflow, face.area, face.reach});
  }
  for (std::size_t w = 0; w < wells_.size(); ++w) {
    for (std::size_t c = 0; c < wells_[w].cells.size(); ++c) {
      out.push_back({wells_[w].cells[c], boundaries_.size() + w,
                     wells_[w].series.now * wells_[w].shares[c], 0, 0});
    }
  }
  return out;
}

bool FlowEquations::symmetric() const {
  return std::ranges::all_of(ground_->soils,
                             [](const auto& soil) { return soil.curve == Soil::Curve::saturated; });
}

std::vector<FlowTerm> FlowEquations::terms() const {
  std::vector<FlowTerm> out;
  for (const auto& boundary : boundaries_) out.push_back({boundary.name, boundary.rate});
  for (const auto& well : wells_) {
    double rate = 0;
    for (const double share : well.shares) rate += well.series.now * share;
    out.push_back({well.name, rate});
  }
  return out;
}

}  // namespace tailrace::groundwater
