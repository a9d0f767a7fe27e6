// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "random_steps.hpp"
#include "random_variants.hpp"
#include "store/item_convert.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {

inline constexpr std::ptrdiff_t guard_bytes = 64;

/// A file that must be there, and what is in it.
struct ExpectedFile {
  std::string path;
  std::size_t step = 0;
  bool checksums = false;
};

/// How often each variant, format and check ran; the same on all ranks but for Python's.
struct Counts {
  std::map<std::string, int> variants, formats, not_here;
  int by_python = 0, spilled = 0, dropped = 0, thinned = 0, lowered = 0, tight = 0;
  int fewer_readers = 0, converted = 0, unfit = 0;
};

/// What was written is read by random ranks in random layouts, as random types, and compared.
class ReadBack {
 protected:
  ReadBack(const Comm& comm, std::string folder, Counts& counts, std::uint64_t seed)
      : comm_(comm),
        folder_(std::move(folder)),
        counts_(counts),
        dice_(seed),
        own_dice_(seed * 1000 + static_cast<std::uint64_t>(comm.rank())) {}

  // Some ranks read, and the others do so, too, by themselves: each group throws dice of its own.
  void read_by_some(const ExpectedFile& file) {
    const auto num_readers =
        dice_.chance(50) ? comm_.num_ranks() : dice_.between(1, comm_.num_ranks());
    const bool first = comm_.rank() < num_readers;
    const auto seed = dice_.bits() >> 20;
    const Comm readers = comm_.split(first ? 0 : 1);
    if (readers.num_ranks() < comm_.num_ranks()) ++counts_.fewer_readers;
    Dice dice(seed + (first ? 0 : 1));
    try {
      someone_is_late(readers, dice);
      const auto options = random_input(dice, readers.num_ranks());
      const Input input(readers, file.path, options);
      check_names(input, file);
      for (const auto& variable : steps_[file.step].variables) {
        check_array(input, variable, file, readers, dice);
      }
    } catch (const Error& error) {
      fail(fmt::format("{} read by {} of {} ranks: {}", name_of(file), readers.num_ranks(),
                       comm_.num_ranks(), error.what()));
    }
  }

  // A rank that is late by some milliseconds; any other rank may be ahead.
  static void someone_is_late(const Comm& comm, Dice& dice) {
    const auto late = dice.below(comm.num_ranks());
    const auto delay_us = dice.chance(40) ? dice.below(5000) : 0;
    if (comm.rank() != late || delay_us == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
  }

  std::string name_of(const ExpectedFile& file) const {
    return fmt::format("{} of step {}", file.path.substr(folder_.size() + 1), file.step);
  }

  void check_names(const Input& input, const ExpectedFile& file) {
    const auto& step = steps_[file.step];
    std::set<std::string> right;
    for (const auto& variable : step.variables) right.insert(variable.name);
    const auto names = input.names();
    if (std::set<std::string>(names.begin(), names.end()) != right) {
      fail(fmt::format("{} has {} arrays of {}", name_of(file), names.size(), right.size()));
    }
    for (const auto& [name, value] : step.attributes) {
      const bool same = std::visit(
          [&, key = name](const auto& expected) {
            using Value = std::decay_t<decltype(expected)>;
            if constexpr (std::is_same_v<Value, double>) {
              return input.attribute_double(key) == expected;
            } else if constexpr (std::is_same_v<Value, std::int64_t>) {
              return input.attribute_int(key) == expected;
            } else if constexpr (std::is_same_v<Value, std::string>) {
              return input.attribute_string(key) == expected;
            } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
              return input.attribute_doubles(key) == expected;
            } else {
              return false;  // of a type that random_attributes does not make
            }
          },
          value);
      if (!same) fail(fmt::format("{}: attribute {} differs", name_of(file), name));
    }
    for (const auto& coordinate : step.coordinates) {
      if (input.coordinate(coordinate.name) == coordinate.values) continue;
      fail(fmt::format("{}: coordinate {} differs", name_of(file), coordinate.name));
    }
  }

