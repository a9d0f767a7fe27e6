// SPDX-License-Identifier: BSD-3-Clause
#include "common/graphics.hpp"

#include <link.h>

#include <array>
#include <cstring>

namespace tailrace::plugins {
namespace {

int is_of_graphics(dl_phdr_info* info, std::size_t /*size*/, void* /*nothing*/) {
  constexpr std::array names{"libcuda.so", "libamdhip64.so", "libze_loader.so"};
  for (const char* name : names) {
    if (info->dlpi_name != nullptr && std::strstr(info->dlpi_name, name) != nullptr) return 1;
  }
  return 0;
}

}  // namespace

bool uses_graphics_processors() { return dl_iterate_phdr(is_of_graphics, nullptr) != 0; }

}  // namespace tailrace::plugins
