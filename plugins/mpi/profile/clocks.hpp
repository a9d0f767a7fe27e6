// SPDX-License-Identifier: BSD-3-Clause
// How the clocks of the nodes differ, asked at the start and at the end of the run, so that times
// of ranks on several nodes can be put on one clock after it.
//
// The first ranks of the nodes form a binomial tree. Each asks its parent for the time again and
// again. The parent reads its clock between question and answer, so each answer bounds the
// difference of the two clocks from both sides; the closest bounds count, and the error is at most
// half of their distance.
// tailrace/profile/clocks.py takes drift between the two points as even, and follows the tree to
// its root. Nothing is sent between them.
#pragma once
#include <cstdint>

#include "profile/writer.hpp"

namespace tailrace::plugins {

// Collective over MPI_COMM_WORLD, in MPI_Init.
void compare_clocks_at_start();
// The first ranks of the nodes, in MPI_Finalize: writes FOLDER/rank-NNNNNN.clock of a rank that has
// a parent. The rank's record is written before, as others may be late here.
void compare_clocks_at_end(const char* folder);
// The rank whose clock this one has, and what that one was told at the start.
void print_clock(Writer& out);

}  // namespace tailrace::plugins
