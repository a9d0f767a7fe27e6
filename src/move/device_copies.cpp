// SPDX-License-Identifier: BSD-3-Clause
// A copy is cut into pieces that fit a block. On the host side a piece lies in its block without
// gaps, in the order of axes of the device's array: a device copies rows well and does not turn
// planes, the processor does both.
#include "move/device_copies.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <functional>

namespace tailrace {
namespace {

constexpr std::size_t num_pinned = 4;
constexpr std::size_t pinned_line = 64;  // pieces begin at lines

/// An axis of a copy, with its strides in bytes on both sides.
struct DeviceAxis {
  std::ptrdiff_t extent = 1, on_device = 0, on_host = 0;
};

/// A copy, or a piece of one: runs of contiguous bytes along axes, slowest on the device first.
struct DevicePiece {
  std::vector<DeviceAxis> axes;
  std::ptrdiff_t run_bytes = 0;
  std::ptrdiff_t on_device = 0, on_host = 0;  // the first byte on each side
  std::ptrdiff_t num_bytes() const {
    auto bytes = run_bytes;
    for (const auto& axis : axes) bytes *= axis.extent;
    return bytes;
  }
};

DevicePiece whole_piece(const StridedCopy& copy, device::Direction direction) {
  const bool to_host = direction == device::Direction::to_host;
  DevicePiece piece{{},
                    copy.run_bytes(),
                    to_host ? copy.from_offset() : copy.to_offset(),
                    to_host ? copy.to_offset() : copy.from_offset()};
  for (const auto& axis : copy.axes()) {
    if (axis.extent == 1) continue;
    auto& one = piece.axes.emplace_back(
        to_host ? DeviceAxis{axis.extent, axis.from_stride, axis.to_stride}
                : DeviceAxis{axis.extent, axis.to_stride, axis.from_stride});
    if (one.on_device >= 0) continue;
    piece.on_device += (one.extent - 1) * one.on_device;  // an axis that runs backwards
    piece.on_host += (one.extent - 1) * one.on_host;
    one.on_device = -one.on_device;
    one.on_host = -one.on_host;
  }
  std::ranges::stable_sort(piece.axes, std::greater{}, &DeviceAxis::on_device);
  return piece;
}

/// Calls `take` with pieces of at most `most_bytes` that make up `piece`; the last axes remain.
void cut_piece(DevicePiece piece, std::ptrdiff_t most_bytes,
               const std::function<void(const DevicePiece&)>& take) {
  if (piece.num_bytes() <= most_bytes) return take(piece);
  if (piece.axes.empty()) {
    const auto end = piece.run_bytes;
    for (std::ptrdiff_t at = 0; at < end; at += most_bytes) {
      take({{}, std::min(most_bytes, end - at), piece.on_device + at, piece.on_host + at});
    }
    return;
  }
  const auto axis = piece.axes.front();
  const auto step = std::max<std::ptrdiff_t>(1, most_bytes * axis.extent / piece.num_bytes());
  for (std::ptrdiff_t i = 0; i < axis.extent; i += step) {
    auto part = piece;
    part.on_device += i * axis.on_device;
    part.on_host += i * axis.on_host;
    part.axes.front().extent = std::min(step, axis.extent - i);
    if (step == 1) part.axes.erase(part.axes.begin());
    cut_piece(std::move(part), most_bytes, take);
  }
}

/// `piece` between its block, in which it lies without gaps, and the memory of the host.
StridedCopy copy_piece_on_host(const DevicePiece& piece, device::Direction direction) {
  std::vector<CopyAxis> axes;
  auto in_block = piece.run_bytes;
  for (auto axis = piece.axes.rbegin(); axis != piece.axes.rend(); ++axis) {
    axes.push_back(direction == device::Direction::to_host
                       ? CopyAxis{axis->extent, in_block, axis->on_host}
                       : CopyAxis{axis->extent, axis->on_host, in_block});
    in_block *= axis->extent;
  }
  return {axes, piece.run_bytes};
}

/// Copies `piece` between `array` and `block`, as few copies of rows and planes as it takes.
void copy_device_rows(const device::Driver& driver, DevicePiece piece, std::byte* array,
                      std::byte* block, device::Direction direction, void* stream) {
  auto& axes = piece.axes;
  while (!axes.empty() && axes.back().on_device == piece.run_bytes) {
    piece.run_bytes *= axes.back().extent;
    axes.pop_back();
  }
  for (std::size_t i = axes.size(); i-- > 1;) {  // axes that one axis describes
    if (axes[i - 1].on_device != axes[i].extent * axes[i].on_device) continue;
    axes[i - 1] = {axes[i - 1].extent * axes[i].extent, axes[i].on_device, 0};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const auto size = [](std::ptrdiff_t number) { return static_cast<std::size_t>(number); };
  device::Rows rows{.row_bytes = size(piece.run_bytes)};
  if (!axes.empty()) {
    rows.height = size(axes.back().extent);
    rows.pitch = size(axes.back().on_device);
    axes.pop_back();
  }
  const bool is_plane = !axes.empty() && rows.pitch > 0 &&
                        size(axes.back().on_device) % rows.pitch == 0 &&
                        size(axes.back().on_device) / rows.pitch >= rows.height;
  if (is_plane) {
    rows.depth = size(axes.back().extent);
    rows.plane = size(axes.back().on_device);
    axes.pop_back();
  }
  std::array<std::ptrdiff_t, max_dims> at{};
  const auto bytes = rows.row_bytes * rows.height * rows.depth;
  while (true) {
    auto* first = array + piece.on_device;
    for (std::size_t d = 0; d < axes.size(); ++d) first += at[d] * axes[d].on_device;
    driver.copy(rows, first, block, direction, stream);
    block += bytes;
    auto d = axes.size();
    while (d > 0 && ++at[d - 1] == axes[d - 1].extent) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

/// What copies of one context use: a stream, and blocks that are filled one after another.
struct DeviceCopies::OfContext {
  OfContext(const device::Driver& its_driver, void* its_context, std::size_t bytes)
      : driver(its_driver), context(its_context), block_bytes(bytes) {
    const device::Entered entered(driver, context);
    try {
      stream = driver.make_stream();
      before = driver.make_event();
      for (auto& block : blocks) {
        block.done = driver.make_event();
        block.memory = driver.make_pinned(block_bytes);
      }
    } catch (...) {
      free();
      throw;
    }
  }
  // At the end of a program the driver may have ended before, which is no failure.
  ~OfContext() {
    try {
      const device::Entered entered(driver, context);
      free();
    } catch (const std::exception&) {
    }
  }
  OfContext(const OfContext&) = delete;
  OfContext& operator=(const OfContext&) = delete;

  /// A piece on its way to the host that waits in a block.
  struct Arrival {
    StridedCopy copy;
    const std::byte* from;
    std::byte* to;
  };
  struct Block {
    std::byte* memory = nullptr;
    void* done = nullptr;  // event
    bool under_way = false;
    std::size_t used = 0;
    std::vector<Arrival> arrivals;
  };

  void order_after(std::uintptr_t user_stream) {
    if (ordered) return;
    if (user_stream == 0) {
      driver.wait_for_all();
    } else {
      driver.record(before, reinterpret_cast<void*>(user_stream));
      driver.order_after(stream, before);
    }
    ordered = true;
  }
  /// A place for a piece, in a block that the device does not use.
  std::byte* place_for(std::size_t bytes) {
    if (blocks[current].used + bytes > block_bytes) {
      close();
      current = (current + 1) % num_pinned;
      complete(blocks[current]);
    }
    auto& block = blocks[current];
    auto* place = block.memory + block.used;
    block.used += (bytes + pinned_line - 1) / pinned_line * pinned_line;
    return place;
  }
  void to_host(const DevicePiece& piece, std::byte* array, std::byte* host) {
    auto* place = place_for(static_cast<std::size_t>(piece.num_bytes()));
    copy_device_rows(driver, piece, array, place, device::Direction::to_host, stream);
    blocks[current].arrivals.push_back(
        {copy_piece_on_host(piece, device::Direction::to_host), place, host + piece.on_host});
  }
  void to_device(const DevicePiece& piece, const std::byte* host, std::byte* array) {
    auto* place = place_for(static_cast<std::size_t>(piece.num_bytes()));
    copy_piece_on_host(piece, device::Direction::to_device).run(host + piece.on_host, place);
    copy_device_rows(driver, piece, array, place, device::Direction::to_device, stream);
  }
  /// No more pieces go into the current block.
  void close() {
    auto& block = blocks[current];
    if (block.used == 0) return;
    driver.record(block.done, stream);
    block.under_way = true;
  }
  void complete(Block& block) {
    if (block.under_way) driver.wait(block.done);
    for (const auto& arrival : block.arrivals) arrival.copy.run(arrival.from, arrival.to);
    forget(block);
  }
  void finish() {
    close();
    for (std::size_t n = 1; n <= num_pinned; ++n) complete(blocks[(current + n) % num_pinned]);
    ordered = false;
  }
  /// After a failure; waits until the device has ended with the blocks, if it still can.
  void abandon() noexcept {
    try {
      driver.record(before, stream);
      driver.wait(before);
    } catch (const std::exception&) {
    }
    for (auto& block : blocks) forget(block);
    ordered = false;
  }
  static void forget(Block& block) {
    block.arrivals.clear();
    block.used = 0;
    block.under_way = false;
  }
  void free() noexcept {
    for (auto& block : blocks) {
      if (block.memory != nullptr) driver.free_pinned(block.memory);
      if (block.done != nullptr) driver.free_event(block.done);
    }
    if (before != nullptr) driver.free_event(before);
    if (stream != nullptr) driver.free_stream(stream);
  }

  const device::Driver& driver;
  void* context;
  std::size_t block_bytes;
  void* stream = nullptr;
  void* before = nullptr;  // event: what the user's stream held
  bool ordered = false;    // after the user's work
  std::size_t current = 0;
  std::array<Block, num_pinned> blocks;
};

DeviceCopies::DeviceCopies(std::size_t block_bytes) : block_bytes_(block_bytes) {}
DeviceCopies::~DeviceCopies() = default;
DeviceCopies::DeviceCopies(DeviceCopies&&) noexcept = default;

void DeviceCopies::begin(std::span<const void* const> arrays, std::uintptr_t stream) {
  arrays_.clear();
  stream_ = stream;
  driver_ = device::loaded_driver();
  if (driver_ == nullptr) return;
  for (const auto* array : arrays) {
    if (array == nullptr) continue;
    const auto place = driver_->place_of(array);
    if (place.on_device) arrays_.emplace_back(array, place);
  }
  std::ranges::sort(arrays_, std::less{}, [](const auto& entry) { return entry.first; });
}

const device::Place* DeviceCopies::place_of(const void* array) const {
  const auto found = std::ranges::lower_bound(arrays_, array, std::less{},
                                              [](const auto& entry) { return entry.first; });
  return found != arrays_.end() && found->first == array ? &found->second : nullptr;
}

DeviceCopies::OfContext& DeviceCopies::made_for(const device::Place& place) {
  const auto found =
      std::ranges::find(contexts_, place.context, [](const auto& one) { return one->context; });
  if (found != contexts_.end()) return **found;
  contexts_.push_back(std::make_unique<OfContext>(*driver_, place.context, block_bytes_));
  return *contexts_.back();
}

template <class Action>
void DeviceCopies::guarded(Action&& action) {
  try {
    action();
  } catch (...) {
    abandon();
    throw;
  }
}

void DeviceCopies::run(const StridedCopy& copy, const void* array, std::byte* to) {
  const auto* place = place_of(array);
  if (place == nullptr) return copy.run(static_cast<const std::byte*>(array), to);
  if (copy.num_bytes() == 0) return;
  guarded([&] {
    auto& one = made_for(*place);
    const device::Entered entered(*driver_, place->context);
    one.order_after(stream_);
    auto* from = static_cast<std::byte*>(const_cast<void*>(array));  // the driver only reads
    cut_piece(whole_piece(copy, device::Direction::to_host),
              static_cast<std::ptrdiff_t>(block_bytes_),
              [&](const DevicePiece& piece) { one.to_host(piece, from, to); });
  });
}

void DeviceCopies::run_into(const StridedCopy& copy, const std::byte* from, void* array) {
  const auto* place = place_of(array);
  if (place == nullptr) return copy.run(from, static_cast<std::byte*>(array));
  if (copy.num_bytes() == 0) return;
  guarded([&] {
    auto& one = made_for(*place);
    const device::Entered entered(*driver_, place->context);
    one.order_after(stream_);
    cut_piece(whole_piece(copy, device::Direction::to_device),
              static_cast<std::ptrdiff_t>(block_bytes_), [&](const DevicePiece& piece) {
                one.to_device(piece, from, static_cast<std::byte*>(array));
              });
  });
}

void DeviceCopies::finish() {
  guarded([&] {
    for (auto& one : contexts_) {
      if (!one->ordered) continue;
      const device::Entered entered(*driver_, one->context);
      one->finish();
    }
  });
}

void DeviceCopies::abandon() noexcept {
  for (auto& one : contexts_) {
    if (!one->ordered) continue;
    try {
      const device::Entered entered(*driver_, one->context);
      one->abandon();
    } catch (const std::exception&) {
    }
  }
}

}  // namespace tailrace
