// SPDX-License-Identifier: BSD-3-Clause
// The file is laid out in memory as every other file, with variables that have all steps along
// their first axis. Then the bytes of each step are copied to their place, piece by piece: a step
// of a variable is one long run of both files, so that the pieces of its checksums fit here, too.
// Compressed chunks are copied as they are, with the checksums of their items: a chunk of the new
// file has one step.
#include "store/series_merge.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/replaced.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "file/settings.hpp"
#include "layout/row_major.hpp"
#include "store/array_datasets.hpp"
#include "store/attribute_values.hpp"
#include "store/chunk_reader.hpp"
#include "store/file_image.hpp"
#include "store/file_index.hpp"
#include "store/hdf5_handle.hpp"
#include "store/partial_file.hpp"
#include "store/series_index.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t page_bytes = 4096;

/// What a file of several steps holds.
struct MergedContents {
  /// Where the items of a variable come from.
  enum class Kind {
    shared,  ///< the first step
    number,  ///< one item of each step
    field    ///< each step, with a first axis `time`
  };
  MergedContents(const FileContents& step, std::ptrdiff_t num_steps);
  void add(const Variable& in_step, Kind kind, std::vector<std::ptrdiff_t> extents);

  FileContents contents;
  std::vector<Kind> kinds;                 ///< of each variable
  std::deque<Layout> layouts;              ///< of the variables
  std::vector<std::ptrdiff_t> step_bytes;  ///< of each variable, in the file of a step
};

void MergedContents::add(const Variable& in_step, Kind kind, std::vector<std::ptrdiff_t> extents) {
  if (std::ssize(extents) > max_dims) {
    throw Error(Errc::invalid_input, fmt::format("{} has too many axes", in_step.name));
  }
  layouts.push_back(from_boxes(extents, {{}}));
  auto variable = in_step;
  variable.layout = &layouts.back();
  const auto items = Box{static_cast<int>(extents.size()), {}, layouts.back().global_extents()};
  const auto num_steps = kind == Kind::shared ? 1 : extents.front();
  step_bytes.push_back(items.num_items() / num_steps * item_bytes(variable.type));
  contents.variables.push_back(std::move(variable));
  kinds.push_back(kind);
}

MergedContents::MergedContents(const FileContents& step, std::ptrdiff_t num_steps) {
  contents.scales = step.scales;
  contents.group_attributes = step.group_attributes;
  contents.step = step.step;
  for (const auto& attribute : step.attributes) {
    const bool of_step = attribute.first == step_name || attribute.first == time_name;
    if (!of_step) contents.attributes.push_back(attribute);
  }
  for (const auto& coordinate : step.coordinates) {
    if (!varies_with_time(coordinate)) {
      contents.coordinates.push_back(coordinate);
      continue;
    }
    add({coordinate.name,
         *numbers_of(coordinate).type,
         {time_name},
         nullptr,
         {},
         nullptr,
         coordinate.attributes},
        Kind::number, {num_steps});
  }
  for (auto variable : step.variables) {
    const auto& global = variable.layout->global_extents();
    std::vector<std::ptrdiff_t> extents(global.begin(),
                                        global.begin() + variable.layout->num_dims());
    if (names_first_axis(variable)) {
      add(variable, Kind::shared, std::move(extents));
      continue;
    }
    if (variable.dims.front() == time_name) {
      extents.front() = num_steps;
    } else {
      extents.insert(extents.begin(), num_steps);
      variable.dims.insert(variable.dims.begin(), time_name);
    }
    add(variable, Kind::field, std::move(extents));
  }
}

/// The chunks of a dataset, and where they lie in its file.
struct StoredChunks {
  ChunkedDataset form;
  std::vector<std::ptrdiff_t> offsets;
};

