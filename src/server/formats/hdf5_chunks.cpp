// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files of compressed chunks. Each server compresses the chunks that it alone has items of,
// and says how large they have become; the leader has HDF5 lay them out, without their bytes, and
// compresses the chunks that servers share; each then writes its own where they belong.
#include <algorithm>
#include <utility>

#include "core/bytes.hpp"
#include "core/worker.hpp"
#include "file/settings.hpp"
#include "move/strided_copy.hpp"
#include "server/formats/chunk_codec.hpp"
#include "server/formats/chunk_grid.hpp"
#include "server/formats/chunk_parts.hpp"
#include "server/formats/shard_writer.hpp"
#include "server/formats/task_file.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"
#include "store/chunk_filters.hpp"
#include "tailrace/trace.hpp"

#include <xxhash.h>

namespace tailrace::server {
namespace {

using namespace store;

constexpr std::size_t block_bytes = 8 << 20;

/// What a server says of a chunk that it has compressed.
struct PackedChunk {
  std::int64_t number = 0, bytes = 0;
  std::uint32_t skipped_filters = 0;
};

/// What a server has in the second round: of each field the chunks of its own, and its items of
/// those that are shared, as `shared_boxes` lists them.
struct PackedFields {
  std::vector<std::vector<PackedChunk>> chunks;
  std::vector<std::vector<std::byte>> shared;
};

template <class Bytes>
void travel(Bytes& bytes, PackedFields& fields) {
  bytes(fields.chunks, fields.shared);
}

/// What the leader says in the second round.
struct ChunkedPlan {
  FilePlaces places;
  std::vector<std::vector<std::ptrdiff_t>> offsets;  ///< of each field, of all servers' chunks
  /// Of each field and server, its first one among them; and its first row of the table of boxes.
  std::vector<std::vector<std::ptrdiff_t>> first_chunk;
  std::vector<std::ptrdiff_t> first_row;
};

template <class Bytes>
void travel(Bytes& bytes, ChunkedPlan& plan) {
  bytes(plan.places, plan.offsets, plan.first_chunk, plan.first_row);
}

/// Memory to encode a chunk in, used again from chunk to chunk.
struct Scratch {
  RawBytes items, encoded;
};

/// A chunk in memory.
struct Packed {
  PackedChunk chunk;
  std::size_t block = 0, at = 0;  ///< where it lies
  BoxRow row;
};

Encoding encoding_of(const Step& step, const Field& field) {
  if (!field.compress.empty()) {
    const auto own = parse_compress(field.compress);
    if (!own.empty()) return parse_encoding(own);
  } else if (!step.encoding.empty()) {
    return parse_encoding(step.encoding);
  }
  return {.codec = "none", .level = 0};
}

class ChunkedFile : public ServedFile, private PartBytes {
 public:
  ChunkedFile(Step step, const FileSettings& settings, int server, int num_servers)
      : ServedFile(std::move(step), settings, server, num_servers),
        threads_(std::max(settings.threads, 1)) {
    drop_empty_parts(step_.fields);
    for (auto& field : step_.fields) {
      encodings_.push_back(encoding_of(step_, field));
      const auto& encoding = encodings_.back();
      require_codec_of_hdf5(encoding, step_.path);
      const bool real = field.type == ItemType::float32 || field.type == ItemType::float64;
      if (!real) continue;
      add_rounding(encoding.rounding, field.attributes);
      add_container(encoding.rounding);
    }
  }

  int rounds() const override { return 2; }
  Message needs() override { return round_ == 0 ? boxes_of(step_.fields) : pack(); }
  Message lay_out(std::span<const Message> needs_of_servers) override {
    return round_ == 0 ? choose_grids(needs_of_servers) : place_chunks(needs_of_servers);
  }
  void place(const Message& layout) override;
  double seconds() const override { return pack_s_ + task_.seconds(); }

 private:
  /// Bytes of a run that is to be written.
  struct Piece {
    const std::byte* data;
    std::ptrdiff_t start_bytes;  ///< in the file
  };
  void add_container(const Rounding& rounding) {
    const auto container = rounding_container(rounding);
    if (!container) return;
    for (const auto& known : step_.coordinates) {
      if (known.name == container->name) return;
    }
    step_.coordinates.push_back(*container);
  }
  Message choose_grids(std::span<const Message> needs_of_servers);
  Message pack();
  Message place_chunks(std::span<const Message> needs_of_servers);
  void pack_chunks(std::size_t f, std::span<const std::int64_t> chunks,
                   std::span<const FieldPart> parts);
  Packed encode(std::size_t f, const ChunkCodec& codec, const ChunkParts& parts,
                std::int64_t number, Scratch& scratch) const;
  BoxRow row_of(std::size_t f, const Box& box) const;
  std::uint64_t checksum(std::size_t f, const Box& box, std::span<const std::byte> items) const;
  void add_absent_rows(std::size_t f, std::vector<std::int64_t> written);
  void keep(std::size_t f, Packed packed, std::span<const std::byte> encoded);
  std::vector<ChunkFilter> filters_of(std::size_t f) const;
  std::shared_ptr<const WriterPart> make_part(const ChunkedPlan& plan);
  const std::byte* of(const Run& run, std::ptrdiff_t at, std::ptrdiff_t) override {
    const auto& piece = pieces_[static_cast<std::size_t>(run.staging_bytes)];
    return piece.data + (at - piece.start_bytes);
  }
  const std::byte* of(const BoxRun&) override { return nullptr; }  // there are none

