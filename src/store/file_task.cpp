// SPDX-License-Identifier: BSD-3-Clause
#include "store/file_task.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "chooser/absolute_path.hpp"
#include "core/agreed_error.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "store/piece_folder.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t chunk_bytes = 8 * piece_bytes;  // of one system call

}  // namespace

// Failures get the name of the file.
template <class Action>
void FileTask::run(const char* what, Action&& action) {
  const double start_s = now_s();
  const Span span(trace_, Activity::write, what, 1);
  try {
    action();
  } catch (const Error& error) {
    throw about(fmt::format("cannot write {} (step {})", path_, step_), error);
  }
  seconds_ += now_s() - start_s;
}

void FileTask::name(const std::string& path, std::int64_t step) {
  path_ = absolute_path(path);
  set_target(path_);
  step_ = step;
  places_.generation = -1;
  seconds_ = 0;
  bytes_ = 0;
  statistics_ = {};
}

void FileTask::set_target(const std::string& target) {
  places_.target = target;
  partial_ = name_beside(target, ".partial");
}

void FileTask::create(const file::Settings& settings, bool pieces) {
  run("create file", [&] {
    set_target(followed_links(target()));
    replaced_ = access_of_replaced_file(target());
    held_.create(partial_, settings, replaced_);
    if (pieces) places_.generation = prepare_pieces(target(), replaced_);
  });
  seconds_ = 0;  // the simulation sees it: part of laying the file out
}

FilePlaces FileTask::places() const {
  return {target(),           generation(),       image_.table_offset, image_.box_table_offset,
          image_.total_bytes, image_.data_offsets};
}

void FileTask::set(FilePlaces places, Setting setting) {
  places_ = std::move(places);
  set_target(places_.target);
  staging_ = setting.staging;
  source_ = setting.bytes;
  part_ = std::move(setting.part);
  piece_image_ = std::move(setting.piece_image);
  rank_ = setting.rank;
  settings_ = setting.settings;
  trace_ = setting.trace;
  if (piece_image_) {
    piece_ = piece_path(target(), generation(), rank_);
    data_offsets_ = piece_image_->data_offsets;
    table_offset_ = piece_image_->table_offset;
  } else {
    data_offsets_ = places_.data_offsets;
    table_offset_ = places_.table_offset;
  }
  rows_.clear();
  keep_rows_ = setting.keep_rows;
}

// The back end's errors name its file; here only why, as `run` names the one that is to come.
template <class Action>
void FileTask::fill(const std::string& path, Action&& action) {
  try {
    const auto file = file::find_back_end(settings_.back_end)
                          .open({nullptr, path, FileAccess::write, settings_, statistics_});
    action(*file);
    if (settings_.sync) file->flush();
    file->close();
  } catch (const Error& error) {
    if (error.sys_errno() != 0) fail_errno(error.sys_errno());
    throw;
  }
}

void FileTask::write_image(file::BackEnd& file, const FileImage& image,
                           std::ptrdiff_t total_bytes) {
  file.resize(total_bytes);
  segments_.clear();
  for (const auto& extent : image.extents) {
    segments_.push_back({extent.file_offset, extent.start, extent.count});
  }
  std::ranges::sort(segments_, {}, &file::Segment::file_offset);
  file.write(segments_, image.bytes.data(), false);
}

void FileTask::write_at(file::BackEnd& file, const void* data, std::ptrdiff_t bytes,
                        std::ptrdiff_t offset) {
  const file::Segment whole{offset, 0, bytes};
  file.write({&whole, 1}, static_cast<const std::byte*>(data), false);
}

// One earlier write may still be under way, as its bytes stay where they are.
void FileTask::start_write(file::BackEnd& file, const std::byte* data) {
  file.start_write(segments_, data);
  file.finish_all_but(1);
}

void FileTask::write_run(file::BackEnd& file, const Run& run) {
  const auto first = rows_.size();
  const auto end = run.start_bytes + run.bytes;
  for (auto at = run.start_bytes; at < end;) {
    const auto next = std::min(end, (at / chunk_bytes + 1) * chunk_bytes);
    const std::byte* data = source_ != nullptr
                                ? source_->of(run, at, next - at)
                                : staging_ + run.staging_bytes + (at - run.start_bytes);
    for (auto piece = at; table_offset_ >= 0 && piece < next;) {
      const auto piece_end = std::min(next, (piece / piece_bytes + 1) * piece_bytes);
      const auto count = static_cast<std::size_t>(piece_end - piece);
      rows_.push_back({run.dataset, static_cast<std::uint64_t>(piece), count,
                       XXH3_64bits(data + (piece - at), count)});
      piece = piece_end;
    }
    segments_ = {{data_offsets_[run.dataset] + at, 0, next - at}};
    start_write(file, data);
    at = next;
  }
  bytes_ += run.bytes;
  if (keep_rows_ || rows_.size() == first) return;
  const auto row_bytes = static_cast<std::ptrdiff_t>(sizeof(ChecksumRow));
  write_at(file, rows_.data(), std::ssize(rows_) * row_bytes,
           table_offset_ + run.first_row * row_bytes);
  rows_.clear();
}

