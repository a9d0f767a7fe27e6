// SPDX-License-Identifier: BSD-3-Clause
// Zarr v3 stores in a folder: a group with an array for each field and coordinate. Each server
// writes the shards that it alone has items of; the leader writes the metadata and, at the end, the
// shards that servers share.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <new>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/bytes.hpp"
#include "core/refuse_input.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "file/hints/hint_table.hpp"
#include "file/limiter.hpp"
#include "file/settings.hpp"
#include "server/formats/partial_folder.hpp"
#include "server/formats/shard_writer.hpp"
#include "server/formats/zarr_json.hpp"
#include "server/formats/zarr_series.hpp"
#include "server/series_writer.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"
#include "store/series_index.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

void make_folder(const std::string& path) {
  if (uninterrupted([&] { return mkdir(path.c_str(), 0777); }) != 0) fail_errno(errno);
}

void write_bytes(const std::string& path, std::span<const std::byte> bytes,
                 const file::Settings& hints) {
  file::LimitedFile file(path, O_WRONLY | O_CREAT | O_TRUNC, hints.back_end);
  file.write(bytes.data(), std::ssize(bytes), 0);
  if (hints.sync) file.flush();
  file.close();
}

void write_text(const std::string& path, const std::string& text, const file::Settings& hints) {
  write_bytes(path, std::as_bytes(std::span(text)), hints);
}

/// What the leader tells.
struct StorePlan {
  std::string target;  ///< where the path leads
  std::vector<SharedGrid> arrays;
};

template <class Bytes>
void travel(Bytes& bytes, StorePlan& plan) {
  bytes(plan.target, plan.arrays);
}

class ZarrFile : public StepFile {
 public:
  ZarrFile(Step step, const FileSettings& settings, int server)
      : step_(std::move(step)),
        output_(settings.output),
        threads_(std::max(settings.threads, 1)),
        server_(server),
        encoding_(parse_encoding(step_.encoding)),
        hints_(file::resolve_alone(step_.path, output_.hints)),
        folder_(step_.path) {
    if (settings.say) show_hints();
    for (const auto& field : step_.fields) check_name(field.name);
    for (const auto& coordinate : step_.coordinates) check_name(coordinate.name);
    drop_empty_parts(step_.fields);
  }

  Message needs() override { return boxes_of(step_.fields); }
  Message lay_out(std::span<const Message> needs_of_servers) override;
  void place(const Message& layout) override {
    auto plan = value_from<StorePlan>(layout);
    folder_.set_target(plan.target);
    plans_ = std::move(plan.arrays);
  }
  void write() override;
  void commit(std::span<const Message> kept_by_servers) override;
  std::string discard() noexcept override { return folder_.discard(names()); }
  std::shared_ptr<const ZarrStoreArrays> arrays() const override;
  std::int64_t bytes() const override { return bytes_; }
  double seconds() const override { return seconds_; }

