// SPDX-License-Identifier: BSD-3-Clause
// coarsen factor=2 axes=y,x method=mean: one item for each block of `factor` along the axes. The
// last block of an axis may be smaller. A block whose items several servers hold gets a sum from
// each; the server that has its row of the coarse array adds them. The mean is over the items that
// somebody holds.
#include <algorithm>

#include "core/bytes.hpp"
#include "core/refuse_input.hpp"
#include "layout/row_major.hpp"
#include "move/strided_copy.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "store/attribute_values.hpp"

namespace tailrace::server {
namespace {

// Items of `fine` in the block at `place`.
double count_in_block(const Box& fine, const Index& factors, const Index& place) {
  double count = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(fine.num_dims); ++d) {
    const auto start = std::max(fine.start[d], place[d] * factors[d]);
    const auto end = std::min(fine.start[d] + fine.extents[d], (place[d] + 1) * factors[d]);
    count *= static_cast<double>(end - start);
  }
  return count;
}

/// Sums over blocks; complex items have two components each.
struct Sums {
  Box fine, blocks;
  std::vector<double> values;
};

template <class Bytes>
void travel(Bytes& bytes, Sums& sums) {
  bytes(sums.fine, sums.blocks, sums.values);
}

template <class Real>
void add_up(const Real* items, std::ptrdiff_t components, const Index& factors, Sums& sums) {
  const auto last = static_cast<std::size_t>(sums.fine.num_dims - 1);
  const RowMajor coarse{sums.blocks.num_dims, sums.blocks.extents};
  Index rows = sums.fine.extents;
  const auto length = std::exchange(rows[last], 1);
  const RowMajor lines{sums.fine.num_dims, rows};
  for (std::ptrdiff_t line = 0; line < lines.num_items(); ++line) {
    auto place = lines.place_of(line);
    for (std::size_t d = 0; d <= last; ++d) {
      place[d] = (place[d] + sums.fine.start[d]) / factors[d] - sums.blocks.start[d];
    }
    auto* to = sums.values.data() + coarse.linear(place) * components;
    auto left = factors[last] - sums.fine.start[last] % factors[last];
    for (std::ptrdiff_t i = 0; i < length; ++i, --left) {
      if (left == 0) {
        left = factors[last];
        to += components;
      }
      for (std::ptrdiff_t c = 0; c < components; ++c) to[c] += static_cast<double>(*items++);
    }
  }
}

Sums sums_of(ItemType type, const FieldPart& part, const Index& factors) {
  Sums sums{part.box, cells_touching(part.box, factors), {}};
  const std::ptrdiff_t components = is_complex(type) ? 2 : 1;
  sums.values.assign(static_cast<std::size_t>(sums.blocks.num_items() * components), 0.0);
  const auto real = type == ItemType::complex64    ? ItemType::float32
                    : type == ItemType::complex128 ? ItemType::float64
                                                   : type;
  visit_real(real, [&]<class Real>(Real) {
    add_up(reinterpret_cast<const Real*>(part.data), components, factors, sums);
  });
  return sums;
}

// The sums of the blocks `shared` alone.
Sums part_of(const Sums& sums, const Box& shared, std::ptrdiff_t components) {
  Sums part{sums.fine, shared, {}};
  part.values.resize(static_cast<std::size_t>(shared.num_items() * components));
  StridedCopy(shared, side_in_packed(shared, sums.blocks), packed_side(shared), components * 8)
      .run(reinterpret_cast<const std::byte*>(sums.values.data()),
           reinterpret_cast<std::byte*>(part.values.data()));
  return part;
}

class Coarsen : public Stage {
 public:
  explicit Coarsen(const StageSettings& settings) {
    SettingsReader reader("coarsen", settings);
    factor_ = reader.number("factor", 2, 1, 1 << 20);
    if (reader.has("axes")) axes_ = reader.words("axes", "", {});
    every_ = reader.word("method", "mean", {"mean", "every"}) == "every";
    reader.finish();
  }

  void run(Step& step, StageContext& context) override {
    check_axes(step);
    std::vector<std::string> coarsened;
    for (auto& field : step.fields) {
      const auto factors = factors_of(field, coarsened);
      if (std::ranges::all_of(factors, [](auto factor) { return factor == 1; })) continue;
      field = every_ ? every(step, field, factors) : means(step, field, factors, context.group);
    }
    if (!every_) {  // texts have no mean
      std::erase_if(step.coordinates, [&](const Coordinate& one) {
        return !store::array_of(one).type &&
               std::ranges::find(coarsened, one.name) != coarsened.end();
      });
    }
    for (auto& coordinate : step.coordinates) {
      if (std::ranges::find(coarsened, coordinate.name) != coarsened.end()) coarsen(coordinate);
    }
  }

