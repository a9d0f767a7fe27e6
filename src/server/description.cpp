// SPDX-License-Identifier: BSD-3-Clause
#include "server/description.hpp"

#include "core/bytes.hpp"

namespace tailrace::server {
namespace {

void put(ByteWriter& to, const Attributes& attributes) {
  to.put(attributes.size());
  for (const auto& [name, value] : attributes) {
    to.put(name);
    to.put(value.index());
    if (const auto* number = std::get_if<std::int64_t>(&value)) to.put(*number);
    if (const auto* number = std::get_if<double>(&value)) to.put(*number);
    if (const auto* text = std::get_if<std::string>(&value)) to.put(*text);
    if (const auto* numbers = std::get_if<std::vector<double>>(&value)) to.put_all(*numbers);
  }
}

Attributes get_attributes(ByteReader& from) {
  Attributes attributes(from.get<std::size_t>());
  for (auto& [name, value] : attributes) {
    name = from.get_text();
    switch (from.get<std::size_t>()) {
      case 0:
        value = from.get<std::int64_t>();
        break;
      case 1:
        value = from.get<double>();
        break;
      case 2:
        value = from.get_text();
        break;
      default:
        value = from.get_all<double>();
    }
  }
  return attributes;
}

void put(ByteWriter& to, const std::vector<std::string>& texts) {
  to.put(texts.size());
  for (const auto& text : texts) to.put(text);
}

std::vector<std::string> get_texts(ByteReader& from) {
  std::vector<std::string> texts(from.get<std::size_t>());
  for (auto& text : texts) text = from.get_text();
  return texts;
}

void put(ByteWriter& to, const StreamOptions& options) {
  to.put(options.priority);
  to.put(options.on_failure);
  to.put(options.fallback_path);
  to.put(options.retry_s);
  to.put(options.format);
  to.put(options.variables);
  to.put(options.output.stripe_bytes);
  to.put(options.output.checksums);
  to.put(options.output.hints.pairs().size());
  for (const auto& [name, value] : options.output.hints.pairs()) {
    to.put(name);
    to.put(value);
  }
  to.put(options.products.size());
  for (const auto& product : options.products) {
    to.put(product.name);
    put(to, product.variables);
    put(to, product.stages);
    to.put(product.path);
    to.put(product.format);
    to.put(product.every);
  }
}

StreamOptions get_options(ByteReader& from) {
  StreamOptions options;
  options.priority = from.get<int>();
  options.on_failure = from.get<OnFailure>();
  options.fallback_path = from.get_text();
  options.retry_s = from.get<double>();
  options.format = from.get_text();
  options.variables = from.get<bool>();
  options.output.stripe_bytes = from.get<std::ptrdiff_t>();
  options.output.checksums = from.get<bool>();
  for (auto hints = from.get<std::size_t>(); hints > 0; --hints) {
    const auto name = from.get_text();
    options.output.hints.set(name, from.get_text());
  }
  options.products.resize(from.get<std::size_t>());
  for (auto& product : options.products) {
    product.name = from.get_text();
    product.variables = get_texts(from);
    product.stages = get_texts(from);
    product.path = from.get_text();
    product.format = from.get_text();
    product.every = from.get<std::int64_t>();
  }
  return options;
}

}  // namespace

std::vector<std::byte> to_bytes(const std::string& stream, const StreamOptions& options,
                                const std::string& path, std::int64_t number,
                                const FileContents& contents, bool lowered) {
  ByteWriter to;
  to.put(stream);
  put(to, options);
  to.put(path);
  to.put(contents.step);
  to.put(number);
  to.put(contents.coordinates.size());
  for (const auto& coordinate : contents.coordinates) {
    to.put(coordinate.name);
    to.put_all(coordinate.values);
    put(to, coordinate.attributes);
  }
  put(to, contents.attributes);
  to.put(contents.variables.size());
  for (const auto& variable : contents.variables) {
    const bool lower = lowered && variable.type == ItemType::float64;
    to.put(variable.name);
    to.put(lower ? ItemType::float32 : variable.type);
    put(to, variable.dims);
    to.put(variable.layout->global_extents());
    put(to, variable.attributes);
  }
  return to.take();
}

Description to_description(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  Description description;
  description.stream = from.get_text();
  description.options = get_options(from);
  Step& step = description.step;
  step.path = from.get_text();
  step.step = from.get<std::int64_t>();
  step.number = from.get<std::int64_t>();
  step.coordinates.resize(from.get<std::size_t>());
  for (auto& coordinate : step.coordinates) {
    coordinate.name = from.get_text();
    coordinate.values = from.get_all<double>();
    coordinate.attributes = get_attributes(from);
  }
  step.attributes = get_attributes(from);
  step.fields.resize(from.get<std::size_t>());
  for (auto& field : step.fields) {
    field.name = from.get_text();
    field.type = from.get<ItemType>();
    field.dims = get_texts(from);
    field.extents = from.get<Index>();
    field.attributes = get_attributes(from);
  }
  return description;
}

}  // namespace tailrace::server
