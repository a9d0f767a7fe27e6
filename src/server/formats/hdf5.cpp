// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files as `Output` writes them: laid out by the HDF5 library in memory, the data put into its
// extents with pwrite, straight from the packets where these lie as the file wants them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "file/settings.hpp"
#include "layout/run_boxes.hpp"
#include "move/strided_copy.hpp"
#include "server/formats/formats.hpp"
#include "store/file_task.hpp"

namespace tailrace::server {
namespace {

using namespace store;

/// How this server's parts of a field lie in the file.
struct FieldShape {
  DatasetShape dataset;
  std::ptrdiff_t start_bytes = 0,
                 end_bytes = 0;             ///< of all parts, counted from the dataset's start
  bool covered = true;                      ///< the parts fill what lies between
  std::vector<std::vector<Box>> checksums;  ///< of each part, if rows are those of boxes

  std::ptrdiff_t bytes() const { return end_bytes - start_bytes; }
  std::ptrdiff_t box_rows() const {
    std::ptrdiff_t rows = 0;
    for (const auto& boxes : checksums) rows += static_cast<std::ptrdiff_t>(boxes.size());
    return rows;
  }
};

FieldShape shape_of(const Field& field) {
  FieldShape shape;
  shape.dataset = {field.name, field.type, field.num_dims(), field.extents, false};
  const auto item = item_bytes(field.type);
  const auto strides = row_major_strides(field.extents, field.num_dims());
  std::ptrdiff_t sum = 0;
  for (const auto& part : field.parts) {
    Index last = part.box.start;
    for (std::size_t d = 0; d < static_cast<std::size_t>(part.box.num_dims); ++d) {
      last[d] += part.box.extents[d] - 1;
    }
    const auto start = linear(part.box.start, strides, part.box.num_dims) * item;
    const auto end = (linear(last, strides, part.box.num_dims) + 1) * item;
    shape.start_bytes = sum == 0 ? start : std::min(shape.start_bytes, start);
    shape.end_bytes = sum == 0 ? end : std::max(shape.end_bytes, end);
    sum += part.box.num_items() * item;
    shape.checksums.push_back(checksum_boxes(part.box, item));
  }
  shape.covered = sum == shape.bytes();
  return shape;
}

/// The bytes of runs, gathered from the parts that they lie in.
class Parts : public PartBytes {
 public:
  explicit Parts(const std::vector<Field>& fields) : fields_(fields) {}

  const std::byte* of(const Run& run, std::ptrdiff_t at, std::ptrdiff_t bytes) override {
    const Field& field = fields_[run.dataset];
    const auto item = item_bytes(field.type);
    const auto strides = row_major_strides(field.extents, field.num_dims());
    const auto boxes = boxes_of_run(field.num_dims(), field.extents, {at / item, bytes / item});
    if (boxes.size() == 1) {
      if (const auto* data = in_one_part(field, boxes[0])) return data;
    }
    chunk_.resize(static_cast<std::size_t>(bytes));
    for (const auto& box : boxes) {
      for (const auto& part : field.parts) {
        const Box shared = intersect(box, part.box);
        if (shared.empty()) continue;
        const StridedSide to{linear(shared.start, strides, shared.num_dims) - at / item, strides};
        const BoxMemory dense{0, row_major_strides(part.box.extents, part.box.num_dims)};
        StridedCopy(shared, side_of(shared, part.box, dense), to, item)
            .run(part.data, chunk_.data());
      }
    }
    return chunk_.data();
  }

  const std::byte* of(const BoxRun& run) override {
    for (const auto& part : fields_[run.dataset].parts) {
      if (part.box == run.box) return part.data;
    }
    throw Error(Errc::internal, "a box to write is not among the parts");
  }

 private:
  // Where `box` lies without gaps in one part, or null.
  static const std::byte* in_one_part(const Field& field, const Box& box) {
    for (const auto& part : field.parts) {
      if (!(intersect(box, part.box) == box)) continue;
      const auto inside = row_major_strides(part.box.extents, box.num_dims);
      Index place{};
      for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
        place[d] = box.start[d] - part.box.start[d];
      }
      const DatasetShape shape{"", field.type, box.num_dims, part.box.extents, false};
      const Box local{box.num_dims, place, box.extents};
      if (rows_of(local, shape).bytes < box.num_items() * item_bytes(field.type)) return nullptr;
      return part.data + linear(place, inside, box.num_dims) * item_bytes(field.type);
    }
    return nullptr;
  }

  const std::vector<Field>& fields_;
  std::vector<std::byte> chunk_;
};

/// What the leader tells: these, then of each field its offset and whether its checksums are those
/// of boxes, then of each server its first rows of the two tables.
enum Place : std::size_t { table, box_table, total, first };

class Hdf5File : public StepFile {
 public:
  Hdf5File(Step step, const FileSettings& settings, int server)
      : step_(std::move(step)),
        output_(settings.output),
        server_(static_cast<std::size_t>(server)),
        parts_(step_.fields) {
    for (const auto& [name, value] : step_.encoding) {
      throw Error(Errc::invalid_input,
                  fmt::format("{}: files of HDF5 are written plain; \"{} = {}\" needs a .zarr path",
                              step_.path, name, value));
    }
    for (const auto& field : step_.fields) shapes_.push_back(shape_of(field));
    settings_ = file::resolve_alone(step_.path, output_.hints);
  }