 private:
  void check_axes(const Step& step) const {
    for (const auto& name : axes_) {
      const bool known = std::ranges::any_of(
          step.fields, [&](const Field& field) { return axis_of(field, name) >= 0; });
      if (known) continue;
      refuse_input("axes: no variable has the axis {}", name);
    }
  }

  Index factors_of(const Field& field, std::vector<std::string>& coarsened) const {
    Index factors;
    factors.fill(1);
    for (std::size_t d = 0; d < field.dims.size(); ++d) {
      const auto& name = field.dims[d];
      if (!axes_.empty() && std::ranges::find(axes_, name) == axes_.end()) continue;
      factors[d] = factor_;
      coarsened.push_back(name);
    }
    return factors;
  }

  static Field every(Step& step, const Field& field, const Index& factors) {
    std::vector<AxisSelection> axes;
    for (std::size_t d = 0; d < field.dims.size(); ++d) {
      axes.push_back({0, field.extents[d], factors[d]});
    }
    return select_items(step, field, axes);
  }

  static Field means(Step& step, const Field& field, const Index& factors, Group& group) {
    Field result = field;
    result.parts.clear();
    result.extents = cells_of({field.num_dims(), field.extents}, factors).extents;
    // The mean of integers is no integer.
    if (!is_float(field.type) && !is_complex(field.type)) result.type = ItemType::float64;
    const std::ptrdiff_t components = is_complex(field.type) ? 2 : 1;
    std::vector<std::vector<Sums>> shares(static_cast<std::size_t>(group.size()));
    for (const auto& part : field.parts) {
      if (part.box.empty()) continue;
      const auto sums = sums_of(field.type, part, factors);
      for (int server = 0; server < group.size(); ++server) {
        const auto slab = slab_box(result.num_dims(), result.extents, server, group.size());
        const auto shared = intersect(sums.blocks, slab);
        if (shared.empty()) continue;
        shares[static_cast<std::size_t>(server)].push_back(part_of(sums, shared, components));
      }
    }
    std::vector<std::vector<std::byte>> outgoing;
    for (const auto& share : shares) outgoing.push_back(bytes_from(share));
    const auto box = slab_box(result.num_dims(), result.extents, group.rank(), group.size());
    const auto incoming = group.exchange(outgoing);
    if (box.empty()) return result;
    auto* data = add_memory(step, box.num_items() * item_bytes(result.type));
    put_means(incoming, factors, box, result.type, data);
    result.parts.push_back({box, data});
    return result;
  }

  static void put_means(const std::vector<std::vector<std::byte>>& incoming, const Index& factors,
                        const Box& box, ItemType type, std::byte* data) {
    const std::ptrdiff_t components = is_complex(type) ? 2 : 1;
    const auto items = static_cast<std::size_t>(box.num_items());
    std::vector<double> sums(items * static_cast<std::size_t>(components), 0.0), counts(items, 0.0);
    const RowMajor own{box.num_dims, box.extents};
    for (const auto& message : incoming) {
      for (const auto& part : value_from<std::vector<Sums>>(message)) {
        const RowMajor inside{box.num_dims, part.blocks.extents};
        auto value = part.values.begin();
        for (std::ptrdiff_t i = 0; i < inside.num_items(); ++i) {
          const auto place = sum(inside.place_of(i), part.blocks.start);
          const auto cell = static_cast<std::size_t>(own.linear(difference(place, box.start)));
          counts[cell] += count_in_block(part.fine, factors, place);
          for (std::size_t c = 0; c < static_cast<std::size_t>(components); ++c) {
            sums[cell * static_cast<std::size_t>(components) + c] += *value++;
          }
        }
      }
    }
    const bool single = type == ItemType::float32 || type == ItemType::complex64;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double count = counts[i / static_cast<std::size_t>(components)];
      const double mean = count > 0 ? sums[i] / count : 0;
      if (single) {
        reinterpret_cast<float*>(data)[i] = static_cast<float>(mean);
      } else {
        reinterpret_cast<double*>(data)[i] = mean;
      }
    }
  }

  void coarsen(Coordinate& coordinate) const {
    const auto count = store::array_of(coordinate).count;
    if (every_) return select_values(coordinate, {0, count, factor_});
    const auto values = store::doubles_of(coordinate);
    std::vector<double> means;
    for (std::ptrdiff_t start = 0; start < count; start += factor_) {
      const auto end = std::min(count, start + factor_);
      double sum = 0;
      for (auto i = start; i < end; ++i) sum += values[static_cast<std::size_t>(i)];
      means.push_back(sum / static_cast<double>(end - start));
    }
    coordinate.values = std::move(means);
    coordinate.typed.reset();
    coordinate.extents.clear();
  }

  std::ptrdiff_t factor_ = 2;
  std::vector<std::string> axes_;
  bool every_ = false;
};

}  // namespace

MadeStage make_coarsen(const StageSettings& settings) {
  return std::make_unique<Coarsen>(settings);
}

}  // namespace tailrace::server
