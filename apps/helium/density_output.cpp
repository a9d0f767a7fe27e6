// SPDX-License-Identifier: BSD-3-Clause
#include "density_output.hpp"

#include <fmt/format.h>

namespace tailrace::helium {
namespace {

constexpr const char* bohr = "5.29177210903e-11 m";  // in the words of UDUNITS (CODATA 2018)

}  // namespace

DensityOutput::DensityOutput(const Hamiltonian& hamiltonian, const Case& values,
                             const std::string& folder, Session& session)
    : files_(app::field_series(session, "density", values, folder)) {
  if (!files_.active()) return;
  for (std::ptrdiff_t i = 0; i < hamiltonian.blocks().num_points(); ++i) {
    radii_.push_back(hamiltonian.radial().r(i));
  }
  make_layout(hamiltonian.blocks());
}

/// Each block, and what it is mirrored to, from the same memory.
void DensityOutput::make_layout(const Blocks& blocks) {
  const std::ptrdiff_t extents[] = {blocks.num_points(), blocks.num_points()};
  const auto& comm = blocks.comm();
  const Layout triangle_layout = triangle(blocks.num_points(), comm.num_ranks());
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    auto& mine = boxes[static_cast<std::size_t>(rank)];
    for (const auto& box : triangle_layout.boxes(rank)) {
      mine.push_back(box);
      if (box.start[0] == box.start[1]) continue;
      mine.push_back({2, {box.start[1], box.start[0]}, {box.extents[1], box.extents[0]}});
    }
  }
  layout_ = from_boxes(extents, std::move(boxes));
  std::ptrdiff_t offset = 0;
  for (const auto& block : blocks.blocks()) {
    memory_.boxes.push_back({offset, {block.columns.count, 1}});
    if (!block.on_diagonal()) memory_.boxes.push_back({offset, {1, block.columns.count}});
    offset += block.rows.count * block.columns.count;
  }
  memory_.num_items = offset;
}

void DensityOutput::write(const Observer& observer, const Wave& wave, std::int64_t step,
                          double time, bool always) {
  if (!files_.due(step, always)) return;
  observer.density(wave, density_);
  FileContents file;
  file.step = step;
  const auto radius = [&](const char* name, const char* electron) {
    return Coordinate{name,
                      radii_,
                      {{"long_name", fmt::format("distance of the {} electron", electron)},
                       {"units", std::string(bohr)}}};
  };
  const Attributes about_time{{"long_name", std::string("time since the start of the run")},
                              {"units", std::string("2.4188843265857e-17 s")}};
  file.coordinates = {
      radius("r1", "first"), radius("r2", "second"), {"time", {}, about_time, time}};
  file.variables.emplace_back("density", ItemType::float64, std::vector<std::string>{"r1", "r2"},
                              &*layout_, memory_, density_.data(),
                              Attributes{{"long_name", std::string("density of probability")},
                                         {"units", fmt::format("({})-2", bohr)}});
  file.attributes = {{"step", step},
                     {"time", time},
                     {"title", std::string("helium: density of the two distances")},
                     {"history", std::string("written by tailrace-helium")},
                     {"Conventions", std::string("CF-1.11")}};
  files_.write(file);
}

}  // namespace tailrace::helium
