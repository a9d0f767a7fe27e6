// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/device.hpp"
#include "move/strided_copy.hpp"

namespace tailrace {

/// Copies between arrays that may lie in device memory, and the host. The device copies into
/// pinned blocks, or out of them, by rows and planes, so that halos stay where they are. While it
/// works on one block, the processor works on another. A copy between the memories of the host is
/// made at once.
///
///     copies.begin({pointers}, stream);
///     copies.run(copy, pointer, memory);
///     copies.finish();
///     copies.end();
///
/// It keeps blocks and a stream of the device from call to call. If a call throws, which is
/// `Errc::io` of a device, no copy is under way.
class DeviceCopies {
 public:
  /// `block_bytes`: how much is copied at once; four blocks of it are pinned.
  explicit DeviceCopies(std::size_t block_bytes = std::size_t{4} << 20);
  ~DeviceCopies();
  DeviceCopies(DeviceCopies&&) noexcept;

  /// Finds out which arrays lie in device memory. What `run` copies of them is copied after the
  /// work that is in `stream` of their device now, or, if it is 0, after all work of the device.
  /// Local.
  void begin(std::span<const void* const> arrays, std::uintptr_t stream);
  /// Whether any of the arrays lies in device memory.
  bool any() const { return !arrays_.empty(); }
  bool on_device(const void* array) const { return place_of(array) != nullptr; }
  /// Starts a copy from `array`, one of those of `begin`, to the host. Local.
  void run(const StridedCopy& copy, const void* array, std::byte* to);
  /// Starts a copy from the host into `array`, one of those of `begin`. Local.
  void run_into(const StridedCopy& copy, const std::byte* from, void* array);
  /// Waits for the copies. Blocking. Local.
  void finish();
  /// Forgets the arrays.
  void end() { arrays_.clear(); }

 private:
  struct OfContext;
  const device::Place* place_of(const void* array) const;
  OfContext& made_for(const device::Place& place);
  template <class Action>
  void guarded(Action&& action);
  void abandon() noexcept;

  std::size_t block_bytes_;
  const device::Driver* driver_ = nullptr;
  std::uintptr_t stream_ = 0;
  std::vector<std::pair<const void*, device::Place>> arrays_;  // in device memory, sorted
  std::vector<std::unique_ptr<OfContext>> contexts_;
};

}  // namespace tailrace
