// SPDX-License-Identifier: BSD-3-Clause
// The stripes of simulated files, in place of src/file/hints/{file_system,stripes}.cpp, which ask
// the kernel. To the library they are files of a Lustre.
#include <cstring>

#include <fmt/format.h>

#include "file/settings.hpp"
#include "storage.hpp"
#include "tailrace/box.hpp"

namespace tailrace::file {

FileSystem file_system_of(const std::string& path) {
  if (!path.starts_with(scale::storage_folder)) return {.name = "unknown"};
  const auto layout = scale::Storage::get().layout(path);
  return {FileSystem::Kind::network, "lustre", layout.stripe_bytes, layout.stripes};
}

std::string set_stripes(const std::string& path, std::ptrdiff_t stripe_bytes, int stripe_count) {
  const int failed = scale::Storage::get().set_layout(path, {stripe_bytes, stripe_count});
  return failed == 0
             ? ""
             : fmt::format("cannot set the stripes of {}: {}", path, std::strerror(-failed));
}

}  // namespace tailrace::file