  int threads_;
  std::vector<Encoding> encodings_;             ///< of each field
  std::vector<SharedGrid> grids_;               ///< of each field
  std::vector<std::vector<Boxes>> boxes_;       ///< leader: of each field, of each server
  std::vector<std::vector<Packed>> packed_;     ///< of each field
  std::vector<std::vector<std::byte>> blocks_;  ///< what has been compressed
  std::vector<BoxRow> rows_;
  std::vector<BoxRow> absent_rows_;  ///< leader: of chunks that no server has items of
  std::vector<Piece> pieces_;
  int round_ = 0;
  double pack_s_ = 0;
};

// Chunks of a shape that was asked for, or such that servers share few or none.
Message ChunkedFile::choose_grids(std::span<const Message> needs_of_servers) {
  boxes_ = boxes_by_field(needs_of_servers, step_.fields.size());
  std::vector<SharedGrid> grids;
  for (std::size_t f = 0; f < step_.fields.size(); ++f) {
    const auto& field = step_.fields[f];
    const auto dims = static_cast<std::size_t>(field.num_dims());
    auto encoding = encodings_[f];
    encoding.shard_bytes = 0;  // a chunk is a shard
    const auto grid = choose_grid(std::span(field.extents.data(), dims), item_bytes(field.type),
                                  encoding, boxes_[f]);
    grids.push_back({grid, shared_shards(grid, boxes_[f])});
  }
  return bytes_from(grids);
}

Packed ChunkedFile::encode(std::size_t f, const ChunkCodec& codec, const ChunkParts& parts,
                           std::int64_t number, Scratch& scratch) const {
  const auto& field = step_.fields[f];
  const auto& grid = grids_[f].grid;
  const auto item = item_bytes(field.type);
  const Box box = grid.shard_box(number);
  const auto items_bytes = static_cast<std::size_t>(box.num_items() * item);
  auto& [items, encoded] = scratch;
  items.resize(items_bytes);
  parts.gather(box, item, items);
  codec.encode(items, encoded);
  Packed packed;
  packed.chunk.number = number;
  if (encodings_[f].codec != "none" && encoded.size() >= items.size()) {
    // It has not become smaller: without the last filter, as HDF5 does it.
    encoded.assign(items.begin(), items.end());
    const bool shuffles = encodings_[f].shuffle && item > 1;
    packed.chunk.skipped_filters = shuffles ? 0b11 : 0b1;
  }
  if (encodings_[f].fletcher32) append_fletcher32(encoded);
  packed.chunk.bytes = std::ssize(encoded);
  packed.row = row_of(f, box);
  if (output_.checksums) packed.row.xxh3 = checksum(f, box, items);
  return packed;
}

// Of what readers get of a chunk, so of the items within the array, rounded.
BoxRow ChunkedFile::row_of(std::size_t f, const Box& box) const {
  const auto& grid = grids_[f].grid;
  const Box inside = intersect(box, {grid.num_dims, {}, grid.extents});
  BoxRow row{f, {}, {}, 0};
  row.extents.fill(1);
  std::copy_n(inside.start.begin(), grid.num_dims, row.start.begin());
  std::copy_n(inside.extents.begin(), grid.num_dims, row.extents.begin());
  return row;
}

std::uint64_t ChunkedFile::checksum(std::size_t f, const Box& box,
                                    std::span<const std::byte> items) const {
  const auto& grid = grids_[f].grid;
  const Box inside = intersect(box, {grid.num_dims, {}, grid.extents});
  if (inside == box) return XXH3_64bits(items.data(), items.size());
  const auto item = item_bytes(step_.fields[f].type);
  RawBytes within(static_cast<std::size_t>(inside.num_items() * item));
  StridedCopy(inside, side_in_packed(inside, box), packed_side(inside), item)
      .run(items.data(), within.data());
  return XXH3_64bits(within.data(), within.size());
}

// Readers get the fill value where there is no chunk: the rows of a field cover it all the same.
void ChunkedFile::add_absent_rows(std::size_t f, std::vector<std::int64_t> written) {
  const auto& field = step_.fields[f];
  const auto& grid = grids_[f].grid;
  const std::int64_t all = grid.shards().num_items();
  if (!output_.checksums || std::ssize(written) == all) return;
  std::ranges::sort(written);
  const auto item = item_bytes(field.type);
  RawBytes items(static_cast<std::size_t>(grid.shard_box(0).num_items() * item));
  store::fill_items(items, item, field.fill_or_zeros());
  const Box whole{grid.num_dims, {}, grid.extents};
  const auto of_whole_chunk = XXH3_64bits(items.data(), items.size());
  auto next = written.begin();
  for (std::int64_t number = 0; number < all; ++number) {
    if (next != written.end() && *next == number) {
      ++next;
      continue;
    }
    const Box box = grid.shard_box(number);
    absent_rows_.push_back(row_of(f, box));
    absent_rows_.back().xxh3 =
        intersect(box, whole) == box ? of_whole_chunk : checksum(f, box, items);
  }
}

void ChunkedFile::keep(std::size_t f, Packed packed, std::span<const std::byte> encoded) {
  if (blocks_.empty() || blocks_.back().size() + encoded.size() > blocks_.back().capacity()) {
    blocks_.emplace_back().reserve(std::max(block_bytes, encoded.size()));
  }
  auto& block = blocks_.back();
  packed.block = blocks_.size() - 1;
  packed.at = block.size();
  block.insert(block.end(), encoded.begin(), encoded.end());
  packed_[f].push_back(packed);
}

void ChunkedFile::pack_chunks(std::size_t f, std::span<const std::int64_t> chunks,
                              std::span<const FieldPart> parts) {
  const auto& field = step_.fields[f];
  const auto& grid = grids_[f].grid;
  const ChunkParts found(grid, parts, field.fill_or_zeros());
  ChunkCodec codec(encodings_[f], {field.type, grid.num_dims, grid.chunk, false, field.fill()});
  if (!chunks.empty()) {
    const Box box = grid.shard_box(chunks[chunks.size() / 2]);
    RawBytes items(static_cast<std::size_t>(box.num_items() * item_bytes(field.type)));
    found.gather(box, item_bytes(field.type), items);
    codec.look_at(items);
  }
  const auto at_once = static_cast<std::size_t>(chunks_at_once(threads_));
  std::vector<Scratch> scratch(std::min(at_once, chunks.size()));
  std::vector<Packed> packed(scratch.size());
  for (std::size_t first = 0; first < chunks.size(); first += at_once) {
    const auto count = std::min(at_once, chunks.size() - first);
    parallel_for(static_cast<std::ptrdiff_t>(count), threads_, [&](std::ptrdiff_t i) {
      const auto n = static_cast<std::size_t>(i);
      packed[n] = encode(f, codec, found, chunks[first + n], scratch[n]);
    });
    for (std::size_t n = 0; n < count; ++n) keep(f, packed[n], scratch[n].encoded);
  }
}

Message ChunkedFile::pack() {
  const double start_s = now_s();
  const Span span(output_.trace, Activity::compute, "compress", 1);
  packed_.assign(step_.fields.size(), {});
  absent_rows_.clear();
  blocks_.clear();
  PackedFields own;
  for (std::size_t f = 0; f < step_.fields.size(); ++f) {
    const auto& field = step_.fields[f];
    pack_chunks(f, own_shards(grids_[f], field), field.parts);
    auto& chunks = own.chunks.emplace_back();
    for (const auto& packed : packed_[f]) chunks.push_back(packed.chunk);
    auto& items = own.shared.emplace_back();
    for (const auto& box : shared_boxes(grids_[f], field.boxes())) append_items(field, box, items);
  }
  pack_s_ = now_s() - start_s;
  return bytes_from(own);
}

std::vector<ChunkFilter> ChunkedFile::filters_of(std::size_t f) const {
  const auto& encoding = encodings_[f];
  const auto item = item_bytes(step_.fields[f].type);
  std::vector<ChunkFilter> filters;
  if (encoding.shuffle && item > 1) {
    filters.push_back({shuffle_filter, {static_cast<unsigned>(item)}});
  }
  const auto& compressor = find_compressor(encoding.codec);
  if (compressor.hdf5_filter > 0) {
    const int level = encoding.level < 0 ? compressor.default_level : encoding.level;
    filters.push_back({compressor.hdf5_filter, {static_cast<unsigned>(level)}});
  }
  if (encoding.fletcher32) filters.push_back({fletcher32_filter, {}});
  return filters;
}

Message ChunkedFile::place_chunks(std::span<const Message> needs_of_servers) {
  std::vector<PackedFields> all;
  for (const auto& needs : needs_of_servers) all.push_back(value_from<PackedFields>(needs));
  ChunkedPlan plan;
  plan.first_row.assign(all.size(), 0);
  std::vector<ChunkedDataset> datasets;
  for (std::size_t f = 0; f < step_.fields.size(); ++f) {
    const auto& [grid, shared] = grids_[f];
    std::vector<FieldPart> parts;
    for (std::size_t s = 0; s < all.size(); ++s) {
      const auto* at = all[s].shared[f].data();
      for (const auto& box : shared_boxes(grids_[f], boxes_[f][s])) {
        parts.push_back({box, at});
        at += box.num_items() * item_bytes(step_.fields[f].type);
      }
    }
    const auto before = packed_[f].size();
    pack_chunks(f, shared, parts);
    for (auto p = before; p < packed_[f].size(); ++p) {
      all[0].chunks[f].push_back(packed_[f][p].chunk);
    }
    auto& dataset = datasets.emplace_back();
    dataset.extents = grid.chunk;
    dataset.filters = filters_of(f);
    auto& first = plan.first_chunk.emplace_back();
    std::vector<std::int64_t> written;
    for (const auto& server : all) {
      first.push_back(std::ssize(dataset.chunks));
      for (const auto& chunk : server.chunks[f]) {
        dataset.chunks.push_back(
            {grid.shard_box(chunk.number).start, chunk.bytes, chunk.skipped_filters});
        written.push_back(chunk.number);
      }
    }
    add_absent_rows(f, std::move(written));
  }
  std::ptrdiff_t rows = std::ssize(absent_rows_);  // the leader's, behind its chunks'
  for (std::size_t s = 0; s < all.size(); ++s) {
    plan.first_row[s] = s == 0 ? 0 : rows;
    for (const auto& chunks : all[s].chunks) rows += std::ssize(chunks);
  }
  ImageSetting setting{.chunked = &datasets};
  if (output_.checksums && rows > 0) setting.box_rows = rows;
  plan.places = lay_out_as(std::move(setting));
  plan.offsets = std::move(task_.image().chunk_offsets);
  return bytes_from(plan);
}

// One run for chunks that follow each other in memory and in the file; a last one for the rows of
// the table of boxes.
std::shared_ptr<const WriterPart> ChunkedFile::make_part(const ChunkedPlan& plan) {
  auto part = std::make_shared<WriterPart>();
  part->datasets.emplace_back();
  pieces_.clear();
  rows_.clear();
  const std::byte* memory_end = nullptr;
  for (std::size_t f = 0; f < packed_.size(); ++f) {
    auto number = static_cast<std::size_t>(plan.first_chunk[f][server_]);
    for (const auto& packed : packed_[f]) {
      const auto offset = plan.offsets[f][number++];
      const auto* data = blocks_[packed.block].data() + packed.at;
      auto* last = part->runs.empty() ? nullptr : &part->runs.back();
      if (last != nullptr && data == memory_end && offset == last->start_bytes + last->bytes) {
        last->bytes += packed.chunk.bytes;
      } else {
        part->runs.push_back({0, offset, packed.chunk.bytes, std::ssize(pieces_), 0});
        pieces_.push_back({data, offset});
      }
      memory_end = data + packed.chunk.bytes;
      rows_.push_back(packed.row);
    }
  }
  rows_.insert(rows_.end(), absent_rows_.begin(), absent_rows_.end());
  if (plan.places.box_table_offset < 0 || rows_.empty()) return part;
  const auto row_bytes = static_cast<std::ptrdiff_t>(sizeof(BoxRow));
  const auto offset = plan.places.box_table_offset + plan.first_row[server_] * row_bytes;
  part->runs.push_back({0, offset, std::ssize(rows_) * row_bytes, std::ssize(pieces_), 0});
  pieces_.push_back({reinterpret_cast<const std::byte*>(rows_.data()), offset});
  return part;
}

void ChunkedFile::place(const Message& layout) {
  if (round_++ == 0) {
    grids_ = value_from<std::vector<SharedGrid>>(layout);
    return;
  }
  auto plan = value_from<ChunkedPlan>(layout);
  auto part = make_part(plan);
  plan.places.data_offsets = {0};  // runs count from the start of the file, rows of tables, too
  plan.places.box_table_offset = -1;
  set(std::move(plan.places), *this, std::move(part));
}

}  // namespace

std::unique_ptr<StepFile> make_chunked_hdf5(Step step, const FileSettings& settings, int server,
                                            int num_servers) {
  return std::make_unique<ChunkedFile>(std::move(step), settings, server, num_servers);
}

}  // namespace tailrace::server
