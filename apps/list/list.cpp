// SPDX-License-Identifier: BSD-3-Clause
// Prints the tables of methods and kernels of this build as JSON: {"tables": [{"title", "entries":
// [{"name", "summary", "applies"}]}]}. Calls no MPI function.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/json_text.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/step_file.hpp"
#include "server/transport.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/file.hpp"
#include "tailrace/hints.hpp"
#include "tailrace/reduction.hpp"

namespace {

using tailrace::json_quoted;

struct Entry {
  std::string_view name, summary;
  std::string applies;
};

struct Table {
  std::string_view title;
  std::vector<Entry> entries;
};

// Which of the file methods work in this build, or when they apply.
Table file_table(std::string_view title, std::span<const tailrace::FileMethodInfo> methods) {
  Table table{title, {}};
  for (const auto& method : methods) {
    table.entries.push_back({method.name, method.summary,
                             method.available ? std::string(method.applies) : "not in this build"});
  }
  return table;
}

Table hints_table() {
  Table table{"Hints of a file (Hints, TAILRACE_HINTS), allowed values and default", {}};
  for (const auto& hint : tailrace::hint_table()) {
    table.entries.push_back({hint.name, hint.summary,
                             hint.default_value.empty()
                                 ? std::string(hint.allowed)
                                 : fmt::format("{}; {}", hint.allowed, hint.default_value)});
  }
  return table;
}

Table reduction_table() {
  Table table{"Methods of allreduce, reduce and barrier (Reduction)", {}};
  for (const auto& method : tailrace::reduction_methods()) {
    table.entries.push_back({method.name, method.summary, std::string(method.applies)});
  }
  return table;
}

void add_server_tables(std::vector<Table>& all) {
  Table transports{"Transports to I/O servers (transport)", {}};
  for (const auto& transport : tailrace::server::transport_table()) {
    transports.entries.push_back({transport.name, transport.summary, ""});
  }
  Table formats{"Formats of files that servers write (format)", {}};
  for (const auto& format : tailrace::server::format_table()) {
    formats.entries.push_back(
        {format.name, format.summary, fmt::format("paths ending in {}", format.suffix)});
  }
  Table stages{"Stages of products, settings and defaults (stages)", {}};
  for (const auto& stage : tailrace::server::stage_table()) {
    stages.entries.push_back({stage.name, stage.summary, stage.settings});
  }
  all.insert(all.end(), {transports, formats, stages});
}

std::vector<Table> tables() {
  std::vector<Table> all(4);
  all[0].title = "Methods of exchange (Exchange, output)";
  for (const auto& method : tailrace::move_methods()) {
    all[0].entries.push_back({method.name, method.summary, std::string(method.applies)});
  }
  all[1].title = "Methods of the transposes inside a parallel transform (fft.method)";
  for (const auto& method : tailrace::fft::exchange_methods()) {
    all[1].entries.push_back({method.name, method.summary, std::string(method.applies)});
  }
  all[2].title = "1D transform kernels (fft.kernel)";
  for (const auto& kernel : tailrace::fft::kernels()) {
    all[2].entries.push_back(
        {kernel.name, kernel.summary, kernel.available ? "built in" : "not in this build"});
  }
  all[3].title = "Output modes (output.mode)";
  all[3].entries = {
      {"hidden", "copies to a staging buffer; a thread of each writer rank writes meanwhile",
       "always; needs memory for buffered_files copies of the output"},
      {"synchronous", "writes while the simulation waits", "always; for comparison"},
      {"none", "writes no fields", "always; for comparison"},
  };
  all.push_back(reduction_table());
  all.push_back(file_table("Strategies for files (hint strategy)", tailrace::file_strategies()));
  all.push_back(file_table("Back ends for files (hint back_end)", tailrace::file_back_ends()));
  all.push_back(hints_table());
  add_server_tables(all);
  return all;
}

}  // namespace

int main() {
  std::string out = "{\"tables\": [";
  const char* between_tables = "";
  for (const Table& table : tables()) {
    out += fmt::format("{}\n {{\"title\": {}, \"entries\": [", between_tables,
                       json_quoted(table.title));
    const char* between_entries = "";
    for (const Entry& entry : table.entries) {
      out += fmt::format("{}\n  {{\"name\": {}, \"summary\": {}, \"applies\": {}}}",
                         between_entries, json_quoted(entry.name), json_quoted(entry.summary),
                         json_quoted(entry.applies));
      between_entries = ",";
    }
    out += "]}";
    between_tables = ",";
  }
  fmt::print("{}\n]}}\n", out);
  return 0;
}
