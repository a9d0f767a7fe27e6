// SPDX-License-Identifier: BSD-3-Clause
#include "server/put_file.hpp"

#include <algorithm>
#include <span>

#include "core/bytes.hpp"
#include "store/file_image.hpp"

namespace tailrace::server {

using namespace store;

template <class Bytes>
static void travel(Bytes& bytes, PutLayout& layout) {
  bytes(layout.numbers, layout.target);
}

PutFile::PutFile(Setting setting, const std::string& path, std::int64_t step)
    : setting_(std::move(setting)) {
  setting_.task.name(path, step);
}

Message PutFile::lay_out(std::span<const Message>) {
  std::vector<Layout> layouts;
  PutLayout layout;
  lay_out_as(contents_of(*setting_.step, layouts), layout);
  return bytes_from(layout);
}

// The file that no other run may hold is made, and laid out in memory.
void PutFile::lay_out_as(const FileContents& contents, PutLayout& layout) {
  auto& task = setting_.task;
  const auto& plan = *setting_.plan;
  const auto& route = *setting_.route;
  task.create(plan.settings, plan.pieces);
  FileImage& image = task.image();
  ImageSetting setting{.alignment = plan.alignment(),
                       .stripe_bytes = plan.stripe_bytes,
                       .path = task.target(),
                       .generation = task.generation()};
  if (plan.pieces) setting.sources = &route.sources();
  // The table has a row about the headers even if the data's checksums are elsewhere.
  if (setting_.checksums) setting.table_rows = plan.pieces ? 0 : route.table_rows();
  if (setting_.checksums && route.box_rows() > 0) setting.box_rows = route.box_rows();
  build_image(contents, setting, image);
  layout.numbers.assign(contents.variables.size() + PutLayout::first_variable, 0);
  layout.numbers[PutLayout::total] = image.total_bytes;
  layout.numbers[PutLayout::table] = image.table_offset;
  layout.numbers[PutLayout::box_table] = image.box_table_offset;
  layout.numbers[PutLayout::generation] = task.generation();
  layout.numbers[PutLayout::linked] = task.leads_elsewhere() ? 1 : 0;
  std::ranges::copy(image.data_offsets, layout.numbers.begin() + PutLayout::first_variable);
  layout.target = task.leads_elsewhere() ? task.target() : "";
}

void PutFile::place(const Message& layout) { place(value_from<PutLayout>(layout)); }

void PutFile::place(const PutLayout& layout) {
  const auto& numbers = layout.numbers;
  if (!layout.target.empty()) setting_.task.set_target(layout.target);
  keeps_rows_ = setting_.plan->cyclic() && numbers[PutLayout::table] >= 0;
  setting_.task.set({.staging = setting_.slot,
                     .part = setting_.route->part(),
                     .data_offsets = std::span(numbers).subspan(PutLayout::first_variable),
                     .table_offset = numbers[PutLayout::table],
                     .box_table_offset = numbers[PutLayout::box_table],
                     .total_bytes = numbers[PutLayout::total],
                     .piece_image = setting_.route->piece_image(),
                     .generation = static_cast<int>(numbers[PutLayout::generation]),
                     .keep_rows = keeps_rows_,
                     .rank = setting_.rank,
                     .settings = setting_.plan->settings,
                     .trace = setting_.trace});
}

Message PutFile::kept() const {
  return keeps_rows_ ? bytes_from(setting_.task.kept_rows()) : Message();
}

void PutFile::commit(std::span<const Message> kept_by_servers) {
  std::vector<ChecksumRow> rows;
  for (const auto& kept : kept_by_servers) {
    if (kept.empty()) continue;
    const auto some = value_from<std::vector<ChecksumRow>>(kept);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  setting_.task.commit(std::move(rows));
}

std::string PutFile::discard() noexcept {
  setting_.task.discard();
  return "";
}

FileContents contents_of(const Step& step, std::vector<Layout>& layouts) {
  FileContents contents{step.coordinates, {},          step.attributes,
                        step.step,        step.scales, step.group_attributes};
  for (const auto& field : step.fields) {
    const auto dims = static_cast<std::size_t>(field.num_dims());
    layouts.push_back(from_boxes(std::span(field.extents.data(), dims), {{}}));
  }
  for (std::size_t f = 0; f < step.fields.size(); ++f) {
    const auto& field = step.fields[f];
    contents.variables.push_back(
        {field.name, field.type, field.dims, &layouts[f], {}, nullptr, field.attributes});
  }
  return contents;
}

}  // namespace tailrace::server