  /// `bytes` as another type, item by item; those that do not fit stay 0xa5.
  static Bytes converted(const Bytes& bytes, ItemType from, ItemType to, bool& all_fit) {
    const auto count = std::ssize(bytes) / item_bytes(from);
    Bytes result(static_cast<std::size_t>(count * item_bytes(to)), std::byte{0xa5});
    for (std::ptrdiff_t n = 0; n < count; ++n) {
      if (store::convert_items(from, to, bytes.data() + n * item_bytes(from), 1,
                               result.data() + n * item_bytes(to))) {
        all_fit = false;
      }
    }
    return result;
  }

  static ItemType random_type_from(Dice& dice, ItemType from) {
    std::vector<ItemType> types;
    for (const auto type : store::all_types) {
      if (store::convertible(from, type)) types.push_back(type);
    }
    return dice.one_of(types);
  }

  void check_array(const Input& input, const RandomVariable& variable, const ExpectedFile& file,
                   const Comm& readers, Dice& dice) {
    if (input.extents(variable.name) != variable.extents ||
        input.type(variable.name) != variable.type) {
      return fail(fmt::format("{}: {} has another shape or type", name_of(file), variable.name));
    }
    auto right = variable.whole();
    someone_is_late(readers, dice);
    if (dice.chance(20)) {
      Bytes all(right.size(), std::byte{0xa5});
      input.read_all(variable.name, variable.type, all.data());
      if (all != right) fail(fmt::format("{}: read_all of {}", name_of(file), variable.name));
    }
    const auto type = dice.chance(40) ? random_type_from(dice, variable.type) : variable.type;
    bool all_fit = true;
    if (type != variable.type) right = converted(right, variable.type, type, all_fit);
    const auto parts = random_wishes(dice, variable.extents, readers.num_ranks());
    const auto& boxes = parts[static_cast<std::size_t>(readers.rank())];
    const auto memory = spread(random_memory(own_dice_, boxes, own_dice_.chance(40)),
                               own_dice_.chance(15) ? own_dice_.between(2, 3) : 1);
    const auto item = item_bytes(type);
    Bytes expected(static_cast<std::size_t>(memory.num_items * item + 2 * guard_bytes),
                   std::byte{0xa5});
    auto data = expected;
    auto* home =
        array_home() != nullptr && own_dice_.chance(60) ? array_home()->put(data) : nullptr;
    auto* into = home != nullptr ? static_cast<std::byte*>(home) : data.data();
    try {
      input.read(variable.name, type, from_boxes(variable.extents, parts), memory,
                 into + guard_bytes);
      if (home != nullptr) take_home(home, boxes, item, data);
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool refused = text.find("does not fit") != std::string::npos;
      if (home != nullptr) array_home()->free(home);
      if (all_fit || !refused || error.code() != Errc::invalid_input) throw;
      ++counts_.unfit;
      return;
    }
    counts_.converted += type != variable.type ? 1 : 0;
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      for_each_item(boxes[b], memory.boxes[b], [&](const Index& at, std::ptrdiff_t place) {
        std::memcpy(expected.data() + guard_bytes + place * item,
                    right.data() + flat_index(variable.extents, at) * item,
                    static_cast<std::size_t>(item));
      });
    }
    if (data == expected) return;
    const auto at = std::ranges::mismatch(data, expected).in1 - data.begin() - guard_bytes;
    fail(fmt::format("{}: {} ({}) read as {} by {} ranks differs at byte {} of the memory",
                     name_of(file), variable.name, type_name(variable.type), type_name(type),
                     readers.num_ranks(), at));
  }

  static void take_home(void* home, const std::vector<Box>& boxes, std::ptrdiff_t item,
                        Bytes& data) {
    data = array_home()->get(home, data.size());
    array_home()->free(home);
    for (const auto& box : boxes) array_home()->note_read(box.num_items() * item);
  }

  void fail(const std::string& text) {
    if (failure_.empty()) failure_ = text;
  }

  const Comm& comm_;
  std::string folder_;
  Counts& counts_;
  Dice dice_;      // the same on all ranks that compute
  Dice own_dice_;  // of this rank: how its memory looks
  std::vector<RandomStep> steps_;
  std::string failure_;
};

}  // namespace tailrace
