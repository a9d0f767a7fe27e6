// SPDX-License-Identifier: BSD-3-Clause
// HDF5 writes the metadata into memory, by a file driver (image_driver.hpp). The datasets' space is
// allocated last; what HDF5 writes there is dropped.
#include "store/file_image.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "store/array_datasets.hpp"
#include "store/attribute_values.hpp"
#include "store/dimension_scales.hpp"
#include "store/hdf5_handle.hpp"
#include "store/image_driver.hpp"
#include "store/item_convert.hpp"
#include "store/piece_folder.hpp"

namespace tailrace::store {
namespace {

// From so many chunks on, HDF5's newer index of chunks (fixed arrays, of HDF5 1.10) is worth that
// programs of HDF5 1.8 cannot read the file: it is a quarter as large.
constexpr std::size_t many_chunks = 16384;

bool has_many_chunks(const ImageSetting& setting) {
  return setting.chunked != nullptr && std::ranges::any_of(*setting.chunked, [](const auto& one) {
           return one.chunks.size() >= many_chunks;
         });
}

Hdf5Handle create_file(ImageFile& memory, const ImageSetting& setting) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file access list");
  memory.use(access.id());
  if (setting.chunked == nullptr) {
    constexpr hsize_t page = 4096;
    const auto alignment = std::max(page, static_cast<hsize_t>(setting.alignment));
    const auto threshold = std::max(page, static_cast<hsize_t>(setting.stripe_bytes));
    check_hdf5(H5Pset_alignment(access.id(), threshold, alignment), "set alignment");
  }
  check_hdf5(H5Pset_sieve_buf_size(access.id(), 0), "set sieve buffer");
  // Version 1.8 of the format: headers carry checksums, and every reader of today knows it. Virtual
  // datasets came with 1.10.
  const bool newer = setting.sources != nullptr || has_many_chunks(setting);
  const auto version = newer ? H5F_LIBVER_V110 : H5F_LIBVER_V18;
  check_hdf5(H5Pset_libver_bounds(access.id(), version, version), "set version");
  const Hdf5Handle create(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "file creation list");
  set_object_options(create.id());
  const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  check_hdf5(H5Pset_link_creation_order(create.id(), order), "set link order");
  return {H5Fcreate("image", H5F_ACC_TRUNC, create.id(), access.id()), H5Fclose,
          "create the file image"};
}

// Items in no chunk read as the fill value, which is 0 if there is none.
Hdf5Handle create_chunked_dataset(hid_t parent, const std::string& name, const ArrayShape& shape,
                                  const ChunkedDataset& chunked) {
  const auto space = make_space(shape.extents, name);
  const auto create = creation_list(shape);
  check_hdf5(H5Pset_fill_time(create.id(), H5D_FILL_TIME_ALLOC), "set fill time");
  const std::vector<hsize_t> chunk(chunked.extents.begin(),
                                   chunked.extents.begin() + std::ssize(shape.extents));
  check_hdf5(H5Pset_chunk(create.id(), static_cast<int>(chunk.size()), chunk.data()),
             "set chunks of " + name);
  for (const auto& filter : chunked.filters) {
    check_hdf5(H5Pset_filter(create.id(), filter.number, H5Z_FLAG_OPTIONAL, filter.settings.size(),
                             filter.settings.data()),
               "set a filter of " + name);
  }
  return make_dataset(parent, name, shape.type, space, create.id());
}

Hdf5Handle create_virtual_dataset(hid_t parent, const std::string& name, const ArrayShape& shape,
                                  const std::vector<PieceSource>& sources,
                                  const ImageSetting& setting) {
  const auto space = make_space(shape.extents, name);
  const auto create = creation_list(shape);
  check_hdf5(H5Pset_layout(create.id(), H5D_VIRTUAL), "set layout");
  for (const auto& source : sources) {
    const auto dims = static_cast<std::size_t>(source.box.num_dims);
    const auto& box = source.box;
    const std::vector<hsize_t> start(box.start.begin(), box.start.begin() + source.box.num_dims);
    const std::vector<hsize_t> count(box.extents.begin(), box.extents.begin() + box.num_dims);
    check_hdf5(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                   std::vector<hsize_t>(dims, 1).data(), count.data()),
               "select a piece of " + name);
    const auto whole = make_space(count, name);
    const auto file = source_name(piece_reference(setting.path, setting.generation, source.writer));
    check_hdf5(H5Pset_virtual(create.id(), space.id(), file.c_str(),
                              source_name(source.dataset).c_str(), whole.id()),
               "add a piece to " + name);
  }
  check_hdf5(H5Sselect_all(space.id()), "select all of " + name);
  return make_dataset(parent, name, shape.type, space, create.id());
}

