// SPDX-License-Identifier: BSD-3-Clause
#include "store/route.hpp"

#include <algorithm>

#include "store/file_image.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t page_bytes = 4096;

Index row_major_strides(const Index& extents, int num_dims) {
  Index strides{};
  std::ptrdiff_t step = 1;
  for (auto d = static_cast<std::size_t>(num_dims); d-- > 0; step *= extents[d]) strides[d] = step;
  return strides;
}

std::ptrdiff_t linear(const Index& place, const Index& strides, int num_dims) {
  std::ptrdiff_t item = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(num_dims); ++d)
    item += place[d] * strides[d];
  return item;
}

bool same_memory(const Memory& a, const Memory& b) {
  if (a.num_items != b.num_items || a.boxes.size() != b.boxes.size()) return false;
  for (std::size_t i = 0; i < a.boxes.size(); ++i) {
    if (a.boxes[i].offset != b.boxes[i].offset || a.boxes[i].strides != b.boxes[i].strides) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::ptrdiff_t num_pieces(std::ptrdiff_t start_bytes, std::ptrdiff_t bytes) {
  if (bytes == 0) return 0;
  return (start_bytes + bytes - 1) / piece_bytes - start_bytes / piece_bytes + 1;
}

Route::Route(const Comm& comm, const FileContents& contents, const Setting& setting)
    : writers_(setting.writers.begin(), setting.writers.end()), rank_(comm.rank()) {
  std::vector<std::ptrdiff_t> filled(writers_.size(), 0);  // bytes of each writer's slot so far
  for (const auto& variable : contents.variables) add_variable(comm, variable, setting, filled);
  const auto me = std::ranges::find(writers_, comm.rank());
  if (me != writers_.end())
    staging_bytes_ = filled[static_cast<std::size_t>(me - writers_.begin())];
}

void Route::add_variable(const Comm& comm, const Variable& variable, const Setting& setting,
                         std::vector<std::ptrdiff_t>& filled) {
  const auto& layout = *variable.layout;
  const int num_dims = layout.num_dims();
  const Index extents = layout.global_extents();
  const auto strides = row_major_strides(extents, num_dims);
  const auto item = item_bytes(variable.type);
  // Datasets of a stripe or more start on a stripe, smaller ones belong to one writer wherever
  // they start: the domains do not depend on the place in the file.
  const auto domains = file_domains({extents.data(), static_cast<std::size_t>(num_dims)}, item,
                                    setting.writers, comm.num_ranks(), setting.stripe_bytes, 0);
  std::vector<Target> targets;
  std::ptrdiff_t own_staging = 0;
  Memory staging_memory;
  for (std::size_t w = 0; w < writers_.size(); ++w) {
    const auto boxes = domains.boxes(writers_[w]);
    const auto bytes = domains.num_items(writers_[w]) * item;
    const auto first = boxes.empty() ? 0 : linear(boxes.front().start, strides, num_dims);
    targets.push_back({first, filled[w]});
    if (writers_[w] == comm.rank()) {
      own_staging = filled[w];
      staging_memory = Memory::dense(boxes);
      if (bytes > 0) runs_.push_back({shapes_.size(), first * item, bytes, filled[w], table_rows_});
    }
    table_rows_ += num_pieces(first * item, bytes);
    filled[w] += (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }
  Shape shape{variable.type, extents, num_dims, layout.boxes(comm.rank()), variable.memory};
  Plan plan(layout, domains, comm.rank());
  if (setting.method == "push") {
    add_pushes(shape, plan, targets);
  } else {
    exchanges_.emplace_back(comm, std::move(plan), variable.memory, staging_memory,
                            ExchangeShape{item, 1}, setting.method);
  }
  shapes_.push_back(std::move(shape));
  own_staging_.push_back(own_staging);
}

// A writer's run is contiguous in the file, so the file's own strides hold in its buffer.
void Route::add_pushes(const Shape& shape, const Plan& plan, const std::vector<Target>& targets) {
  const auto strides = row_major_strides(shape.extents, shape.num_dims);
  for (const auto& piece : plan.sends()) {
    const auto b = static_cast<std::size_t>(piece.local_box);
    const auto writer = std::ranges::lower_bound(writers_, piece.peer) - writers_.begin();
    const auto& target = targets[static_cast<std::size_t>(writer)];
    const auto from = side_of(piece.box, shape.boxes[b], shape.memory.boxes[b]);
    const StridedSide to{linear(piece.box.start, strides, shape.num_dims) - target.first_item,
                         strides};
    pushes_.push_back({shapes_.size(), piece.peer, target.staging_bytes,
                       StridedCopy(piece.box, from, to, item_bytes(shape.type))});
  }
}

bool Route::fits(const FileContents& contents, int rank) const {
  if (contents.variables.size() != shapes_.size()) return false;
  for (std::size_t v = 0; v < shapes_.size(); ++v) {
    const auto& variable = contents.variables[v];
    const auto& shape = shapes_[v];
    if (variable.type != shape.type || variable.layout->num_dims() != shape.num_dims ||
        variable.layout->global_extents() != shape.extents ||
        !same_memory(variable.memory, shape.memory) ||
        variable.layout->boxes(rank) != shape.boxes) {
      return false;
    }
  }
  return true;
}

void Route::move(const FileContents& contents, const Staging& staging, int slot) {
  for (const auto& push : pushes_) {
    push.copy.run(static_cast<const std::byte*>(contents.variables[push.variable].data),
                  staging.slot(push.writer, slot) + push.staging_bytes);
  }
  std::byte* own = staging.slot(rank_, slot);
  for (std::size_t v = 0; v < exchanges_.size(); ++v) {
    const void* source = contents.variables[v].data;
    void* destination = own + own_staging_[v];
    exchanges_[v].run({&source, 1}, {&destination, 1});
  }
}

}  // namespace tailrace::store
