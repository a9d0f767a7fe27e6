// SPDX-License-Identifier: BSD-3-Clause
#include "store/chunk_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "layout/row_major.hpp"
#include "move/strided_copy.hpp"
#include "store/chunk_filters.hpp"
#include "store/hdf5_handle.hpp"
#include "store/stored_type.hpp"

namespace tailrace::store {
namespace {

std::span<std::byte> room(RawBytes& memory, std::size_t bytes) {
  memory.resize(bytes);
  return memory;
}

}  // namespace

std::vector<StoredFilter> stored_filters(hid_t create) {
  std::vector<StoredFilter> filters;
  const int count = H5Pget_nfilters(create);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    std::vector<unsigned> settings(32);
    auto num_settings = settings.size();
    std::array<char, 64> name{};
    const int number = H5Pget_filter2(create, static_cast<unsigned>(i), &flags, &num_settings,
                                      settings.data(), name.size() - 1, name.data(), &config);
    settings.resize(std::min(num_settings, settings.size()));
    filters.push_back({{number, std::move(settings)}, name.data()});
  }
  return filters;
}

std::optional<ChunkReader> ChunkReader::of(hid_t dataset, const FileIndex::Entry& entry) {
  const Hdf5Handle create(H5Dget_create_plist(dataset), H5Pclose, "dataset creation list");
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose, "type of " + entry.name);
  unsigned options = 0;
  if (H5Pget_layout(create.id()) != H5D_CHUNKED || !is_native(type.id(), entry.type) ||
      entry.chunk.size() != entry.extents.size() || H5Pget_chunk_opts(create.id(), &options) < 0 ||
      options != 0) {
    return {};
  }
  ChunkReader reader;
  reader.dataset_ = dataset;
  reader.num_dims_ = static_cast<int>(entry.extents.size());
  std::ranges::copy(entry.extents, reader.extents_.begin());
  std::ranges::copy(entry.chunk, reader.chunk_.begin());
  reader.item_bytes_ = item_bytes(entry.type);
  int compressions = 0;
  for (auto& [filter, name] : stored_filters(create.id())) {
    const bool shuffles = filter.number == shuffle_filter;
    // One that comes later shuffles items of an unknown size.
    if (shuffles && (filter.settings.empty() || filter.settings[0] == 0 || compressions > 0)) {
      return {};
    }
    const bool compresses = can_decompress(filter.number);
    if (!shuffles && !compresses && filter.number != fletcher32_filter) return {};
    compressions += compresses ? 1 : 0;
    reader.filters_.push_back(std::move(filter));
  }
  if (compressions > 1) return {};
  return reader;
}

bool ChunkReader::load_by_hdf5(const Box& chunk, std::byte* items) const {
  const Hdf5Handle type(H5Dget_type(dataset_), H5Tclose, "type of a dataset");
  const Hdf5Handle space(H5Dget_space(dataset_), H5Sclose, "space of a dataset");
  const auto inside = intersect(chunk, {num_dims_, {}, extents_});
  std::array<hsize_t, max_dims> start{}, count{}, extents{};
  std::ranges::copy(inside.start, start.begin());
  std::ranges::copy(inside.extents, count.begin());
  std::ranges::copy(chunk.extents, extents.begin());
  const Hdf5Handle memory(H5Screate_simple(num_dims_, extents.data(), nullptr), H5Sclose,
                          "space in memory");
  constexpr std::array<hsize_t, max_dims> zero{};
  return H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                             nullptr) >= 0 &&
         H5Sselect_hyperslab(memory.id(), H5S_SELECT_SET, zero.data(), nullptr, count.data(),
                             nullptr) >= 0 &&
         H5Dread(dataset_, type.id(), memory.id(), space.id(), H5P_DEFAULT, items) >= 0;
}

// Undoes the filters, the last one first. What the last step makes goes to `items`.
bool ChunkReader::load(const Box& chunk, std::byte* items) {
  const auto chunk_bytes = static_cast<std::size_t>(chunk.num_items() * item_bytes_);
  std::array<hsize_t, max_dims> start{};
  std::ranges::copy(chunk.start, start.begin());
  hsize_t stored_bytes = 0;
  if (H5Dget_chunk_storage_size(dataset_, start.data(), &stored_bytes) < 0 || stored_bytes == 0) {
    return load_by_hdf5(chunk, items);  // most likely it was never written
  }
  auto now = room(stored_, stored_bytes);
  std::uint32_t skipped = 0;
  if (H5Dread_chunk(dataset_, H5P_DEFAULT, start.data(), &skipped, now.data()) < 0) return false;
  const auto applied = [&](std::size_t i) { return (skipped >> i & 1) == 0; };
  for (auto i = filters_.size(); i-- > 0;) {
    if (!applied(i)) continue;
    const auto& filter = filters_[i];
    if (filter.number == fletcher32_filter) {
      if (!has_fletcher32(now)) return false;
      now = now.first(now.size() - 4);
      continue;
    }
    auto bytes = chunk_bytes;
    bool first = true;
    for (std::size_t before = 0; before < i; ++before) {
      if (!applied(before)) continue;
      first = false;
      if (filters_[before].number == fletcher32_filter) bytes += 4;
    }
    auto& memory = now.data() == items_.data() ? other_ : items_;
    const auto to = first ? std::span(items, chunk_bytes) : room(memory, bytes);
    if (filter.number == shuffle_filter) {
      if (now.size() != bytes) return false;
      unshuffle_bytes(now, filter.settings[0], to.data());
    } else if (!decompress(filter.number, now, to)) {
      return false;
    }
    now = to;
  }
  if (now.size() != chunk_bytes) return false;
  if (now.data() != items) std::memcpy(items, now.data(), chunk_bytes);
  return true;
}

std::optional<Box> ChunkReader::read(std::span<const Box> boxes, std::byte* data) {
  const RowMajor array{num_dims_, extents_};
  const auto chunks = cells_of(array, chunk_);
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> wanted;  // a chunk, and a box in it
  std::vector<std::byte*> places;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    places.push_back(data);
    data += boxes[b].num_items() * item_bytes_;
    const auto touched = cells_touching(boxes[b], chunk_);
    const RowMajor inside{num_dims_, touched.extents};
    for (std::ptrdiff_t i = 0; i < inside.num_items(); ++i) {
      wanted.emplace_back(chunks.linear(sum(touched.start, inside.place_of(i))), b);
    }
  }
  std::ranges::sort(wanted);
  RawBytes whole;
  std::ptrdiff_t loaded = -1;
  for (const auto& [number, b] : wanted) {
    const auto chunk = cell_box(chunks, number, chunk_);
    if (chunk == boxes[b]) {
      if (!load(chunk, places[b])) return chunk;
      continue;
    }
    const auto items = room(whole, static_cast<std::size_t>(chunk.num_items() * item_bytes_));
    if (number != loaded && !load(chunk, items.data())) return chunk;
    loaded = number;
    const auto part = intersect(chunk, boxes[b]);
    StridedCopy(part, side_in_packed(part, chunk), side_in_packed(part, boxes[b]), item_bytes_)
        .run(items.data(), places[b]);
  }
  return {};
}

}  // namespace tailrace::store