#if H5_VERSION_GE(1, 10, 5)
StoredChunks chunks_in_file(hid_t file, const FileIndex::Entry& entry) {
  const auto& name = entry.name;
  const Hdf5Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + name);
  const Hdf5Handle create(H5Dget_create_plist(dataset.id()), H5Pclose, "look at " + name);
  StoredChunks stored;
  const auto whole = whole_box(entry);
  const RowMajor items{whole.num_dims, whole.extents};
  std::ranges::copy(entry.chunk, stored.form.extents.begin());
  for (auto& [filter, filter_name] : stored_filters(create.id())) {
    if (filter.number < 0) fail_hdf5("inspect the filters of " + name);
    stored.form.filters.push_back(std::move(filter));
  }
  const auto cells = cells_of(items, stored.form.extents);
  for (std::ptrdiff_t cell = 0; cell < cells.num_items(); ++cell) {
    const auto box = cell_box(cells, cell, stored.form.extents);
    std::array<hsize_t, max_dims> start{};
    std::ranges::copy(box.start, start.begin());
    unsigned skipped = 0;
    haddr_t offset = HADDR_UNDEF;
    hsize_t bytes = 0;
    check_hdf5(H5Dget_chunk_info_by_coord(dataset.id(), start.data(), &skipped, &offset, &bytes),
               "inspect the chunks of " + name);
    if (offset == HADDR_UNDEF || bytes == 0) continue;  // its items are the fill value
    stored.form.chunks.push_back({box.start, static_cast<std::ptrdiff_t>(bytes), skipped});
    stored.offsets.push_back(static_cast<std::ptrdiff_t>(offset));
  }
  return stored;
}
#else
StoredChunks chunks_in_file(hid_t, const FileIndex::Entry& entry) {
  throw Error(Errc::invalid_input,
              fmt::format("array {} is compressed, and HDF5 before 1.10.5 does not report where "
                          "chunks are",
                          entry.name));
}
#endif

/// The file of a step.
class StepSource {
 public:
  StepSource(const std::string& path, const MergedContents& merged);
  /// Before bytes are read; `close` lets another file be open instead.
  void open();
  void close() { file_.close(); }
  /// Bytes of variable `v`, from `offset` of it on.
  void read(std::size_t v, std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Of variable `v`. Those that boxes have checksums of get pieces without one.
  std::vector<ChecksumRow> pieces(std::size_t v) const;
  /// Throws `Errc::corrupt` if boxes of variable `v` are not as they were written.
  void check_boxes(std::size_t v) const;
  bool has_checksum(std::size_t v) const { return !entries_[v]->pieces.empty(); }
  const FileIndex::Entry& entry(std::size_t v) const { return *entries_[v]; }
  /// Of variable `v`; nothing if it is not compressed.
  const std::optional<StoredChunks>& chunks(std::size_t v) const { return chunks_[v]; }
  void read_at(std::ptrdiff_t offset, std::span<std::byte> bytes) const;
  bool is_chunked() const {
    return std::ranges::any_of(chunks_, [](const auto& chunks) { return chunks.has_value(); });
  }
  bool has_checksums() const {
    return index_.header.has_value() ||
           std::ranges::any_of(entries_, [](const auto* entry) { return !entry->boxes.empty(); });
  }
  [[noreturn]] void fail(std::size_t v, const char* what) const {
    throw Error(Errc::corrupt, fmt::format("{} is damaged: {} {}", path_, entries_[v]->name, what));
  }

 private:
  std::string path_;
  FileIndex index_;
  std::vector<const FileIndex::Entry*> entries_;     // of each variable
  std::vector<std::ptrdiff_t> bytes_;                // the same
  std::vector<std::optional<StoredChunks>> chunks_;  // the same
  Descriptor file_;
};

StepSource::StepSource(const std::string& path, const MergedContents& merged)
    : path_(path), index_(index_file(path)), bytes_(merged.step_bytes) {
  for (const auto& variable : merged.contents.variables) {
    const auto found = std::ranges::find(index_.entries, variable.name, &FileIndex::Entry::name);
    const auto v = entries_.size();
    const auto refuse = [&](const char* why) {
      throw Error(Errc::invalid_input, fmt::format("{}: array {} {}", path, variable.name, why));
    };
    if (found == index_.entries.end()) refuse("is missing");
    const bool is_number = merged.kinds[v] == MergedContents::Kind::number;
    if (found->offset < 0 && (found->chunk.empty() || is_number)) refuse("lies in other files");
    if (found->type != variable.type) refuse("is of another type than in other steps");
    if (whole_box(*found).num_items() * item_bytes(found->type) != bytes_[v]) {
      refuse("has another size than in other steps");
    }
    entries_.push_back(&*found);
  }
  const QuietHdf5 quiet;
  const auto file = open_hdf5_file(path);
  for (const auto* entry : entries_) {
    chunks_.emplace_back();
    if (!entry->chunk.empty()) chunks_.back() = chunks_in_file(file.id(), *entry);
  }
}

void StepSource::open() {
  file_ = open_descriptor(path_, O_RDONLY);
  if (!file_) fail_io("open", path_, errno);
}

void StepSource::read(std::size_t v, std::uint64_t offset, std::span<std::byte> bytes) const {
  read_at(entries_[v]->offset + static_cast<std::ptrdiff_t>(offset), bytes);
}

void StepSource::read_at(std::ptrdiff_t offset, std::span<std::byte> bytes) const {
  const int error = tailrace::read_at(file_.get(), bytes.data(), std::ssize(bytes), offset);
  if (error != 0) fail_io("read", path_, error);
}

std::vector<ChecksumRow> StepSource::pieces(std::size_t v) const {
  if (has_checksum(v)) return entries_[v]->pieces;
  std::vector<ChecksumRow> pieces;
  for (std::ptrdiff_t at = 0; at < bytes_[v]; at += piece_bytes) {
    const auto bytes = std::min(piece_bytes, bytes_[v] - at);
    pieces.push_back({0, static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(bytes), 0});
  }
  return pieces;
}

void StepSource::check_boxes(std::size_t v) const {
  const auto& entry = *entries_[v];
  if (chunks_[v]) return;  // its checksums go with it, those of its items
  const auto whole = whole_box(entry);
  const DatasetShape shape{entry.name, entry.type, whole.num_dims, whole.extents, true};
  const auto item = item_bytes(entry.type);
  std::vector<std::byte> items;
  for (const auto& row : entry.boxes) {
    const auto box = box_of(row, whole.num_dims);
    const auto rows = rows_of(box, shape);
    items.resize(static_cast<std::size_t>(box.num_items() * item));
    const RowMajor all_rows{rows.num_axes, box.extents};
    for (std::ptrdiff_t r = 0; r < all_rows.num_items(); ++r) {
      const auto first = shape.items().linear(sum(box.start, all_rows.place_of(r)));
      read(v, static_cast<std::uint64_t>(first * item),
           std::span(items).subspan(static_cast<std::size_t>(r * rows.bytes),
                                    static_cast<std::size_t>(rows.bytes)));
    }
    if (XXH3_64bits(items.data(), items.size()) != row.xxh3) fail(v, "is not as it was written");
  }
}

/// The file of several steps, until it has its name.
class MergedFile {
 public:
  MergedFile(const std::string& path, const MergedContents& merged)
      : path_(path), partial_(name_beside(path, ".partial")), merged_(merged) {}
  void write(std::vector<StepSource>& steps);

