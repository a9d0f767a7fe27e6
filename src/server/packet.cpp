// SPDX-License-Identifier: BSD-3-Clause
#include "server/packet.hpp"

#include "core/bytes.hpp"

namespace tailrace {

template <class Bytes>
static void travel(Bytes& bytes, Product& product) {
  bytes(product.name, product.variables, product.stages, product.path, product.format,
        product.every);
}

template <class Bytes>
static void travel(Bytes& bytes, StreamOptions& options) {
  bytes(options.priority, options.on_failure, options.fallback_path, options.retry_s,
        options.format, options.variables, options.output.stripe_bytes, options.output.checksums,
        options.products);
  auto hints = options.output.hints.pairs();
  bytes(hints);
  if constexpr (Bytes::reads) {
    for (const auto& [name, value] : hints) options.output.hints.set(name, value);
  }
}

template <class Bytes>
static void travel(Bytes& bytes, Coordinate& coordinate) {
  bytes(coordinate.name, coordinate.values, coordinate.attributes);
}

namespace server {

template <class Bytes>
static void travel(Bytes& bytes, Field& field) {
  bytes(field.name, field.type, field.dims, field.extents, field.attributes);
}

template <class Bytes>
static void travel(Bytes& bytes, Description& description) {
  auto& step = description.step;
  bytes(description.stream, description.options, step.path, step.step, step.number,
        step.coordinates, step.attributes, step.fields);
}

std::vector<std::byte> to_bytes(const std::string& stream, const StreamOptions& options,
                                const std::string& path, std::int64_t number,
                                const FileContents& contents, bool lowered) {
  Description description{
      stream,
      options,
      {path, contents.step, number, contents.coordinates, contents.attributes, {}, {}, {}}};
  for (const auto& variable : contents.variables) {
    const bool lower = lowered && variable.type == ItemType::float64;
    description.step.fields.push_back({variable.name,
                                       lower ? ItemType::float32 : variable.type,
                                       variable.dims,
                                       variable.layout->global_extents(),
                                       variable.attributes,
                                       {}});
  }
  ByteWriter to;
  travel(to, description);
  return to.take();
}

Description to_description(std::span<const std::byte> bytes) {
  return ByteReader(bytes).get<Description>();
}

}  // namespace server
}  // namespace tailrace
