// SPDX-License-Identifier: BSD-3-Clause
// Machines from text: "torus:23x24x24,bw=9.4:4.7:9.4".
#include <charconv>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "model/network.hpp"
#include "numbers.hpp"

namespace tailrace::model {

std::ptrdiff_t product_of(std::span<const int> extents, std::string_view what) {
  constexpr std::ptrdiff_t most = 100'000'000;
  std::ptrdiff_t product = 1;
  for (const int extent : extents) {
    require(extent >= 1, fmt::format("{}: extent {} must be at least 1", what, extent));
    product *= extent;
    require(product <= most, fmt::format("{}: more than {} nodes", what, most));
  }
  return product;
}

void require_bandwidths(std::span<const LinkKind> kinds) {
  for (const auto& kind : kinds) {
    require(kind.bytes_per_s > 0,
            fmt::format("bandwidth of {} links: {} must be above 0", kind.name, kind.bytes_per_s));
  }
}

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (true) {
    const auto end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
Number number(std::string_view word, std::string_view machine) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  require(error == std::errc() && end == word.data() + word.size() && value > 0,
          fmt::format("machine \"{}\": \"{}\" must be a {} above 0", machine, word,
                      std::is_integral_v<Number> ? "whole number" : "number"));
  return value;
}

/// The words of one machine: kind, extents, and "key=value" by key. Every key must be asked for.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {
    const auto colon = text.find(':');
    kind = text.substr(0, colon);
    require(colon != std::string_view::npos,
            fmt::format("machine \"{}\": must begin with torus:, dragonfly: or fat_tree:", text));
    const auto words = split(text.substr(colon + 1), ',');
    extents = integers(words[0]);
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto equal = words[i].find('=');
      require(equal != std::string_view::npos,
              fmt::format("machine \"{}\": \"{}\" must be key=value", text, words[i]));
      values_[words[i].substr(0, equal)] = words[i].substr(equal + 1);
    }
  }

  std::vector<int> integers(std::string_view list) const {
    std::vector<int> result;
    for (const auto word : split(list, 'x')) result.push_back(number<int>(word, text_));
    return result;
  }
  /// The value of a key, once; "" if it is not given.
  std::string_view take(std::string_view key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return "";
    const auto value = found->second;
    values_.erase(found);
    return value;
  }
  std::vector<int> integers_of(std::string_view key, std::size_t count, int otherwise) {
    const auto value = take(key);
    return value.empty() ? std::vector<int>(count, otherwise) : integers(value);
  }
  double rate_of(std::string_view key) {
    const auto value = take(key);
    return value.empty() ? unlimited : 1e9 * number<double>(value, text_);
  }
  /// One bandwidth, or one for each of `count`, from GB/s.
  std::vector<double> rates_of(std::string_view key, std::size_t count) {
    const auto value = take(key);
    require(!value.empty(), fmt::format("machine \"{}\": {}=... is missing [GB/s], as in {}=12.5",
                                        text_, key, key));
    std::vector<double> result;
    for (const auto word : split(value, ':')) result.push_back(1e9 * number<double>(word, text_));
    if (result.size() == 1) result.resize(count, result[0]);
    return result;
  }
  /// What simulated machines (bench/scale) have besides is left out of account.
  void finish() {
    take("latency");
    take("cores");
    require(values_.empty(), fmt::format("machine \"{}\": a {} knows no \"{}\"", text_, kind,
                                         values_.empty() ? "" : values_.begin()->first));
  }

  std::string_view kind;
  std::vector<int> extents;

 private:
  std::string_view text_;
  std::map<std::string_view, std::string_view> values_;
};

std::unique_ptr<Network> read_torus(Words& words, std::string_view text) {
  Torus torus;
  torus.extents = words.extents;
  torus.bytes_per_s = words.rates_of("bw", torus.extents.size());
  torus.injection = words.rate_of("injection");
  torus.loopback = words.rate_of("loopback");
  const auto ties = words.take("ties");
  require(ties.empty() || ties == "split" || ties == "plus",
          fmt::format("machine \"{}\": ties={} must be split or plus", text, ties));
  torus.ties = ties == "plus" ? Torus::Ties::plus : Torus::Ties::split;
  words.finish();
  return make_network(torus);
}

std::unique_ptr<Network> read_dragonfly(Words& words, std::string_view text) {
  require(words.extents.size() == 4,
          fmt::format("machine \"{}\": a dragonfly has groups x chassis x blades x nodes", text));
  Dragonfly d;
  d.groups = words.extents[0];
  d.chassis = words.extents[1];
  d.blades = words.extents[2];
  d.nodes = words.extents[3];
  d.host = words.rate_of("host");
  d.local = words.rate_of("local");
  d.chassis_links = words.rate_of("chassis");
  d.global = words.rate_of("global");
  d.loopback = words.rate_of("loopback");
  words.finish();
  return make_network(d);
}

std::unique_ptr<Network> read_fat_tree(Words& words, std::string_view) {
  FatTree tree;
  tree.down = words.extents;
  const auto levels = tree.down.size();
  tree.up = words.integers_of("up", levels, 1);
  tree.cables = words.integers_of("cables", levels, 1);
  tree.bytes_per_s = words.rates_of("bw", levels);
  tree.loopback = words.rate_of("loopback");
  words.finish();
  return make_network(tree);
}

}  // namespace

std::unique_ptr<Network> make_network(std::string_view text) {
  Words words(text);
  if (words.kind == "torus") return read_torus(words, text);
  if (words.kind == "dragonfly") return read_dragonfly(words, text);
  if (words.kind == "fat_tree") return read_fat_tree(words, text);
  throw Error(Errc::invalid_input,
              fmt::format("machine \"{}\": must begin with torus:, dragonfly: or fat_tree:", text));
}

std::unique_ptr<Machine> make_machine(std::string_view text) { return make_network(text); }

}  // namespace tailrace::model
