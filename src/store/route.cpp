// SPDX-License-Identifier: BSD-3-Clause
#include "store/route.hpp"

#include <algorithm>
#include <cstring>

#include "layout/holes.hpp"
#include "move/choose_copies.hpp"
#include "store/attribute_values.hpp"
#include "tailrace/more/plan.hpp"

namespace tailrace::store {
namespace {

// A name for a box's dataset in a piece file: the variable's, without groups, or one that no other
// dataset has.
std::string piece_name(const std::string& variable, std::size_t box, const WriterPart& part) {
  std::string name = box == 0 ? variable : variable + "#" + std::to_string(box);
  std::ranges::replace(name, '/', '#');
  while (std::ranges::find(part.datasets, name, &DatasetShape::name) != part.datasets.end()) {
    name += "#";
  }
  return name;
}

// A rank's boxes in its slot, for an exchange that counts from the slot's start.
Memory staging_memory(const std::vector<StagedBox>& staged, std::ptrdiff_t slot_bytes,
                      std::ptrdiff_t item) {
  Memory memory;
  for (const auto& box : staged) {
    memory.boxes.push_back({box.staging_bytes / item + box.first_item, box.strides});
  }
  memory.num_items = slot_bytes / item;
  return memory;
}

}  // namespace

Route::Route(const Comm& comm, const FileContents& contents, const WritePlan& plan,
             std::int64_t plan_number)
    : plan_number_(plan_number),
      pieces_(plan.pieces),
      rank_(comm.rank()),
      shapes_(shapes_of(contents, rank_)) {
  std::vector<Writer> writers(plan.writers.size());
  for (std::size_t v = 0; v < shapes_.size(); ++v) {
    add_variable(comm, contents.variables[v], v, plan, writers);
  }
  CopyGroup staging{"staging", {}};
  for (auto& push : pushes_) staging.copies.push_back(&push.copy);
  choose_copies(comm, {&staging, 1}, "auto");
  number_rows(plan, writers);
  const auto me = std::ranges::find(plan.writers, rank_);
  part_ = me == plan.writers.end()
              ? std::make_shared<const WriterPart>()
              : std::make_shared<const WriterPart>(
                    std::move(writers[static_cast<std::size_t>(me - plan.writers.begin())].part));
}

// Takes the boxes of `writer` of one variable into its part.
void Route::place(Writer& writer, int rank, const DatasetShape& dataset, bool pieces) {
  auto& part = writer.part;
  writer.staged.clear();
  if (!pieces) {
    part.datasets.push_back(dataset);
    writer.staged = add_boxes(part, part.datasets.size() - 1, writer.boxes);
    return;
  }
  for (std::size_t b = 0; b < writer.boxes.size(); ++b) {
    const auto& box = writer.boxes[b];
    const auto name = piece_name(dataset.name, b, part);
    part.datasets.push_back({name, dataset.type, dataset.num_dims, box.extents, false});
    const auto staged =
        add_boxes(part, part.datasets.size() - 1, {Box{box.num_dims, {}, box.extents}});
    writer.staged.push_back(staged.front());
    sources_.back().push_back({box, rank, name});
  }
}

void Route::add_variable(const Comm& comm, const Variable& variable, std::size_t v,
                         const WritePlan& plan, std::vector<Writer>& writers) {
  const auto& layout = *variable.layout;
  const auto item = item_bytes(variable.type);
  const auto domains = layout_of_writers(plan, layout, item);
  DatasetShape dataset{variable.name, variable.type, layout.num_dims(), layout.global_extents(),
                       false};
  std::vector<int> place_of_rank(static_cast<std::size_t>(comm.num_ranks()), -1);
  for (std::size_t w = 0; w < writers.size(); ++w) {
    place_of_rank[static_cast<std::size_t>(plan.writers[w])] = static_cast<int>(w);
    writers[w].boxes = domains.boxes(plan.writers[w]);
    dataset.by_box = dataset.by_box || std::ranges::any_of(writers[w].boxes, [&](const Box& box) {
                       return rows_of(box, dataset).num_axes > 0;
                     });
  }
  sources_.emplace_back();
  for (std::size_t w = 0; w < writers.size(); ++w) {
    place(writers[w], plan.writers[w], dataset, plan.pieces);
  }
  const int mine = place_of_rank[static_cast<std::size_t>(rank_)];
  auto& parts = parts_.emplace_back();
  if (mine >= 0) {
    const auto& writer = writers[static_cast<std::size_t>(mine)];
    for (std::size_t b = 0; b < writer.boxes.size(); ++b) {
      const auto& staged = writer.staged[b];
      parts.push_back({writer.boxes[b], staged.staging_bytes + staged.first_item * item});
    }
  }
  if (mine >= 0 && has_holes(layout)) {
    add_holes(v, layout, item, writers[static_cast<std::size_t>(mine)]);
  }
  if (plan.method == "push") {
    add_pushes(v, domains, place_of_rank, writers);
  } else {
    const auto memory =
        mine < 0 ? Memory{}
                 : staging_memory(writers[static_cast<std::size_t>(mine)].staged,
                                  writers[static_cast<std::size_t>(mine)].part.staging_bytes, item);
    exchanges_.emplace_back(comm, Plan(layout, domains, rank_), variable.memory, memory,
                            ExchangeShape{item, 1}, plan.method);
  }
}

void Route::add_pushes(std::size_t v, const Layout& to, const std::vector<int>& place_of_rank,
                       const std::vector<Writer>& writers) {
  const auto& shape = shapes_[v];
  for (std::size_t b = 0; b < shape.boxes.size(); ++b) {
    for (const auto& overlap : to.overlaps(shape.boxes[b])) {
      const auto place = place_of_rank[static_cast<std::size_t>(overlap.rank)];
      const auto& writer = writers[static_cast<std::size_t>(place)];
      const auto local = static_cast<std::size_t>(overlap.local_box);
      const auto& staged = writer.staged[local];
      const auto from = side_of(overlap.shared, shape.boxes[b], shape.memory.boxes[b]);
      const auto into =
          side_of(overlap.shared, writer.boxes[local], {staged.first_item, staged.strides});
      pushes_.push_back({v, overlap.rank, staged.staging_bytes,
                         StridedCopy(overlap.shared, from, into, item_bytes(shape.type))});
    }
  }
}

// The rows of what nobody has of this rank's boxes.
void Route::add_holes(std::size_t v, const Layout& layout, std::ptrdiff_t item,
                      const Writer& writer) {
  for (std::size_t b = 0; b < writer.boxes.size(); ++b) {
    const auto& staged = writer.staged[b];
    for (const auto& hole : holes_in(writer.boxes[b], layout)) {
      const auto last = static_cast<std::size_t>(hole.num_dims) - 1;
      const auto rows = hole.num_items() / hole.extents[last];
      for (std::ptrdiff_t row = 0; row < rows; ++row) {
        auto at = staged.first_item;
        auto rest = row;
        for (auto d = last + 1; d-- > 0;) {
          const auto along = d == last ? 0 : rest % hole.extents[d];
          if (d != last) rest /= hole.extents[d];
          at += (hole.start[d] - writer.boxes[b].start[d] + along) * staged.strides[d];
        }
        holes_.push_back({v, staged.staging_bytes + at * item, hole.extents[last] * item});
      }
    }
  }
}

// Each writer's rows follow those of the writer before; a piece file has tables of its own.
void Route::number_rows(const WritePlan& plan, std::vector<Writer>& writers) {
  for (std::size_t w = 0; w < writers.size(); ++w) {
    if (plan.pieces) table_rows_ = 0;
    const auto before = table_rows_;
    for (auto& run : writers[w].part.runs) {
      run.first_row = table_rows_;
      table_rows_ += num_pieces(run.start_bytes, run.bytes);
    }
    for (auto& run : writers[w].part.boxes) {
      run.first_row = box_rows_;
      box_rows_ += static_cast<std::ptrdiff_t>(run.checksums.size());
    }
    writers[w].part.table_rows = table_rows_ - before;
  }
}

void Route::lay_out_piece(bool checksums) {
  if (!pieces_ || part_->empty()) return;
  auto image = std::make_shared<FileImage>();
  ImageSetting setting;
  setting.table_rows = checksums ? part_->table_rows : -1;
  build_piece_image(part_->datasets, setting, *image);
  piece_image_ = std::move(image);
}

// Names matter where they stand in piece files that have been laid out.
bool Route::fits(const FileContents& contents, int rank) const {
  if (!same_shapes(shapes_, contents, rank)) return false;
  return !pieces_ ||
         std::ranges::equal(shapes_, contents.variables, {}, &Shape::name, &Variable::name);
}

// The buffer still holds an earlier file.
void Route::fill_holes(const FileContents& contents, std::byte* slot) const {
  std::size_t known = contents.variables.size();
  ItemBytes fill{};
  for (const auto& hole : holes_) {
    const auto& variable = contents.variables[hole.variable];
    if (hole.variable != known) {
      fill = fill_item(variable.name, variable.attributes, variable.type).value_or(ItemBytes{});
      known = hole.variable;
    }
    fill_items({slot + hole.staging_bytes, static_cast<std::size_t>(hole.bytes)},
               item_bytes(variable.type), fill);
  }
}

void Route::move(const FileContents& contents, const Staging& staging, int slot,
                 DeviceCopies& copies) {
  if (!holes_.empty()) fill_holes(contents, staging.slot(rank_, slot));
  for (const auto& push : pushes_) {
    copies.run(push.copy, contents.variables[push.variable].data,
               staging.slot(push.writer, slot) + push.staging_bytes);
  }
  for (std::size_t v = 0; v < exchanges_.size(); ++v) {
    const void* source = contents.variables[v].data;
    void* destination = staging.slot(rank_, slot);
    exchanges_[v].run({&source, 1}, {&destination, 1});
  }
}

}  // namespace tailrace::store
