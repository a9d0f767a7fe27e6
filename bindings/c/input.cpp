// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/input.hpp"
#include "tailrace/c/input.h"

#include <algorithm>

#include <fmt/format.h>

#include "call_check.hpp"
#include "calls/statistics.hpp"
#include "item_type.hpp"
#include "objects.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::c {

namespace {

struct InputObject {
  std::shared_ptr<Comm> comm;
  std::shared_ptr<Trace> trace;  ///< it must outlive the input
  std::string path;
  Input input;
};

}  // namespace

TAILRACE_BEHIND(tailrace_input, InputObject)

namespace {

std::int64_t copy_values(const std::vector<double>& found, std::int64_t max_values,
                         double* values) {
  const auto count = std::min<std::int64_t>(std::ssize(found), max_values);
  list(values, max_values, "values");
  std::copy_n(found.begin(), count, values);
  return std::ssize(found);
}

void input_open(Ref<tailrace_comm> ranks, const char* path, const tailrace_input_options& wanted,
                tailrace_input** input) {
  std::shared_ptr<Trace> trace;
  InputOptions chosen;
  prepare_together(*ranks, [&] {
    require_address(input, "input");
    require(!text(path, "path").empty(), "path is empty");
    trace = get_if(wanted.trace);
    chosen = {.group_size = wanted.group_size,
              .buffer_bytes = wanted.buffer_bytes,
              .checks = wanted.checks != 0,
              .hints = hints_of(wanted.hints),
              .trace = trace.get()};
  });
  with_place(path, -1, [&] {
    put(input, std::make_shared<InputObject>(
                   InputObject{ranks, trace, path, Input(*ranks, path, chosen)}));
  });
}

int64_t input_num_names(Ref<tailrace_input> input) { return std::ssize(input->input.names()); }

std::string input_name(Ref<tailrace_input> input, int64_t index) {
  const auto names = input->input.names();
  require(index >= 0 && index < std::ssize(names), "the file has no variable of this index");
  return names[static_cast<std::size_t>(index)];
}

void input_extents(Ref<tailrace_input> input, const char* name, int* num_dims,
                   int64_t extents[TAILRACE_MAX_DIMS]) {
  const auto found = input->input.extents(text(name, "name"));
  *num_dims = static_cast<int>(found.size());
  std::ranges::copy(found, extents);
}

int input_type(Ref<tailrace_input> input, const char* name) {
  return static_cast<int>(input->input.type(text(name, "name")));
}

bool input_has_attribute(Ref<tailrace_input> input, const char* name) {
  return input->input.has_attribute(text(name, "name"));
}

int64_t input_attribute_int(Ref<tailrace_input> input, const char* name) {
  return input->input.attribute_int(text(name, "name"));
}

double input_attribute_double(Ref<tailrace_input> input, const char* name) {
  return input->input.attribute_double(text(name, "name"));
}

std::string input_attribute_text(Ref<tailrace_input> input, const char* name) {
  return input->input.attribute_string(text(name, "name"));
}

int64_t input_attribute_doubles(Ref<tailrace_input> input, const char* name, int64_t max_values,
                                double* values) {
  return copy_values(input->input.attribute_doubles(text(name, "name")), max_values, values);
}

int64_t input_attribute_numbers(Ref<tailrace_input> input, const char* name, int type,
                                int64_t max_values, void* values) {
  const auto items = item_type_of(type);
  const auto found = input->input.attribute_numbers(text(name, "name"), items);
  const auto count = std::ssize(found) / item_bytes(items);
  list(static_cast<const std::byte*>(values), max_values, "values");
  std::copy_n(found.begin(), std::min<std::int64_t>(count, max_values) * item_bytes(items),
              static_cast<std::byte*>(values));
  return count;
}

std::string input_attribute_text_of_list(Ref<tailrace_input> input, const char* name, int64_t index,
                                         int64_t* num_values) {
  const auto found = input->input.attribute_strings(text(name, "name"));
  *num_values = std::ssize(found);
  require(index >= 0 && index < *num_values, "the attribute has no text of this index");
  return found[static_cast<std::size_t>(index)];
}

int64_t input_coordinate(Ref<tailrace_input> input, const char* name, int64_t max_values,
                         double* values) {
  return copy_values(input->input.coordinate(text(name, "name")), max_values, values);
}

void input_read(Ref<tailrace_input> made, const char* name, int type, const tailrace_layout* layout,
                const tailrace_memory* memory, void* data, int64_t num_items) {
  std::shared_ptr<Layout> whole;
  Memory place{{}, num_items};
  prepare_together(*made->comm, [&] {
    require_address(name, "name");
    item_type_of(type);
    whole = get(layout);
    list(static_cast<const std::byte*>(data), num_items, "data");
    if (memory == nullptr) return;
    place = *get(memory);
    if (place.num_items == num_items) return;
    throw Error(Errc::invalid_input,
                fmt::format("variable {}: an array of {} items is given, its memory has {}", name,
                            num_items, place.num_items));
  });
  with_place(made->path, -1,
             [&] { made->input.read(name, item_type_of(type), *whole, place, data); });
}

void input_read_all(Ref<tailrace_input> made, const char* name, int type, void* data,
                    int64_t num_items) {
  prepare_together(*made->comm, [&] {
    require_address(name, "name");
    item_type_of(type);
    list(static_cast<const std::byte*>(data), num_items, "data");
    const auto extents = made->input.extents(name);
    Box whole{static_cast<int>(std::min<std::size_t>(extents.size(), max_dims)), {}, {}};
    std::copy_n(extents.begin(), whole.num_dims, whole.extents.begin());
    const auto wanted = whole.num_items();
    if (num_items == wanted) return;
    throw Error(Errc::invalid_input, fmt::format("variable {} has {} items, an array of {} is "
                                                 "given",
                                                 name, wanted, num_items));
  });
  with_place(made->path, -1, [&] { made->input.read_all(name, item_type_of(type), data); });
}

tailrace_input_statistics input_get_statistics(Ref<tailrace_input> input) {
  return input_statistics_of(input->input.statistics());
}

void input_get_total_statistics(Ref<tailrace_input> made, tailrace_input_statistics* statistics) {
  check_call(*made->comm, [&] { require_address(statistics, "statistics"); });
  *statistics = input_statistics_of(made->input.total_statistics());
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;

tailrace_input_options tailrace_input_defaults(void) {
  const InputOptions options;
  return {.group_size = options.group_size,
          .buffer_bytes = options.buffer_bytes,
          .checks = options.checks ? 1 : 0,
          .hints = nullptr,
          .trace = nullptr};
}

#include "calls/input.inc"
