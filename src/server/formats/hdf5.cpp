// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files as `Output` writes them: laid out by the HDF5 library in memory, the data put into its
// extents with pwrite, straight from the packets where these lie as the file wants them.
#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "file/settings.hpp"
#include "layout/holes.hpp"
#include "layout/run_boxes.hpp"
#include "move/strided_copy.hpp"
#include "server/formats/task_file.hpp"
#include "server/packet.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"
#include "store/write_plan.hpp"

namespace tailrace::server {
namespace {

using namespace store;

/// How this server's parts of a field lie in the file.
struct FieldShape {
  DatasetShape dataset;
  std::ptrdiff_t start_bytes = 0,
                 end_bytes = 0;  ///< of all parts, counted from the dataset's start
  std::ptrdiff_t items = 0;      ///< of all parts
  bool covered = true;           ///< the parts fill what lies between
  std::ptrdiff_t share_start = 0, share_end = 0;  ///< of this server (share_of_writer)
  std::vector<std::vector<Box>> checksums;        ///< of each part, if rows are those of boxes

  bool within_share() const {
    return items == 0 || (start_bytes >= share_start && end_bytes <= share_end);
  }
  std::ptrdiff_t bytes() const { return end_bytes - start_bytes; }
  std::ptrdiff_t box_rows() const {
    std::ptrdiff_t rows = 0;
    for (const auto& boxes : checksums) rows += static_cast<std::ptrdiff_t>(boxes.size());
    return rows;
  }
};

FieldShape shape_of(const Field& field, std::ptrdiff_t stripe_bytes, int server, int num_servers) {
  FieldShape shape;
  shape.dataset = {field.name, field.type, field.num_dims(), field.extents, false};
  const auto item = item_bytes(field.type);
  const auto in_file = shape.dataset.items();
  for (const auto& part : field.parts) {
    const auto start = in_file.linear(part.box.start) * item;
    const auto end = (in_file.last_of(part.box) + 1) * item;
    shape.start_bytes = shape.items == 0 ? start : std::min(shape.start_bytes, start);
    shape.end_bytes = shape.items == 0 ? end : std::max(shape.end_bytes, end);
    shape.items += part.box.num_items();
    shape.checksums.push_back(checksum_boxes(part.box, item));
  }
  shape.covered = shape.items * item == shape.bytes();
  const auto rows =
      share_of_writer(field.extents, field.num_dims(), item, stripe_bytes, server, num_servers);
  shape.share_start = rows.start * in_file.strides()[0] * item;
  shape.share_end = rows.end() * in_file.strides()[0] * item;
  return shape;
}

/// How a field gets into the file, the same on all servers.
enum class Pieces {
  runs,    ///< of each server one run without gaps; checksums by pieces
  boxes,   ///< box by box, with a checksum each
  shares,  ///< the parts have holes between them: each server writes its share with its holes
  bare     ///< holes, and servers have parts of each other's shares: boxes without checksums
};

/// What the leader must know of a field.
struct FieldNeeds {
  bool covered, within_share;
  std::ptrdiff_t items, run_rows, box_rows, share_rows;
};

/// What a server has of each field.
struct FileNeeds {
  std::vector<FieldNeeds> fields;
  std::vector<std::vector<Box>> boxes;  ///< of fields with a fill value
};

template <class Bytes>
void travel(Bytes& bytes, FileNeeds& needs) {
  bytes(needs.fields, needs.boxes);
}

/// The bytes of runs, gathered from the parts that they lie in; the fill value between them.
class FieldParts : public PartBytes {
 public:
  explicit FieldParts(const std::vector<Field>& fields)
      : fields_(fields), holes_(fields.size(), false) {
    for (const auto& field : fields) fills_.push_back(field.fill_or_zeros());
  }
  /// The parts of this field do not fill its runs.
  void set_holes(std::size_t field) { holes_[field] = true; }

  const std::byte* of(const Run& run, std::ptrdiff_t at, std::ptrdiff_t bytes) override {
    const Field& field = fields_[run.dataset];
    const auto item = item_bytes(field.type);
    const RowMajor in_file{field.num_dims(), field.extents};
    const auto boxes = boxes_of_run(field.num_dims(), field.extents, {at / item, bytes / item});
    if (boxes.size() == 1) {
      if (const auto* data = in_one_part(field, boxes[0])) return data;
    }
    std::swap(chunk_, older_chunk_);  // may still be on its way out
    chunk_.resize(static_cast<std::size_t>(bytes));
    if (holes_[run.dataset]) fill_items(chunk_, item, fills_[run.dataset]);
    for (const auto& box : boxes) {
      for (const auto& part : field.parts) {
        const Box shared = intersect(box, part.box);
        if (shared.empty()) continue;
        const StridedSide to{in_file.linear(shared.start) - at / item, in_file.strides()};
        StridedCopy(shared, side_in_packed(shared, part.box), to, item)
            .run(part.data, chunk_.data());
      }
    }
    return chunk_.data();
  }

