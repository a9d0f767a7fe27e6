// SPDX-License-Identifier: BSD-3-Clause
// The Python function that the main thread was in, for samples within the interpreter's own code.
#pragma once
#include <cstdint>

#include "profile/writer.hpp"

namespace tailrace::plugins {

// Addresses of samples with this bit are numbers of Python functions.
constexpr std::uint64_t sampled_python_bit = std::uint64_t{1} << 62U;

// Inspects the interpreter of the calling thread, if it has one. Takes the interpreter's lock.
void find_python_frames();
// The Python function that runs at an instruction of the main thread, with sampled_python_bit; the
// instruction itself outside the interpreter. Safe in a signal handler of that thread.
std::uint64_t python_function(std::uint64_t instruction);
// Writes the names of these functions, and why there are none.
void print_sampled_python(Writer& out);

}  // namespace tailrace::plugins