// Those whose first axis has their name; they are the scale of it, unless `scales` is null.
void add_axes(hid_t file, const FileContents& contents, DimensionScales* scales) {
  for (const auto& coordinate : contents.coordinates) {
    if (!names_first_axis(coordinate)) continue;
    const auto array = array_of(coordinate);
    add_axis(write_coordinate(file, coordinate, array), coordinate, array, scales);
  }
}

// Those without an axis, or along others; and the dimensions that only coordinates have.
void add_other_coordinates(hid_t file, const FileContents& contents, DimensionScales* scales) {
  for (const auto& coordinate : contents.coordinates) {
    const auto array = array_of(coordinate);
    for (std::size_t d = 0; scales != nullptr && d < array.dims.size(); ++d) {
      require_scale(file, array.dims[d], static_cast<hsize_t>(array.extents[d]), *scales);
    }
    if (names_first_axis(coordinate)) continue;
    const auto dataset = write_coordinate(file, coordinate, array);
    if (scales != nullptr) scales->attach(dataset.id(), array.dims);
    write_coordinate_attributes(dataset.id(), coordinate, array);
  }
}

// The datasets whose space is still to be allocated, and where their offsets go.
struct Unplaced {
  Hdf5Handle dataset;
  std::ptrdiff_t bytes;
  std::ptrdiff_t* offset;
  const ChunkedDataset* chunked = nullptr;
  std::vector<std::ptrdiff_t>* chunk_offsets = nullptr;
};

// `scales` is null if the file has none.
Hdf5Handle add_variable(hid_t file, const Variable& variable, Hdf5Handle dataset,
                        DimensionScales* scales) {
  const auto extents = extents_of(variable);
  const bool scale = scales != nullptr && names_first_axis(variable);
  if (scale) {
    scales->add(
        variable.name,
        {H5Dopen2(file, variable.name.c_str(), H5P_DEFAULT), H5Dclose, "open " + variable.name},
        variable.name);
    if (extents.size() > 1) scales->number_axes(variable.name, variable.dims);
  }
  if (scales != nullptr) {
    for (std::size_t d = 0; d < variable.dims.size(); ++d) {
      require_scale(file, variable.dims[d], extents[d], *scales);
    }
    if (!scale) scales->attach(dataset.id(), variable.dims);
  }
  write_array_attributes(dataset.id(), variable.name, variable.attributes, variable.type);
  return dataset;
}

