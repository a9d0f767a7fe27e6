// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/zarr_series.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/agreed_error.hpp"
#include "core/refuse_input.hpp"
#include "core/whole_file.hpp"
#include "server/formats/chunk_codec.hpp"
#include "server/formats/partial_folder.hpp"
#include "store/series_index.hpp"
#include "store/series_paths.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace::server {
namespace {

using Json = nlohmann::ordered_json;
using Role = ZarrStoreArray::Role;

constexpr const char* head_name = "series.json";

/// Stands for the number of steps in metadata that is kept.
constexpr std::ptrdiff_t growing = std::numeric_limits<std::ptrdiff_t>::max();
/// Steps whose numbers lie in one chunk.
constexpr std::size_t numbers_in_chunk = 1024;

std::string with_num_steps(std::string text, std::size_t num_steps) {
  const auto before = std::string("\"shape\":["), mark = before + std::to_string(growing);
  const auto after = before + std::to_string(num_steps);
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), after);
  }
  return text;
}

/// Of links to the stores of the steps, and of what a series says of itself: next to the store, for
/// readers of Zarr to find in it what they know.
std::string steps_folder(const std::string& path) {
  return store::series_folder(followed_links(path));
}

std::string head_path(const std::string& path) { return steps_folder(path) + "/" + head_name; }

// ---- the head ----

Json json_of(const ZarrSeriesArray& array) {
  const auto dims = static_cast<std::size_t>(array.grid.num_dims);
  const auto list = [&](const Index& index) {
    return std::vector(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(dims));
  };
  std::vector<int> fill;
  for (const auto byte : array.fill) fill.push_back(std::to_integer<int>(byte));
  return {{"name", array.name},
          {"role", static_cast<int>(array.role)},
          {"type", type_name(array.type)},
          {"has_time", array.has_time},
          {"extents", list(array.grid.extents)},
          {"chunk", list(array.grid.chunk)},
          {"shard", list(array.grid.shard)},
          {"codecs", array.codecs},
          {"fill", fill},
          {"json", array.json}};
}

Index index_of(const Json& json) {
  Index index{};
  std::ranges::copy(json.get<std::vector<std::ptrdiff_t>>(), index.begin());
  return index;
}

ZarrSeriesArray array_from(const Json& json) {
  ZarrSeriesArray array;
  array.name = json.at("name");
  array.role = static_cast<Role>(json.at("role").get<int>());
  array.type = find_type(json.at("type").get<std::string>()).value();
  array.has_time = json.at("has_time");
  array.grid = {static_cast<int>(json.at("extents").size()), index_of(json.at("extents")),
                index_of(json.at("chunk")), index_of(json.at("shard"))};
  array.codecs = json.at("codecs");
  std::size_t at = 0;
  for (const auto& byte : json.at("fill")) array.fill.at(at++) = std::byte(byte.get<int>());
  array.json = json.at("json");
  return array;
}

std::string text_of(const ZarrSeriesHead& head) {
  Json arrays = Json::array();
  for (const auto& array : head.arrays) arrays.push_back(json_of(array));
  return Json{{"form", head.form},
              {"encoding", head.encoding},
              {"checksums", head.checksums},
              {"json", head.json},
              {"arrays", arrays}}
      .dump();
}

/// Nothing if there is no series; throws (EEXIST) if something else has the name.
std::optional<ZarrSeriesHead> head_of(const std::string& path) {
  const auto from = head_path(path);
  if (!store::leads_to_file(from)) {
    if (!store::leads_to_file(path)) return std::nullopt;
    throw Error(Errc::io,
                fmt::format("{} is a store of another kind: give the series another name, or move "
                            "the store away",
                            path),
                EEXIST);
  }
  ZarrSeriesHead head;
  try {
    const auto json = Json::parse(read_whole_file(from));
    head = {json.at("form"), json.at("encoding"), json.at("checksums"), {}, json.at("json")};
    for (const auto& array : json.at("arrays")) head.arrays.push_back(array_from(array));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Errc::corrupt, fmt::format("{}: {}", from, error.what()));
  }
  return head;
}

// ---- the steps ----

/// The stores that the links lead to, by their numbers, absolute names; without those that are gone
/// or have no name yet. Throws `Errc::io`.
std::map<std::int64_t, std::string> linked_stores(const std::string& path) {
  std::map<std::int64_t, std::string> stores;
  const auto folder = steps_folder(path);
  for (const auto& [number, text] : store::numbered_links(folder, "")) {
    if (!store::leads_to_file(fmt::format("{}/{}/{}", folder, number, metadata_name))) continue;
    stores[number] = store::target_of(folder, text);
  }
  return stores;
}

/// The stores of all steps, in their order.
std::vector<std::string> stores_of(const std::string& path) {
  std::vector<std::string> stores;
  for (const auto& [number, store] : linked_stores(path)) stores.push_back(store);
  return stores;
}