 private:
  static void check_name(const std::string& name) {
    if (name.empty() || name == "." || name == ".." || name.starts_with("__") ||
        name == metadata_name || name == ".shared" || name.find('/') != std::string::npos) {
      refuse_input("\"{}\" cannot name an array of a Zarr store", name);
    }
  }
  // Of hints that somebody gave, a store follows those about the disk.
  void show_hints() {
    constexpr std::array followed{"sync", "striping_unit", "striping_factor"};
    for (const auto& [name, value, source] : hints_.shown) {
      const bool given = source != "default" && source != "file system";
      if (name == "back_end" && file::names_limited(value)) continue;
      if (!given || !file::find_hint(name) || std::ranges::find(followed, name) != followed.end()) {
        continue;
      }
      hints_.warnings.push_back(
          fmt::format("hint {}={} ({}) does not apply to a Zarr store", name, value, source));
    }
    file::show(step_.path, hints_);
  }
  // Failures get the name of the store.
  template <class Action>
  void run(const char* what, Action&& action) {
    const double start_s = now_s();
    const Span span(output_.trace, Activity::write, what, 1);
    try {
      action();
    } catch (const Error& error) {
      throw about(fmt::format("cannot write {} (step {})", step_.path, step_.step), error);
    }
    seconds_ += now_s() - start_s;
  }
  std::string array_folder(const std::string& name) const { return folder_.partial() + "/" + name; }
  std::string shared_file(int server) const {
    return fmt::format("{}/.shared/{}", folder_.partial(), server);
  }
  bool any_shared() const {
    return std::ranges::any_of(plans_, [](const SharedGrid& plan) { return !plan.shared.empty(); });
  }
  ChunkCodec codec_of(std::size_t field) const {
    const auto& grid = plans_[field].grid;
    return {encoding_,
            {step_.fields[field].type, grid.num_dims, grid.chunk, output_.checksums,
             step_.fields[field].fill()}};
  }
  ChunkCodec plain_codec(ItemType type, int num_dims, const Index& chunk) const {
    return {{.codec = "none"}, {type, num_dims, chunk, output_.checksums}};
  }
  void write_shards(std::size_t field, std::span<const std::int64_t> shards,
                    std::span<const FieldPart> parts) {
    const auto codec = codec_of(field);
    bytes_ += server::write_shards(plans_[field].grid, codec, item_bytes(step_.fields[field].type),
                                   {array_folder(step_.fields[field].name), threads_, hints_,
                                    step_.fields[field].fill_or_zeros()},
                                   shards, parts);
  }
  std::map<std::string, ChunkGrid> grids_of_steps_before() const;
  /// The files that may be in the store, all servers'.
  std::vector<std::string> names() const noexcept;
  ZarrArray field_array(std::size_t field) const;
  /// How a coordinate of numbers is stored.
  ZarrArray coordinate_array(const Coordinate& coordinate,
                             const store::CoordinateArray& values) const;
  std::string write_coordinate(const Coordinate& coordinate);
  std::string write_texts(const Coordinate& coordinate, const store::CoordinateArray& array);
  static ZarrTexts texts_array(const Coordinate& coordinate, const store::CoordinateArray& array) {
    return {coordinate.name, array.extents, array.dims, coordinate.attributes};
  }
  void write_metadata();
  void write_shared();

  Step step_;
  OutputOptions output_;
  int threads_, server_;
  Encoding encoding_;
  file::Settings hints_;
  PartialFolder folder_;
  std::vector<SharedGrid> plans_;
  std::vector<std::vector<Boxes>> boxes_;  ///< leader: of each field, of each server
  std::int64_t bytes_ = 0;
  double seconds_ = 0;
};

Message ZarrFile::lay_out(std::span<const Message> needs_of_servers) {
  boxes_ = boxes_by_field(needs_of_servers, step_.fields.size());
  plans_.clear();
  const auto known = grids_of_steps_before();
  for (std::size_t f = 0; f < step_.fields.size(); ++f) {
    const auto& field = step_.fields[f];
    const auto dims = static_cast<std::size_t>(field.num_dims());
    const auto before = known.find(field.name);
    const bool fits = before != known.end() && before->second.num_dims == field.num_dims() &&
                      before->second.extents == field.extents;
    const auto grid = fits ? before->second
                           : choose_grid(std::span(field.extents.data(), dims),
                                         item_bytes(field.type), encoding_, boxes_[f]);
    plans_.push_back({grid, shared_shards(grid, boxes_[f])});
  }
  run("create store", [&] {
    folder_.create(metadata_name);
    write_metadata();
    if (any_shared()) make_folder(folder_.partial() + "/.shared");
  });
  return bytes_from(StorePlan{folder_.target(), plans_});
}

std::vector<std::string> ZarrFile::names() const noexcept {
  std::vector<std::string> names;
  const auto add_array = [&](const std::string& name, const RowMajor& shards) {
    names.push_back(name + "/" + metadata_name);
    for (std::ptrdiff_t shard = 0; shard < shards.num_items(); ++shard) {
      auto path = name + "/c";
      const auto place = shards.place_of(shard);
      for (std::size_t d = 0; d < static_cast<std::size_t>(shards.num_dims); ++d) {
        path += fmt::format("/{}", place[d]);
      }
      names.push_back(std::move(path));
    }
  };
  try {
    for (const auto& coordinate : step_.coordinates) {
      const int dims = coordinate.dims.empty() ? 1 : static_cast<int>(coordinate.dims.size());
      add_array(coordinate.name, {std::min(dims, max_dims), {1, 1, 1, 1, 1}});
    }
    for (std::size_t f = 0; f < plans_.size(); ++f) {
      add_array(step_.fields[f].name, plans_[f].grid.shards());
    }
    for (std::size_t s = 0; !boxes_.empty() && s < boxes_.front().size(); ++s) {
      names.push_back(fmt::format(".shared/{}", s));
    }
    names.emplace_back(metadata_name);
  } catch (const std::bad_alloc&) {  // what is known so far
  }
  return names;
}

