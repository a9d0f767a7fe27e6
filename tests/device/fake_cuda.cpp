// SPDX-License-Identifier: BSD-3-Clause
// A driver library with CUDA's names and without a card. Memory of the device cannot be touched by
// the host: a line and a crash. Nothing that is put into a stream is done before somebody waits for
// it; then the work of all streams is done in random order, as far as streams and events allow.
// Until a copy has been done its destination holds garbage. Counts calls, and fails on request.
#include "fake_cuda.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using Status = int;
using Address = unsigned long long;

constexpr Status success = 0, invalid_value = 1, not_initialized = 3, invalid_context = 201,
                 invalid_handle = 400;
constexpr int legacy_stream = 1, thread_stream = 2;
constexpr unsigned char garbage = 0xa7;

struct CudaSide {
  std::size_t x_bytes, y, z, level;
  unsigned type;
  unsigned char* host;
  Address device;
  void* array;
  void* reserved;
  std::size_t pitch, height;
};
struct CudaCopy {
  CudaSide from, to;
  std::size_t width_bytes, height, depth;
};

struct Task {
  std::function<void()> action;
  std::vector<std::shared_ptr<Task>> before;
  bool done = false;
};
using TaskPointer = std::shared_ptr<Task>;

struct Stream {
  bool waits_for_default = true;
  TaskPointer last;                   // of the work put into it
  std::vector<TaskPointer> wait_for;  // events of other streams
};
struct Event {
  TaskPointer recorded;
};

/// Memory of the device: what the host has as an address, and what may be touched.
struct Region {
  std::size_t bytes = 0, mapped_bytes = 0;
  unsigned char* inside = nullptr;
};

struct Driver {
  std::mutex mutex;
  std::mt19937 random{17};
  std::map<std::uintptr_t, Region> memory;  // by address
  std::map<std::uintptr_t, std::size_t> pinned;
  std::set<Stream*> streams;
  std::set<Event*> events;
  Stream default_stream;
  std::vector<TaskPointer> tasks;  // not done
  std::vector<void*> contexts;     // of this process; the current one is the last
  fake_cuda_counts counts{};
  std::string first_wrong;
  std::string failing_call;
  int calls_before_failure = 0;
  Status failure = success;
};

// Never freed: outputs may end after static objects.
Driver& driver() {
  static auto* one = new Driver;
  return *one;
}

int primary_context = 0;

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

const std::pair<const std::uintptr_t, Region>* region_of(std::uintptr_t address) {
  auto& memory = driver().memory;
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  --after;
  return address < after->first + after->second.mapped_bytes ? &*after : nullptr;
}

