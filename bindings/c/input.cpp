// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/input.hpp"
#include "tailrace/c/input.h"

#include <algorithm>

#include <fmt/format.h>

#include "call_check.hpp"
#include "core/agreed_error.hpp"
#include "item_type.hpp"
#include "objects.hpp"

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

void copy_values(const std::vector<double>& found, std::int64_t max_values, double* values,
                 std::int64_t* num_values) {
  require_address(num_values, "num_values");
  const auto count = std::min<std::int64_t>(std::ssize(found), max_values);
  list(values, max_values, "values");
  std::copy_n(found.begin(), count, values);
  *num_values = std::ssize(found);
}

tailrace_input_statistics statistics_of(const InputStatistics& seen) {
  return {.opens = seen.opens,
          .reads = seen.reads,
          .bytes_read = seen.bytes_read,
          .checked = seen.checked,
          .io_s = seen.io_s,
          .move_s = seen.move_s};
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

tailrace_input_options tailrace_input_defaults(void) {
  const InputOptions options;
  return {.group_size = options.group_size,
          .buffer_bytes = options.buffer_bytes,
          .checks = options.checks ? 1 : 0,
          .hints = nullptr,
          .trace = nullptr};
}

int tailrace_input_open(const tailrace_comm* comm, const char* path,
                        const tailrace_input_options* options, tailrace_input** input) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    const auto wanted = options != nullptr ? *options : tailrace_input_defaults();
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
  });
}

int tailrace_input_destroy(tailrace_input** input) {
  return guarded(__func__, [&] {
    require_address(input, "input");
    end(input);
  });
}

int tailrace_input_num_names(const tailrace_input* input, int64_t* num_names) {
  return guarded(__func__, [&] {
    require_address(num_names, "num_names");
    *num_names = std::ssize(get(input)->input.names());
  });
}

int tailrace_input_name(const tailrace_input* input, int64_t index, const char** name) {
  return guarded(__func__, [&] {
    require_address(name, "name");
    const auto names = get(input)->input.names();
    require(index >= 0 && index < std::ssize(names), "the file has no variable of this index");
    *name = text_of(input, names[static_cast<std::size_t>(index)]);
  });
}

int tailrace_input_extents(const tailrace_input* input, const char* name, int* num_dims,
                           int64_t extents[TAILRACE_MAX_DIMS]) {
  return guarded(__func__, [&] {
    require_address(num_dims, "num_dims");
    require_address(extents, "extents");
    const auto found = get(input)->input.extents(text(name, "name"));
    *num_dims = static_cast<int>(found.size());
    std::ranges::copy(found, extents);
  });
}

int tailrace_input_type(const tailrace_input* input, const char* name, int* type) {
  return guarded(__func__, [&] {
    require_address(type, "type");
    *type = static_cast<int>(get(input)->input.type(text(name, "name")));
  });
}

int tailrace_input_has_attribute(const tailrace_input* input, const char* name, int* has) {
  return guarded(__func__, [&] {
    require_address(has, "has");
    *has = get(input)->input.has_attribute(text(name, "name")) ? 1 : 0;
  });
}

int tailrace_input_attribute_int(const tailrace_input* input, const char* name, int64_t* value) {
  return guarded(__func__, [&] {
    require_address(value, "value");
    *value = get(input)->input.attribute_int(text(name, "name"));
  });
}

int tailrace_input_attribute_double(const tailrace_input* input, const char* name, double* value) {
  return guarded(__func__, [&] {
    require_address(value, "value");
    *value = get(input)->input.attribute_double(text(name, "name"));
  });
}

int tailrace_input_attribute_text(const tailrace_input* input, const char* name,
                                  const char** value) {
  return guarded(__func__, [&] {
    require_address(value, "value");
    *value = text_of(input, get(input)->input.attribute_string(text(name, "name")));
  });
}

int tailrace_input_attribute_doubles(const tailrace_input* input, const char* name,
                                     int64_t max_values, double* values, int64_t* num_values) {
  return guarded(__func__, [&] {
    copy_values(get(input)->input.attribute_doubles(text(name, "name")), max_values, values,
                num_values);
  });
}

int tailrace_input_attribute_numbers(const tailrace_input* input, const char* name, int type,
                                     int64_t max_values, void* values, int64_t* num_values) {
  return guarded(__func__, [&] {
    require_address(num_values, "num_values");
    const auto items = item_type_of(type);
    const auto found = get(input)->input.attribute_numbers(text(name, "name"), items);
    const auto count = std::ssize(found) / item_bytes(items);
    list(static_cast<const std::byte*>(values), max_values, "values");
    std::copy_n(found.begin(), std::min<std::int64_t>(count, max_values) * item_bytes(items),
                static_cast<std::byte*>(values));
    *num_values = count;
  });
}

int tailrace_input_attribute_text_of_list(const tailrace_input* input, const char* name,
                                          int64_t index, const char** value, int64_t* num_values) {
  return guarded(__func__, [&] {
    require_address(value, "value");
    require_address(num_values, "num_values");
    const auto found = get(input)->input.attribute_strings(text(name, "name"));
    *num_values = std::ssize(found);
    require(index >= 0 && index < *num_values, "the attribute has no text of this index");
    *value = text_of(input, found[static_cast<std::size_t>(index)]);
  });
}

int tailrace_input_coordinate(const tailrace_input* input, const char* name, int64_t max_values,
                              double* values, int64_t* num_values) {
  return guarded(__func__, [&] {
    copy_values(get(input)->input.coordinate(text(name, "name")), max_values, values, num_values);
  });
}

int tailrace_input_read(tailrace_input* input, const char* name, int type,
                        const tailrace_layout* layout, const tailrace_memory* memory, void* data,
                        int64_t num_items) {
  return guarded(__func__, [&] {
    const auto made = get(input);
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
  });
}

int tailrace_input_read_all(tailrace_input* input, const char* name, int type, void* data,
                            int64_t num_items) {
  return guarded(__func__, [&] {
    const auto made = get(input);
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
  });
}

int tailrace_input_get_statistics(const tailrace_input* input,
                                  tailrace_input_statistics* statistics) {
  return guarded(__func__, [&] {
    require_address(statistics, "statistics");
    *statistics = statistics_of(get(input)->input.statistics());
  });
}

int tailrace_input_get_total_statistics(const tailrace_input* input,
                                        tailrace_input_statistics* statistics) {
  return guarded(__func__, [&] {
    const auto made = get(input);
    check_call(*made->comm, [&] { require_address(statistics, "statistics"); });
    *statistics = statistics_of(made->input.total_statistics());
  });
}
