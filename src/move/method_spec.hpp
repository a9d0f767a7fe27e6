// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tailrace {

/// What can be set for a method, as in "pull:chunk=4k,depth=16" or "node_direct:copies=streaming2".
/// A method reads what it knows.
struct MethodSettings {
  std::ptrdiff_t chunk_bytes = 64 << 10;  ///< chunk: of one one-sided read
  int depth = 8;                          ///< depth: one-sided reads under way at a time
  int in_flight = 16;                     ///< in_flight: messages a rank has under way each way
  std::string copies = "auto";            ///< copies: kind of its strided copies (copy_kinds.hpp)
};

/// A method by name, with its settings.
struct MethodSpec {
  std::string name;
  MethodSettings settings;

  /// Reads "name" or "name:key=value,..."; numbers may end in k, M or G (powers of 1024). Throws
  /// `Errc::invalid_input` naming the word that is wrong. Local.
  static MethodSpec parse(std::string_view text);
};

}  // namespace tailrace
