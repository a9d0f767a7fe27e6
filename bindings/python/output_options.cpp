// SPDX-License-Identifier: BSD-3-Clause
// Settings of Output, Session and Session.open.
#include "output_options.hpp"

#include <algorithm>
#include <iterator>

#include "contents.hpp"
#include "stages.hpp"
#include "tailrace/more/nearest_word.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::python {

namespace {

Product product_of(nb::handle given) {
  Product product;
  for (const auto [key, value] : nb::cast<nb::dict>(given)) {
    const auto name = text_of(key);
    const auto what = "Product." + name;
    const auto take = [&](auto& setting) {
      setting = Given<std::remove_reference_t<decltype(setting)>>(value).take(what);
    };
    if (name == "name")
      take(product.name);
    else if (name == "variables")
      take(product.variables);
    else if (name == "stages")
      take(product.stages);
    else if (name == "path")
      product.path = path_of(value);
    else if (name == "format")
      take(product.format);
    else if (name == "every")
      take(product.every);
    else
      refuse(what + ": there is no such setting");
  }
  return product;
}

std::vector<Product> products_of(nb::handle given) {
  constexpr const char* needed = "products: needs a list of Product";
  if (nb::hasattr(given, "_asdict")) refuse(needed);
  std::vector<Product> products;
  for (const auto product : nb::iter(given)) {
    if (!nb::hasattr(product, "_asdict")) refuse(needed);
    products.push_back(product_of(product.attr("_asdict")()));
  }
  return products;
}

Trace* trace_of(nb::handle given, nb::list& kept) {
  Trace* trace = nullptr;
  if (!nb::try_cast(given, trace)) refuse("trace: needs a Trace or None, not " + repr_of(given));
  kept.append(given);
  return trace;
}

using Options = OutputOptions;

struct Keyword {
  std::string_view name;
  void (*take)(Options&, std::string_view name, nb::handle given, nb::list& kept);
};

template <auto setting>
void plain(Options& options, std::string_view name, nb::handle given, nb::list&) {
  auto& value = options.*setting;
  value = Given<std::remove_reference_t<decltype(value)>>(given).take(name);
}

template <auto setting>
void as_path(Options& options, std::string_view, nb::handle given, nb::list&) {
  options.*setting = path_of(given);
}

constexpr Keyword keywords[] = {
    {"servers", plain<&Options::servers>},
    {"placement", plain<&Options::placement>},
    {"transport", plain<&Options::transport>},
    {"memory_bytes", plain<&Options::memory_bytes>},
    {"senders_at_once", plain<&Options::senders_at_once>},
    {"chunk_bytes", plain<&Options::chunk_bytes>},
    {"progress", plain<&Options::progress>},
    {"threads", plain<&Options::threads>},
    {"watchdog_s", plain<&Options::watchdog_s>},
    {"folder", as_path<&Options::folder>},
    {"functions", [](Options& options, std::string_view, nb::handle given,
                     nb::list& kept) { options.functions.stages = stages_of(given, kept); }},
    {"tasks", [](Options& options, std::string_view, nb::handle given,
                 nb::list& kept) { options.functions.tasks = tasks_of(given, kept); }},
    {"server_program", plain<&Options::server_program>},
    {"trace", [](Options& options, std::string_view, nb::handle given,
                 nb::list& kept) { options.trace = trace_of(given, kept); }},
    {"strategy", plain<&Options::strategy>},
    {"hints", [](Options& options, std::string_view, nb::handle given,
                 nb::list&) { options.hints = hints_of(given); }},
    {"writers", plain<&Options::writers>},
    {"stripe_bytes", plain<&Options::stripe_bytes>},
    {"buffered_files", plain<&Options::buffered_files>},
    {"method", plain<&Options::method>},
    {"checksums", plain<&Options::checksums>},
    {"priority", plain<&Options::priority>},
    {"when_full",
     [](Options& options, std::string_view name, nb::handle given, nb::list&) {
       const auto word = Given<std::string>(given).take(name);
       options.when_full = pick<WhenFull>(name, word, when_full_words);
     }},
    {"stall_budget", plain<&Options::stall_budget>},
    {"wait_limit_s", plain<&Options::wait_limit_s>},
    {"spill_folder", as_path<&Options::spill_folder>},
    {"on_failure",
     [](Options& options, std::string_view name, nb::handle given, nb::list&) {
       const auto word = Given<std::string>(given).take(name);
       options.on_failure = pick<OnFailure>(name, word, on_failure_words);
     }},
    {"retry_s", plain<&Options::retry_s>},
    {"fallback_path", as_path<&Options::fallback_path>},
    {"format", plain<&Options::format>},
    {"compress", plain<&Options::compress>},
    {"variables", plain<&Options::variables>},
    {"products", [](Options& options, std::string_view, nb::handle given,
                    nb::list&) { options.products = products_of(given); }},
    {"series", as_path<&Options::series>},
};

[[noreturn]] void refuse_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& keyword : keywords) names.push_back(keyword.name);
  refuse(fmt::format("{}: there is no such setting; did you mean {}?", name,
                     nearest_word(name, names)));
}

}  // namespace

OutputOptions options_of(const nb::kwargs& settings, nb::list& kept) {
  OutputOptions options;
  for (const auto [key, given] : settings) {
    const auto name = text_of(key);
    const auto* keyword = std::ranges::find(keywords, std::string_view(name), &Keyword::name);
    if (keyword == std::end(keywords)) refuse_name(name);
    keyword->take(options, name, given, kept);
  }
  return options;
}

}  // namespace tailrace::python
