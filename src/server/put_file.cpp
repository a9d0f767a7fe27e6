// SPDX-License-Identifier: BSD-3-Clause
#include "server/put_file.hpp"

#include <algorithm>
#include <span>

#include "core/bytes.hpp"
#include "store/file_image.hpp"

namespace tailrace::server {

using namespace store;

Message PutFile::lay_out(std::span<const Message>) {
  std::vector<Layout> layouts;
  return bytes_from(lay_out_as(contents_of(*setting_.step, layouts)));
}

// The file that no other run may hold is made, and laid out in memory.
FilePlaces PutFile::lay_out_as(const FileContents& contents) {
  const auto& plan = *setting_.plan;
  const auto& route = *setting_.route;
  task_.create(plan.settings, plan.pieces);
  ImageSetting setting{.alignment = plan.alignment(),
                       .stripe_bytes = plan.stripe_bytes,
                       .path = task_.target(),
                       .generation = task_.generation()};
  if (plan.pieces) setting.sources = &route.sources();
  // The table has a row about the headers even if the data's checksums are elsewhere.
  if (setting_.checksums) setting.table_rows = plan.pieces ? 0 : route.table_rows();
  if (setting_.checksums && route.box_rows() > 0) setting.box_rows = route.box_rows();
  build_image(contents, setting, task_.image());
  return task_.places();
}

void PutFile::place(const Message& layout) { place(value_from<FilePlaces>(layout)); }

void PutFile::place(FilePlaces places) {
  keeps_rows_ = setting_.plan->cyclic() && places.table_offset >= 0;
  task_.set(std::move(places), {.staging = setting_.slot,
                                .part = setting_.route->part(),
                                .piece_image = setting_.route->piece_image(),
                                .keep_rows = keeps_rows_,
                                .rank = setting_.rank,
                                .settings = setting_.plan->settings,
                                .trace = setting_.trace});
}

Message PutFile::kept() const { return keeps_rows_ ? bytes_from(task_.kept_rows()) : Message(); }

void PutFile::commit(std::span<const Message> kept_by_servers) {
  std::vector<ChecksumRow> rows;
  for (const auto& kept : kept_by_servers) {
    if (kept.empty()) continue;
    const auto some = value_from<std::vector<ChecksumRow>>(kept);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  task_.commit(std::move(rows));
}

}  // namespace tailrace::server
