// SPDX-License-Identifier: BSD-3-Clause
// Keys of a TOML file as data: a line of a table says all about a key.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tailrace/error.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::app {

/// What a key may hold: numbers from `min` to `max`, both included; one of `choices`, if any.
struct Allowed {
  static constexpr double infinite = 1e300;
  double min = -infinite, max = infinite;
  std::vector<std::string> choices = {};
};

class KeyTables;

/// A line of a table of keys, bound to the object that holds the values. Reading, messages,
/// case.toml and the reference page are all made of it.
struct Key {
  /// Where the value is; the type says how it stands in TOML.
  using Value = std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<double>*,
                             std::vector<std::string>*, std::vector<Product>*, KeyTables*>;
  std::string name;  ///< "section.key"
  Value value;
  Allowed allowed;
  std::string unit;  ///< "" = none
  std::string doc;
  std::string instead_of{};  ///< exactly one of the two keys must be given
  std::string not_with{};    ///< a setting ("section.key = value") with which it is of no use
};

using Keys = std::vector<Key>;

/// The lines of all tables, in order.
Keys joined(std::initializer_list<Keys> tables);

/// A list of tables [[section.key]], each with keys of its own, "section.key.name".
class KeyTables {
 public:
  virtual ~KeyTables() = default;
  virtual void clear() = 0;
  virtual Keys append() = 0;  ///< one more; its keys, which are of use until the next one
  virtual std::size_t size() const = 0;
  virtual Keys keys(std::size_t item) = 0;
  virtual Keys usual_keys() = 0;  ///< of a table with all its defaults, for the reference
};

/// The tables as structs: `Keys keys_of(Item&)` is found beside the struct.
template <class Item>
class TableList final : public KeyTables {
 public:
  std::vector<Item> items;
  void clear() override { items.clear(); }
  Keys append() override { return keys_of(items.emplace_back()); }
  std::size_t size() const override { return items.size(); }
  Keys keys(std::size_t item) override { return keys_of(items[item]); }
  Keys usual_keys() override { return keys_of(usual_); }

 private:
  Item usual_;
};

/// What most keys allow.
inline const Allowed any, positive{1 / Allowed::infinite}, from_0{0}, count_from_0{0, 9e15},
    count_from_1{1, 9e15};
Allowed within(double min, double max);
Allowed one_of(std::vector<std::string> choices);

/// A choice: its names in case files and the values that they stand for.
template <class T, std::size_t N>
using Choices = std::array<std::pair<const char*, T>, N>;

template <class T, std::size_t N>
Allowed one_of(const Choices<T, N>& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.emplace_back(choice.first);
  return one_of(std::move(names));
}

/// The value of a name that has been read. Throws `Errc::internal` for another name.
template <class T, std::size_t N>
T value_of(const Choices<T, N>& choices, std::string_view name) {
  for (const auto& choice : choices) {
    if (name == choice.first) return choice.second;
  }
  throw Error(Errc::internal, "no value for the choice " + std::string(name));
}

/// The keys of a table `[[output.products]]`, bound to `values`.
Keys product_keys(Product& values);

/// What stands before the last dot of a key's name. Local, as all of this file.
std::string section_of(const std::string& name);

/// Stores what the TOML `text` says and adds the names to `given`; `source` is its path, for
/// messages. Throws `Errc::invalid_input` that names key, line, value and what would be right.
void read_toml(const Keys& keys, const std::string& text, const std::string& source,
               std::set<std::string>& given);

/// The same for "section.key=value" of the command line (value in TOML; a bare word is taken as
/// text). The other key of a pair (`instead_of`) gives way.
void read_setting(const Keys& keys, const std::string& setting, std::set<std::string>& given);

/// The value as TOML, with all its digits.
std::string format_value(const Key& key);

/// "at least 1 and at most 9", or the choices.
std::string describe_allowed(const Key& key);

/// A table in Markdown: key, default (the values now), allowed, unit, meaning. Those of a list of
/// tables follow it.
std::string format_markdown(const Keys& keys);

/// All keys with their meanings as TOML that gives the same values again; of keys that stand for
/// others (`instead_of`) those that are `given`.
std::string format_toml(const Keys& keys, const std::set<std::string>& given);

/// Throws `Errc::invalid_input` unless exactly one key of each pair is given; `source` is the path
/// of the file.
void require_pairs(const Keys& keys, const std::set<std::string>& given, const std::string& source);

/// Throws `Errc::invalid_input` if a key that is of no use with `setting` has another value than in
/// `usual`, the same table with its defaults.
void require_usual(const Keys& keys, const Keys& usual, const std::string& setting,
                   const std::string& source);

}  // namespace tailrace::app