  const std::byte* of(const BoxRun& run) override {
    const auto& field = fields_[run.dataset];
    for (const auto& part : field.parts) {
      if (part.box == run.box) return part.data;
    }
    if (!holes_[run.dataset]) {
      throw Error(Errc::internal, "a box to write is not among the parts");
    }
    std::swap(chunk_, older_chunk_);
    chunk_.resize(static_cast<std::size_t>(run.box.num_items() * item_bytes(field.type)));
    fill_items(chunk_, item_bytes(field.type), fills_[run.dataset]);
    return chunk_.data();
  }

 private:
  // Where `box` lies without gaps in one part, or null.
  static const std::byte* in_one_part(const Field& field, const Box& box) {
    for (const auto& part : field.parts) {
      if (!(intersect(box, part.box) == box)) continue;
      const DatasetShape shape{"", field.type, box.num_dims, part.box.extents, false};
      const Box local{box.num_dims, difference(box.start, part.box.start), box.extents};
      if (rows_of(local, shape).bytes < box.num_items() * item_bytes(field.type)) return nullptr;
      return part.data + shape.items().linear(local.start) * item_bytes(field.type);
    }
    return nullptr;
  }

  const std::vector<Field>& fields_;
  std::vector<bool> holes_;
  std::vector<ItemBytes> fills_;
  std::vector<std::byte> chunk_, older_chunk_;
};

/// What the leader tells.
struct FilePlan {
  FilePlaces places;
  std::vector<Pieces> pieces;        ///< of each field
  std::vector<std::ptrdiff_t> rows;  ///< first one of each server in the two tables
  std::vector<std::ptrdiff_t> box_rows;
  std::vector<std::vector<Box>> holes;  ///< of each bare field with a fill value
};

template <class Bytes>
void travel(Bytes& bytes, FilePlan& plan) {
  bytes(plan.places, plan.pieces, plan.rows, plan.box_rows, plan.holes);
}

class Hdf5File : public ServedFile {
 public:
  Hdf5File(Step step, const FileSettings& settings, int server, int num_servers)
      : ServedFile(std::move(step), settings, server, num_servers), parts_(step_.fields) {
    for (const auto& field : step_.fields) {
      shapes_.push_back(shape_of(field, stripe_of_shares(output_), server, num_servers));
    }
  }

  Message needs() override;
  Message lay_out(std::span<const Message> needs_of_servers) override;
  void place(const Message& layout) override;

 private:
  std::shared_ptr<const WriterPart> make_part(const FilePlan& plan);

