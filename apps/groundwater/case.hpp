// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/keys.hpp"
#include "common/output_case.hpp"

namespace tailrace::groundwater {

using app::Keys;

/// The meaning of every member stands once, in the tables of keys (case_keys.cpp).
struct RegionCase {
  std::string name;
  std::vector<double> from, to;
  bool in_file = false;
  /// Natural numbers, from 0 and ascending, of this rank's wide cells in the region; null for a
  /// box. Set by who reads the file of cells (cell_files.hpp).
  std::shared_ptr<const std::vector<std::int64_t>> cells = nullptr;
};
struct MaterialCase {
  std::int64_t id = 0;
  std::string name, region, curve = "saturated";
  std::vector<double> conductivity, heads, saturations, mobilities;
  double porosity = 0.25, residual = 0, alpha = 1, n = 2, storage = 0;
  double smoothing = 1e-3;
};
enum class BoundaryType { head, pressure_head, flux, free_drainage, seepage };
inline constexpr app::Choices<BoundaryType, 5> boundary_types{
    {{"head", BoundaryType::head},
     {"pressure_head", BoundaryType::pressure_head},
     {"flux", BoundaryType::flux},
     {"free_drainage", BoundaryType::free_drainage},
     {"seepage", BoundaryType::seepage}}};
struct BoundaryCase {
  std::string name, face = "x_min", region, type = "head", water;
  std::vector<double> times, values;
};
struct WellCase {
  std::string name, region, water;
  std::vector<double> times, values;
};

struct WaterCase {
  std::string name;
  std::vector<std::string> conditions;
};
struct MineralCase {
  std::string name;
  double volume_fraction = 0, area = 1;
};

/// One run, as a case file describes it.
struct Case : app::RunCase {
  Case() : RunCase("groundwater") {}

  struct {
    std::int64_t nx = 1, ny = 1, nz = 1;
    double lx = 1, ly = 1, lz = 1;
    std::vector<double> dx, dy, dz, ranks{0, 0, 0};
    app::TableList<RegionCase> regions;
  } grid;
  struct {
    bool gravity = true, steady = false;
    std::string mobility = "upwind", initial = "head";
    double initial_value = 0;
    app::TableList<MaterialCase> materials;
    app::TableList<BoundaryCase> boundaries;
    app::TableList<WellCase> wells;
  } flow;
  struct {
    std::string file, permeability, pattern = "slab";
    bool materials = false;
    double mobility = 1.098e7;
    std::int64_t group_size = 0;
  } cells;
  struct {
    std::string file, initial;
    app::TableList<WaterCase> waters;
    app::TableList<MineralCase> minerals;
  } chemistry;
  struct {
    double diffusion = 1e-9, dispersivity = 0, tolerance = 1e-13;
    std::string advection = "upwind", coupling = "split";
    std::vector<std::string> observe;
  } transport;
  struct {
    std::string kind = "none", file, dataset;
    double sigma = 1;
    std::vector<double> correlation{1, 1, 1};
    std::int64_t seed = 1;
  } heterogeneity;
  struct {
    double end = 1, step = 1, min_step = 0, max_step = 0, growth = 1.5, cut = 0.5;
    std::int64_t max_steps = 0;
  } time;
  struct {
    double tolerance = 1e-11;
    std::int64_t max_iterations = 20, easy_iterations = 6;
  } newton;
  struct {
    std::string library = "tailrace", method = "auto", preconditioner = "auto", petsc;
    double tolerance = 1e-6;
    std::int64_t max_iterations = 2000;
  } linear;
  struct : app::OutputCase {
    std::vector<std::string> fields{"head", "saturation"};
    std::string layout = "cf", time_unit = "y";
  } output;
};

/// The table of keys of a case file, bound to `values`. Local, as all of this file but what says
/// so.
Keys keys_of(Case& values);
Keys keys_of(RegionCase& values);
Keys keys_of(MaterialCase& values);
Keys keys_of(BoundaryCase& values);
Keys keys_of(WellCase& values);
Keys keys_of(WaterCase& values);
Keys keys_of(MineralCase& values);

// What `app::parse_case` and `app::check_case` call (common/case_text.hpp).
void complete(Case& values);
std::vector<std::string> field_names(const Case& values);
void check_ranks(const Case& values, int num_ranks);

/// Ranks along (z, y, x) of a run of `num_ranks`. Throws `Errc::invalid_input`.
std::array<int, 3> rank_grid(const Case& values, int num_ranks);

/// The widths of the cells along axis 0, 1, 2 = z, y, x [m].
std::vector<double> widths_of(const Case& values, int axis);

/// The region of that name; "" is the whole grid. Throws `Errc::invalid_input` with `where`.
RegionCase find_region(const Case& values, const std::string& name, const std::string& where);

}  // namespace tailrace::groundwater