  std::vector<std::int64_t> needs() const override {
    std::vector<std::int64_t> values;
    for (const auto& shape : shapes_) {
      values.insert(values.end(), {shape.covered ? 1 : 0,
                                   num_pieces(shape.start_bytes, shape.bytes()), shape.box_rows()});
    }
    return values;
  }

  std::vector<std::int64_t> lay_out(
      std::span<const std::vector<std::int64_t>> needs_of_servers) override;
  void place(std::span<const std::int64_t> layout) override;
  void write() override { task_.write(); }
  void commit() override { task_.commit(); }
  void discard() noexcept override {
    if (server_ == 0) task_.discard();
  }
  std::int64_t bytes() const override { return task_.bytes(); }
  double seconds() const override { return task_.seconds(); }

 private:
  Step step_;
  OutputOptions output_;
  std::size_t server_;
  file::Settings settings_;
  std::vector<FieldShape> shapes_;
  Parts parts_;
  FileTask task_;
};

FileContents contents_of(const Step& step, std::vector<Layout>& layouts) {
  FileContents contents{step.coordinates, {}, step.attributes, step.step};
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

std::vector<std::int64_t> Hdf5File::lay_out(
    std::span<const std::vector<std::int64_t>> needs_of_servers) {
  constexpr std::size_t per_field = 3;
  std::vector<std::int64_t> by_box(shapes_.size(), 0);
  for (const auto& needs : needs_of_servers) {
    for (std::size_t f = 0; f < shapes_.size(); ++f) by_box[f] |= needs[per_field * f] == 1 ? 0 : 1;
  }
  std::ptrdiff_t rows = 0, box_rows = 0;
  std::vector<std::int64_t> first_rows;
  for (const auto& needs : needs_of_servers) {
    first_rows.insert(first_rows.end(), {rows, box_rows});
    for (std::size_t f = 0; f < shapes_.size(); ++f) {
      (by_box[f] == 1 ? box_rows : rows) += needs[per_field * f + (by_box[f] == 1 ? 2 : 1)];
    }
  }
  std::vector<Layout> layouts;
  const auto contents = contents_of(step_, layouts);
  const auto stripe = settings_.file_system.stripe_bytes > 0 ? settings_.file_system.stripe_bytes
                                                             : output_.stripe_bytes;
  ImageSetting setting{.alignment = stripe, .stripe_bytes = stripe, .path = step_.path};
  if (output_.checksums) setting.table_rows = rows;
  if (output_.checksums && box_rows > 0) setting.box_rows = box_rows;
  task_.name(step_.path, step_.step);
  task_.create(settings_, false);
  build_image(contents, setting, task_.image());
  const auto& image = task_.image();
  std::vector<std::int64_t> layout{image.table_offset, image.box_table_offset, image.total_bytes};
  layout.insert(layout.end(), image.data_offsets.begin(), image.data_offsets.end());
  layout.insert(layout.end(), by_box.begin(), by_box.end());
  layout.insert(layout.end(), first_rows.begin(), first_rows.end());
  return layout;
}

void Hdf5File::place(std::span<const std::int64_t> layout) {
  const auto fields = shapes_.size();
  const auto offsets = layout.subspan(first, fields);
  const auto by_box = layout.subspan(first + fields, fields);
  const auto first_rows = layout.subspan(first + 2 * fields + 2 * server_, 2);
  auto part = std::make_shared<WriterPart>();
  std::ptrdiff_t row = first_rows[0], box_row = first_rows[1];
  for (std::size_t f = 0; f < fields; ++f) {
    const auto& shape = shapes_[f];
    part->datasets.push_back(shape.dataset);
    part->datasets.back().by_box = by_box[f] == 1;
    if (by_box[f] == 1) {
      for (std::size_t p = 0; p < step_.fields[f].parts.size(); ++p) {
        part->boxes.push_back({f, step_.fields[f].parts[p].box, 0, box_row, shape.checksums[p]});
        box_row += static_cast<std::ptrdiff_t>(shape.checksums[p].size());
      }
    } else if (shape.bytes() > 0) {
      part->runs.push_back({f, shape.start_bytes, shape.bytes(), 0, row});
      row += num_pieces(shape.start_bytes, shape.bytes());
    }
  }
  const std::vector<std::ptrdiff_t> data_offsets(offsets.begin(), offsets.end());
  if (server_ != 0) task_.name(step_.path, step_.step);
  task_.set({.bytes = &parts_,
             .part = std::move(part),
             .data_offsets = data_offsets,
             .table_offset = layout[table],
             .box_table_offset = layout[box_table],
             .total_bytes = layout[total],
             .rank = static_cast<int>(server_),
             .direct_io = settings_.direct_io,
             .sync = settings_.sync,
             .trace = output_.trace});
}

}  // namespace

std::unique_ptr<StepFile> make_hdf5(Step step, const FileSettings& settings, int server, int) {
  return std::make_unique<Hdf5File>(std::move(step), settings, server);
}

}  // namespace tailrace::server
