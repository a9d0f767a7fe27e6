// SPDX-License-Identifier: BSD-3-Clause
// The keys of a case file: name, member, allowed values, unit, meaning. Defaults are the members'
// initial values.
#include "case.hpp"
#include "cell_files.hpp"
#include "properties.hpp"
#include "tailrace/krylov.hpp"

namespace tailrace::groundwater {

using app::any, app::positive, app::from_0, app::count_from_0, app::count_from_1;
using app::one_of, app::within, app::Allowed;

namespace {

constexpr double max_cells = 1 << 24;
constexpr const char* times_doc = "times from which the values apply, ascending; empty = always";

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& line : table) names.emplace_back(line.name);
  return names;
}

template <class Table>
std::vector<std::string> auto_or(const Table& table) {
  auto names = names_of(table);
  names.insert(names.begin(), "auto");
  return names;
}

Keys grid_keys(Case& c) {
  auto& g = c.grid;
  return {
      {"grid.nx", &g.nx, within(1, max_cells), "cells", "cells along x"},
      {"grid.ny", &g.ny, within(1, max_cells), "cells", "cells along y"},
      {"grid.nz", &g.nz, within(1, max_cells), "cells", "cells along z, which points up"},
      {"grid.lx", &g.lx, positive, "m", "length along x"},
      {"grid.ly", &g.ly, positive, "m", "length along y"},
      {"grid.lz", &g.lz, positive, "m", "length along z"},
      {"grid.dx", &g.dx, positive, "m", "widths of the cells along x, instead of nx and lx"},
      {"grid.dy", &g.dy, positive, "m", "widths along y, instead of ny and ly"},
      {"grid.dz", &g.dz, positive, "m", "widths along z, instead of nz and lz"},
      {"grid.ranks", &g.ranks, within(0, 1e8), "ranks",
       "ranks along [z, y, x]; [0, 0, 0] = chosen"},
      {"grid.regions", &g.regions, any, "", "named boxes: tables [[grid.regions]]"},
  };
}

Keys flow_keys(Case& c) {
  auto& f = c.flow;
  auto& h = c.heterogeneity;
  return {
      {"flow.gravity", &f.gravity, any, "", "false: the head is the pressure head"},
      {"flow.steady", &f.steady, any, "", "solve for the steady flow instead of stepping in time"},
      {"flow.mobility", &f.mobility, one_of({"upwind", "central"}), "",
       "relative conductivity at a cell face: that of the upstream cell, or the mean of both "
       "cells"},
      {"flow.initial", &f.initial, one_of({"head", "pressure_head"}), "",
       "meaning of initial_value"},
      {"flow.initial_value", &f.initial_value, any, "m", "head everywhere at the start"},
      {"flow.materials", &f.materials, any, "",
       "materials: tables [[flow.materials]]; where regions overlap, the later one applies"},
      {"flow.boundaries", &f.boundaries, any, "",
       "tables [[flow.boundaries]]; no flow where there is none"},
      {"flow.wells", &f.wells, any, "", "tables [[flow.wells]]"},
      {"heterogeneity.kind", &h.kind, one_of({"none", "lognormal", "file"}), "",
       "field by which the conductivity of the materials is multiplied, cell by cell"},
      {"heterogeneity.sigma", &h.sigma, from_0, "",
       "standard deviation of the ln of the factor (lognormal; its median is 1)"},
      {"heterogeneity.correlation", &h.correlation, positive, "m",
       "correlation lengths [x, y, z] (lognormal)"},
      {"heterogeneity.seed", &h.seed, count_from_0, "",
       "seed (lognormal); the field is the same on any number of ranks"},
      {"heterogeneity.file", &h.file, any, "", "HDF5 file of the factors (file)"},
      {"heterogeneity.dataset", &h.dataset, any, "", "dataset in that file, with axes (z, y, x)"},
  };
}

Keys cell_keys(Case& c) {
  auto& f = c.cells;
  return {
      {"cells.file", &f.file, any, "",
       "HDF5 file in PFLOTRAN's layout, relative to the folder of the case; empty = none"},
      {"cells.materials", &f.materials, any, "",
       "the material of each cell is given by Materials/Material Ids (flow.materials.id)"},
      {"cells.permeability", &f.permeability, any, "",
       "dataset of permeabilities [m^2], in the order of dataset Cell Ids, instead of the "
       "materials' conductivities; empty = none"},
      {"cells.mobility", &f.mobility, positive, "1/(m s)",
       "conductivity for a permeability of 1 m^2: density x gravity / viscosity; the default is "
       "for water at 25 C"},
      {"cells.pattern", &f.pattern, one_of(names_of(cell_patterns())), "",
       "whole: every rank gets all data of the file; slab: each reader reads a slab and sends "
       "values to the ranks that own the cells"},
      {"cells.group_size", &f.group_size, within(0, 1e8), "ranks",
       "ranks that share a reader; 1 = every rank reads; 0 = up to 16 readers"},
  };
}

