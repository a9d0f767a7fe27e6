// SPDX-License-Identifier: BSD-3-Clause
// CUDA by its driver interface, whose types are declared here: no header of CUDA is needed.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "core/device.hpp"
#include "tailrace/error.hpp"

namespace tailrace::device {
namespace {

using Status = int;
using Address = unsigned long long;
using Handle = void*;

enum class Attribute : int { context = 1, memory_type = 2, device_ordinal = 9 };
enum class MemoryType : unsigned { host = 1, device = 2 };
constexpr unsigned non_blocking_stream = 1, event_without_time = 2, pinned_for_all_contexts = 1;
constexpr std::size_t most_pitch_bytes = std::numeric_limits<int>::max();

/// CUDA_MEMCPY3D: one side, and a copy.
struct Side {
  std::size_t x_bytes = 0, y = 0, z = 0, level = 0;
  MemoryType type = MemoryType::host;
  std::byte* host_data = nullptr;
  Address device_data = 0;
  void* array = nullptr;
  void* reserved = nullptr;
  std::size_t pitch = 0, height = 0;
};
struct Copy3D {
  Side from, to;
  std::size_t width_bytes = 0, height = 0, depth = 0;
};

/// The functions of the library that are used, as it names them.
struct Functions {
  Status (*pointer_attributes)(unsigned, Attribute*, void**, Address);
  Status (*retain_primary)(Handle*, int);
  Status (*push)(Handle);
  Status (*pop)(Handle*);
  Status (*synchronize)();
  Status (*create_stream)(Handle*, unsigned);
  Status (*destroy_stream)(Handle);
  Status (*stream_wait)(Handle, Handle, unsigned);
  Status (*create_event)(Handle*, unsigned);
  Status (*destroy_event)(Handle);
  Status (*record)(Handle, Handle);
  Status (*wait_event)(Handle);
  Status (*alloc_host)(void**, std::size_t, unsigned);
  Status (*free_host)(void*);
  Status (*copy)(Address, Address, std::size_t, Handle);
  Status (*copy_3d)(const Copy3D*, Handle);
  Status (*error_name)(Status, const char**);
};

class Cuda final : public Driver {
 public:
  explicit Cuda(const Functions& functions) : cuda_(functions) {}

  // For memory that CUDA does not know, and before it has been initialised, nothing is told.
  Place place_of(const void* pointer) const override {
    auto type = MemoryType{};
    Handle owner = nullptr;
    int ordinal = -1;
    std::array attributes{Attribute::memory_type, Attribute::context, Attribute::device_ordinal};
    std::array<void*, 3> values{&type, static_cast<void*>(&owner), &ordinal};
    const auto status =
        cuda_.pointer_attributes(static_cast<unsigned>(attributes.size()), attributes.data(),
                                 values.data(), reinterpret_cast<Address>(pointer));
    if (status != 0 || type != MemoryType::device) return {};
    return {true, owner != nullptr ? owner : primary_of(ordinal)};
  }
  void enter(void* its_context) const override {
    check(cuda_.push(its_context), "cuCtxPushCurrent");
  }
  void leave() const noexcept override {
    Handle before = nullptr;
    cuda_.pop(&before);
  }
  void wait_for_all() const override { check(cuda_.synchronize(), "cuCtxSynchronize"); }
  void* make_stream() const override {
    Handle stream = nullptr;
    check(cuda_.create_stream(&stream, non_blocking_stream), "cuStreamCreate");
    return stream;
  }
  void free_stream(void* stream) const noexcept override { cuda_.destroy_stream(stream); }
  void* make_event() const override {
    Handle event = nullptr;
    check(cuda_.create_event(&event, event_without_time), "cuEventCreate");
    return event;
  }
  void free_event(void* event) const noexcept override { cuda_.destroy_event(event); }
  void record(void* event, void* stream) const override {
    check(cuda_.record(event, stream), "cuEventRecord");
  }
  void order_after(void* stream, void* event) const override {
    check(cuda_.stream_wait(stream, event, 0), "cuStreamWaitEvent");
  }
  void wait(void* event) const override { check(cuda_.wait_event(event), "cuEventSynchronize"); }
  std::byte* make_pinned(std::size_t bytes) const override {
    void* memory = nullptr;
    check(cuda_.alloc_host(&memory, bytes, pinned_for_all_contexts), "cuMemHostAlloc");
    return static_cast<std::byte*>(memory);
  }
  void free_pinned(std::byte* memory) const noexcept override { cuda_.free_host(memory); }