void say_touch(int signal_number, siginfo_t* info, void*) {
  const auto* region = region_of(number(info->si_addr));
  char line[160];
  const int length = std::snprintf(
      line, sizeof line, "fake_cuda: the host touched %s at %p\n",
      region != nullptr ? "device memory" : "memory that is not mapped", info->si_addr);
  (void)!write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void watch_touches() {
  struct sigaction action {};
  action.sa_sigaction = say_touch;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

Status wrong(const std::string& what, Status status) {
  auto& one = driver();
  if (one.counts.wrong++ == 0) one.first_wrong = what;
  return status;
}

/// The touchable bytes of `bytes` bytes at an address of the device; null if they are not in one
/// piece of its memory.
unsigned char* inside(Address address, std::size_t bytes) {
  const auto* region = region_of(static_cast<std::uintptr_t>(address));
  if (region == nullptr || address + bytes > region->first + region->second.bytes) return nullptr;
  return region->second.inside + (address - region->first);
}

bool is_pinned(const void* host, std::size_t bytes) {
  auto& pinned = driver().pinned;
  auto after = pinned.upper_bound(number(host));
  if (after == pinned.begin()) return false;
  --after;
  return number(host) + bytes <= after->first + after->second;
}

bool fails(const char* call, Status& status) {
  auto& one = driver();
  if (one.failing_call != call || one.calls_before_failure-- > 0) return false;
  one.failing_call.clear();
  status = one.failure;
  return true;
}

/// The stream of a handle; null if there is none.
Stream* stream_of(void* handle) {
  auto& one = driver();
  const auto value = number(handle);
  if (value == 0 || value == legacy_stream || value == thread_stream) return &one.default_stream;
  auto* stream = static_cast<Stream*>(handle);
  return one.streams.contains(stream) ? stream : nullptr;
}

TaskPointer add(Stream& stream, std::function<void()> action) {
  auto& one = driver();
  auto task = std::make_shared<Task>();
  task->action = std::move(action);
  task->before = std::move(stream.wait_for);
  stream.wait_for.clear();
  if (stream.last) task->before.push_back(stream.last);
  if (&stream == &one.default_stream) {
    for (auto* other : one.streams) {
      if (other->waits_for_default && other->last) task->before.push_back(other->last);
    }
  } else if (stream.waits_for_default && one.default_stream.last) {
    task->before.push_back(one.default_stream.last);
  }
  stream.last = task;
  one.tasks.push_back(task);
  return task;
}

/// Does work in random order until `enough`.
template <class Enough>
void work_until(Enough&& enough) {
  auto& one = driver();
  while (!enough()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < one.tasks.size(); ++i) {
      if (std::ranges::all_of(one.tasks[i]->before, [](const auto& task) { return task->done; })) {
        ready.push_back(i);
      }
    }
    if (ready.empty()) return;
    const auto chosen = ready[one.random() % ready.size()];
    const auto task = one.tasks[chosen];
    one.tasks.erase(one.tasks.begin() + static_cast<std::ptrdiff_t>(chosen));
    if (task->action) task->action();
    task->done = true;
    task->before.clear();
    task->action = nullptr;
  }
}

/// Rows of two memories.
struct RowCopy {
  std::vector<std::pair<unsigned char*, const unsigned char*>> rows;  // to, from
  std::size_t bytes;
};

Status add_copy(const RowCopy& copy, bool to_host, void* handle) {
  auto* stream = stream_of(handle);
  if (stream == nullptr) return wrong("a copy in no stream", invalid_handle);
  auto& counts = driver().counts;
  ++counts.copies;
  (to_host ? counts.to_host_bytes : counts.to_device_bytes) +=
      static_cast<long long>(copy.bytes * copy.rows.size());
  for (const auto& row : copy.rows) std::memset(row.first, garbage, copy.bytes);
  add(*stream, [copy] {
    for (const auto& [to, from] : copy.rows) std::memcpy(to, from, copy.bytes);
  });
  return success;
}

Status in_context(const char* call) {
  return driver().contexts.empty()
             ? wrong(std::string(call) + " without a context", invalid_context)
             : success;
}

}  // namespace