void add_variables(hid_t file, const FileContents& contents, const ImageSetting& setting,
                   DimensionScales* scales, std::vector<Unplaced>& unplaced, FileImage& image) {
  // Those that are scales first, as the others refer to them.
  std::vector<std::size_t> order(contents.variables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_partition(order,
                                [&](auto v) { return names_first_axis(contents.variables[v]); });
  for (const auto v : order) {
    const auto& variable = contents.variables[v];
    const auto type = native_type(variable.type);
    const ArrayShape shape{extents_of(variable), type.id(),
                           fill_item(variable.name, variable.attributes, variable.type)};
    if (setting.sources != nullptr) {
      add_variable(
          file, variable,
          create_virtual_dataset(file, variable.name, shape, (*setting.sources)[v], setting),
          scales);
      continue;
    }
    const Box whole{variable.layout->num_dims(), {}, variable.layout->global_extents()};
    if (setting.chunked != nullptr) {
      const auto& chunked = (*setting.chunked)[v];
      unplaced.push_back(
          {add_variable(file, variable, create_chunked_dataset(file, variable.name, shape, chunked),
                        scales),
           0, &image.data_offsets[v], &chunked, &image.chunk_offsets[v]});
      continue;
    }
    unplaced.push_back(
        {add_variable(file, variable, create_dataset(file, variable.name, shape), scales),
         whole.num_items() * item_bytes(variable.type), &image.data_offsets[v]});
  }
}

struct Table {
  const char* name;
  hsize_t rows;
  hsize_t columns;
  const char* titles;
};

// In a group of their own, as readers of netCDF files look at the root group.
void add_tables(hid_t file, const std::string& variables, const ImageSetting& setting,
                std::vector<Unplaced>& unplaced, FileImage& image) {
  if (setting.table_rows < 0 && setting.box_rows < 0) return;
  const auto group = create_group(file, "tailrace");
  const auto add = [&](const Table& table, std::ptrdiff_t& offset) {
    auto dataset =
        create_dataset(group.id(), table.name, {{table.rows, table.columns}, H5T_NATIVE_UINT64});
    write_attributes(dataset.id(),
                     {{"variables", variables}, {"columns", std::string(table.titles)}});
    const auto bytes = table.rows * table.columns * sizeof(std::uint64_t);
    unplaced.push_back({std::move(dataset), static_cast<std::ptrdiff_t>(bytes), &offset});
  };
  if (setting.table_rows >= 0) {
    add({"checksums", static_cast<hsize_t>(setting.table_rows + 1), 4,
         "variable,offset_bytes,bytes,xxh3_64"},
        image.table_offset);
  }
  if (setting.box_rows >= 0) {
    add({"boxes", static_cast<hsize_t>(setting.box_rows), sizeof(BoxRow) / sizeof(std::uint64_t),
         "variable,start x5,extents x5,xxh3_64"},
        image.box_table_offset);
  }
}

// Small datasets first, close to the metadata; then the large ones, each from a stripe on. Space is
// allocated by writing one number.
void allocate(const Unplaced& one) {
  const Hdf5Handle space(H5Dget_space(one.dataset.id()), H5Sclose, "space of a dataset");
  const Hdf5Handle type(H5Dget_type(one.dataset.id()), H5Tclose, "type of a dataset");
  const Hdf5Handle single(H5Screate(H5S_SCALAR), H5Sclose, "space of a number");
  const auto dims = static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.id()));
  const std::vector<hsize_t> start(dims, 0), count(dims, 1);
  check_hdf5(
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      "select a number");
  const std::array<std::byte, largest_item_bytes> item{};
  check_hdf5(
      H5Dwrite(one.dataset.id(), type.id(), single.id(), space.id(), H5P_DEFAULT, item.data()),
      "allocate a dataset");
  *one.offset = static_cast<std::ptrdiff_t>(H5Dget_offset(one.dataset.id()));
}

// HDF5 writes a chunk where it has found room for it, so that is where it lies.
void allocate_chunks(const Unplaced& one, ImageFile& memory) {
  const std::byte unused{};
  memory.take_dropped();
  for (const auto& chunk : one.chunked->chunks) {
    std::array<hsize_t, max_dims> start{};
    std::ranges::copy(chunk.start, start.begin());
    check_hdf5(H5Dwrite_chunk(one.dataset.id(), H5P_DEFAULT, chunk.skipped_filters, start.data(),
                              static_cast<std::size_t>(chunk.bytes), &unused),
               "place a chunk");
  }
  for (const auto& range : memory.take_dropped()) one.chunk_offsets->push_back(range.start);
  if (one.chunk_offsets->size() != one.chunked->chunks.size()) {
    throw Error(Errc::internal, "HDF5 has not placed each chunk separately");
  }
}

