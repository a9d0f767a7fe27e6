// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tailrace {

/// One axis of a copy: how many items, and how many bytes apart neighbours are on each side.
struct CopyAxis {
  std::ptrdiff_t extent = 1;
  std::ptrdiff_t from_stride = 0;
  std::ptrdiff_t to_stride = 0;
};

/// How lines of memory are written.
enum class Stores {
  ordinary,  ///< into the caches; the processor reads a line before it changes it
  fetched,   ///< the same, and a line is asked for before it is needed
  streaming  ///< past the caches, whole lines; those are not read before
};

/// A way of touching memory: a line of the table.
struct CopyKind {
  std::string_view name;
  std::string_view summary;
  Stores stores;
  int lines;  ///< of a unit: what is written at once to one place, where planes are turned
  std::string_view written;  ///< `lines` in words
};

/// The table, the plain reference first. Tests, tuner and `tailrace list copies` walk it.
std::span<const CopyKind> copy_kinds();
/// The line of that name; nullptr if there is none.
const CopyKind* find_copy_kind(std::string_view name);

/// The loops of the kinds that are not ordinary, by the instructions of one processor.
struct CopyLoops {
  std::string_view instructions;  ///< "avx512", "avx2", "sse2", "portable"
  /// Copies outer x inner rows of `bytes` contiguous bytes past the caches.
  void (*stream_rows)(const CopyAxis& outer, const CopyAxis& inner, std::ptrdiff_t bytes,
                      const std::byte* from, std::byte* to);
  /// Turn a plane, whose outer axis is contiguous in the source and whose inner axis is contiguous
  /// in the destination, by units of about `lines` lines. False if they do not know items of
  /// `bytes` bytes; then nothing has been done.
  bool (*stream_plane)(const CopyAxis& outer, const CopyAxis& inner, std::ptrdiff_t bytes,
                       const std::byte* from, std::byte* to, int lines);
  bool (*fetch_plane)(const CopyAxis& outer, const CopyAxis& inner, std::ptrdiff_t bytes,
                      const std::byte* from, std::byte* to, int lines);
};

/// Those that this processor can run, the best first; found out once, at run time.
std::span<const CopyLoops* const> copy_loops();

/// Calls `action` with a template argument that is `bytes`, where loops are made for items of that
/// size; false if there are none.
template <class Action>
bool with_known_size(std::ptrdiff_t bytes, Action&& action) {
  return [&]<std::ptrdiff_t... known>(std::integer_sequence<std::ptrdiff_t, known...>) {
    return ((bytes == known && (action.template operator()<known>(), true)) || ...);
  }
  (std::integer_sequence<std::ptrdiff_t, 1, 2, 4, 8, 12, 16, 24, 32, 64>{});
}

/// What this thread has written past the caches is seen before what it writes from now on.
inline void fence_streamed() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

extern const CopyLoops copy_loops_avx512, copy_loops_avx2, copy_loops_portable;

}  // namespace tailrace