// All steps of a series have the same chunks, also when other ranks continue it.
std::map<std::string, ChunkGrid> ZarrFile::grids_of_steps_before() const {
  const auto path = parse_series(output_.series).path;
  if (path.empty() || !is_zarr_series(path)) return {};
  return grids_of_series(path);
}

ZarrArray ZarrFile::field_array(std::size_t f) const {
  const auto& field = step_.fields[f];
  const auto codec = codec_of(f);
  ZarrArray array{field.name,   field.type,       field.dims,           plans_[f].grid,
                  codec.json(), field.attributes, field.fill_or_zeros()};
  add_rounding(codec.rounding(), array.attributes);
  return array;
}

ZarrArray ZarrFile::coordinate_array(const Coordinate& coordinate,
                                     const store::CoordinateArray& values) const {
  const auto type = *values.type;
  const int num_dims = static_cast<int>(values.dims.size());
  Index extents{}, cell{};
  for (std::size_t d = 0; d < values.dims.size(); ++d) {
    extents[d] = values.extents[d];
    cell[d] = std::max<std::ptrdiff_t>(values.extents[d], 1);
  }
  if (num_dims == 0) cell[0] = 1;
  const auto fill = store::fill_item(coordinate.name, coordinate.attributes, type);
  return {coordinate.name,
          type,
          values.dims,
          {num_dims, extents, cell, cell},
          plain_codec(type, num_dims, cell).json(),
          coordinate.attributes,
          fill.value_or(store::ItemBytes{})};
}

std::shared_ptr<const ZarrStoreArrays> ZarrFile::arrays() const {
  auto all = std::make_shared<ZarrStoreArrays>();
  all->attributes = step_.attributes;
  all->checksums = output_.checksums;
  for (const auto& coordinate : step_.coordinates) {
    const auto values = store::array_of(coordinate);
    auto& added = all->arrays.emplace_back();
    if (!values.type) {
      added.role = ZarrStoreArray::Role::same;
      added.array.name = coordinate.name;
      added.json = array_json(texts_array(coordinate, values));
      continue;
    }
    added.array = coordinate_array(coordinate, values);
    added.json = array_json(added.array);
    const bool varies = store::varies_with_time(coordinate);
    added.role = varies ? ZarrStoreArray::Role::number : ZarrStoreArray::Role::same;
    if (varies) std::copy_n(values.data, item_bytes(*values.type), added.item.begin());
  }
  for (std::size_t f = 0; f < step_.fields.size(); ++f) {
    auto& added = all->arrays.emplace_back();
    added.array = field_array(f);
    if (step_.fields[f].dims.front() == step_.fields[f].name) {
      added.role = ZarrStoreArray::Role::same;
      added.json = array_json(added.array);
    } else {
      added.array.attributes =
          store::with_varying(std::move(added.array.attributes), step_.coordinates);
    }
  }
  return all;
}

// All texts are one chunk: how many, then the bytes of each and their number (numcodecs,
// vlen-utf8).
std::string ZarrFile::write_texts(const Coordinate& coordinate,
                                  const store::CoordinateArray& array) {
  if (array.characters) {
    refuse_input("coordinate {}: Zarr stores hold texts, not bytes", coordinate.name);
  }
  std::vector<std::byte> bytes;
  const auto add_number = [&](std::size_t number) {
    for (int byte = 0; byte < 4; ++byte) {
      bytes.push_back(static_cast<std::byte>(number >> (8 * byte) & 0xff));
    }
  };
  add_number(array.texts.size());
  for (const auto& text : array.texts) {
    add_number(text.size());
    const auto letters = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), letters.begin(), letters.end());
  }
  if (array.count > 0) {
    auto path = array_folder(coordinate.name) + "/c";
    for (std::size_t d = 0; d < array.dims.size(); ++d) {
      make_folder(path);
      path += "/0";
    }
    write_bytes(path, bytes, hints_);
  }
  return array_json(texts_array(coordinate, array));
}

