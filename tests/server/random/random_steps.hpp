// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include "array_home.hpp"
#include "random_boxes.hpp"
#include "store/item_convert.hpp"
#include "tailrace/output.hpp"

namespace tailrace {

using Bytes = std::vector<std::byte>;

/// An array of a random step: who has which items of it, and what these hold.
struct RandomVariable {
  std::string name;
  ItemType type = ItemType::float64;
  std::vector<std::string> dims;
  std::vector<std::ptrdiff_t> extents;
  std::vector<std::vector<Box>> boxes;  // of each rank
  Attributes attributes;
  std::uint64_t salt = 0;
  bool lowered = false;  // a float64 that became a float32

  Layout layout() const { return from_boxes(extents, boxes); }

  /// Any bytes; so a number may be any, not-a-number too.
  void put_item(std::ptrdiff_t flat, std::byte* item) const {
    if (!lowered) return put_bytes(flat, item_bytes(type), item);
    double value = 0;
    put_bytes(flat, sizeof value, reinterpret_cast<std::byte*>(&value));
    const auto low = static_cast<float>(value);
    std::memcpy(item, &low, sizeof low);
  }
  /// All of it, row-major; items that nobody has are 0.
  Bytes whole() const {
    const auto box = whole_box(extents);
    Bytes bytes(static_cast<std::size_t>(box.num_items() * item_bytes(type)));
    for (const auto& of_rank : boxes) {
      const auto memory = Memory::dense(of_rank);
      for (std::size_t b = 0; b < of_rank.size(); ++b) {
        for_each_item(of_rank[b], memory.boxes[b], [&](const Index& at, std::ptrdiff_t) {
          const auto flat = flat_index(extents, at);
          put_item(flat, bytes.data() + flat * item_bytes(type));
        });
      }
    }
    return bytes;
  }

 private:
  void put_bytes(std::ptrdiff_t flat, std::ptrdiff_t count, std::byte* item) const {
    for (std::ptrdiff_t n = 0; n < count; ++n) {
      const auto place = static_cast<std::uint64_t>(flat * count + n);
      item[n] = static_cast<std::byte>(((place + salt * 7919) * 0x9e3779b97f4a7c15U) >> 56);
    }
  }
};

/// What goes to one file.
struct RandomStep {
  std::vector<RandomVariable> variables;
  std::vector<Coordinate> coordinates;
  Attributes attributes;
  std::int64_t number = 0;

