// SPDX-License-Identifier: BSD-3-Clause
#include "server/packet.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/bytes.hpp"
#include "core/round_up.hpp"
#include "server/formats/compressors.hpp"
#include "store/write_plan.hpp"
#include "tailrace/more/hints.hpp"

namespace tailrace {

template <class Bytes>
static void travel(Bytes& bytes, Product& product) {
  bytes(product.name, product.variables, product.stages, product.path, product.format,
        product.every);
}

template <class Bytes>
static void travel(Bytes& bytes, OutputOptions& options) {
  bytes(options.priority, options.on_failure, options.fallback_path, options.retry_s,
        options.format, options.variables, options.stripe_bytes, options.checksums,
        options.compress, options.products, options.series);
  auto hints = options.hints.pairs();
  bytes(hints);
  if constexpr (Bytes::reads) {
    for (const auto& [name, value] : hints) options.hints.set(name, value);
  }
}

template <class Bytes>
static void travel(Bytes& bytes, Coordinate& coordinate) {
  bytes(coordinate.name, coordinate.values, coordinate.attributes, coordinate.typed,
        coordinate.dims, coordinate.extents, coordinate.characters);
}

namespace server {

template <class Bytes>
static void travel(Bytes& bytes, Field& field) {
  bytes(field.name, field.type, field.dims, field.extents, field.attributes, field.compress);
}

template <class Bytes>
static void travel(Bytes& bytes, Description& description) {
  auto& step = description.step;
  bytes(description.stream, description.options, step.path, step.step, step.number,
        step.coordinates, step.attributes, step.scales, step.group_attributes, step.fields,
        step.encoding);
}

Step bare_step(const OutputOptions& options, const std::string& path, std::int64_t number,
               const FileContents& contents) {
  Step step;
  step.encoding = parse_compress(options.compress);
  step.path = path;
  step.step = contents.step;
  step.number = number;
  step.coordinates = contents.coordinates;
  step.attributes = contents.attributes;
  step.scales = contents.scales;
  step.group_attributes = contents.group_attributes;
  for (const auto& variable : contents.variables) {
    step.fields.push_back({variable.name,
                           variable.type,
                           variable.dims,
                           variable.layout->global_extents(),
                           variable.attributes,
                           variable.compress,
                           {}});
  }
  return step;
}

FileContents contents_of(const Step& step, std::vector<Layout>& layouts) {
  FileContents contents{step.coordinates, {},          step.attributes,
                        step.step,        step.scales, step.group_attributes};
  for (const auto& field : step.fields) {
    const auto dims = static_cast<std::size_t>(field.num_dims());
    layouts.push_back(from_boxes(std::span(field.extents.data(), dims), {{}}));
  }
  for (std::size_t f = 0; f < step.fields.size(); ++f) {
    const auto& field = step.fields[f];
    contents.variables.push_back(
        {field.name, field.type, field.dims, &layouts[f], {}, nullptr, field.attributes});
  }
  return contents;
}

std::vector<std::byte> to_bytes(const std::string& stream, const OutputOptions& options,
                                const std::string& path, std::int64_t number,
                                const FileContents& contents, bool lowered) {
  Description description{stream, options, bare_step(options, path, number, contents)};
  for (auto& field : description.step.fields) {
    if (lowered && field.type == ItemType::float64) field.type = ItemType::float32;
  }
  return bytes_from(description);
}

Description to_description(std::span<const std::byte> bytes) {
  return value_from<Description>(bytes);
}

namespace {

std::ptrdiff_t boxes_at(std::ptrdiff_t description_bytes) {
  return round_up(static_cast<std::ptrdiff_t>(sizeof(PacketHeader)) + description_bytes,
                  line_bytes);
}

// Items of large packets begin at pages, as direct writes want it.
std::ptrdiff_t payload_at(const PacketPlan::Packet& packet, std::ptrdiff_t description_bytes) {
  const auto table = std::ssize(packet.pieces) * static_cast<std::ptrdiff_t>(sizeof(PacketBox));
  const auto unit = packet.payload_bytes >= page_bytes ? page_bytes : line_bytes;
  return round_up(boxes_at(description_bytes) + table, unit);
}

// Who describes steps to `server`.
int first_client(const Team& team, int server) {
  return team.by_node ? team.clients_of_server(server).front() : 0;
}

}  // namespace

std::ptrdiff_t stripe_of_shares(const OutputOptions& options) {
  for (const auto& [name, value] : options.hints.pairs()) {
    if (name == "striping_unit") return parse_bytes(value, name);
  }
  return options.stripe_bytes;
}

Box PacketPlan::share(const Variable& variable, int server) const {
  Box box{variable.layout->num_dims(), {}, variable.layout->global_extents()};
  const auto rows = store::share_of_writer(box.extents, box.num_dims, item_bytes(variable.type),
                                           stripe_bytes_, server, team_.num_servers());
  box.start[0] = rows.start;
  box.extents[0] = rows.count;
  return box;
}

PacketPlan::PacketPlan(const FileContents& contents, const Team& team, std::ptrdiff_t stripe_bytes,
                       bool lowered)
    : team_(team),
      stripe_bytes_(stripe_bytes),
      lowered_(lowered),
      shapes_(store::shapes_of(contents, team.client)) {
  const int own_server = team.by_node ? team.server_of_client(team.client) : -1;
  for (int server = 0; server < team.num_servers(); ++server) {
    if (team.by_node && server != own_server) continue;
    Packet packet{server, false, 0, 0, {}};
    for (std::size_t v = 0; v < shapes_.size(); ++v) {
      const auto& layout = *contents.variables[v].layout;
      const Box whole{layout.num_dims(), {}, layout.global_extents()};
      add_pieces(packet, v, team.by_node ? whole : share(contents.variables[v], server));
    }
    packet.describes = team.client == first_client(team, server);
    if (!packet.pieces.empty() || packet.describes || team.by_node) {
      packets_.push_back(std::move(packet));
    }
  }
  count_clients(contents);
}

void PacketPlan::count_clients(const FileContents& contents) {
  for (auto& packet : packets_) {
    if (!packet.describes) continue;
    if (team_.by_node) {
      packet.expected = std::ssize(team_.clients_of_server(packet.server));
      continue;
    }
    std::set<int> clients{0};
    for (const auto& variable : contents.variables) {
      const auto box = share(variable, packet.server);
      if (box.empty()) continue;
      const auto touching = variable.layout->ranks_touching(box);
      clients.insert(touching.begin(), touching.end());
    }
    packet.expected = std::ssize(clients);
  }
}

void PacketPlan::add_pieces(Packet& packet, std::size_t variable, const Box& share) {
  const auto& shape = shapes_[variable];
  for (std::size_t b = 0; b < shape.boxes.size(); ++b) {
    const Box part = intersect(shape.boxes[b], share);
    if (part.empty()) continue;
    auto piece = make_piece(variable, b, part);
    const bool lower = lowered_ && shape.type == ItemType::float64;
    const auto bytes =
        part.num_items() * (lower ? item_bytes(ItemType::float32) : item_bytes(shape.type));
    packet.payload_bytes =
        round_up(packet.payload_bytes, bytes >= page_bytes ? page_bytes : line_bytes);
    piece.entry.at = packet.payload_bytes;
    packet.payload_bytes += bytes;
    packet.pieces.push_back(std::move(piece));
  }
}

PacketPlan::Piece PacketPlan::make_piece(std::size_t variable, std::size_t box,
                                         const Box& part) const {
  const auto& shape = shapes_[variable];
  const auto item = item_bytes(shape.type);
  const auto& memory = shape.memory.boxes[box];
  Piece piece;
  piece.entry.variable = static_cast<std::int64_t>(variable);
  piece.entry.box = part;
  Box rows = part;
  if (lowered_ && shape.type == ItemType::float64) {
    rows.extents[0] = 1;
    piece.step = memory.strides[0] * item;
  }
  piece.copy = StridedCopy(rows, side_of(rows, shape.boxes[box], memory), packed_side(rows), item);
  return piece;
}

std::ptrdiff_t PacketPlan::bytes_of(const Packet& packet, std::ptrdiff_t description_bytes) {
  return payload_at(packet, packet.describes ? description_bytes : 0) + packet.payload_bytes;
}

std::vector<StridedCopy*> PacketPlan::copies() {
  std::vector<StridedCopy*> all;
  for (auto& packet : packets_) {
    for (auto& piece : packet.pieces) all.push_back(&piece.copy);
  }
  return all;
}

std::ptrdiff_t PacketPlan::payload_bytes() const {
  std::ptrdiff_t bytes = 0;
  for (const auto& packet : packets_) bytes += packet.payload_bytes;
  return bytes;
}

// One index of the slowest axis after another, so that little more memory is needed.
void PacketPlan::lower(const Piece& piece, const std::byte* from, std::byte* to) {
  const auto& box = piece.entry.box;
  const auto items = static_cast<std::size_t>(box.num_items() / box.extents[0]);
  row_.resize(std::max(row_.size(), items));
  auto* values = reinterpret_cast<float*>(to);
  for (std::ptrdiff_t i = 0; i < box.extents[0]; ++i, values += items) {
    piece.copy.run(from + i * piece.step, reinterpret_cast<std::byte*>(row_.data()));
    std::transform(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(items), values,
                   [](double value) { return static_cast<float>(value); });
  }
}

void PacketPlan::pack(const Packet& packet, const FileContents& contents,
                      std::span<const std::byte> description, std::int32_t stream,
                      std::int64_t number, std::span<std::byte> memory, DeviceCopies& copies) {
  if (!packet.describes) description = {};
  PacketHeader header;
  header.bytes = std::ssize(memory);
  header.stream = stream;
  header.client = team_.client;
  header.number = number;
  header.description_bytes = std::ssize(description);
  header.boxes_at = boxes_at(std::ssize(description));
  header.num_boxes = std::ssize(packet.pieces);
  header.expected = packet.expected;
  std::memcpy(memory.data(), &header, sizeof(header));
  if (!description.empty()) {
    std::memcpy(memory.data() + sizeof(header), description.data(), description.size());
  }
  auto* entry = memory.data() + header.boxes_at;
  const auto payload = payload_at(packet, std::ssize(description));
  for (const auto& piece : packet.pieces) {
    PacketBox placed = piece.entry;
    placed.at += payload;
    std::memcpy(entry, &placed, sizeof(placed));
    entry += sizeof(placed);
    const auto& variable = contents.variables[static_cast<std::size_t>(placed.variable)];
    if (lowered_ && variable.type == ItemType::float64) {
      lower(piece, static_cast<const std::byte*>(variable.data), memory.data() + placed.at);
    } else {
      copies.run(piece.copy, variable.data, memory.data() + placed.at);
    }
  }
}

}  // namespace server
}  // namespace tailrace