// In one chunk, as it is; that of a number without a dimension is the file "c".
std::string ZarrFile::write_coordinate(const Coordinate& coordinate) {
  const auto values = store::array_of(coordinate);
  if (!values.type) return write_texts(coordinate, values);
  const auto array = coordinate_array(coordinate, values);
  const auto codec = plain_codec(array.type, array.grid.num_dims, array.grid.chunk);
  const auto folder = array_folder(coordinate.name);
  if (array.grid.num_dims == 0) {
    RawBytes item(values.data, values.data + item_bytes(array.type)), encoded;
    codec.encode(item, encoded);
    write_bytes(folder + "/c", encoded, hints_);
  } else if (values.count > 0) {
    const FieldPart part{{array.grid.num_dims, {}, array.grid.extents}, values.data};
    const std::int64_t first = 0;
    server::write_shards(array.grid, codec, item_bytes(array.type), {folder, 1, hints_, {}},
                         {&first, 1}, {&part, 1});
  }
  return array_json(array);
}

void ZarrFile::write_metadata() {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& coordinate : step_.coordinates) {
    make_folder(array_folder(coordinate.name));
    texts.emplace_back(coordinate.name, write_coordinate(coordinate));
  }
  for (std::size_t f = 0; f < step_.fields.size(); ++f) {
    make_folder(array_folder(step_.fields[f].name));
    texts.emplace_back(step_.fields[f].name, array_json(field_array(f)));
  }
  for (const auto& [name, text] : texts) {
    write_text(array_folder(name) + "/" + metadata_name, text, hints_);
  }
  write_text(folder_.partial() + "/" + metadata_name,
             group_json(step_.path, step_.attributes, texts), hints_);
}

void ZarrFile::write() {
  run("write store", [&] {
    for (std::size_t f = 0; f < step_.fields.size(); ++f) {
      const auto& field = step_.fields[f];
      write_shards(f, own_shards(plans_[f], field), field.parts);
      const auto boxes = shared_boxes(plans_[f], field.boxes());
      if (!boxes.empty()) append_shared(shared_file(server_), field, boxes, hints_);
    }
  });
}

void ZarrFile::write_shared() {
  const auto num_servers = boxes_.empty() ? 0 : boxes_.front().size();
  std::vector<std::vector<std::vector<Box>>> boxes(num_servers);  // of each server and field
  std::vector<Mapping> files;
  for (std::size_t s = 0; s < num_servers; ++s) {
    std::ptrdiff_t bytes = 0;
    for (std::size_t f = 0; f < plans_.size(); ++f) {
      boxes[s].push_back(shared_boxes(plans_[f], boxes_[f][s]));
      for (const auto& box : boxes[s].back()) {
        bytes += box.num_items() * item_bytes(step_.fields[f].type);
      }
    }
    files.push_back(map_shared(shared_file(static_cast<int>(s)), bytes));
  }
  std::vector<std::ptrdiff_t> at(num_servers, 0);
  for (std::size_t f = 0; f < plans_.size(); ++f) {
    std::vector<FieldPart> parts;
    for (std::size_t s = 0; s < num_servers; ++s) {
      for (const auto& box : boxes[s][f]) {
        parts.push_back({box, files[s].data() + at[s]});
        at[s] += box.num_items() * item_bytes(step_.fields[f].type);
      }
    }
    write_shards(f, plans_[f].shared, parts);
  }
}

void ZarrFile::commit(std::span<const Message>) {
  run("finish store", [&] {
    if (any_shared()) {
      write_shared();
      folder_.remove(".shared");
    }
    folder_.commit(hints_.sync);
  });
}

}  // namespace

std::unique_ptr<StepFile> make_zarr(Step step, const FileSettings& settings, int server, int) {
  return std::make_unique<ZarrFile>(std::move(step), settings, server);
}

}  // namespace tailrace::server