extern "C" {

Status cuPointerGetAttributes(unsigned count, int* attributes, void** values, Address pointer) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  if (one.memory.empty() && one.pinned.empty()) return not_initialized;
  const auto* region = region_of(static_cast<std::uintptr_t>(pointer));
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case 1:  // memory of pools, every other region here, has no context
        *static_cast<void**>(values[i]) =
            region != nullptr && region->first / 4096 % 2 == 0 ? &primary_context : nullptr;
        break;
      case 2:
        *static_cast<unsigned*>(values[i]) = region != nullptr ? 2 : 0;
        break;
      case 9:
        *static_cast<int*>(values[i]) = region != nullptr ? 0 : -2;
        break;
      default:
        return wrong("an unknown attribute of a pointer", invalid_value);
    }
  }
  return success;
}
Status cuDevicePrimaryCtxRetain(void** context, int device) {
  const std::lock_guard lock(driver().mutex);
  if (device != 0) return wrong("context of another device", invalid_value);
  *context = &primary_context;
  return success;
}
Status cuCtxPushCurrent_v2(void* context) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = success;
  if (fails("cuCtxPushCurrent", status)) return status;
  if (context != &primary_context) return wrong("an unknown context", invalid_context);
  one.contexts.push_back(context);
  return success;
}
Status cuCtxPopCurrent_v2(void** context) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  if (one.contexts.empty()) return wrong("no context to pop", invalid_context);
  *context = one.contexts.back();
  one.contexts.pop_back();
  return success;
}
Status cuCtxSynchronize(void) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = in_context("cuCtxSynchronize");
  if (status != success || fails("cuCtxSynchronize", status)) return status;
  ++one.counts.waits;
  ++one.counts.context_waits;
  work_until([&] { return one.tasks.empty(); });
  return success;
}
Status cuStreamCreate(void** stream, unsigned flags) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = in_context("cuStreamCreate");
  if (status != success || fails("cuStreamCreate", status)) return status;
  auto* made = new Stream;
  made->waits_for_default = flags == 0;
  one.streams.insert(made);
  ++one.counts.streams;
  *stream = made;
  return success;
}
Status cuStreamDestroy_v2(void* stream) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  auto* mine = static_cast<Stream*>(stream);
  if (one.streams.erase(mine) == 0) return wrong("an unknown stream destroyed", invalid_handle);
  --one.counts.streams;
  delete mine;
  return success;
}
Status cuStreamWaitEvent(void* stream, void* event, unsigned) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = success;
  if (fails("cuStreamWaitEvent", status)) return status;
  auto* of = stream_of(stream);
  if (of == nullptr || !one.events.contains(static_cast<Event*>(event))) {
    return wrong("a stream waits for no event", invalid_handle);
  }
  if (static_cast<Event*>(event)->recorded) {
    of->wait_for.push_back(static_cast<Event*>(event)->recorded);
  }
  return success;
}
Status cuEventCreate(void** event, unsigned) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  const auto status = in_context("cuEventCreate");
  if (status != success) return status;
  auto* made = new Event;
  one.events.insert(made);
  *event = made;
  return success;
}
Status cuEventDestroy_v2(void* event) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  if (one.events.erase(static_cast<Event*>(event)) == 0) {
    return wrong("an unknown event destroyed", invalid_handle);
  }
  delete static_cast<Event*>(event);
  return success;
}
Status cuEventRecord(void* event, void* stream) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = success;
  if (fails("cuEventRecord", status)) return status;
  auto* of = stream_of(stream);
  if (of == nullptr || !one.events.contains(static_cast<Event*>(event))) {
    return wrong("no event recorded", invalid_handle);
  }
  static_cast<Event*>(event)->recorded = add(*of, nullptr);
  return success;
}
Status cuEventSynchronize(void* event) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  if (!one.events.contains(static_cast<Event*>(event))) {
    return wrong("waits for no event", invalid_handle);
  }
  ++one.counts.waits;
  const auto recorded = static_cast<Event*>(event)->recorded;
  work_until([&] { return !recorded || recorded->done; });
  Status status = success;  // of the work before, as a real one tells it late
  fails("cuEventSynchronize", status);
  return status;
}
Status cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = in_context("cuMemHostAlloc");
  if (status != success || fails("cuMemHostAlloc", status)) return status;
  *memory = std::malloc(bytes);
  one.pinned[number(*memory)] = bytes;
  one.counts.pinned_bytes += static_cast<long long>(bytes);
  return success;
}
Status cuMemFreeHost(void* memory) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  const auto found = one.pinned.find(number(memory));
  if (found == one.pinned.end()) return wrong("memory freed that is not pinned", invalid_value);
  one.counts.pinned_bytes -= static_cast<long long>(found->second);
  one.pinned.erase(found);
  std::free(memory);
  return success;
}
Status cuMemcpyAsync(Address to, Address from, std::size_t bytes, void* stream) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = in_context("cuMemcpyAsync");
  if (status != success || fails("cuMemcpyAsync", status)) return status;
  const bool to_host = region_of(static_cast<std::uintptr_t>(from)) != nullptr;
  auto* on_device = inside(to_host ? from : to, bytes);
  auto* on_host = reinterpret_cast<unsigned char*>(to_host ? to : from);
  if (on_device == nullptr) return wrong("a copy beyond device memory", invalid_value);
  if (!is_pinned(on_host, bytes)) return wrong("a copy of memory not pinned", invalid_value);
  RowCopy copy{{}, bytes};
  if (to_host) copy.rows.emplace_back(on_host, on_device);
  if (!to_host) copy.rows.emplace_back(on_device, on_host);
  return add_copy(copy, to_host, stream);
}
Status cuMemcpy3DAsync_v2(const CudaCopy* given, void* stream) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  Status status = in_context("cuMemcpy3DAsync");
  if (status != success || fails("cuMemcpy3DAsync", status)) return status;
  const bool to_host = given->from.type == 2 && given->to.type == 1;
  if (!to_host && !(given->from.type == 1 && given->to.type == 2)) {
    return wrong("a copy between other memories", invalid_value);
  }
  for (const auto* side : {&given->from, &given->to}) {
    if (side->pitch < given->width_bytes || side->height < given->height ||
        side->pitch > 0x7fffffff || side->reserved != nullptr || side->array != nullptr ||
        side->x_bytes + side->y + side->z + side->level != 0) {
      return wrong("wrong pitch or height of a copy", invalid_value);
    }
  }
  RowCopy copy{{}, given->width_bytes};
  const auto& device_side = to_host ? given->from : given->to;
  const auto& host_side = to_host ? given->to : given->from;
  for (std::size_t z = 0; z < given->depth; ++z) {
    for (std::size_t y = 0; y < given->height; ++y) {
      const auto row = [&](const CudaSide& side) { return (z * side.height + y) * side.pitch; };
      auto* on_device = inside(device_side.device + row(device_side), copy.bytes);
      auto* on_host = host_side.host + row(host_side);
      if (on_device == nullptr) return wrong("a copy beyond device memory", invalid_value);
      if (!is_pinned(on_host, copy.bytes)) {
        return wrong("a copy of memory not pinned", invalid_value);
      }
      if (to_host) copy.rows.emplace_back(on_host, on_device);
      if (!to_host) copy.rows.emplace_back(on_device, on_host);
    }
  }
  return add_copy(copy, to_host, stream);
}
Status cuGetErrorName(Status status, const char** name) {
  *name = status == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : "CUDA_ERROR_OTHER";
  return success;
}

