// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/hints.hpp"

#include "objects.hpp"

namespace tailrace::c {

namespace {

Made<tailrace_hints> hints_create() { return std::make_shared<Hints>(); }

void hints_set(Ref<tailrace_hints> hints, const char* name, const char* value) {
  hints->set(text(name, "name"), text(value, "value"));
}

void hints_info(int index, const char** name, const char** default_value, const char** allowed,
                const char** summary) {
  table_row(hint_table(), index, name, summary);
  const auto& row = hint_table()[static_cast<std::size_t>(index)];
  *default_value = row.default_value.data();
  *allowed = row.allowed.data();
}

}  // namespace

}  // namespace tailrace::c

#include "calls/hints.inc"
