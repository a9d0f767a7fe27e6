// SPDX-License-Identifier: BSD-3-Clause
#include "store/dataset_reader.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/refuse_input.hpp"
#include "file/part.hpp"
#include "store/item_convert.hpp"
#include "store/stored_type.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::store {

file::BackEnd& ReadFile::open() {
  if (!back_end_) {
    back_end_ = file::open_posix({&comm_, path_, FileAccess::read, settings_, statistics_});
  }
  return *back_end_;
}

void DatasetReader::read(std::span<const std::ptrdiff_t> units, std::vector<std::byte>& data) {
  std::ptrdiff_t bytes = 0;
  for (const auto unit : units) bytes += units_.bytes(unit);
  data.resize(static_cast<std::size_t>(bytes));
  if (units.empty()) return;
  if (units_.are_in_parts()) return read_parts(units, data.data());
  const auto boxes = units_.boxes(units);
  if (entry_.offset >= 0) return read_direct(boxes, data.data());
  open_dataset();
  if (chunks_) return read_chunks(boxes, data.data());
  auto* at = data.data();
  for (const auto& box : boxes) {
    read_by_hdf5(box, at);
    at += box.num_items() * item_bytes(entry_.type);
  }
}

void DatasetReader::read_direct(std::span<const Box> boxes, std::byte* data) {
  const FileArray array{entry_.offset, entry_.extents, item_bytes(entry_.type)};
  const auto part = FilePart::boxes(array, boxes, Memory::dense(boxes));
  try {
    file_.open().read(FilePart::Data::of(part).segments(), data, true);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} (dataset {})", error.what(), entry_.name),
                error.sys_errno());
  }
}

void DatasetReader::open_part(int part) {
  if (part_.part == part) return;
  const auto& wanted = entry_.parts[static_cast<std::size_t>(part)];
  if (!part_.file || part_.file->path() != wanted.file) {
    part_.index = index_file(wanted.file);
    part_.file = std::make_unique<ReadFile>(file_.beside(wanted.file));
  }
  const auto found =
      std::ranges::find(part_.index.entries, wanted.dataset, &FileIndex::Entry::name);
  const bool fits = found != part_.index.entries.end() && found->type == entry_.type &&
                    found->offset >= 0 &&
                    std::ranges::equal(found->extents,
                                       std::span(wanted.box.extents).first(entry_.extents.size()));
  if (!fits) {
    throw Error(
        Errc::corrupt,
        fmt::format("{} does not hold box {} of dataset {} of {}: it does not belong to that file",
                    wanted.file, wanted.box.describe(), entry_.name, file_.path()));
  }
  part_.entry = &*found;
  part_.part = part;
}

void DatasetReader::read_parts(std::span<const std::ptrdiff_t> units, std::byte* data) {
  const auto item = item_bytes(entry_.type);
  for (std::size_t i = 0; i < units.size();) {
    auto [part, run] = units_.part_run(units[i++]);
    while (i < units.size() && units_.part_run(units[i]).part == part) {
      run.count += units_.part_run(units[i++]).run.count;
    }
    open_part(part);
    const file::Segment segment{part_.entry->offset + run.start * item, 0, run.count * item};
    part_.file->open().read({&segment, 1}, data, false);
    data += segment.bytes;
  }
}

std::optional<std::uint64_t> DatasetReader::checksum(std::ptrdiff_t unit) {
  if (!units_.are_in_parts()) return units_.checksum(unit);
  const auto& [part, run] = units_.part_run(unit);
  open_part(part);
  const auto first = static_cast<std::uint64_t>(run.start * item_bytes(entry_.type));
  const auto& pieces = part_.entry->pieces;
  const auto piece = std::ranges::lower_bound(pieces, first, {}, &ChecksumRow::offset);
  const auto bytes = static_cast<std::uint64_t>(units_.bytes(unit));
  if (piece == pieces.end() || piece->offset != first || piece->bytes != bytes) return {};
  return piece->xxh3;
}

namespace {

H5T_conv_ret_t stop_at_overflow(H5T_conv_except_t kind, hid_t, hid_t, void*, void*, void* seen) {
  if (kind != H5T_CONV_EXCEPT_RANGE_HI && kind != H5T_CONV_EXCEPT_RANGE_LOW) {
    return H5T_CONV_UNHANDLED;
  }
  *static_cast<bool*>(seen) = true;
  return H5T_CONV_ABORT;
}

// The file space with `box` selected.
Hdf5Handle select(hid_t dataset, const Box& box) {
  Hdf5Handle space(H5Dget_space(dataset), H5Sclose, "space of a dataset");
  if (H5Sget_simple_extent_ndims(space.id()) == 0) return space;  // a scalar
  hsize_t start[max_dims] = {}, count[max_dims] = {};
  std::copy_n(box.start.begin(), max_dims, start);
  std::copy_n(box.extents.begin(), max_dims, count);
  check_hdf5(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start, nullptr, count, nullptr),
             "select a box");
  return space;
}

