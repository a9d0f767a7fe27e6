// SPDX-License-Identifier: BSD-3-Clause
// What the process used, and where its threads ran.
#pragma once
#include "profile/writer.hpp"

namespace tailrace::plugins {

// The node's name, and the number of its start with that of the name space of its clock.
void print_node(Writer& out);
// What getrusage says.
void print_usage(Writer& out);
// The threads that there are: name, processor, those it may use, processor time; at most 256.
void print_placement(Writer& out);

}  // namespace tailrace::plugins