  std::vector<FieldShape> shapes_;
  FieldParts parts_;
};

Message Hdf5File::needs() {
  FileNeeds all;
  for (const auto& field : step_.fields) {
    auto& boxes = all.boxes.emplace_back();
    if (field.fill_or_zeros() == ItemBytes{}) continue;
    for (const auto& part : field.parts) {
      if (!part.box.empty()) boxes.push_back(part.box);
    }
  }
  for (const auto& shape : shapes_) {
    all.fields.push_back({shape.covered, shape.within_share(), shape.items,
                          num_pieces(shape.start_bytes, shape.bytes()), shape.box_rows(),
                          num_pieces(shape.share_start, shape.share_end - shape.share_start)});
  }
  return bytes_from(all);
}

Pieces pieces_of(const FieldShape& shape, std::size_t field,
                 const std::vector<std::vector<FieldNeeds>>& needs_of_servers) {
  bool covered = true, within_share = true;
  std::ptrdiff_t items = 0;
  for (const auto& needs : needs_of_servers) {
    covered = covered && needs[field].covered;
    within_share = within_share && needs[field].within_share;
    items += needs[field].items;
  }
  if (items < shape.dataset.items().num_items())
    return within_share ? Pieces::shares : Pieces::bare;
  return covered ? Pieces::runs : Pieces::boxes;
}

// What no server has of a field, in boxes of about a piece; nothing if zeros are right there.
std::vector<Box> holes_of(const Field& field, std::vector<Box> boxes) {
  if (field.fill_or_zeros() == ItemBytes{}) return {};
  const auto dims = static_cast<std::size_t>(field.num_dims());
  const auto held = from_boxes(std::span(field.extents.data(), dims), {std::move(boxes)});
  std::vector<Box> holes;
  for (const auto& hole : holes_in({field.num_dims(), {}, field.extents}, held)) {
    const auto parts = checksum_boxes(hole, item_bytes(field.type));
    holes.insert(holes.end(), parts.begin(), parts.end());
  }
  return holes;
}

Message Hdf5File::lay_out(std::span<const Message> needs_of_servers) {
  std::vector<std::vector<FieldNeeds>> all;
  std::vector<std::vector<Box>> boxes(shapes_.size());
  for (const auto& needs : needs_of_servers) {
    auto one = value_from<FileNeeds>(needs);
    all.push_back(std::move(one.fields));
    for (std::size_t f = 0; f < boxes.size(); ++f) {
      boxes[f].insert(boxes[f].end(), one.boxes[f].begin(), one.boxes[f].end());
    }
  }
  FilePlan plan;
  for (std::size_t f = 0; f < shapes_.size(); ++f) {
    plan.pieces.push_back(pieces_of(shapes_[f], f, all));
    plan.holes.push_back(plan.pieces[f] == Pieces::bare
                             ? holes_of(step_.fields[f], std::move(boxes[f]))
                             : std::vector<Box>());
  }
  std::ptrdiff_t rows = 0, box_rows = 0;
  for (const auto& needs : all) {
    plan.rows.push_back(rows);
    plan.box_rows.push_back(box_rows);
    for (std::size_t f = 0; f < shapes_.size(); ++f) {
      if (plan.pieces[f] == Pieces::runs) rows += needs[f].run_rows;
      if (plan.pieces[f] == Pieces::shares) rows += needs[f].share_rows;
      if (plan.pieces[f] == Pieces::boxes) box_rows += needs[f].box_rows;
    }
  }
  const bool bare = std::ranges::find(plan.pieces, Pieces::bare) != plan.pieces.end();
  const bool checksums = output_.checksums && !bare;
  ImageSetting setting{.alignment = stripe_bytes_, .stripe_bytes = stripe_bytes_};
  if (checksums) setting.table_rows = rows;
  if (checksums && box_rows > 0) setting.box_rows = box_rows;
  plan.places = lay_out_as(std::move(setting));
  return bytes_from(plan);
}

// What this server writes; rows of the tables follow each other.
std::shared_ptr<const WriterPart> Hdf5File::make_part(const FilePlan& plan) {
  auto row = plan.rows[server_], box_row = plan.box_rows[server_];
  auto part = std::make_shared<WriterPart>();
  for (std::size_t f = 0; f < shapes_.size(); ++f) {
    const auto& shape = shapes_[f];
    const auto kind = plan.pieces[f];
    part->datasets.push_back(shape.dataset);
    if (kind == Pieces::boxes || kind == Pieces::bare) {
      part->datasets.back().by_box = true;
      for (std::size_t p = 0; p < step_.fields[f].parts.size(); ++p) {
        part->boxes.push_back({f, step_.fields[f].parts[p].box, 0, box_row, shape.checksums[p]});
        box_row += std::ssize(shape.checksums[p]);
      }
      if (!plan.holes[f].empty()) parts_.set_holes(f);
      for (auto h = server_; h < plan.holes[f].size(); h += plan.rows.size()) {
        part->boxes.push_back({f, plan.holes[f][h], 0, 0, {}});
      }
      continue;
    }
    if (kind == Pieces::shares) parts_.set_holes(f);
    const auto start = kind == Pieces::shares ? shape.share_start : shape.start_bytes;
    const auto end = kind == Pieces::shares ? shape.share_end : shape.end_bytes;
    if (start == end) continue;
    part->runs.push_back({f, start, end - start, 0, row});
    row += num_pieces(start, end - start);
  }
  return part;
}

void Hdf5File::place(const Message& layout) {
  auto plan = value_from<FilePlan>(layout);
  auto part = make_part(plan);
  set(std::move(plan.places), parts_, std::move(part));
}

}  // namespace

ServedFile::ServedFile(Step step, const FileSettings& settings, int server, int num_servers)
    : TaskFile(step.path, step.step),
      step_(std::move(step)),
      output_(settings.output),
      server_(static_cast<std::size_t>(server)),
      settings_(file::resolve_alone(step_.path, output_.hints)) {
  choose_back_end(settings_);
  stripe_bytes_ = choose_stripe(settings_, output_.stripe_bytes);
  if (!settings.say) return;
  settings_.choose("strategy", "servers", "each writes what it has");
  settings_.choose("cb_nodes", std::to_string(num_servers), "the servers");
  file::show(step_.path, settings_);
}

FilePlaces ServedFile::lay_out_as(ImageSetting setting) {
  std::vector<Layout> layouts;
  const auto contents = contents_of(step_, layouts);
  setting.path = step_.path;
  task_.create(settings_, false);
  build_image(contents, setting, task_.image());
  return task_.places();
}

void ServedFile::set(FilePlaces places, PartBytes& bytes, std::shared_ptr<const WriterPart> part) {
  task_.set(std::move(places), {.bytes = &bytes,
                                .part = std::move(part),
                                .rank = static_cast<int>(server_),
                                .settings = settings_,
                                .trace = output_.trace});
}

std::unique_ptr<StepFile> make_hdf5(Step step, const FileSettings& settings, int server,
                                    int num_servers) {
  if (is_compressed(step)) {
    return make_chunked_hdf5(std::move(step), settings, server, num_servers);
  }
  return std::make_unique<Hdf5File>(std::move(step), settings, server, num_servers);
}

}  // namespace tailrace::server
