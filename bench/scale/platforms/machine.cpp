// SPDX-License-Identifier: BSD-3-Clause
// A simulated machine, made from the text in the environment variable TAILRACE_MACHINE: the texts
// of the link-load model (include/tailrace/more/link_load.hpp), bandwidths in GB/s,
//   torus:23x24x24,bw=9.4:4.7:9.4
//   dragonfly:GROUPSxCHASSISxROUTERSxNODES,host=25,local=25,chassis=25,global=50
//   fat_tree:16x16,up=1x8,cables=1x1,bw=12.5
// and for all of them loopback=GB/s (between ranks of a node), latency=s (of a link), cores=N.
// `smpirun -platform libtailrace_machine.so` loads it. Nodes are hosts n0, n1, ... With
// TAILRACE_STORAGE, the targets of a simulated file system are hosts behind some of the nodes.
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace {

namespace s4u = simgrid::s4u;
using NetPoint = simgrid::kernel::routing::NetPoint;
using Numbers = std::vector<double>;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  std::fprintf(stderr, "TAILRACE_MACHINE=%s: %s\n", text.c_str(), why.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(separator, start);
    words.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  return words;
}

constexpr double unlimited = 1e6;  // GB/s

struct Machine {
  std::string text, kind;
  Numbers extents;
  std::map<std::string, Numbers> settings;

  Numbers get(const std::string& key, const Numbers& otherwise) const {
    const auto found = settings.find(key);
    return found == settings.end() ? otherwise : found->second;
  }
  double number(const std::string& key, double otherwise) const {
    return get(key, {otherwise}).front();
  }
};

Numbers numbers(const std::string& text, const std::string& list, char separator) {
  Numbers all;
  for (const std::string& word : split(list, separator)) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || value <= 0) {
      refuse(text, "expected positive numbers, found `" + list + "`");
    }
    all.push_back(value);
  }
  return all;
}

Machine parse(const std::string& text) {
  const std::vector<std::string> known{"bw",      "latency", "loopback", "cores", "ties",  "host",
                                       "chassis", "local",   "global",   "up",    "cables"};
  Machine machine;
  machine.text = text;
  const auto words = split(text, ',');
  const auto colon = words[0].find(':');
  if (colon == std::string::npos) refuse(text, "expected KIND:EXTENTS, as in torus:8x8x8");
  machine.kind = words[0].substr(0, colon);
  machine.extents = numbers(text, words[0].substr(colon + 1), 'x');
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse(text, "SimGrid's machines have no setting `" + key + "`");
    }
    if (key == "ties") {
      if (value != "plus") refuse(text, "SimGrid's torus knows ties=plus only");
      continue;
    }
    const bool lists = key == "up" || key == "cables";
    machine.settings[key] = numbers(text, value, lists ? 'x' : ':');
  }
  return machine;
}

s4u::ClusterCallbacks callbacks(const Machine& machine) {
  const int cores = static_cast<int>(machine.number("cores", 64));
  const double loopback = machine.number("loopback", unlimited) * 1e9;
  return {[cores](s4u::NetZone* zone, const std::vector<unsigned long>&,
                  unsigned long id) -> std::pair<NetPoint*, NetPoint*> {
            s4u::Host* host = zone->create_host("n" + std::to_string(id), 1e10);
            host->set_core_count(cores);
            host->seal();
            return {host->get_netpoint(), nullptr};
          },
          [loopback](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
            s4u::Link* link = zone->create_link("memory" + std::to_string(id), loopback);
            link->set_latency(1e-7);
            link->seal();
            return link;
          },
          nullptr};
}

constexpr auto both_ways = s4u::Link::SharingPolicy::SPLITDUPLEX;
constexpr double latency_s = 1e-6;

// SimGrid's torus has one bandwidth; the links of each axis get their own afterwards.
void set_bandwidths(const std::vector<unsigned long>& extents, const Numbers& bandwidth) {
  unsigned long nodes = 1;
  for (unsigned long extent : extents) nodes *= extent;
  for (unsigned long id = 0; id < nodes; ++id) {
    unsigned long stride = 1;
    for (std::size_t axis = 0; axis < extents.size(); stride *= extents[axis++]) {
      const bool last = id / stride % extents[axis] == extents[axis] - 1;
      const unsigned long next = last ? id - (extents[axis] - 1) * stride : id + stride;
      const std::string name =
          "torus_link_from_" + std::to_string(id) + "_to_" + std::to_string(next);
      for (const char* way : {"_UP", "_DOWN"}) {
        s4u::Link::by_name(name + way)->set_bandwidth(bandwidth[axis] * 1e9);
      }
    }
  }
}

