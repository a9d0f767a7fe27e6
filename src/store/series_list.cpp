// SPDX-License-Identifier: BSD-3-Clause
// What an index and the files of steps say of themselves.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "store/hdf5_handle.hpp"
#include "store/read_attributes.hpp"
#include "store/series_index.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::store {

namespace {

/// All items of a dataset, in their native type, and the bytes of an item.
struct Items {
  std::vector<std::byte> bytes;
  std::size_t item_bytes = 1;
};

Items read_items(hid_t file, const std::string& name) {
  const Hdf5Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, name);
  const Hdf5Handle in_file(H5Dget_type(dataset.id()), H5Tclose, name);
  const Hdf5Handle type(H5Tget_native_type(in_file.id(), H5T_DIR_ASCEND), H5Tclose, name);
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, name);
  const auto count = std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.id()));
  Items items{{}, H5Tget_size(type.id())};
  items.bytes.resize(static_cast<std::size_t>(count) * items.item_bytes);
  check_hdf5(H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, items.bytes.data()),
             name);
  return items;
}

/// Texts that end with a zero each; none if there is no dataset `name`.
std::vector<std::string> read_texts(hid_t file, const char* name) {
  std::vector<std::string> texts;
  if (H5Lexists(file, name, H5P_DEFAULT) <= 0) return texts;
  const auto items = read_items(file, name);
  const auto* text = reinterpret_cast<const char*>(items.bytes.data());
  for (std::size_t at = 0; at < items.bytes.size();) {
    texts.emplace_back(text + at, strnlen(text + at, items.bytes.size() - at));
    at += texts.back().size() + 1;
  }
  return texts;
}

void read_files(hid_t file, SeriesList& list) {
  for (auto& name : read_texts(file, series_parts::files)) {
    list.steps.push_back({std::move(name), {}});
  }
  const auto merged = read_texts(file, series_parts::merged);
  for (std::size_t s = 0; s < std::min(merged.size(), list.steps.size()); ++s) {
    list.steps[s].merged = merged[s];
  }
}

void read_values(hid_t file, SeriesList& list) {
  const Hdf5Handle group(H5Gopen2(file, series_parts::values, H5P_DEFAULT), H5Gclose,
                         series_parts::values);
  H5G_info_t info;
  check_hdf5(H5Gget_info(group.id(), &info), series_parts::values);
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const auto name = text_of([&](char* to, std::size_t size) {
      const auto bytes =
          H5Lget_name_by_idx(group.id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, to, size, H5P_DEFAULT);
      if (bytes < 0) fail_hdf5(series_parts::values);
      return bytes;
    });
    const auto items = read_items(group.id(), name);
    const auto size = items.item_bytes;
    if (items.bytes.size() != list.steps.size() * size || size > sizeof(ItemBytes)) continue;
    list.names.push_back(name);
    for (std::size_t step = 0; step < list.steps.size(); ++step) {
      auto& value = list.steps[step].values.emplace_back();
      std::copy_n(items.bytes.data() + step * size, size, value.begin());
    }
  }
}

}  // namespace

std::optional<SeriesList> list_of_series(const std::string& path) {
  if (!open_descriptor(path, O_RDONLY) && errno == ENOENT) return std::nullopt;
  const auto other = [&] {
    return Error(Errc::io,
                 fmt::format("{} is a file of another kind: give the series another name, or move "
                             "the file away",
                             path),
                 EEXIST);
  };
  const QuietHdf5 quiet;
  std::optional<Hdf5Handle> file;
  try {
    file.emplace(open_hdf5_file(path));
  } catch (const Error& error) {
    if (error.code() == Errc::corrupt) throw other();
    throw;
  }
  const bool has_group = H5Lexists(file->id(), series_parts::group, H5P_DEFAULT) > 0;
  if (!has_group ||
      H5Aexists_by_name(file->id(), series_parts::group, series_parts::form, H5P_DEFAULT) <= 0) {
    throw other();
  }
  SeriesList list;
  const Hdf5Handle group(H5Gopen2(file->id(), series_parts::group, H5P_DEFAULT), H5Gclose, path);
  for (const auto& [name, value] : read_attributes(group.id()).values) {
    if (name == series_parts::form) list.form = std::get<std::string>(value);
    if (name == series_parts::version) list.version = std::get<std::int64_t>(value);
  }
  read_files(file->id(), list);
  read_values(file->id(), list);
  return list;
}

std::vector<std::string> varying_names(const FileContents& contents) {
  std::vector<std::string> names;
  for (const auto& coordinate : contents.coordinates) {
    const bool plain = coordinate.name.find('/') == std::string::npos;
    if (plain && varies_with_time(coordinate)) names.push_back(coordinate.name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<ItemBytes> values_in_file(const std::string& path,
                                      const std::vector<std::string>& names) {
  std::vector<ItemBytes> values;
  const auto failure = failure_of([&] {
    const QuietHdf5 quiet;
    const auto file = open_hdf5_file(path);
    for (const auto& name : names) {
      const auto items = read_items(file.id(), name);
      if (items.bytes.size() != items.item_bytes || items.item_bytes > sizeof(ItemBytes)) {
        throw Error(Errc::corrupt, name);
      }
      std::ranges::copy(items.bytes, values.emplace_back().begin());
    }
  });
  if (failure) values.clear();
  return values;
}

std::vector<std::int64_t> steps_in_file(const std::string& path) {
  const QuietHdf5 quiet;
  const auto file = open_hdf5_file(path);
  if (H5Lexists(file.id(), step_name, H5P_DEFAULT) <= 0) return {};
  const Hdf5Handle dataset(H5Dopen2(file.id(), step_name, H5P_DEFAULT), H5Dclose, path);
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, path);
  const auto count = std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.id()));
  std::vector<std::int64_t> steps(static_cast<std::size_t>(count));
  check_hdf5(H5Dread(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, steps.data()),
             path);
  return steps;
}

}  // namespace tailrace::store
