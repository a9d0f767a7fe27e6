// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tailrace::tune {

/// So much of what goes through memory is enough to measure: what is more than the last cache
/// holds. One that holds the sample, but not the whole, makes stores into caches look fast. Local.
std::ptrdiff_t beyond_caches();

/// Bytes that differ, others for each seed. Local.
void fill_sample(std::span<std::byte> memory, std::uint64_t seed);

}  // namespace tailrace::tune