void FileTask::write_box(file::BackEnd& file, const BoxRun& run) {
  const auto& dataset = part_->datasets[run.dataset];
  const auto item = item_bytes(dataset.type);
  const auto rows = rows_of(run.box, dataset);
  const auto in_file = dataset.items();
  const std::byte* data = source_ != nullptr ? source_->of(run) : staging_ + run.staging_bytes;
  box_rows_.clear();
  if (places_.box_table_offset >= 0) {
    const auto* from = data;
    for (const auto& box : run.checksums) {
      const auto count = static_cast<std::size_t>(box.num_items() * item);
      BoxRow row{run.dataset, {}, {}, XXH3_64bits(from, count)};
      row.extents.fill(1);
      std::copy_n(box.start.begin(), box.num_dims, row.start.begin());
      std::copy_n(box.extents.begin(), box.num_dims, row.extents.begin());
      box_rows_.push_back(row);
      from += count;
    }
  }
  const RowMajor all_rows{rows.num_axes, run.box.extents};
  segments_.clear();
  for (std::ptrdiff_t row = 0; row < all_rows.num_items(); ++row) {
    const auto first = in_file.linear(sum(run.box.start, all_rows.place_of(row)));
    segments_.push_back({data_offsets_[run.dataset] + first * item, row * rows.bytes, rows.bytes});
  }
  start_write(file, data);
  bytes_ += run.box.num_items() * item;
  if (box_rows_.empty()) return;
  const auto row_bytes = static_cast<std::ptrdiff_t>(sizeof(BoxRow));
  write_at(file, box_rows_.data(), std::ssize(box_rows_) * row_bytes,
           places_.box_table_offset + run.first_row * row_bytes);
}

void FileTask::write_master() {
  fill(partial_, [&](auto& file) { write_image(file, image_, places_.total_bytes); });
}

void FileTask::write_data() {
  fill(piece_image_ ? piece_ : partial_, [&](auto& file) {
    if (piece_image_) {
      write_image(file, *piece_image_, piece_image_->total_bytes);
    } else if (is_metadata_rank()) {
      write_image(file, image_, places_.total_bytes);
    }
    for (const auto& run : part_->runs) write_run(file, run);
    for (const auto& run : part_->boxes) write_box(file, run);
  });
}

void FileTask::write() {
  const bool has_pieces = generation() >= 0;
  if (!is_metadata_rank() && part_->empty()) return;
  run("write file", [&] {
    if (is_metadata_rank() && has_pieces) write_master();
    if (!has_pieces || !part_->empty()) write_data();
  });
}

void FileTask::commit(std::vector<ChecksumRow> kept_rows) {
  run("rename file", [&] {
    if (!kept_rows.empty()) {
      std::ranges::sort(kept_rows, [](const ChecksumRow& a, const ChecksumRow& b) {
        return a.variable != b.variable ? a.variable < b.variable : a.offset < b.offset;
      });
      const auto bytes = static_cast<std::ptrdiff_t>(kept_rows.size() * sizeof(ChecksumRow));
      fill(partial_, [&](auto& file) { write_at(file, kept_rows.data(), bytes, table_offset_); });
    }
    if (generation() >= 0) give_access(target(), generation(), replaced_);
    if (generation() >= 0 && settings_.sync) flush_pieces(target());
    // Listed while the partial file is still held: another run may begin once it is renamed.
    const auto old_pieces = other_pieces(target(), generation());
    if (replaced_.lacks(0600)) replaced_.apply(held_.descriptor());  // it has been written
    held_.share(partial_);
    rename_file(partial_, target());
    held_.release();
    if (settings_.sync) flush_folder(folder_of(target()));
    remove_pieces(target(), old_pieces);
  });
}

void FileTask::discard() noexcept {
  if (!held_.held()) return;
  if (generation() >= 0) remove_pieces(target(), generation());
  uninterrupted([&] { return unlink(partial_.c_str()); });
  held_.release();
}

}  // namespace tailrace::store