void allocate_all(const std::vector<Unplaced>& unplaced, const ImageSetting& setting,
                  ImageFile& memory) {
  for (const bool large : {false, true}) {
    for (const auto& one : unplaced) {
      if ((one.bytes >= setting.stripe_bytes) == large && one.bytes > 0) allocate(one);
    }
  }
  for (const auto& one : unplaced) {
    if (one.chunked != nullptr) allocate_chunks(one, memory);
  }
}

std::vector<Range> data_ranges(const std::vector<Unplaced>& placed) {
  std::vector<Range> ranges;
  for (const auto& one : placed) {
    if (*one.offset >= 0) ranges.push_back({*one.offset, one.bytes});
    if (one.chunked == nullptr) continue;
    for (std::size_t c = 0; c < one.chunk_offsets->size(); ++c) {
      ranges.push_back({(*one.chunk_offsets)[c], one.chunked->chunks[c].bytes});
    }
  }
  std::ranges::sort(ranges, {}, &Range::start);
  return ranges;
}

// Lets `fill(file, unplaced)` add the objects, and takes what HDF5 wrote.
template <class Fill>
void build(const ImageSetting& setting, std::size_t num_datasets, FileImage& image, Fill&& fill) {
  image.extents.clear();
  image.bytes.clear();
  image.data_offsets.assign(num_datasets, -1);
  image.chunk_offsets.assign(num_datasets, {});
  image.table_offset = -1;
  image.box_table_offset = -1;
  const QuietHdf5 quiet;
  ImageFile memory(image.pages);
  std::vector<Range> ranges;
  {
    const auto file = create_file(memory, setting);
    std::vector<Unplaced> unplaced;
    fill(file.id(), unplaced);
    const auto flush = [&] {
      check_hdf5(H5Fflush(file.id(), H5F_SCOPE_LOCAL), "flush the file image");
    };
    flush();  // coordinates; and what refers to scales, which HDF5 takes for data
    memory.keep_data(false);
    allocate_all(unplaced, setting, memory);
    ranges = data_ranges(unplaced);
    flush();
  }
  memory.take_metadata(ranges, image);
  add_header_seal(setting.stripe_bytes, image);
  if (image.table_offset >= 0) add_header_row(ranges, setting.table_rows, num_datasets, image);
}

}  // namespace

void build_image(const FileContents& contents, const ImageSetting& setting, FileImage& image) {
  build(setting, contents.variables.size(), image,
        [&](hid_t file, std::vector<Unplaced>& unplaced) {
          DimensionScales made;
          auto* scales = contents.scales ? &made : nullptr;
          add_groups(file, contents);
          add_axes(file, contents, scales);
          std::string names;
          for (const auto& variable : contents.variables) names += variable.name + "\n";
          add_tables(file, names, setting, unplaced, image);
          add_variables(file, contents, setting, scales, unplaced, image);
          add_other_coordinates(file, contents, scales);
          made.finish();
          write_attributes(file, contents.attributes);
        });
}

void build_piece_image(const std::vector<DatasetShape>& datasets, const ImageSetting& setting,
                       FileImage& image) {
  build(setting, datasets.size(), image, [&](hid_t file, std::vector<Unplaced>& unplaced) {
    std::string names;
    for (const auto& dataset : datasets) names += dataset.name + "\n";
    add_tables(file, names, setting, unplaced, image);
    for (std::size_t i = 0; i < datasets.size(); ++i) {
      const auto& dataset = datasets[i];
      const auto type = native_type(dataset.type);
      const ArrayShape shape{{dataset.extents.begin(), dataset.extents.begin() + dataset.num_dims},
                             type.id()};
      unplaced.push_back({create_dataset(file, dataset.name, shape),
                          dataset.items().num_items() * item_bytes(dataset.type),
                          &image.data_offsets[i]});
    }
  });
}

}  // namespace tailrace::store