/// A number of a step, from its store: in the file "c", or in "c/0" if it has an axis.
store::ItemBytes number_in(const std::string& store, const ZarrSeriesArray& array) {
  const auto path =
      fmt::format("{}/{}/c{}", store, array.name, array.grid.num_dims > 0 ? "/0" : "");
  const auto size = static_cast<std::size_t>(item_bytes(array.type));
  const auto text = read_whole_file(path, size);
  if (text.size() < size) throw Error(Errc::corrupt, path + ": a number is missing");
  store::ItemBytes item{};
  std::memcpy(item.data(), text.data(), size);
  return item;
}

double number_of_step(const std::string& store, const ZarrSeriesArray& array) {
  const auto item = number_in(store, array);
  return with_item_type(array.type, [&]<class Item>(std::type_identity<Item>) {
    Item value{};
    std::memcpy(&value, item.data(), sizeof(Item));
    if constexpr (ComplexItem<Item>) {
      return static_cast<double>(value.real());
    } else {
      return static_cast<double>(value);
    }
  });
}

// ---- files of the series ----

/// A series in `folder` that has, or gets, the name `path`.
struct Place {
  std::string folder, path;
  std::string folder_of(const ZarrSeriesArray& array) const { return folder + "/" + array.name; }
};

// What a killed run has left may be there.
void set_link(const std::string& text, const std::string& link) {
  std::error_code failed;
  if (std::filesystem::read_symlink(link, failed).string() == text && !failed) return;
  store::remove_link(link);
  store::make_link(text, link);
}

void link_field(const Place& place, const ZarrSeriesArray& array, std::size_t step,
                const std::string& store) {
  const auto in_store = fmt::format("{}/{}/c{}", store, array.name, array.has_time ? "/0" : "");
  set_link(store::relative_to(fmt::format("{}/{}/c", place.path, array.name), in_store),
           fmt::format("{}/c/{}", place.folder_of(array), step));
}

void link_same(const Place& place, const ZarrSeriesArray& array, const std::string& store) {
  set_link(store::relative_to(fmt::format("{}/{}", place.path, array.name),
                              fmt::format("{}/{}/c", store, array.name)),
           place.folder_of(array) + "/c");
}

ChunkGrid grid_of_numbers() {
  ChunkGrid grid{1, {}, {}, {}};
  grid.extents[0] = growing;
  grid.chunk[0] = grid.shard[0] = numbers_in_chunk;
  return grid;
}

ChunkCodec codec_of_numbers(ItemType type, bool checksums) {
  return {{.codec = "none"}, {type, 1, grid_of_numbers().chunk, checksums}};
}

/// `values`: of the steps of chunk `chunk`.
void write_numbers(const Place& place, const ZarrSeriesArray& array, bool checksums,
                   std::size_t chunk, std::span<const store::ItemBytes> values) {
  const auto size = static_cast<std::size_t>(item_bytes(array.type));
  RawBytes items(numbers_in_chunk * size), encoded;
  std::ranges::fill(items, std::byte{0});
  for (std::size_t v = 0; v < values.size(); ++v) {
    std::memcpy(items.data() + v * size, values[v].data(), size);
  }
  codec_of_numbers(array.type, checksums).encode(items, encoded);
  write_whole_file(fmt::format("{}/c/{}", place.folder_of(array), chunk),
                   {reinterpret_cast<const char*>(encoded.data()), encoded.size()});
}

/// Folders of arrays that have none yet, and what stays as it is.
void write_arrays(const Place& place, const ZarrSeriesHead& head,
                  const std::vector<std::string>& stores) {
  for (const auto& array : head.arrays) {
    store::make_folder(place.folder_of(array));
    if (array.role == Role::same) {
      if (!stores.empty()) link_same(place, array, stores.front());
      write_whole_file(fmt::format("{}/{}", place.folder_of(array), metadata_name), array.json);
    } else {
      store::make_folder(place.folder_of(array) + "/c");
    }
  }
}

/// The last thing: readers take the group's for all arrays.
void write_metadata(const Place& place, const ZarrSeriesHead& head, std::size_t num_steps) {
  for (const auto& array : head.arrays) {
    if (array.role == Role::same) continue;
    write_whole_file(fmt::format("{}/{}", place.folder_of(array), metadata_name),
                     with_num_steps(array.json, num_steps));
  }
  write_whole_file(fmt::format("{}/{}", place.folder, metadata_name),
                   with_num_steps(head.json, num_steps));
}

