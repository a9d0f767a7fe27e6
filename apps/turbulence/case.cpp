// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/case_text.hpp"
#include "common/refuse_input.hpp"
#include "grid_check.hpp"

namespace tailrace::turbulence {

namespace {

void require_grid(const Case& values) {
  const auto& grid = values.grid;
  if (grid.nx < 4 || grid.ny < 4 || grid.nz < 4) {
    app::refuse_input(
        "{}: the grid has {} x {} x {} points (x, y, z); give `grid.n`, or `grid.nx`, "
        "`grid.ny` and `grid.nz`, at least 4 each",
        values.source, grid.nx, grid.ny, grid.nz);
  }
  app::require_rank_grid(grid.ranks, {"z", "y"}, values.source);
}

void require_fields(const Case& values) {
  auto fields = values.output.fields;
  std::sort(fields.begin(), fields.end());
  const auto twice = std::adjacent_find(fields.begin(), fields.end());
  if (twice != fields.end()) {
    app::refuse_input("{}: `output.fields` names \"{}\" twice", values.source, *twice);
  }
  const bool any = !fields.empty() && (fields != std::vector<std::string>{"scalars"} ||
                                       !values.scalars.schmidt.empty());
  if (any || values.output.every == 0) return;
  app::refuse_input(
      "{}: `output.fields` names no field of this flow; give at least one of u, v, "
      "w{}, or output.every = 0",
      values.source, values.scalars.schmidt.empty() ? "" : ", scalars");
}

void require_sense(const Case& values) {
  const auto& flow = values.flow;
  const auto& restart = values.restart.file;
  if (flow.initial == "restart" && (restart.empty() || restart == "latest_or_fresh")) {
    app::refuse_input("{}: flow.initial = \"restart\" needs the checkpoint in `restart.file`",
                      values.source);
  }
  require_fields(values);
  const auto gradients = values.scalars.mean_gradient.size();
  const auto scalars = values.scalars.schmidt.size();
  if (gradients != 0 && gradients != 3 && gradients != 3 * scalars) {
    app::refuse_input(
        "{}: `scalars.mean_gradient` has {} numbers; give 3 (x, y, z) for all "
        "scalars, or {} for the {} scalars in turn",
        values.source, gradients, 3 * scalars, scalars);
  }
}

void fill_defaults(Case& values) {
  auto& grid = values.grid;
  for (auto* points : {&grid.nx, &grid.ny, &grid.nz}) {
    if (*points == 0) *points = grid.n;
  }
  for (auto* length : {&grid.lx, &grid.ly, &grid.lz}) {
    if (*length == 0) *length = 2 * M_PI;
  }
  if (values.given.contains("flow.reynolds")) {
    values.flow.viscosity = grid.lx / (2 * M_PI) / values.flow.reynolds;
  }
  if (!values.given.contains("time.courant")) values.time.courant = 0;
  if (!values.given.contains("time.step")) values.time.step = 0;
}

}  // namespace

std::vector<std::string> field_names(const Case& values) {
  std::vector<std::string> names;
  for (const auto& field : values.output.fields) {
    if (field != "scalars") {
      names.push_back(field);
      continue;
    }
    for (std::size_t s = 0; s < values.scalars.schmidt.size(); ++s) {
      names.push_back(fmt::format("scalar_{}", s));
    }
  }
  return names;
}

void complete(Case& values) {
  fill_defaults(values);
  require_grid(values);
  require_sense(values);
}

void check_ranks(const Case& values, int num_ranks) {
  Case any_grid = values;
  if (app::ranks_may_serve(values.output)) any_grid.grid.ranks = {0, 0};
  require_flow_on_grid(values, solver_options(any_grid, num_ranks));
}

NavierStokesOptions solver_options(const Case& values, int num_ranks) {
  const auto& grid = values.grid;
  NavierStokesOptions options;
  options.extents = {grid.nz, grid.ny, grid.nx};
  options.lengths = {grid.lz, grid.ly, grid.lx};
  options.viscosity = values.flow.viscosity;
  options.scheme = app::value_of(schemes, values.time.scheme);
  options.dealias = app::value_of(dealias_methods, values.dealias.method);
  options.grid = {static_cast<int>(grid.ranks[0]), static_cast<int>(grid.ranks[1])};
  app::require_num_ranks(grid.ranks, num_ranks, values.source);
  const auto& gradients = values.scalars.mean_gradient;
  for (std::size_t s = 0; s < values.scalars.schmidt.size(); ++s) {
    Scalar scalar;
    scalar.schmidt = values.scalars.schmidt[s];
    const std::size_t first = gradients.size() > 3 ? 3 * s : 0;
    for (std::size_t d = 0; d < 3 && !gradients.empty(); ++d) {
      scalar.mean_gradient[d] = gradients[first + d];
    }
    options.scalars.push_back(scalar);
  }
  options.fft.kernel = values.fft.kernel;
  options.fft.method = values.fft.method;
  options.fft.threads = static_cast<int>(values.fft.threads);
  return options;
}

}  // namespace tailrace::turbulence
