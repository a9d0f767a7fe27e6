// SPDX-License-Identifier: BSD-3-Clause
// The memory of a GPU, through the driver that the program has loaded. Tailrace links no driver and
// loads none: a pointer leads to a device only if the program has loaded its driver before. Without
// one, asking costs the time of a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tailrace::device {

/// Where a pointer leads.
struct Place {
  bool on_device = false;
  void* context = nullptr;  ///< of the driver; it need not be the current one
};

/// Rows of contiguous bytes in the memory of a device. On the host they follow each other without
/// gaps.
struct Rows {
  std::size_t row_bytes = 0;
  std::size_t height = 1;  ///< rows of a plane
  std::size_t depth = 1;   ///< planes
  std::size_t pitch = 0;   ///< bytes from a row to the next; not used if `height` is 1
  std::size_t plane = 0;   ///< bytes from a plane to the next, a multiple of `pitch`
};

enum class Direction { to_host, to_device };

/// What a driver does. All calls but `place_of`, `enter` and `leave` are made between `enter` and
/// `leave`. They throw `Errc::io` with the driver's name of the error. Streams and events are
/// handles of the driver.
class Driver {
 public:
  virtual ~Driver() = default;
  /// Makes no context and touches nothing: any pointer may be asked about. Local.
  virtual Place place_of(const void* pointer) const = 0;
  /// Makes `context` the current one of this thread, and the one before current again.
  virtual void enter(void* context) const = 0;
  virtual void leave() const noexcept = 0;
  /// Waits for all work of the context. Blocking.
  virtual void wait_for_all() const = 0;
  /// A stream that does not wait for the default stream.
  virtual void* make_stream() const = 0;
  virtual void free_stream(void* stream) const noexcept = 0;
  virtual void* make_event() const = 0;
  virtual void free_event(void* event) const noexcept = 0;
  virtual void record(void* event, void* stream) const = 0;
  /// Later work of `stream` waits for `event`; the caller does not.
  virtual void order_after(void* stream, void* event) const = 0;
  /// Blocking.
  virtual void wait(void* event) const = 0;
  /// Host memory of which devices copy without the help of the processor.
  virtual std::byte* make_pinned(std::size_t bytes) const = 0;
  virtual void free_pinned(std::byte* memory) const noexcept = 0;
  /// Starts a copy; `host` is pinned memory.
  virtual void copy(const Rows& rows, std::byte* device, std::byte* host, Direction direction,
                    void* stream) const = 0;
};

/// A line of the table: a kind of driver.
struct DriverLine {
  std::string_view name;                                ///< "cuda"
  const char* library;                                  ///< as programs load it
  std::unique_ptr<const Driver> (*make)(void* library); /**< by an open library; null if functions
                                                           are missing */
};
std::span<const DriverLine> driver_table();

/// The driver that this program has loaded; null: none. Local.
const Driver* loaded_driver();

/// `enter` and `leave` as an object.
class Entered {
 public:
  Entered(const Driver& driver, void* context) : driver_(driver) { driver.enter(context); }
  ~Entered() { driver_.leave(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const Driver& driver_;
};

std::unique_ptr<const Driver> make_cuda_driver(void* library);

}  // namespace tailrace::device
