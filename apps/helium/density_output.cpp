// SPDX-License-Identifier: BSD-3-Clause
#include "density_output.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "common/output_case.hpp"
#include "tailrace/error.hpp"

namespace tailrace::helium {

DensityOutput::DensityOutput(const Hamiltonian& hamiltonian, const Case& values,
                             const std::string& folder, Session* session, Trace* trace)
    : prefix_(fmt::format("{}/fields/{}", folder, values.about.name)), every_(values.output.every) {
  if (values.output.mode == "none") return;
  const auto& blocks = hamiltonian.blocks();
  const auto options = app::field_options(values.output, values.source, folder, trace);
  run_agreed(blocks.comm().raw(), [&] {
    if (blocks.comm().rank() != 0) return;
    for (const auto& made : app::output_folders(folder, options.products)) {
      std::error_code failed;
      std::filesystem::create_directories(made, failed);
      if (!failed) continue;
      throw Error(Errc::io, fmt::format("cannot make folder {}: {}", made, failed.message()),
                  failed.value());
    }
  });
  writer_.emplace(blocks.comm(), session, "density", options);
  for (std::ptrdiff_t i = 0; i < blocks.num_points(); ++i) {
    radii_.push_back(hamiltonian.radial().r(i));
  }
  make_layout(blocks);
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
  const bool due = always || step % every_ == 0;
  if (!writer_ || !due || step == last_step_) return;
  last_step_ = step;
  observer.density(wave, density_);
  FileContents file;
  file.step = step;
  const Attributes unit{{"units", std::string("bohr")}};
  file.coordinates = {{"r1", radii_, unit}, {"r2", radii_, unit}};
  file.variables.emplace_back("density", ItemType::float64, std::vector<std::string>{"r1", "r2"},
                              &*layout_, memory_, density_.data());
  file.attributes = {{"step", step}, {"time", time}};
  writer_->write(fmt::format("{}_{:06d}.h5", prefix_, step), file);
}

void DensityOutput::progress() {
  if (writer_) writer_->progress();
}

void DensityOutput::finish() {
  if (writer_) writer_->finish();
}

OutputStatistics DensityOutput::statistics() const {
  return writer_ ? writer_->statistics() : OutputStatistics{};
}

}  // namespace tailrace::helium