void* fake_cuda_alloc(std::size_t bytes) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  if (one.memory.empty()) watch_touches();
  Region region;
  region.bytes = bytes;
  region.mapped_bytes = (bytes + 4096) / 4096 * 4096;
  const int file = memfd_create("fake_cuda", MFD_CLOEXEC);
  void* address = MAP_FAILED;
  void* touchable = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(region.mapped_bytes)) == 0) {
    address = mmap(nullptr, region.mapped_bytes, PROT_NONE, MAP_SHARED, file, 0);
    touchable = mmap(nullptr, region.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (address == MAP_FAILED || touchable == MAP_FAILED) {
    std::perror("fake_cuda: memory");
    std::abort();
  }
  close(file);
  region.inside = static_cast<unsigned char*>(touchable);
  std::memset(region.inside, garbage, region.mapped_bytes);
  one.memory[number(address)] = region;
  return address;
}
void fake_cuda_free(void* memory) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  work_until([&] { return one.tasks.empty(); });
  const auto found = one.memory.find(number(memory));
  if (found == one.memory.end()) {
    wrong("device memory freed that is not there", invalid_value);
    return;
  }
  munmap(found->second.inside, found->second.mapped_bytes);
  munmap(memory, found->second.mapped_bytes);
  one.memory.erase(found);
}
void* fake_cuda_stream(void) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  auto* made = new Stream;
  one.streams.insert(made);
  return made;
}
void fake_cuda_launch_write(void* device, const void* data, std::size_t bytes, void* stream) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  auto* of = stream_of(stream);
  auto* to = inside(number(device), bytes);
  if (of == nullptr || to == nullptr) {
    wrong("a kernel without stream or memory", invalid_value);
    return;
  }
  const auto* first = static_cast<const unsigned char*>(data);
  add(*of, [to, kept = std::vector<unsigned char>(first, first + bytes)] {
    std::memcpy(to, kept.data(), kept.size());
  });
}
void fake_cuda_peek(const void* device, void* data, std::size_t bytes) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  work_until([&] { return one.tasks.empty(); });
  const auto* from = inside(number(device), bytes);
  if (from == nullptr) {
    wrong("a look beyond device memory", invalid_value);
    return;
  }
  std::memcpy(data, from, bytes);
}
void fake_cuda_fail(const char* call, int after, int status) {
  auto& one = driver();
  const std::lock_guard lock(one.mutex);
  one.failing_call = status == success ? "" : call;
  one.calls_before_failure = after;
  one.failure = status;
}
struct fake_cuda_counts fake_cuda_count(void) {
  const std::lock_guard lock(driver().mutex);
  return driver().counts;
}
const char* fake_cuda_first_wrong(void) { return driver().first_wrong.c_str(); }

}  // extern "C"
