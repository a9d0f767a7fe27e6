// SPDX-License-Identifier: BSD-3-Clause
#include "library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tailrace::lapack {

namespace {

/// Addresses of this library.
struct Range {
  std::uintptr_t begin = 0, end = 0;

  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};

/// All that is loaded of an object.
Range range_of(const dl_phdr_info& object) {
  Range range{UINTPTR_MAX, 0};
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    range.begin = std::min<std::uintptr_t>(range.begin, object.dlpi_addr + part.p_vaddr);
    range.end = std::max<std::uintptr_t>(range.end, object.dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return range;
}

/// Not asked of dladdr, which goes over all names of an object: 50 us in a BLAS, for each routine.
bool is_ours(void* address) {
  static const Range ours = [] {
    Range found;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
          static char here;
          const auto range = range_of(*object);
          if (!range.holds(reinterpret_cast<std::uintptr_t>(&here))) return 0;
          *static_cast<Range*>(data) = range;
          return 1;
        },
        &found);
    return found;
  }();
  return ours.holds(reinterpret_cast<std::uintptr_t>(address));
}

/// What `name` means to the object of `handle`; else to what is loaded after us, or to any object:
/// a call in tail position returns to the caller's own caller.
void* look_up(void* handle, const std::string& name) {
  void* found = handle != nullptr ? dlsym(handle, name.c_str()) : nullptr;
  if (found != nullptr && !is_ours(found)) return found;
  found = dlsym(RTLD_NEXT, name.c_str());
  if (found != nullptr) return found;
  std::pair<const char*, void*> wanted{name.c_str(), nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& [symbol, address] = *static_cast<std::pair<const char*, void*>*>(data);
        void* const opened = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        void* const here = opened != nullptr ? dlsym(opened, symbol) : nullptr;
        if (here == nullptr || is_ours(here)) return 0;
        address = here;
        return 1;
      },
      &wanted);
  return wanted.second;
}

/// Whether its integers have 64 bits, asked of isamax: n is 3 to a reader of 32 bits, and negative,
/// which has no largest item, to one of 64.
bool has_wide_integers(void* routine) {
  using Call = std::int64_t (*)(const void*, const float*, const void*);
  constexpr auto n = static_cast<std::int64_t>(0xffffffff00000003ULL);
  const std::int64_t one = 1;
  const std::array<float, 3> items{1, 2, 1};
  const auto found = reinterpret_cast<Call>(routine)(&n, items.data(), &one);
  return static_cast<std::int32_t>(found) != 2;
}

/// The object that calls; null for the program itself. It stays open: its library must stay, too.
void* object_of(void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

std::unique_ptr<Lapack> load(const Family& family, void* caller) {
  void* const handle = object_of(caller);
  auto lapack = std::make_unique<Lapack>();
  constexpr Routine isamax = "isamax";
  constexpr Routine first_of_qr = "sgeqrf";
  for (std::size_t i = 0; i < routine_names.size(); ++i) {
    const auto name = routine_names[i];
    const char* const suffix = name.starts_with("LAPACKE") ? family.lapacke_suffix : family.suffix;
    lapack->addresses[i] = look_up(handle, family.prefix + std::string(name) + suffix);
    if (lapack->addresses[i] == nullptr && i >= isamax.index) {
      lapack->unusable = "LAPACK lacks a routine that is needed";
    }
    if (lapack->addresses[i] == nullptr && i >= first_of_qr.index) lapack->has_qr = false;
  }
  if (void* const found = lapack->addresses[isamax.index]) lapack->wide = has_wide_integers(found);
  return lapack;
}

thread_local const Lapack* current = nullptr;

}  // namespace

void* find_routine(void* caller, const std::string& name) {
  return look_up(object_of(caller), name);
}

bool has_wide_integers(const Family& family, void* caller) {
  void* const isamax = find_routine(caller, std::string(family.prefix) + "isamax" + family.suffix);
  return isamax != nullptr && has_wide_integers(isamax);
}

const Lapack& lapack_of(const Family& family, void* caller) {
  // Most callers call again.
  struct Known {
    void* caller = nullptr;
    const Family* family = nullptr;
    const Lapack* lapack = nullptr;
  };
  thread_local std::array<Known, 64> recent;
  auto& last = recent[reinterpret_cast<std::uintptr_t>(caller) / 4 % recent.size()];
  if (caller == last.caller && &family == last.family) return *last.lapack;
  using Key = std::pair<void*, const char*>;
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<Lapack>> known;
  const std::scoped_lock lock(mutex);
  auto& lapack = known[{caller, family.suffix}];
  if (!lapack) lapack = load(family, caller);
  last = {caller, &family, lapack.get()};
  return *lapack;
}

Using::Using(const Lapack& lapack) : before_(std::exchange(current, &lapack)) {}
Using::~Using() { current = before_; }
const Lapack* in_use() { return current; }

}  // namespace tailrace::lapack