/// A folder that has its name when `fill` has written it; what had the name is replaced in one
/// moment. It has a file `keep`. `sync`: its names are flushed.
void replace_folder(const std::string& path, const char* keep, bool sync,
                    const std::function<void(const Place&)>& fill) {
  PartialFolder folder(path);
  folder.create(keep);
  const auto failure = failure_of([&] {
    fill({folder.partial(), folder.target()});
    folder.commit(sync);
  });
  if (!failure) return;
  folder.discard({});
  throw about("cannot write " + path, *failure);
}

void write_store(const Place& place, const ZarrSeriesHead& head,
                 const std::vector<std::string>& stores) {
  write_arrays(place, head, stores);
  for (const auto& array : head.arrays) {
    std::vector<store::ItemBytes> values;
    for (std::size_t s = 0; s < stores.size() && array.role != Role::same; ++s) {
      if (array.role == Role::field) {
        link_field(place, array, s, stores[s]);
        continue;
      }
      values.push_back(number_in(stores[s], array));
      if (values.size() < numbers_in_chunk && s + 1 < stores.size()) continue;
      write_numbers(place, array, head.checksums, s / numbers_in_chunk, values);
      values.clear();
    }
  }
  write_metadata(place, head, stores.size());
}

/// The whole series. Killed between the two, it has steps that the store does not show, which the
/// next attempt finds. It makes the store again from what the second one says, which is therefore
/// flushed.
void write_series(const std::string& path, const ZarrSeriesHead& head,
                  const std::vector<std::string>& stores) {
  replace_folder(path, metadata_name, false,
                 [&](const Place& place) { write_store(place, head, stores); });
  replace_folder(steps_folder(path), head_name, true, [&](const Place& place) {
    for (std::size_t s = 0; s < stores.size(); ++s) {
      store::make_link(store::relative_to(place.path, stores[s]),
                       fmt::format("{}/{}", place.folder, s));
    }
    write_whole_file(fmt::format("{}/{}", place.folder, head_name), text_of(head), true);
  });
}

// ---- what the first step says ----

ZarrSeriesArray series_array(const ZarrStoreArray& given, bool checksums) {
  const auto& array = given.array;
  if (array.name.starts_with('.')) {
    refuse_input("\"{}\" cannot name an array of a series of Zarr stores", array.name);
  }
  ZarrSeriesArray made{array.name, given.role,   array.type, false,
                       array.grid, array.codecs, array.fill, given.json};
  if (given.role == Role::same) return made;
  auto grown = array;
  if (given.role == Role::number) {
    grown.dims = {store::time_name};
    grown.grid = grid_of_numbers();
    grown.codecs = codec_of_numbers(array.type, checksums).json();
  } else {
    made.has_time = array.dims.front() == store::time_name;
    auto& grid = grown.grid;
    if (!made.has_time) {
      grown.dims.insert(grown.dims.begin(), store::time_name);
      ++grid.num_dims;
      for (auto* index : {&grid.extents, &grid.chunk, &grid.shard}) {
        std::ranges::rotate(*index, index->end() - 1);
        index->front() = 1;
      }
    }
    grid.extents[0] = growing;
  }
  made.json = array_json(grown);
  return made;
}

// `time` and `step` of the first step are not those of the run.
Attributes attributes_of_series(Attributes attributes) {
  std::erase_if(attributes, [](const auto& attribute) {
    return attribute.first == store::time_name || attribute.first == store::step_name;
  });
  return attributes;
}

void describe(const std::string& path, const ZarrStoreArrays& store, ZarrSeriesHead& head) {
  std::vector<std::pair<std::string, std::string>> texts;
  head.arrays.clear();
  head.checksums = store.checksums;
  for (const auto& array : store.arrays) {
    head.arrays.push_back(series_array(array, store.checksums));
    texts.emplace_back(head.arrays.back().name, head.arrays.back().json);
  }
  head.json = group_json(path, attributes_of_series(store.attributes), texts);
}

void require_alike(const std::string& path, const ZarrStoreArray& given,
                   const ZarrSeriesArray& known) {
  const auto& array = given.array;
  const bool same_chunks =
      array.grid.chunk == known.grid.chunk && array.grid.shard == known.grid.shard;
  if (same_chunks && array.codecs == known.codecs && array.fill == known.fill) return;
  throw Error(Errc::io, fmt::format("series {}: the chunks of {} are not encoded as those of the "
                                    "steps before",
                                    path, array.name));
}

const ZarrStoreArray& find(const ZarrStoreArrays& store, const std::string& path,
                           const std::string& name) {
  const auto found = std::ranges::find_if(
      store.arrays, [&](const ZarrStoreArray& array) { return array.array.name == name; });
  if (found != store.arrays.end()) return *found;
  throw Error(Errc::io, fmt::format("series {}: the step has no array {}", path, name));
}

