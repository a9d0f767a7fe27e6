// SPDX-License-Identifier: BSD-3-Clause
// A simulated machine, made from the text in the environment variable TAILRACE_MACHINE:
//   torus:XxYxZ                             nodes along the axes, x fastest
//   dragonfly:GROUPSxCHASSISxROUTERSxNODES  :links=a/b/c are the parallel links between groups,
//                                           chassis and routers
//   fat_tree:NODESxSWITCHES...              from the leaves up; :up=1xK are the links upward
// and settings, each after a colon: bandwidth=GB/s (torus: one for each axis, as in 9.4/4.7/9.4),
// latency=s, loopback=GB/s (between ranks of a node), cores=N.
// `smpirun -platform libtailrace_machine.so` loads it. Nodes are hosts n0, n1, ...
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

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

struct Machine {
  std::string text, kind;
  Numbers extents;
  Numbers bandwidth{10}, links{1, 1, 1}, up;
  double latency_s = 1e-6, loopback = 20;
  int cores = 64;
};

Numbers numbers(const Machine& machine, const std::string& text, char separator) {
  Numbers all;
  for (const std::string& word : split(text, separator)) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || value <= 0) {
      refuse(machine.text, "expected positive numbers, found `" + text + "`");
    }
    all.push_back(value);
  }
  return all;
}

Machine parse(const std::string& text) {
  Machine machine;
  machine.text = text;
  const auto words = split(text, ':');
  if (words.size() < 2) refuse(text, "expected KIND:EXTENTS, as in torus:8x8x8");
  machine.kind = words[0];
  machine.extents = numbers(machine, words[1], 'x');
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (key == "bandwidth") {
      machine.bandwidth = numbers(machine, value, '/');
    } else if (key == "latency") {
      machine.latency_s = numbers(machine, value, '/').front();
    } else if (key == "loopback") {
      machine.loopback = numbers(machine, value, '/').front();
    } else if (key == "cores") {
      machine.cores = static_cast<int>(numbers(machine, value, '/').front());
    } else if (key == "links") {
      machine.links = numbers(machine, value, '/');
    } else if (key == "up") {
      machine.up = numbers(machine, value, 'x');
    } else {
      refuse(text, "unknown setting `" + key + "`: use bandwidth, latency, loopback, cores, " +
                       "links (dragonfly) or up (fat_tree)");
    }
  }
  return machine;
}

s4u::ClusterCallbacks callbacks(const Machine& machine) {
  const int cores = machine.cores;
  const double loopback = machine.loopback * 1e9;
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
        s4u::Link* link = s4u::Link::by_name_or_null(name + way);
        if (link != nullptr) link->set_bandwidth(bandwidth[axis] * 1e9);
      }
    }
  }
}

void make_torus(Machine machine) {
  machine.bandwidth.resize(machine.extents.size(), machine.bandwidth.back());
  const std::vector<unsigned long> extents(machine.extents.begin(), machine.extents.end());
  s4u::create_torus_zone("torus", nullptr, extents, callbacks(machine),
                         machine.bandwidth.front() * 1e9, machine.latency_s,
                         s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  set_bandwidths(extents, machine.bandwidth);
}

void make_dragonfly(const Machine& machine) {
  if (machine.extents.size() != 4 || machine.links.size() != 3) {
    refuse(machine.text, "expected dragonfly:GROUPSxCHASSISxROUTERSxNODES and links=a/b/c");
  }
  const auto count = [](const Numbers& from, std::size_t i) {
    return static_cast<unsigned int>(from[i]);
  };
  const Numbers& e = machine.extents;
  const Numbers& l = machine.links;
  const s4u::DragonflyParams shape({count(e, 0), count(l, 0)}, {count(e, 1), count(l, 1)},
                                   {count(e, 2), count(l, 2)}, count(e, 3));
  s4u::create_dragonfly_zone("dragonfly", nullptr, shape, callbacks(machine),
                             machine.bandwidth.front() * 1e9, machine.latency_s,
                             s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
}

void make_fat_tree(Machine machine) {
  const std::size_t levels = machine.extents.size();
  machine.up.resize(levels, 1);
  machine.up.front() = 1;
  const std::vector<unsigned int> down(machine.extents.begin(), machine.extents.end());
  const std::vector<unsigned int> up(machine.up.begin(), machine.up.end());
  const s4u::FatTreeParams shape(static_cast<unsigned int>(levels), down, up,
                                 std::vector<unsigned int>(levels, 1));
  s4u::create_fatTree_zone("fat_tree", nullptr, shape, callbacks(machine),
                           machine.bandwidth.front() * 1e9, machine.latency_s,
                           s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
}

}  // namespace

extern "C" void load_platform(const s4u::Engine& engine);
void load_platform(const s4u::Engine&) {
  const char* text = std::getenv("TAILRACE_MACHINE");
  const Machine machine = parse(text == nullptr ? "" : text);
  if (machine.kind == "torus") return make_torus(machine);
  if (machine.kind == "dragonfly") return make_dragonfly(machine);
  if (machine.kind == "fat_tree") return make_fat_tree(machine);
  refuse(machine.text, "unknown kind `" + machine.kind + "`: use torus, dragonfly or fat_tree");
}