 private:
  using Kind = MergedContents::Kind;
  void list_pieces(const std::vector<StepSource>& steps);
  std::ptrdiff_t num_rows() const;
  void copy(const std::vector<StepSource>& steps, std::size_t s);
  void write_numbers();
  void lay_out_chunks(const std::vector<StepSource>& steps);
  void add_box_rows(std::size_t v, const std::vector<StepSource>& steps);
  void copy_chunks(const std::vector<StepSource>& steps, std::size_t s);
  bool is_copied(std::size_t v, std::size_t s) const {
    return merged_.kinds[v] == Kind::field || (merged_.kinds[v] == Kind::shared && s == 0);
  }
  void write_at(const void* data, std::size_t bytes, std::ptrdiff_t offset) const;

  /// A piece of the data: its row of the table of checksums, and where it is read.
  struct Piece {
    ChecksumRow row;
    std::uint64_t offset;  ///< in the variable of the step
    std::optional<std::uint64_t> xxh3;
  };
  std::string path_, partial_;
  const MergedContents& merged_;
  std::vector<std::vector<Piece>> pieces_;       // of each step
  std::vector<std::vector<std::byte>> numbers_;  // of each variable, if it has one in a step
  std::vector<ChecksumRow> rows_;
  std::vector<ChunkedDataset> chunked_;  // of each variable; none: they are contiguous
  std::vector<std::size_t> num_copied_;  // chunks of each variable
  std::vector<BoxRow> box_rows_;
  FileImage image_;
  PartialFile held_;
};

void MergedFile::write_at(const void* data, std::size_t bytes, std::ptrdiff_t offset) const {
  const int error =
      tailrace::write_at(held_.descriptor(), data, static_cast<std::ptrdiff_t>(bytes), offset);
  if (error != 0) fail_io("write", partial_, error);
}

std::ptrdiff_t MergedFile::num_rows() const {
  auto rows = std::ranges::count(merged_.kinds, Kind::number);
  for (const auto& of_step : pieces_) {
    rows += std::ranges::count_if(of_step, [&](const Piece& piece) {
      return merged_.kinds[static_cast<std::size_t>(piece.row.variable)] != Kind::number;
    });
  }
  return rows;
}

void MergedFile::list_pieces(const std::vector<StepSource>& steps) {
  pieces_.resize(steps.size());
  numbers_.resize(merged_.kinds.size());
  for (std::size_t v = 0; v < merged_.kinds.size(); ++v) {
    const auto bytes = static_cast<std::uint64_t>(merged_.step_bytes[v]);
    const auto count = merged_.kinds[v] == Kind::shared ? 1 : steps.size();
    if (merged_.kinds[v] == Kind::number) numbers_[v].resize(steps.size() * bytes);
    for (std::size_t s = 0; s < count; ++s) {
      if (steps[s].chunks(v)) continue;
      for (const auto& piece : steps[s].pieces(v)) {
        std::optional<std::uint64_t> xxh3;
        if (steps[s].has_checksum(v)) xxh3 = piece.xxh3;
        pieces_[s].push_back({{v, s * bytes + piece.offset, piece.bytes, 0}, piece.offset, xxh3});
      }
    }
  }
}

// Single numbers are kept until all steps have been read: each would be a piece of its own.
void MergedFile::copy(const std::vector<StepSource>& steps, std::size_t s) {
  for (std::size_t v = 0; v < merged_.kinds.size(); ++v) steps[s].check_boxes(v);
  std::vector<std::byte> bytes;
  for (auto& piece : pieces_[s]) {
    const auto v = static_cast<std::size_t>(piece.row.variable);
    const auto at = static_cast<std::ptrdiff_t>(piece.row.offset);
    bytes.resize(static_cast<std::size_t>(piece.row.bytes));
    steps[s].read(v, piece.offset, bytes);
    piece.row.xxh3 = XXH3_64bits(bytes.data(), bytes.size());
    if (piece.xxh3 && *piece.xxh3 != piece.row.xxh3) steps[s].fail(v, "is not as it was written");
    if (merged_.kinds[v] == Kind::number) {
      std::ranges::copy(bytes, numbers_[v].begin() + at);
      continue;
    }
    write_at(bytes.data(), bytes.size(), image_.data_offsets[v] + at);
    rows_.push_back(piece.row);
  }
}

void MergedFile::write_numbers() {
  for (std::size_t v = 0; v < numbers_.size(); ++v) {
    const auto& numbers = numbers_[v];
    if (numbers.empty()) continue;
    const auto xxh3 = XXH3_64bits(numbers.data(), numbers.size());
    if (chunked_.empty()) {
      rows_.push_back({v, 0, numbers.size(), xxh3});
      write_at(numbers.data(), numbers.size(), image_.data_offsets[v]);
    } else {
      const auto count = numbers.size() / static_cast<std::size_t>(merged_.step_bytes[v]);
      box_rows_.push_back({v, {}, {count, 1, 1, 1, 1}, xxh3});
      write_at(numbers.data(), numbers.size(), image_.chunk_offsets[v].front());
    }
  }
}

// All variables of a file are cut into chunks, or none.
void MergedFile::lay_out_chunks(const std::vector<StepSource>& steps) {
  const auto fail = [&](std::size_t v) {
    throw Error(Errc::invalid_input, fmt::format("array {} is compressed in another way than in "
                                                 "other steps",
                                                 merged_.contents.variables[v].name));
  };
  const bool any = std::ranges::any_of(steps, &StepSource::is_chunked);
  if (!any) return;
  num_copied_.assign(merged_.kinds.size(), 0);
  for (std::size_t v = 0; v < merged_.kinds.size(); ++v) {
    auto& to = chunked_.emplace_back();
    if (merged_.kinds[v] == Kind::number) {
      to.extents.fill(1);
      to.extents[0] = std::ssize(steps);
      to.chunks.push_back({{}, std::ssize(steps) * merged_.step_bytes[v], 0});
      continue;
    }
    for (std::size_t s = 0; s < steps.size() && is_copied(v, s); ++s) {
      if (!steps[s].chunks(v)) fail(v);
      auto form = steps[s].chunks(v)->form;
      const auto dims = steps[s].entry(v).extents.size();
      const bool adds_axis = dims < merged_.contents.variables[v].dims.size();
      const auto with_time = [&](Index& index, std::ptrdiff_t first) {
        if (adds_axis) std::shift_right(index.begin(), index.end(), 1);
        if (merged_.kinds[v] == Kind::field) index[0] = first;
      };
      with_time(form.extents, 1);
      if (s == 0) {
        to.extents = form.extents;
        to.filters = form.filters;
      }
      const auto same = [](const ChunkFilter& a, const ChunkFilter& b) {
        return a.number == b.number && a.settings == b.settings;
      };
      if (to.extents != form.extents || !std::ranges::equal(to.filters, form.filters, same)) {
        fail(v);
      }
      for (auto& chunk : form.chunks) {
        with_time(chunk.start, static_cast<std::ptrdiff_t>(s));
        to.chunks.push_back(chunk);
      }
    }
  }
}

// Those of the steps, at their places along the time.
void MergedFile::add_box_rows(std::size_t v, const std::vector<StepSource>& steps) {
  for (std::size_t s = 0; s < steps.size() && is_copied(v, s); ++s) {
    const auto& entry = steps[s].entry(v);
    const bool adds_axis = entry.extents.size() < merged_.contents.variables[v].dims.size();
    for (auto row : entry.boxes) {
      row.variable = v;
      if (adds_axis) {
        std::shift_right(row.start.begin(), row.start.end(), 1);
        std::shift_right(row.extents.begin(), row.extents.end(), 1);
        row.extents[0] = 1;
      }
      if (merged_.kinds[v] == Kind::field) row.start[0] = s;
      box_rows_.push_back(row);
    }
  }
}

void MergedFile::copy_chunks(const std::vector<StepSource>& steps, std::size_t s) {
  std::vector<std::byte> bytes;
  for (std::size_t v = 0; v < chunked_.size(); ++v) {
    if (!is_copied(v, s)) continue;
    const auto& from = *steps[s].chunks(v);
    for (std::size_t c = 0; c < from.offsets.size(); ++c) {
      bytes.resize(static_cast<std::size_t>(from.form.chunks[c].bytes));
      steps[s].read_at(from.offsets[c], bytes);
      write_at(bytes.data(), bytes.size(), image_.chunk_offsets[v][num_copied_[v]++]);
    }
  }
}

void MergedFile::write(std::vector<StepSource>& steps) {
  const bool checksums = std::ranges::all_of(steps, &StepSource::has_checksums);
  list_pieces(steps);
  lay_out_chunks(steps);
  ImageSetting setting{.stripe_bytes = page_bytes};
  if (!chunked_.empty()) setting.chunked = &chunked_;
  if (checksums && chunked_.empty()) setting.table_rows = num_rows();
  if (checksums && !chunked_.empty()) {
    for (std::size_t v = 0; v < merged_.kinds.size(); ++v) add_box_rows(v, steps);
    setting.box_rows = std::ssize(box_rows_) + std::ranges::count(merged_.kinds, Kind::number);
  }
  build_image(merged_.contents, setting, image_);
  held_.create(partial_, file::Settings{}, Access{});
  try {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      steps[s].open();
      copy(steps, s);
      copy_chunks(steps, s);
      steps[s].close();
    }
    write_numbers();
    if (uninterrupted([&] { return ftruncate(held_.descriptor(), image_.total_bytes); }) != 0) {
      fail_io("write", partial_, errno);
    }
    for (const auto& extent : image_.extents) {
      write_at(image_.bytes.data() + extent.start, static_cast<std::size_t>(extent.count),
               extent.file_offset);
    }
    if (setting.table_rows >= 0) {
      write_at(rows_.data(), rows_.size() * sizeof(ChecksumRow), image_.table_offset);
    }
    if (setting.box_rows >= 0) {
      write_at(box_rows_.data(), box_rows_.size() * sizeof(BoxRow), image_.box_table_offset);
    }
    if (uninterrupted([&] { return fsync(held_.descriptor()); }) != 0) {
      fail_io("flush", partial_, errno);
    }
    held_.share(partial_);
    rename_file(partial_, path_);
    held_.release();
    flush_folder(folder_of(path_));
  } catch (...) {
    if (held_.held()) uninterrupted([&] { return unlink(partial_.c_str()); });
    throw;
  }
}

void require_rising(const SeriesBatch& batch) {
  std::optional<std::int64_t> last;
  for (const auto& file : batch.files) {
    const auto steps = steps_in_file(file);
    if (steps.size() != 1 || (last && steps.front() <= *last)) {
      throw Error(Errc::invalid_input,
                  fmt::format("{} does not hold the step after that of the previous file", file));
    }
    last = steps.front();
  }
}

}  // namespace

void merge_steps(const SeriesBatch& batch, const FileContents& contents) {
  require_rising(batch);
  const MergedContents merged(contents, std::ssize(batch.files));
  std::vector<StepSource> steps;
  for (const auto& file : batch.files) steps.emplace_back(file, merged);
  MergedFile(batch.merged, merged).write(steps);
}

}  // namespace tailrace::store