s4u::NetZone* make_torus(const Machine& machine, const s4u::NetZone* world) {
  const Numbers given = machine.get("bw", {});
  if (given.size() != 1 && given.size() != machine.extents.size()) {
    refuse(machine.text, "expected bw= with one bandwidth, or one for each axis");
  }
  std::vector<unsigned long> extents;
  Numbers bandwidth;
  for (std::size_t axis = 0; axis < machine.extents.size(); ++axis) {
    const auto extent = static_cast<unsigned long>(machine.extents[axis]);
    if (extent == 1) continue;  // SimGrid would link such a node with itself
    extents.push_back(extent);
    bandwidth.push_back(given[given.size() == 1 ? 0 : axis]);
  }
  if (extents.empty()) refuse(machine.text, "expected at least two nodes");
  s4u::NetZone* zone =
      s4u::create_torus_zone("torus", world, extents, callbacks(machine), bandwidth.front() * 1e9,
                             machine.number("latency", latency_s), both_ways);
  zone->seal();
  set_bandwidths(extents, bandwidth);
  return zone;
}

s4u::NetZone* make_dragonfly(const s4u::Engine& engine, const Machine& machine,
                             const s4u::NetZone* world) {
  if (machine.extents.size() != 4) {
    refuse(machine.text, "expected dragonfly:GROUPSxCHASSISxROUTERSxNODES");
  }
  const auto count = [&](std::size_t i) { return static_cast<unsigned int>(machine.extents[i]); };
  if (count(0) > count(1) * count(2)) {
    refuse(machine.text, "a group needs a router for the link to each group");
  }
  const s4u::DragonflyParams shape({count(0), 1}, {count(1), 1}, {count(2), 1}, count(3));
  s4u::NetZone* zone =
      s4u::create_dragonfly_zone("dragonfly", world, shape, callbacks(machine), unlimited * 1e9,
                                 machine.number("latency", latency_s), both_ways);
  zone->seal();
  const std::vector<std::pair<std::string, std::string>> kinds{{"local_link", "host"},
                                                               {"green_link", "local"},
                                                               {"black_link", "chassis"},
                                                               {"blue_link", "global"}};
  for (s4u::Link* link : engine.get_all_links()) {
    for (const auto& [prefix, key] : kinds) {
      if (link->get_name().rfind(prefix, 0) != 0) continue;
      link->set_bandwidth(machine.number(key, unlimited) * 1e9);
    }
  }
  return zone;
}

s4u::NetZone* make_fat_tree(const Machine& machine, const s4u::NetZone* world) {
  const std::size_t levels = machine.extents.size();
  const Numbers bandwidth = machine.get("bw", {});
  if (bandwidth.empty() || std::any_of(bandwidth.begin(), bandwidth.end(),
                                       [&](double b) { return b != bandwidth[0]; })) {
    refuse(machine.text, "expected bw= with the same bandwidth on all levels");
  }
  const auto counts = [&](const Numbers& from) {
    if (from.size() != levels) refuse(machine.text, "expected as many up and cables as levels");
    return std::vector<unsigned int>(from.begin(), from.end());
  };
  const Numbers ones(levels, 1);
  const s4u::FatTreeParams shape(static_cast<unsigned int>(levels), counts(machine.extents),
                                 counts(machine.get("up", ones)),
                                 counts(machine.get("cables", ones)));
  s4u::NetZone* zone =
      s4u::create_fatTree_zone("fat_tree", world, shape, callbacks(machine), bandwidth[0] * 1e9,
                               machine.number("latency", latency_s), both_ways);
  zone->seal();
  return zone;
}

s4u::NetZone* make_machine(const s4u::Engine& engine, const Machine& machine,
                           const s4u::NetZone* world) {
  if (machine.kind == "torus") return make_torus(machine, world);
  if (machine.kind == "dragonfly") return make_dragonfly(engine, machine, world);
  if (machine.kind == "fat_tree") return make_fat_tree(machine, world);
  refuse(machine.text, "unknown kind `" + machine.kind + "`: use torus, dragonfly or fat_tree");
}

}  // namespace

extern "C" void load_platform(const s4u::Engine& engine);
void load_platform(const s4u::Engine& engine) {
  const char* text = std::getenv("TAILRACE_MACHINE");
  const Machine machine = parse(text == nullptr ? "" : text);
  const char* storage = std::getenv("TAILRACE_STORAGE");
  if (storage == nullptr) {
    make_machine(engine, machine, nullptr);
    return;
  }
  s4u::NetZone* world = s4u::create_full_zone("world");
  s4u::NetZone* nodes = make_machine(engine, machine, world);
  scale::Storage::attach(storage, world, nodes, engine.get_host_count());
  world->seal();
}