// "lzf (32000)": a filter that packs chunks of the dataset, and is not installed; "" if all are.
std::string missing_filter(hid_t dataset) {
  const Hdf5Handle create(H5Dget_create_plist(dataset), H5Pclose, "dataset creation list");
  for (const auto& [filter, name] : stored_filters(create.id())) {
    if (filter.number < 0 || H5Zfilter_avail(filter.number) > 0) continue;
    return name.empty() ? fmt::format("{}", filter.number)
                        : fmt::format("{} ({})", name, filter.number);
  }
  return {};
}

}  // namespace

void DatasetReader::open_dataset() {
  if (dataset_) return;
  quiet_.emplace();
  hdf5_file_.emplace(open_hdf5_file(file_.path()));
  dataset_.emplace(H5Dopen2(hdf5_file_->id(), entry_.name.c_str(), H5P_DEFAULT), H5Dclose,
                   "open " + entry_.name);
  ++file_.statistics().opens;
  chunks_ = ChunkReader::of(dataset_->id(), entry_);
}

void DatasetReader::cannot_read(const Box& box) const {
  throw Error(Errc::corrupt, fmt::format("{}: dataset {}, box {} cannot be read (damaged or cut "
                                         "short)",
                                         file_.path(), entry_.name, box.describe()));
}

void DatasetReader::read_chunks(std::span<const Box> boxes, std::byte* data) {
  auto& statistics = file_.statistics();
  const double start_s = now_s();
  const auto unread = chunks_->read(boxes, data);
  ++statistics.reads;
  for (const auto& box : boxes) statistics.bytes_read += box.num_items() * item_bytes(entry_.type);
  statistics.io_s += now_s() - start_s;
  // Chunks at the end of an axis reach beyond it.
  if (unread) cannot_read(intersect(*unread, whole_box(entry_)));
}

void DatasetReader::read_by_hdf5(const Box& box, std::byte* data) {
  auto& statistics = file_.statistics();
  const double start_s = now_s();
  const auto space = select(dataset_->id(), box);
  const auto items = static_cast<hsize_t>(box.num_items());
  const Hdf5Handle memory(H5Screate_simple(1, &items, nullptr), H5Sclose, "space in memory");
  const Hdf5Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "transfer list");
  bool overflow = false;
  // Only integers of more than 8 bytes can be too large; rounding is what floating point does.
  if (entry_.type == ItemType::int64 || entry_.type == ItemType::uint64) {
    check_hdf5(H5Pset_type_conv_cb(transfer.id(), stop_at_overflow, &overflow), "set conversion");
  }
  const Hdf5Handle stored(H5Dget_type(dataset_->id()), H5Tclose, "type of " + entry_.name);
  const auto status = H5Dread(dataset_->id(), memory_type(stored.id(), entry_.type).id(),
                              memory.id(), space.id(), transfer.id(), data);
  ++statistics.reads;
  statistics.bytes_read += box.num_items() * item_bytes(entry_.type);
  statistics.io_s += now_s() - start_s;
  if (overflow) {
    refuse_input("{}: dataset {}, box {} holds a number that does not fit {}", file_.path(),
                 entry_.name, box.describe(), type_name(entry_.type));
  }
  if (status >= 0) return;
  const auto missing = missing_filter(dataset_->id());
  if (!missing.empty()) {
    refuse_input(
        "{}: dataset {} is compressed by filter {}, which is not installed (HDF5_PLUGIN_PATH)",
        file_.path(), entry_.name, missing);
  }
  cannot_read(box);
}

Damage DatasetReader::damage_of(std::ptrdiff_t unit) {
  Damage damage;
  damage.box = units_.bounds(unit);
  const auto item = item_bytes(entry_.type);
  if (units_.are_in_parts()) {
    const auto& [part, run] = units_.part_run(unit);
    open_part(part);
    damage.part = part;
    damage.file_offset = part_.entry->offset + run.start * item;
    return damage;
  }
  std::ptrdiff_t first = 0;
  for (std::size_t d = 0; d < entry_.extents.size(); ++d) {
    first = first * entry_.extents[d] + damage.box.start[d];
  }
  if (units_.are_runs()) {
    const auto run = units_.run(unit);
    damage.bytes = {run.start * item, run.count * item};
    first = run.start;
  }
  if (entry_.offset >= 0) damage.file_offset = entry_.offset + first * item;
  return damage;
}

std::vector<Damage> DatasetReader::check(std::span<const std::ptrdiff_t> units,
                                         std::span<const std::byte> data) {
  std::vector<Damage> found;
  std::ptrdiff_t at = 0;
  for (const auto unit : units) {
    const auto bytes = units_.bytes(unit);
    const auto expected = checksum(unit);
    checked_ += expected ? 1 : 0;
    if (expected && XXH3_64bits(data.data() + at, static_cast<std::size_t>(bytes)) != *expected) {
      found.push_back(damage_of(unit));
    }
    at += bytes;
  }
  return found;
}

}  // namespace tailrace::store