/// Takes the steps from `step` on from the end of `stores`, and returns them, the last one first.
std::vector<std::string> take_later(const ZarrSeriesHead& head, std::vector<std::string>& stores,
                                    std::int64_t step) {
  std::vector<std::string> later;
  const auto number = std::ranges::find(head.arrays, store::step_name, &ZarrSeriesArray::name);
  if (number == head.arrays.end()) return later;
  while (!stores.empty() && number_of_step(stores.back(), *number) >= static_cast<double>(step)) {
    later.push_back(std::move(stores.back()));
    stores.pop_back();
  }
  return later;
}

}  // namespace

std::map<std::string, ChunkGrid> grids_of_series(const std::string& path) {
  std::map<std::string, ChunkGrid> grids;
  if (const auto head = head_of(path)) {
    for (const auto& array : head->arrays) {
      if (array.role == Role::field) grids[array.name] = array.grid;
    }
  }
  return grids;
}

store::BegunSeries begin_zarr_series(const std::string& path, const std::string& file,
                                     const FileContents& contents, const std::string& form,
                                     const std::string& encoding) {
  const auto before = head_of(path);
  store::BegunSeries done;
  done.folder = folder_of(path) + "superseded";
  auto stores = before ? stores_of(path) : std::vector<std::string>();
  ZarrSeriesHead head = before ? *before : ZarrSeriesHead{form, encoding};
  const auto later = take_later(head, stores, contents.step);
  const auto own = store::target_of(folder_of(path), store::relative_to(folder_of(path), file));
  done.is_other = before && before->form != form;
  if (done.is_other) stores.clear();
  // Until it is replaced, the store that is there is shown.
  const bool is_shown = !done.is_other && std::ranges::find(later, own) != later.end();
  if (is_shown) stores.push_back(own);
  if (!stores.empty() && head.encoding != encoding) {
    refuse_input(
        "series {}: its steps are encoded with {}, but this one with {}: use the same, or give "
        "the series another name",
        path, head.encoding, encoding);
  }
  if (stores.empty()) {
    head = {form, encoding};
    head.json = group_json(path, attributes_of_series(contents.attributes), {});
  }
  write_series(path, head, stores);
  for (const auto& store : later) {
    if (store != own) done.move(store);
  }
  return done;
}

void ZarrSeries::load() {
  auto head = head_of(path_);
  if (!head) throw Error(Errc::io, fmt::format("series {} no longer exists", path_), ENOENT);
  head_ = std::move(*head);
  const auto linked = linked_stores(path_);
  stores_ = stores_of(path_);
  // Somebody has removed the store of a step.
  const bool has_gap = !linked.empty() && linked.rbegin()->first + 1 != std::ssize(linked);
  if (failed_ || has_gap) write_series(path_, head_, stores_);
  failed_ = false;
  values_.clear();
  const auto first = stores_.size() - stores_.size() % numbers_in_chunk;
  for (const auto& array : head_.arrays) {
    if (array.role != Role::number) continue;
    auto& values = values_[array.name];
    for (auto s = first; s < stores_.size(); ++s) values.push_back(number_in(stores_[s], array));
  }
  loaded_ = true;
}

void ZarrSeries::publish(const std::string& path, const StepFile& file,
                         const std::function<void()>& commit) {
  const auto arrays = file.arrays();
  if (!arrays) throw Error(Errc::internal, path + " is not the store of a step");
  if (!loaded_) load();
  const auto folder = steps_folder(path_);
  const auto text = store::relative_to(folder, path);
  auto store = store::target_of(folder, text);
  const bool again = !stores_.empty() && stores_.back() == store;
  if (again) {
    commit();
  } else {
    const auto link = fmt::format("{}/{}", folder, stores_.size());
    set_link(text, link);
    store::commit_with_link(link, commit);
    stores_.push_back(std::move(store));
  }
  try {
    show(*arrays, again);
  } catch (const Error& error) {
    loaded_ = false;
    failed_ = true;
    throw about(fmt::format("{} is written, but the series {} does not show it", path, path_),
                error);
  }
}

void ZarrSeries::show(const ZarrStoreArrays& arrays, bool again) {
  const auto target = followed_links(path_);
  const Place place{target, target};
  if (head_.arrays.empty()) {
    describe(path_, arrays, head_);
    write_arrays(place, head_, stores_);
    write_whole_file(head_path(path_), text_of(head_), true);
  }
  const auto step = stores_.size() - 1;
  for (const auto& array : head_.arrays) {
    const auto& given = find(arrays, path_, array.name);
    if (array.role == Role::field) {
      require_alike(path_, given, array);
      link_field(place, array, step, stores_.back());
    } else if (array.role == Role::number) {
      auto& values = values_[array.name];
      if (again) values.pop_back();
      if (!again && step % numbers_in_chunk == 0) values.clear();
      values.push_back(given.item);
      write_numbers(place, array, head_.checksums, step / numbers_in_chunk, values);
    }
  }
  write_metadata(place, head_, stores_.size());
}

}  // namespace tailrace::server
