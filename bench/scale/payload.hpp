// SPDX-License-Identifier: BSD-3-Clause
// Memory folded away: all payload of all ranks is one piece of address space, that is neither
// copied nor, in large messages, touched. What is in it means nothing.
#pragma once

#include <cstddef>

namespace scale {

/// True if TAILRACE_PAYLOAD=folded is in the environment: times are right, contents are not.
bool payload_is_folded();
/// Once on each rank, after MPI_Init: large deliveries between folded memory are not copied.
void start_folding();
/// The same piece of address space for every call on every rank. Throws std::bad_alloc.
std::byte* folded_memory(std::ptrdiff_t bytes);

}  // namespace scale