Keys chemistry_keys(Case& c) {
  auto& t = c.transport;
  return {
      {"chemistry.file", &c.chemistry.file, any, "",
       "chemistry file, relative to the folder of the case; empty = no species"},
      {"chemistry.initial", &c.chemistry.initial, any, "", "water everywhere at the start"},
      {"chemistry.waters", &c.chemistry.waters, any, "", "tables [[chemistry.waters]]"},
      {"chemistry.minerals", &c.chemistry.minerals, any, "", "tables [[chemistry.minerals]]"},
      {"transport.diffusion", &t.diffusion, from_0, "m^2/s", "molecular diffusion in the pores"},
      {"transport.dispersivity", &t.dispersivity, from_0, "m",
       "dispersivity along the flow through each cell face"},
      {"transport.advection", &t.advection, one_of({"upwind", "limited"}), "",
       "upwind: order 1; limited: order 2, with fluxes limited so that no new extrema arise"},
      {"transport.coupling", &t.coupling, one_of({"split", "implicit"}), "",
       "split: transport, then reactions; implicit: both in one system, of up to 16 species"},
      {"transport.tolerance", &t.tolerance, within(1e-16, 1e-3), "",
       "reduction of the residual in the linear solve of a species"},
      {"transport.observe", &t.observe, any, "",
       "regions (wells, points) whose concentrations go to breakthrough.csv each step"},
  };
}

Keys solver_keys(Case& c) {
  auto& t = c.time;
  return {
      {"time.end", &t.end, positive, "s", "time at which the run ends"},
      {"time.step", &t.step, positive, "s", "first time step"},
      {"time.min_step", &t.min_step, from_0, "s",
       "a step that fails even at this length ends the run; 0 = 1e-9 of time.end"},
      {"time.max_step", &t.max_step, from_0, "s", "longest time step; 0 = time.end"},
      {"time.growth", &t.growth, within(1, 100), "", "factor for the time step after an easy step"},
      {"time.cut", &t.cut, within(0.01, 0.9), "", "factor for the time step after a failed step"},
      {"time.max_steps", &t.max_steps, count_from_0, "steps", "last step number; 0 = no limit"},
      {"newton.tolerance", &c.newton.tolerance, positive, "",
       "final residual, relative to the water that moves in a step"},
      {"newton.max_iterations", &c.newton.max_iterations, within(1, 1000), "",
       "number of iterations after which a step fails"},
      {"newton.easy_iterations", &c.newton.easy_iterations, within(1, 1000), "",
       "a step of at most this many iterations is easy"},
      {"linear.library", &c.linear.library, one_of({"tailrace", "petsc"}), "",
       "solver of the linear systems; petsc: if the program was built with PETSc"},
      {"linear.petsc", &c.linear.petsc, any, "",
       "options of PETSc, such as \"-ksp_type cg -pc_type hypre\"; default: BiCGStab with ILU(0)"},
      {"linear.method", &c.linear.method, one_of(auto_or(sparse::krylov_methods())), "",
       "Krylov method of Tailrace's solver; auto: cg for flow through saturated ground, otherwise "
       "bicgstab"},
      {"linear.preconditioner", &c.linear.preconditioner,
       one_of(auto_or(sparse::preconditioners())), "",
       "preconditioner of Tailrace's solver; auto: milu0 for flow through saturated ground, "
       "otherwise ilu0"},
      {"linear.tolerance", &c.linear.tolerance, within(1e-15, 0.5), "",
       "reduction of the residual in a linear solve"},
      {"linear.max_iterations", &c.linear.max_iterations, within(1, 1e7), "",
       "number of iterations after which a linear solve fails"},
  };
}

}  // namespace

Keys keys_of(Case& values) {
  auto output = app::output_keys(values.output);
  const Keys ours{
      {"output.fields", &values.output.fields,
       one_of({"head", "pressure_head", "saturation", "flux", "conductivity", "water", "material"}),
       "", "fields that are written (flux: flux_x, flux_y, flux_z)"},
      {"output.layout", &values.output.layout, one_of({"cf", "pflotran"}), "",
       "layout of field files: cf = for xarray and ParaView; pflotran = as PFLOTRAN writes them"},
      {"output.time_unit", &values.output.time_unit, one_of({"s", "h", "d", "y"}), "",
       "unit of times and velocities in the layout pflotran"}};
  output.insert(output.begin() + 2, ours.begin(), ours.end());
  return app::joined({app::case_keys(values), grid_keys(values), flow_keys(values),
                      cell_keys(values), chemistry_keys(values), solver_keys(values), output,
                      app::run_keys(values)});
}

