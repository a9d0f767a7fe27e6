// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "file/strategy.hpp"
#include "random_problems.hpp"
#include "server/kinds_here.hpp"
#include "server/transport.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/input.hpp"
#include "tailrace/session.hpp"

namespace tailrace {

/// Who writes, for an output without a session or of one.
struct Variant {
  std::string strategy;  // without a session, else ""
  std::string servers, transport, placement = "spread";

  std::string name() const {
    if (strategy.empty()) {
      return fmt::format("servers {}, transport {}{}", servers, transport,
                         placement == "spread" ? "" : ", " + placement);
    }
    return fmt::format("{} {}", servers, strategy);
  }
  int num_serving_ranks() const { return std::atoi(servers.c_str()); }
};

/// All variants that there are here. Collective.
inline std::vector<Variant> all_variants(const Comm& comm) {
  std::vector<Variant> variants;
  for (const std::string servers : {"none", "hidden"}) {
    variants.push_back({"auto", servers, ""});
    for (const auto& entry : file::strategy_table()) {
      if (std::ranges::find(output_strategies, entry.name) != output_strategies.end())
        variants.push_back({std::string(entry.name), servers, ""});
    }
  }
  for (const auto& kind : testing::kinds_here(comm)) {
    if (kind != "none" && kind != "hidden") variants.push_back({"auto", kind, ""});
    variants.push_back({"", kind, "auto"});
  }
  for (int servers = 1; servers <= 2 && servers < comm.num_ranks(); ++servers) {
    for (const auto& transport : server::transport_table()) {
      variants.push_back({"", std::to_string(servers), transport.name});
    }
  }
  const NodeMap nodes(comm);
  if (nodes.num_nodes() == 1) return variants;
  const auto last = nodes.ranks_on(nodes.num_nodes() - 1).size();
  for (const auto& transport : server::transport_table()) {
    variants.push_back({"", std::to_string(last), transport.name, "own_nodes"});
  }
  return variants;
}

inline Hints random_write_hints(Dice& dice, int num_ranks) {
  Hints hints{{"sync", "false"}};
  const auto maybe = [&](const char* name, const std::string& value) {
    if (dice.chance(30)) hints.set(name, value);
  };
  constexpr std::array sizes{4096, 6000, 10240, 16384, 65536};
  constexpr std::array switches{"enable", "disable", "automatic"};
  constexpr std::array direct{"true", "false", "automatic"};
  maybe("cb_align", std::to_string(dice.below(3)));
  maybe("cb_nodes", std::to_string(dice.between(1, num_ranks)));
  maybe("cb_buffer_size", std::to_string(dice.one_of(sizes)));
  maybe("striping_unit", std::to_string(dice.one_of(sizes)));
  maybe("group_size", std::to_string(dice.between(1, num_ranks)));
  maybe("romio_ds_write", dice.one_of(switches));
  maybe("direct_io", dice.one_of(direct));
  maybe("back_end", dice.one_of(std::array{"posix", "uring", "limited:1G"}));
  return hints;
}

inline OutputOptions random_output(Dice& dice, const Comm& comm) {
  OutputOptions options;
  constexpr std::array stripes{0, 1032, 4096, 65536, 1 << 20};
  std::vector<std::string> methods{"auto", "alltoallv"};
  if (NodeMap(comm).num_nodes() == 1) methods.insert(methods.end(), {"push", "node_direct"});
  options.hints = random_write_hints(dice, comm.num_ranks());
  options.writers = static_cast<int>(dice.chance(50) ? 0 : dice.between(1, comm.num_ranks()));
  options.stripe_bytes = dice.one_of(stripes);
  // Owned stripes must not be that short.
  const bool owned = std::ranges::any_of(options.hints.pairs(), [](const auto& pair) {
    return pair.first == "cb_align" && pair.second == "2";
  });
  if (owned && options.stripe_bytes == 1032) options.stripe_bytes = 4096;
  options.buffered_files = static_cast<int>(dice.between(1, 3));
  options.method = dice.one_of(methods);
  options.checksums = dice.chance(80);
  if (dice.chance(40)) {
    constexpr std::array ways{"deflate:1", "deflate:4 shuffle=no", "deflate:1 chunk=2x3x4",
                              "deflate:2 chunk=5x7", "deflate:1 chunk_bytes=64"};
    options.compress = dice.one_of(ways);
  }
  return options;
}

inline OutputOptions random_session(Dice& dice, const Variant& variant, const std::string& folder) {
  OutputOptions options;
  options.servers = variant.servers;
  options.transport = variant.transport;
  options.placement = variant.placement;
  // The symmetric heap of SHMEM is small unless the environment says otherwise.
  options.memory_bytes = variant.transport == "shmem" ? 4 << 20
                         : dice.chance(50)            ? 8 << 20
                                                      : 64 << 20;
  options.senders_at_once = static_cast<int>(dice.between(1, 4));
  options.chunk_bytes = dice.chance(50) ? 4 << 20 : dice.between(1, 16) * 4096;
  options.threads = static_cast<int>(dice.between(1, 2));
  options.folder = folder;
  return options;
}

/// A product that keeps all bytes: Zarr by any codec, or the other formats as they are.
inline Product random_product(Dice& dice) {
  Product product{.name = "copy", .path = "{path}_copy.zarr"};
  constexpr std::array codecs{"none", "zstd", "gzip", "bz2", "rle", "zfp"};
  if (dice.chance(30)) {
    product.path = dice.chance(50) ? "{path}_copy.h5" : "{path}_copy.nc";
    if (dice.chance(40)) product.stages = {"compress codec=deflate level=1 chunk_bytes=4096"};
    return product;
  }
  const std::string codec = dice.one_of(codecs);
  std::string stage = "compress codec=" + codec;
  if (codec != "zfp" && dice.chance(50)) stage += dice.chance(50) ? " shuffle=yes" : " shuffle=no";
  const auto chunk_bytes = dice.between(64, 20000);
  if (dice.chance(60)) {
    stage += fmt::format(" chunk_bytes={} shard_bytes={}", chunk_bytes,
                         chunk_bytes * dice.between(1, 10));
  }
  product.stages = {stage};
  return product;
}

inline InputOptions random_input(Dice& dice, int num_ranks) {
  InputOptions options;
  constexpr std::array buffers{1000, 4096, 100000, 16 << 20};
  constexpr std::array switches{"enable", "disable", "automatic"};
  options.group_size = static_cast<int>(dice.below(num_ranks + 1));
  options.buffer_bytes = dice.one_of(buffers);
  options.checks = dice.chance(80);
  if (dice.chance(50)) options.hints.set("romio_ds_read", dice.one_of(switches));
  if (dice.chance(30)) options.hints.set("ind_rd_buffer_size", "4096");
  return options;
}

}  // namespace tailrace
