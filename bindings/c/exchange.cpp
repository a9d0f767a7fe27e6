// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/c/exchange.h"

#include <optional>

#include <fmt/format.h>

#include "call_check.hpp"
#include "objects.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::c {

namespace {

struct ExchangeObject {
  std::shared_ptr<Comm> comm;
  Exchange exchange;
  ExchangeShape shape;
  std::ptrdiff_t from_items, to_items;  ///< of the arrays on both sides
};

}  // namespace

TAILRACE_BEHIND(tailrace_exchange, ExchangeObject)

namespace {

Memory memory_of(const tailrace_memory* memory, const std::vector<Box>& boxes) {
  return memory == nullptr ? Memory::dense(boxes) : *get(memory);
}

void check_size(const ExchangeShape& shape, std::ptrdiff_t wanted, std::int64_t given,
                const char* side) {
  const bool fits = shape.in_place ? given >= wanted : given == wanted;
  if (fits) return;
  throw Error(Errc::invalid_input,
              fmt::format("the {} holds {} items, but the exchange was created for {}", side, given,
                          wanted));
}

/// The fields of a call, checked_fields.
struct Fields {
  std::span<const void* const> sources;
  std::span<void* const> destinations;
};

Fields checked_fields(const ExchangeObject& made, int num_fields, const void* const* sources,
                      std::int64_t num_source_items, void* const* destinations,
                      std::int64_t num_destination_items) {
  Fields fields;
  check_call(*made.comm, [&] {
    fields.sources = list(sources, num_fields, "sources");
    fields.destinations = list(destinations, num_fields, "destinations");
    check_size(made.shape, made.from_items, num_source_items, "source");
    check_size(made.shape, made.to_items, num_destination_items, "destination");
    if (made.from_items > 0) list_of(sources, num_fields, "source");
    if (made.to_items > 0) list_of(destinations, num_fields, "destination");
  });
  return fields;
}

Made<tailrace_node_array> node_array_create(Ref<tailrace_comm> ranks, int64_t num_bytes) {
  return std::make_shared<NodeArray>(*ranks, num_bytes);
}

void* node_array_data(Ref<tailrace_node_array> array) { return array->data(); }

void exchange_create(Ref<tailrace_comm> ranks, const tailrace_layout* from,
                     const tailrace_memory* from_memory, const tailrace_layout* to,
                     const tailrace_memory* to_memory, const tailrace_exchange_options& wanted,
                     tailrace_exchange** exchange) {
  const ExchangeShape shape{.item_bytes = wanted.item_bytes,
                            .num_fields = wanted.num_fields,
                            .sources_in_node_arrays = wanted.sources_in_node_arrays != 0,
                            .in_place = wanted.in_place != 0};
  std::shared_ptr<Layout> source, destination;
  Memory before, after;
  prepare_together(*ranks, [&] {
    require_address(exchange, "exchange");
    source = get(from);
    destination = get(to);
    require(
        source->num_ranks() == ranks->num_ranks() && destination->num_ranks() == ranks->num_ranks(),
        "the layouts must have as many ranks as the communicator");
    before = memory_of(from_memory, source->boxes(ranks->rank()));
    after = memory_of(to_memory, destination->boxes(ranks->rank()));
  });
  std::optional<Plan> plan;
  prepare_together(*ranks, [&] { plan.emplace(*source, *destination, ranks->rank()); });
  const auto from_items = before.num_items, to_items = after.num_items;
  Exchange made(*ranks, std::move(*plan), std::move(before), std::move(after), shape,
                text_or(wanted.method, "auto"));
  put(exchange, std::make_shared<ExchangeObject>(
                    ExchangeObject{ranks, std::move(made), shape, from_items, to_items}));
}

void exchange_expose(Ref<tailrace_exchange> exchange, const tailrace_node_array* array) {
  exchange->exchange.expose(*get(array));
}

void exchange_run_fields(Ref<tailrace_exchange> made, int num_fields, const void* const* sources,
                         int64_t num_source_items, void* const* destinations,
                         int64_t num_destination_items) {
  const auto fields = checked_fields(*made, num_fields, sources, num_source_items, destinations,
                                     num_destination_items);
  made->exchange.run(fields.sources, fields.destinations);
}

void exchange_start_fields(Ref<tailrace_exchange> made, int num_fields, const void* const* sources,
                           int64_t num_source_items, void* const* destinations,
                           int64_t num_destination_items) {
  const auto fields = checked_fields(*made, num_fields, sources, num_source_items, destinations,
                                     num_destination_items);
  made->exchange.start(fields.sources, fields.destinations);
}

void exchange_run(Ref<tailrace_exchange> made, const void* source, int64_t num_source_items,
                  void* destination, int64_t num_destination_items) {
  const auto fields =
      checked_fields(*made, 1, &source, num_source_items, &destination, num_destination_items);
  made->exchange.run(fields.sources, fields.destinations);
}

void exchange_start(Ref<tailrace_exchange> made, const void* source, int64_t num_source_items,
                    void* destination, int64_t num_destination_items) {
  const auto fields =
      checked_fields(*made, 1, &source, num_source_items, &destination, num_destination_items);
  made->exchange.start(fields.sources, fields.destinations);
}

bool exchange_progress(Ref<tailrace_exchange> exchange) { return exchange->exchange.progress(); }

void exchange_finish(Ref<tailrace_exchange> exchange) { exchange->exchange.finish(); }

std::string exchange_method(Ref<tailrace_exchange> exchange) {
  return std::string(exchange->exchange.method());
}

std::string exchange_why(Ref<tailrace_exchange> exchange) {
  return std::string(exchange->exchange.why());
}

int exchange_num_ranks_together(Ref<tailrace_exchange> exchange) {
  return exchange->exchange.num_ranks_together();
}

int64_t exchange_buffer_bytes(Ref<tailrace_exchange> exchange) {
  return exchange->exchange.buffer_bytes();
}

void exchange_method_info(int index, const char** name, const char** summary) {
  table_row(move_methods(), index, name, summary);
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

tailrace_exchange_options tailrace_exchange_defaults(void) {
  const ExchangeShape shape;
  return {shape.item_bytes, shape.num_fields, 0, 0, "auto"};
}

#include "calls/exchange.inc"