  void copy(const Rows& rows, std::byte* on_device, std::byte* on_host, Direction direction,
            void* stream) const override {
    if (rows.height * rows.depth == 1) {
      copy_row(on_device, on_host, rows.row_bytes, direction, stream);
    } else if (rows.pitch < rows.row_bytes || rows.pitch > most_pitch_bytes) {
      for (std::size_t i = 0; i < rows.height * rows.depth; ++i) {
        copy_row(on_device + i / rows.height * rows.plane + i % rows.height * rows.pitch,
                 on_host + i * rows.row_bytes, rows.row_bytes, direction, stream);
      }
    } else {
      copy_planes(rows, on_device, on_host, direction, stream);
    }
  }

 private:
  // Memory of pools belongs to a device and not to a context; programs use its primary one.
  Handle primary_of(int ordinal) const {
    const std::lock_guard lock(mutex_);
    auto& primary = primary_[ordinal];
    if (primary == nullptr)
      check(cuda_.retain_primary(&primary, ordinal), "cuDevicePrimaryCtxRetain");
    return primary;
  }

  void copy_row(std::byte* on_device, std::byte* on_host, std::size_t bytes, Direction direction,
                Handle stream) const {
    auto from = reinterpret_cast<Address>(on_device), to = reinterpret_cast<Address>(on_host);
    if (direction == Direction::to_device) std::swap(from, to);
    check(cuda_.copy(to, from, bytes, stream), "cuMemcpyAsync");
  }

  void copy_planes(const Rows& rows, std::byte* on_device, std::byte* on_host, Direction direction,
                   Handle stream) const {
    Copy3D copy{{}, {}, rows.row_bytes, rows.height, rows.depth};
    copy.from = {.type = MemoryType::device,
                 .device_data = reinterpret_cast<Address>(on_device),
                 .pitch = rows.pitch,
                 .height = rows.depth > 1 ? rows.plane / rows.pitch : rows.height};
    copy.to = {.type = MemoryType::host,
               .host_data = on_host,
               .pitch = rows.row_bytes,
               .height = rows.height};
    if (direction == Direction::to_device) std::swap(copy.from, copy.to);
    check(cuda_.copy_3d(&copy, stream), "cuMemcpy3DAsync");
  }

  void check(Status status, const char* call) const {
    if (status == 0) return;
    const char* name = nullptr;
    if (cuda_.error_name(status, &name) != 0 || name == nullptr) name = "unknown error";
    throw Error(Errc::io, fmt::format("device memory: {}: {} ({})", call, name, status));
  }

  Functions cuda_;
  mutable std::mutex mutex_;
  mutable std::map<int, Handle> primary_;  // by number of the device
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::unique_ptr<const Driver> make_cuda_driver(void* library) {
  Functions f{};
  const bool complete =
      find(library, "cuPointerGetAttributes", f.pointer_attributes) &&
      find(library, "cuDevicePrimaryCtxRetain", f.retain_primary) &&
      find(library, "cuCtxPushCurrent_v2", f.push) && find(library, "cuCtxPopCurrent_v2", f.pop) &&
      find(library, "cuCtxSynchronize", f.synchronize) &&
      find(library, "cuStreamCreate", f.create_stream) &&
      find(library, "cuStreamDestroy_v2", f.destroy_stream) &&
      find(library, "cuStreamWaitEvent", f.stream_wait) &&
      find(library, "cuEventCreate", f.create_event) &&
      find(library, "cuEventDestroy_v2", f.destroy_event) &&
      find(library, "cuEventRecord", f.record) &&
      find(library, "cuEventSynchronize", f.wait_event) &&
      find(library, "cuMemHostAlloc", f.alloc_host) &&
      find(library, "cuMemFreeHost", f.free_host) && find(library, "cuMemcpyAsync", f.copy) &&
      find(library, "cuMemcpy3DAsync_v2", f.copy_3d) &&
      find(library, "cuGetErrorName", f.error_name);
  if (!complete) return nullptr;
  return std::make_unique<const Cuda>(f);
}

}  // namespace tailrace::device