Keys keys_of(RegionCase& r) {
  const std::string at = "grid.regions.";
  return {{at + "name", &r.name, any, "", "name, used in the other tables"},
          {at + "from", &r.from, any, "m", "lower corner [x, y, z]"},
          {at + "to", &r.to, any, "m",
           "upper corner; cells with their centre inside belong to the region"},
          {at + "in_file", &r.in_file, any, "",
           "its cells are Regions/NAME/Cell Ids of cells.file; omit `from` and `to`"}};
}

Keys keys_of(MaterialCase& m) {
  const std::string at = "flow.materials.";
  return {
      {at + "name", &m.name, any, "", "name, for messages"},
      {at + "region", &m.region, any, "", "region of the material; empty = everywhere"},
      {at + "id", &m.id, count_from_0, "",
       "number of the material in Materials/Material Ids of cells.file"},
      {at + "conductivity", &m.conductivity, positive, "m/s",
       "saturated conductivity: one number, or along [x, y, z]"},
      {at + "porosity", &m.porosity, any, "", "porosity"},
      {at + "storage", &m.storage, any, "1/m", "specific storage"},
      {at + "curve", &m.curve, one_of(curves), "",
       "saturation and relative conductivity as functions of the pressure head"},
      {at + "residual", &m.residual, any, "", "residual saturation"},
      {at + "alpha", &m.alpha, any, "1/m", "alpha of van_genuchten and gardner"},
      {at + "n", &m.n, any, "", "n of van_genuchten; m = 1 - 1/n (Mualem)"},
      {at + "smoothing", &m.smoothing, from_0, "m",
       "suction below which van_genuchten's curves are straight lines to saturation"},
      {at + "heads", &m.heads, any, "m", "pressure heads of a table, ascending"},
      {at + "saturations", &m.saturations, any, "", "saturations of a table"},
      {at + "mobilities", &m.mobilities, any, "", "relative conductivities of a table"},
  };
}

Keys keys_of(BoundaryCase& b) {
  const std::string at = "flow.boundaries.";
  return {
      {at + "name", &b.name, any, "", "name, in messages and balance.csv"},
      {at + "face", &b.face, one_of({"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"}), "",
       "face of the grid"},
      {at + "region", &b.region, any, "",
       "region that limits the boundary to a part of the face; empty = the whole face"},
      {at + "type", &b.type, one_of(boundary_types), "",
       "what is prescribed: head [m], pressure head [m] or flux into the ground [m/s]; without "
       "values: free_drainage (unit gradient), or seepage (water leaves at a pressure head of 0, "
       "none enters)"},
      {at + "water", &b.water, any, "", "water that flows in; empty = chemistry.initial"},
      {at + "times", &b.times, any, "s", times_doc},
      {at + "values", &b.values, any, "", "one value for each time"},
  };
}

Keys keys_of(WellCase& w) {
  const std::string at = "flow.wells.";
  return {
      {at + "name", &w.name, any, "", "name, in messages and balance.csv"},
      {at + "region", &w.region, any, "",
       "region of the well's cells; the rate is divided among them by conductivity"},
      {at + "water", &w.water, any, "", "water that flows in; empty = chemistry.initial"},
      {at + "times", &w.times, any, "s", times_doc},
      {at + "values", &w.values, any, "m^3/s", "one rate for each time; negative = pumped out"},
  };
}

Keys keys_of(WaterCase& w) {
  const std::string at = "chemistry.waters.";
  return {
      {at + "name", &w.name, any, "", "name, for boundaries and wells"},
      {at + "conditions", &w.conditions, any, "",
       "one for each primary species: \"H+ pH 5\", \"Ca++ total 1e-3\" [mol/L], \"Na+ free 1e-3\" "
       "[mol/kg], \"Cl- charge\", \"Ca++ mineral Calcite\", \"HCO3- gas CO2(g) -3.5\" [log10 "
       "of the partial pressure in bar]"}};
}

Keys keys_of(MineralCase& m) {
  const std::string at = "chemistry.minerals.";
  return {{at + "name", &m.name, any, "", "mineral of the chemistry file"},
          {at + "volume_fraction", &m.volume_fraction, within(0, 1), "",
           "fraction of the ground's volume"},
          {at + "area", &m.area, from_0, "m^2/m^3", "reactive area per volume of ground"}};
}

}  // namespace tailrace::groundwater
