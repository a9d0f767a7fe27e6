// SPDX-License-Identifier: BSD-3-Clause
// What the transposes of an array, or any messages, cost on a machine by the link-load model, for
// `tailrace plan transposes` and `tailrace map`:
//   tailrace-price MACHINE ROWSxCOLUMNS BYTES [rounds] < NODES
//   tailrace-price MACHINE messages < "RANKS NODES (SENDER RECEIVER BYTES)..."
// BYTES is the size of the array, NODES the node of each rank. Prints one line of JSON. Calls no
// MPI function.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tailrace/error.hpp"
#include "tailrace/more/link_load.hpp"

namespace {

using Json = nlohmann::ordered_json;
namespace model = tailrace::model;

constexpr std::ptrdiff_t most_ranks = 1 << 28;

[[noreturn]] void refuse(const std::string& text) {
  throw tailrace::Error(tailrace::Errc::invalid_input, text);
}

template <class Number>
Number read_number(std::string_view text, std::string_view what) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    refuse(fmt::format("{} \"{}\": must be a number", what, text));
  }
  return value;
}

std::array<int, 2> read_grid(std::string_view text) {
  const auto cross = text.find('x');
  if (cross == std::string_view::npos) {
    refuse(fmt::format("grid \"{}\": must be ROWSxCOLUMNS", text));
  }
  return {read_number<int>(text.substr(0, cross), "grid"),
          read_number<int>(text.substr(cross + 1), "grid")};
}

Json json_of(const model::LinkLoad& load) {
  auto kinds = Json::array();
  for (const auto& kind : load.kinds) {
    kinds.push_back({{"name", kind.name},
                     {"seconds", kind.seconds},
                     {"total_bytes", kind.total_bytes},
                     {"most_bytes", kind.most_bytes},
                     {"fullest", kind.fullest}});
  }
  return {{"seconds", load.seconds},
          {"worst", load.worst},
          {"rounds", load.rounds},
          {"kinds", std::move(kinds)}};
}

/// One of the two exchanges: all its groups at the same time.
struct Exchange {
  const char* name;
  model::Groups groups;
};

Json price(const model::Machine& machine, const model::Placement& node_of, const Exchange& exchange,
           double bytes, bool in_rounds) {
  const auto ranks = exchange.groups.front().size();
  const double per_pair = bytes / static_cast<double>(node_of.size()) / static_cast<double>(ranks);
  const auto at_once = model::all_to_all(machine, node_of, exchange.groups, per_pair);
  return {{"name", exchange.name},
          {"groups", exchange.groups.size()},
          {"ranks", ranks},
          {"bytes_per_pair", per_pair},
          {"moved_bytes", at_once.moved_bytes},
          {"at_once", json_of(at_once)},
          {"in_rounds", in_rounds ? json_of(model::all_to_all_in_rounds(machine, node_of,
                                                                        exchange.groups, per_pair))
                                  : Json()}};
}

void print(const Json& json) { std::puts(json.dump().c_str()); }

/// Messages from standard input, by their sender.
void price_messages(const model::Machine& machine) {
  std::ptrdiff_t ranks = 0;
  std::cin >> ranks;
  if (ranks < 1 || ranks > most_ranks) refuse("messages: must begin with the number of ranks");
  model::Placement node_of(static_cast<std::size_t>(ranks), 0);
  for (auto& node : node_of) std::cin >> node;
  if (!std::cin) refuse(fmt::format("messages: expected a node for each of {} ranks", ranks));
  std::vector<std::vector<std::pair<int, std::ptrdiff_t>>> sent(node_of.size());
  std::ptrdiff_t sender = 0, receiver = 0, bytes = 0;
  while (std::cin >> sender >> receiver >> bytes) {
    if (std::min(sender, receiver) < 0 || std::max(sender, receiver) >= ranks || bytes < 0) {
      refuse(fmt::format("message {} {} {}: must be between two of {} ranks", sender, receiver,
                         bytes, ranks));
    }
    sent[static_cast<std::size_t>(sender)].emplace_back(static_cast<int>(receiver), bytes);
  }
  if (!std::cin.eof()) refuse("messages: expected SENDER RECEIVER BYTES");
  const auto load = model::any_messages(
      machine, node_of, [&](int rank) { return sent[static_cast<std::size_t>(rank)]; });
  print({{"machine", machine.describe()},
         {"machine_nodes", machine.num_nodes()},
         {"ranks", ranks},
         {"load", json_of(load)}});
}

void run(std::span<char*> words) {
  if (words.size() == 2 && std::string_view(words[1]) == "messages") {
    price_messages(*model::make_machine(std::string_view(words[0])));
    return;
  }
  if (words.size() < 3 || words.size() > 4 ||
      (words.size() == 4 && std::string_view(words[3]) != "rounds")) {
    refuse(
        "usage: tailrace-price MACHINE ROWSxCOLUMNS BYTES [rounds] < NODES, or MACHINE messages");
  }
  const auto machine = model::make_machine(std::string_view(words[0]));
  const auto grid = read_grid(words[1]);
  const auto bytes = read_number<double>(words[2], "bytes");
  model::Placement node_of;
  for (std::ptrdiff_t node = 0; std::cin >> node;) node_of.push_back(node);
  if (node_of.empty() || std::ptrdiff_t{grid[0]} * grid[1] != std::ssize(node_of)) {
    refuse(fmt::format("grid {}x{} does not fit {} ranks: the product must be {}", grid[0], grid[1],
                       node_of.size(), node_of.size()));
  }
  const auto start = std::chrono::steady_clock::now();
  auto exchanges = Json::array();
  for (const auto& exchange : {Exchange{"rows", model::rows_of_grid(grid)},
                               Exchange{"columns", model::columns_of_grid(grid)}}) {
    if (exchange.groups.front().size() == 1) continue;
    exchanges.push_back(price(*machine, node_of, exchange, bytes, words.size() == 4));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  print({{"machine", machine->describe()},
         {"machine_nodes", machine->num_nodes()},
         {"ranks", node_of.size()},
         {"grid", grid},
         {"bytes", bytes},
         {"exchanges", std::move(exchanges)},
         {"pricing_s", spent.count()}});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tailrace-price: %s\n", error.what());
    return 2;
  }
  return 0;
}
