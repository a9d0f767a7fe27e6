// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>

#include "core/refuse_input.hpp"
#include "geometry.hpp"
#include "kernel.hpp"
#include "panel_time.hpp"
#include "tailrace/more/fft_stages.hpp"
#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

template <class Real>
std::vector<StageCost> stage_costs(const Problem& problem, int rank, std::string_view kernel) {
  const auto g = Geometry::make(problem, rank);
  constexpr auto w = lanes<Real>;
  const auto* library = find_kernel_library(kernel);
  if (library == nullptr) refuse_input("stage_costs: there is no kernel \"{}\"", kernel);
  const auto panel_s = [&](std::ptrdiff_t n, bool real, Direction way) {
    return fft::panel_s<Real>(*library->make<Real>(n, real), n, way);
  };
  constexpr auto unit_bytes = static_cast<double>(unit<Real> * sizeof(Real));
  const auto number = [](std::ptrdiff_t count) { return static_cast<double>(count); };
  const auto groups = number(num_groups(g.kxs().count, w));
  const auto fields = number(g.problem.max_fields);
  const auto planes = fields * number(g.zs().count), kys = fields * number(g.kys().count);
  const auto field = planes * number(g.ys().count * g.x.points) * sizeof(Real) * (g.real() ? 1 : 2);
  const auto modes = kys * number(g.z.kept() * g.kxs().count) * 2 * sizeof(Real);
  const auto columns_out = planes * number(g.y.kept()) * groups * unit_bytes;  // from the y stage
  const auto columns_in = kys * number(g.z.points) * groups * unit_bytes;      // to the z stage
  const auto rows_out = planes * number(g.ys().count) * number(num_groups(g.x.kept(), w)) *
                        unit_bytes;                                        // from the x stage
  const auto rows_in = planes * number(g.y.points) * groups * unit_bytes;  // to the y stage
  std::vector<StageCost> stages;
  for (const auto way : {Direction::forward, Direction::backward}) {
    const bool forward = way == Direction::forward;
    const std::string suffix = forward ? " forward" : " backward";
    const auto x =
        planes * number(num_groups(g.ys().count, w)) * panel_s(g.x.points, g.real(), way);
    const auto y = planes * groups * panel_s(g.y.points, false, way);
    const auto z = kys * groups * panel_s(g.z.points, false, way);
    if (g.py == 1) {
      stages.push_back({std::string("fft ") + (forward ? "xy" : "yx") + suffix,
                        forward ? field : columns_out + field, forward ? columns_out : 0, x + y});
    } else {
      stages.push_back(
          {"fft x" + suffix, forward ? field : rows_out + field, forward ? rows_out : 0, x});
      stages.push_back(
          {"fft y" + suffix, forward ? rows_in : columns_out, forward ? columns_out : rows_in, y});
    }
    stages.push_back(
        {"fft z" + suffix, forward ? columns_in + modes : modes, forward ? 0 : columns_in, z});
  }
  return stages;
}

template std::vector<StageCost> stage_costs<float>(const Problem&, int, std::string_view);
template std::vector<StageCost> stage_costs<double>(const Problem&, int, std::string_view);

}  // namespace tailrace::fft
