// SPDX-License-Identifier: BSD-3-Clause
#include "server/pending_step.hpp"

#include <cstring>

#include <fmt/format.h>

namespace tailrace::server {
namespace {

[[noreturn]] void refuse(const Arrival& arrival, const char* what) {
  throw Error(Errc::corrupt, fmt::format("a packet of {} bytes from client {} {}",
                                         arrival.bytes.size(), arrival.client, what));
}

}  // namespace

PacketHeader header_of(const Arrival& arrival) {
  PacketHeader header;
  if (arrival.bytes.size() < sizeof(header)) refuse(arrival, "is shorter than its header");
  std::memcpy(&header, arrival.bytes.data(), sizeof(header));
  const auto size = std::ssize(arrival.bytes);
  const auto table = header.num_boxes * static_cast<std::int64_t>(sizeof(PacketBox));
  if (header.mark != PacketHeader::packet_mark || header.bytes != size) {
    refuse(arrival, "has a damaged header");
  }
  if (header.description_bytes < 0 || header.num_boxes < 0 || header.boxes_at < 0 ||
      header.boxes_at + table > size ||
      static_cast<std::int64_t>(sizeof(header)) + header.description_bytes > size) {
    refuse(arrival, "has tables that reach beyond its end");
  }
  return header;
}

void add_packet(PendingStep& step, const Arrival& arrival, double now) {
  const auto header = header_of(arrival);
  if (step.arrivals.empty()) step.first_s = now;
  if (header.description_bytes > 0) {
    step.description = to_description(
        arrival.bytes.subspan(sizeof(header), static_cast<std::size_t>(header.description_bytes)));
    step.expected = header.expected;
  }
  step.arrivals.push_back(arrival);
}

Step whole_step(const PendingStep& pending) {
  Step step = pending.description->step;
  for (const auto& arrival : pending.arrivals) {
    const auto header = header_of(arrival);
    const auto* at = arrival.bytes.data() + header.boxes_at;
    for (std::int64_t b = 0; b < header.num_boxes; ++b, at += sizeof(PacketBox)) {
      PacketBox entry;
      std::memcpy(&entry, at, sizeof(entry));
      const auto variable = static_cast<std::size_t>(entry.variable);
      if (variable >= step.fields.size()) refuse(arrival, "names a variable that there is not");
      auto& field = step.fields[variable];
      const auto bytes = entry.box.num_items() * item_bytes(field.type);
      if (entry.at < 0 || entry.at + bytes > std::ssize(arrival.bytes)) {
        refuse(arrival, "has a box that reaches beyond its end");
      }
      field.parts.push_back({entry.box, arrival.bytes.data() + entry.at});
    }
  }
  return step;
}

}  // namespace tailrace::server
