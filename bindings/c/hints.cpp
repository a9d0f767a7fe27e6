// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/hints.hpp"

#include "objects.hpp"

using namespace tailrace;
using namespace tailrace::c;

int tailrace_hints_create(tailrace_hints** hints) {
  return guarded(__func__, [&] {
    require_address(hints, "hints");
    put(hints, std::make_shared<Hints>());
  });
}

int tailrace_hints_set(tailrace_hints* hints, const char* name, const char* value) {
  return guarded(__func__, [&] { get(hints)->set(text(name, "name"), text(value, "value")); });
}

int tailrace_hints_destroy(tailrace_hints** hints) {
  return guarded(__func__, [&] {
    require_address(hints, "hints");
    end(hints);
  });
}

int tailrace_hints_info(int index, const char** name, const char** default_value,
                        const char** allowed, const char** summary) {
  return guarded(__func__, [&] {
    require_address(default_value, "default_value");
    require_address(allowed, "allowed");
    table_row(hint_table(), index, name, summary);
    const auto& row = hint_table()[static_cast<std::size_t>(index)];
    *default_value = row.default_value.data();
    *allowed = row.allowed.data();
  });
}
