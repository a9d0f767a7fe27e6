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
  throw Error(
      Errc::invalid_input,
      fmt::format("the {} holds {} items, the exchange was made for {}", side, given, wanted));
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

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

int tailrace_node_array_create(const tailrace_comm* comm, int64_t num_bytes,
                               tailrace_node_array** array) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    require_address(array, "array");
    put(array, std::make_shared<NodeArray>(*ranks, num_bytes));
  });
}

int tailrace_node_array_data(const tailrace_node_array* array, void** data) {
  return guarded(__func__, [&] {
    require_address(data, "data");
    *data = get(array)->data();
  });
}

int tailrace_node_array_destroy(tailrace_node_array** array) {
  return guarded(__func__, [&] {
    require_address(array, "array");
    end(array);
  });
}

tailrace_exchange_options tailrace_exchange_defaults(void) {
  const ExchangeShape shape;
  return {shape.item_bytes, shape.num_fields, 0, 0, "auto"};
}

int tailrace_exchange_create(const tailrace_comm* comm, const tailrace_layout* from,
                             const tailrace_memory* from_memory, const tailrace_layout* to,
                             const tailrace_memory* to_memory,
                             const tailrace_exchange_options* options,
                             tailrace_exchange** exchange) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    const auto wanted = options != nullptr ? *options : tailrace_exchange_defaults();
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
      require(source->num_ranks() == ranks->num_ranks() &&
                  destination->num_ranks() == ranks->num_ranks(),
              "the layouts must be of as many ranks as the communicator");
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
  });
}

int tailrace_exchange_destroy(tailrace_exchange** exchange) {
  return guarded(__func__, [&] {
    require_address(exchange, "exchange");
    end(exchange);
  });
}

int tailrace_exchange_expose(tailrace_exchange* exchange, const tailrace_node_array* array) {
  return guarded(__func__, [&] { get(exchange)->exchange.expose(*get(array)); });
}

int tailrace_exchange_run_fields(tailrace_exchange* exchange, int num_fields,
                                 const void* const* sources, int64_t num_source_items,
                                 void* const* destinations, int64_t num_destination_items) {
  return guarded(__func__, [&] {
    const auto made = get(exchange);
    const auto fields = checked_fields(*made, num_fields, sources, num_source_items, destinations,
                                       num_destination_items);
    made->exchange.run(fields.sources, fields.destinations);
  });
}

int tailrace_exchange_start_fields(tailrace_exchange* exchange, int num_fields,
                                   const void* const* sources, int64_t num_source_items,
                                   void* const* destinations, int64_t num_destination_items) {
  return guarded(__func__, [&] {
    const auto made = get(exchange);
    const auto fields = checked_fields(*made, num_fields, sources, num_source_items, destinations,
                                       num_destination_items);
    made->exchange.start(fields.sources, fields.destinations);
  });
}

int tailrace_exchange_run(tailrace_exchange* exchange, const void* source, int64_t num_source_items,
                          void* destination, int64_t num_destination_items) {
  return guarded(__func__, [&] {
    const auto made = get(exchange);
    const auto fields =
        checked_fields(*made, 1, &source, num_source_items, &destination, num_destination_items);
    made->exchange.run(fields.sources, fields.destinations);
  });
}

int tailrace_exchange_start(tailrace_exchange* exchange, const void* source,
                            int64_t num_source_items, void* destination,
                            int64_t num_destination_items) {
  return guarded(__func__, [&] {
    const auto made = get(exchange);
    const auto fields =
        checked_fields(*made, 1, &source, num_source_items, &destination, num_destination_items);
    made->exchange.start(fields.sources, fields.destinations);
  });
}

int tailrace_exchange_progress(tailrace_exchange* exchange, int* done) {
  return guarded(__func__, [&] {
    require_address(done, "done");
    *done = get(exchange)->exchange.progress() ? 1 : 0;
  });
}

int tailrace_exchange_finish(tailrace_exchange* exchange) {
  return guarded(__func__, [&] { get(exchange)->exchange.finish(); });
}

int tailrace_exchange_method(const tailrace_exchange* exchange, const char** name) {
  return guarded(__func__, [&] {
    require_address(name, "name");
    *name = text_of(exchange, std::string(get(exchange)->exchange.method()));
  });
}

int tailrace_exchange_why(const tailrace_exchange* exchange, const char** text) {
  return guarded(__func__, [&] {
    require_address(text, "text");
    *text = text_of(exchange, std::string(get(exchange)->exchange.why()));
  });
}

int tailrace_exchange_num_ranks_together(const tailrace_exchange* exchange, int* num_ranks) {
  return guarded(__func__, [&] {
    require_address(num_ranks, "num_ranks");
    *num_ranks = get(exchange)->exchange.num_ranks_together();
  });
}

int tailrace_exchange_buffer_bytes(const tailrace_exchange* exchange, int64_t* num_bytes) {
  return guarded(__func__, [&] {
    require_address(num_bytes, "num_bytes");
    *num_bytes = get(exchange)->exchange.buffer_bytes();
  });
}

int tailrace_exchange_method_info(int index, const char** name, const char** summary) {
  return guarded(__func__, [&] { table_row(move_methods(), index, name, summary); });
}
