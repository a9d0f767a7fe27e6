// SPDX-License-Identifier: BSD-3-Clause
// Prints the tables of methods and kernels of this build as JSON: {"tables": [{"name", "title",
// "columns", "entries": [{"name", "summary", "applies", "available"}]}]}; `columns` are the titles
// of the entries' name, summary and applies. Calls no MPI function.
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "chooser/environment.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/output_options.hpp"
#include "tailrace/reduction.hpp"

namespace {

using Json = nlohmann::ordered_json;

struct Entry {
  std::string_view name, summary;
  std::string applies = {};
  bool available = true;
};

struct Table {
  std::string_view name, title;
  std::string_view name_title, applies_title;
  std::vector<Entry> entries = {};
};

Table methods_table(std::string_view name, std::string_view title,
                    std::span<const tailrace::MethodInfo> methods,
                    std::string_view name_title = "method",
                    std::string_view applies_title = "applies") {
  Table table{name, title, name_title, applies_title};
  for (const auto& method : methods) {
    table.entries.push_back(
        {method.name, method.summary, std::string(method.applies), method.available});
  }
  return table;
}

Table servers_table() {
  return {"servers",
          "Who writes output (servers)",
          "servers",
          "applies",
          {{"none", "the compute ranks, inside write (the reference)", "always"},
           {"hidden", "threads of compute ranks, from staging buffers",
            "always; needs memory for buffered_files copies of the output"},
           {"thread", "a server thread on each node", "always"},
           {"process", "a supervised server process, which outlives the job", "one node"},
           {"N", "N dedicated ranks", "more than N ranks"},
           {"N per node", "N dedicated ranks on each node", "more than N ranks per node"},
           {"auto", "none, thread or 1 per node, depending on disk and cores", "always"}}};
}

Table hints_table() {
  Table table{"hints", "Hints of a file (Hints, TAILRACE_HINTS)", "hint",
              "allowed values; default"};
  for (const auto& hint : tailrace::hint_table()) {
    table.entries.push_back({hint.name, hint.summary,
                             hint.default_value.empty()
                                 ? std::string(hint.allowed)
                                 : fmt::format("{}; {}", hint.allowed, hint.default_value)});
  }
  return table;
}

Table environment_table() {
  Table table{"environment", "Environment variables", "variable", "values"};
  for (const auto& variable : tailrace::environment_variables) {
    table.entries.push_back(
        {variable.name, variable.meaning,
         variable.default_value.empty()
             ? std::string(variable.values)
             : fmt::format("{} (default: {})", variable.values, variable.default_value)});
  }
  return table;
}

std::vector<Table> tables() {
  return {
      methods_table("exchange", "Methods of exchange (Exchange, output)", tailrace::move_methods()),
      methods_table("transposes",
                    "Methods of the transposes inside a parallel transform (fft.method)",
                    tailrace::fft::exchange_methods()),
      methods_table("kernels", "1D transform kernels (fft.kernel)", tailrace::fft::kernels(),
                    "kernel"),
      methods_table("stores", "How transforms write blocks and fields",
                    tailrace::fft::store_kinds(), "stores"),
      methods_table("reads", "How transforms read blocks and fields", tailrace::fft::read_kinds(),
                    "reads"),
      methods_table("copies", "Kinds of strided copies (exchange, staging)",
                    tailrace::copy_methods(), "copies", "written at once"),
      servers_table(),
      methods_table("reductions", "Methods of allreduce, reduce and barrier (Reduction)",
                    tailrace::reduction_methods()),
      methods_table("strategies", "Strategies for files (hint strategy)",
                    tailrace::file_strategies(), "strategy"),
      methods_table("back_ends", "Back ends for files (hint back_end)", tailrace::file_back_ends(),
                    "back end"),
      hints_table(),
      environment_table(),
      methods_table("transports", "Transports to I/O servers (transport)", tailrace::transports(),
                    "transport", ""),
      methods_table("formats", "Formats of files that servers write (format)",
                    tailrace::file_formats(), "format", "paths that end in"),
      methods_table("stages", "Stages of products (stages)", tailrace::product_stages(), "stage",
                    "settings and defaults"),
  };
}

Json in_json(const Table& table) {
  auto entries = Json::array();
  for (const auto& entry : table.entries) {
    entries.push_back({{"name", entry.name},
                       {"summary", entry.summary},
                       {"applies", entry.applies},
                       {"available", entry.available}});
  }
  return {{"name", table.name},
          {"title", table.title},
          {"columns", {table.name_title, "what it does", table.applies_title}},
          {"entries", std::move(entries)}};
}

}  // namespace

int main() {
  auto found = Json::array();
  for (const auto& table : tables()) found.push_back(in_json(table));
  const auto text = Json{{"tables", std::move(found)}}.dump(1) + "\n";
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::perror("tailrace-list: standard output");
  return 1;
}