  void lower() {
    for (auto& variable : variables) {
      if (variable.type != ItemType::float64) continue;
      variable.type = ItemType::float32;
      variable.lowered = true;
    }
  }
};

inline double random_number(Dice& dice) {
  return std::ldexp(static_cast<double>(dice.between(-1000000, 1000000)),
                    static_cast<int>(dice.between(-200, 200)));
}

inline std::vector<double> random_numbers(Dice& dice, std::ptrdiff_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (auto& number : numbers) number = random_number(dice);
  return numbers;
}

inline Attributes random_attributes(Dice& dice) {
  Attributes attributes;
  const std::vector<std::string> texts{"m s-1", "x", "a \"word\" \\ of\nlines", "Grüße", ""};
  if (dice.chance(60)) attributes.emplace_back("number", random_number(dice));
  if (dice.chance(60)) {
    attributes.emplace_back("count", static_cast<std::int64_t>(dice.bits() >> 11));
  }
  if (dice.chance(60)) attributes.emplace_back("text", dice.one_of(texts));
  if (dice.chance(60)) attributes.emplace_back("list", random_numbers(dice, dice.between(2, 5)));
  return attributes;
}

/// Blocks of which only those on one side of a diagonal are there.
inline void keep_triangle(std::vector<Box>& boxes) {
  if (boxes[0].num_dims < 2) return;
  std::erase_if(boxes, [](const Box& box) { return box.start[0] > box.start[1]; });
}

inline std::vector<std::vector<Box>> random_parts(Dice& dice,
                                                  const std::vector<std::ptrdiff_t>& extents,
                                                  int num_ranks) {
  const auto count = dice.between(1, dice.chance(70) ? 3 * num_ranks : 20 * num_ranks);
  auto boxes = random_partition(dice, whole_box(extents), count);
  if (dice.chance(20)) {
    keep_triangle(boxes);
  } else if (dice.chance(25)) {
    std::erase_if(boxes, [&](const Box&) { return dice.chance(30); });
  }
  dice.shuffle(boxes);
  return deal(dice, boxes, num_ranks);
}

/// What ranks read: a partition with holes, or one box a rank that may overlap others'.
inline std::vector<std::vector<Box>> random_wishes(Dice& dice,
                                                   const std::vector<std::ptrdiff_t>& extents,
                                                   int num_ranks) {
  if (!dice.chance(30)) return random_parts(dice, extents, num_ranks);
  auto parts = deal(dice, random_boxes(dice, whole_box(extents), num_ranks), num_ranks);
  for (auto& boxes : parts) boxes.resize(std::min<std::size_t>(boxes.size(), 1));
  return parts;
}

inline RandomVariable random_variable(Dice& dice, std::size_t number, int num_ranks) {
  RandomVariable variable;
  variable.name = fmt::format("v{}", number);
  variable.type = dice.one_of(store::all_types);
  variable.extents = random_extents(dice, max_dims, dice.chance(70) ? 800 : 6000);
  for (std::size_t d = 0; d < variable.extents.size(); ++d) {
    variable.dims.push_back(fmt::format("axis{}_{}", number, d));
  }
  variable.attributes = random_attributes(dice);
  variable.boxes = random_parts(dice, variable.extents, num_ranks);
  variable.salt = dice.bits() >> 20;
  return variable;
}

/// Some variables, of which some have the axes of the one before; shapes of `earlier` may return.
inline RandomStep random_step(Dice& dice, std::int64_t number, int num_ranks,
                              const RandomStep* earlier) {
  RandomStep step;
  step.number = number;
  if (earlier != nullptr && dice.chance(50)) {
    step = *earlier;
    step.number = number;
    for (auto& variable : step.variables) variable.salt = dice.bits() >> 20;
    return step;
  }
  const auto count = static_cast<std::size_t>(dice.between(1, 4));
  for (std::size_t v = 0; v < count; ++v) {
    auto variable = random_variable(dice, v, num_ranks);
    if (v > 0 && dice.chance(40)) {
      variable.extents = step.variables.back().extents;
      variable.dims = step.variables.back().dims;
      variable.boxes = dice.chance(50) ? step.variables.back().boxes
                                       : random_parts(dice, variable.extents, num_ranks);
    }
    for (std::size_t d = 0; d < variable.dims.size(); ++d) {
      const auto& name = variable.dims[d];
      if (!dice.chance(20) || std::ranges::count(step.coordinates, name, &Coordinate::name) > 0) {
        continue;
      }
      step.coordinates.push_back(
          {name, random_numbers(dice, variable.extents[d]), random_attributes(dice)});
    }
    step.variables.push_back(std::move(variable));
  }
  step.attributes = random_attributes(dice);
  return step;
}

/// One rank's arrays of a step, in random memory, as `FileContents`.
class StepArrays {
 public:
  StepArrays(const RandomStep& step, int rank, Dice& own_dice) {
    layouts_.reserve(step.variables.size());
    for (const auto& variable : step.variables) {
      const auto& boxes = variable.boxes[static_cast<std::size_t>(rank)];
      const bool plain = own_dice.chance(40);
      const auto memory = spread(random_memory(own_dice, boxes, plain),
                                 !plain && own_dice.chance(20) ? own_dice.between(2, 3) : 1);
      const auto item = item_bytes(variable.type);
      auto& data =
          arrays_.emplace_back(static_cast<std::size_t>(memory.num_items * item), std::byte{0x5a});
      for (std::size_t b = 0; b < boxes.size(); ++b) {
        for_each_item(boxes[b], memory.boxes[b], [&](const Index& at, std::ptrdiff_t place) {
          variable.put_item(flat_index(variable.extents, at), data.data() + place * item);
        });
      }
      layouts_.push_back(variable.layout());
      const bool elsewhere = array_home() != nullptr && own_dice.chance(80);
      homes_.push_back(elsewhere ? array_home()->put(data) : nullptr);
      if (elsewhere) {
        for (const auto& box : boxes) bytes_elsewhere_ += box.num_items() * item;
      }
      contents_.variables.push_back({variable.name, variable.type, variable.dims, &layouts_.back(),
                                     memory, elsewhere ? homes_.back() : data.data(),
                                     variable.attributes});
    }
    if (array_home() != nullptr) contents_.stream = array_home()->stream();
    before_ = arrays_;
    contents_.coordinates = step.coordinates;
    contents_.attributes = step.attributes;
    contents_.step = step.number;
  }
  const FileContents& contents() const { return contents_; }
  ~StepArrays() {
    for (auto* home : homes_) {
      if (home != nullptr) array_home()->free(home);
    }
  }
  StepArrays(const StepArrays&) = delete;
  StepArrays& operator=(const StepArrays&) = delete;

  bool changed() const {
    for (std::size_t a = 0; a < homes_.size(); ++a) {
      if (homes_[a] == nullptr) continue;
      if (array_home()->get(homes_[a], before_[a].size()) != before_[a]) return true;
    }
    return arrays_ != before_;
  }
  /// A `write` that has returned needs the arrays no more.
  void spoil() {
    for (auto& array : arrays_) std::ranges::fill(array, std::byte{0xee});
    for (auto& home : homes_) {
      if (home != nullptr) array_home()->free(home);
      home = nullptr;
    }
  }
  /// The step has been taken.
  void note_written() const {
    if (array_home() != nullptr) array_home()->note_written(bytes_elsewhere_);
  }

 private:
  std::vector<Layout> layouts_;
  std::vector<Bytes> arrays_, before_;
  std::vector<void*> homes_;  // null: the array is on the host
  std::ptrdiff_t bytes_elsewhere_ = 0;
  FileContents contents_;
};

}  // namespace tailrace
