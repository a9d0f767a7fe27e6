// SPDX-License-Identifier: BSD-3-Clause
// Windows of one-sided communication, and who waits for whom in their epochs: for all in a fence;
// in an access epoch (MPI_Win_start to MPI_Win_complete) for the targets' MPI_Win_post; in an
// exposure epoch (MPI_Win_post to MPI_Win_wait) for the origins' MPI_Win_complete. The latter are
// kept as messages with tags that no program has. Not safe for threads: with
// MPI_THREAD_MULTIPLE only fences are kept.
#pragma once
#include <mpi.h>

#include <cstdint>

#include "profile/recorder.hpp"

namespace tailrace::plugins {

// Window `win` was made on communicator `comm`. Allocates two integers for each of its members.
void win_made(MPI_Win win, unsigned comm);
// The communicator that a window was made on; the world if that was not seen.
unsigned win_comm(MPI_Win win);
// A fence, or MPI_Win_free, ended.
void fenced(MPI_Win win, Tick begin, Tick end, std::uint32_t row);
// MPI_Win_free ended; `win` means nothing any more.
void win_freed(MPI_Win win, Tick begin, Tick end, std::uint32_t row);
// MPI_Win_post was entered at `begin`.
void exposed(MPI_Win win, MPI_Group origins, Tick begin, std::uint32_t row);
// MPI_Win_wait, or MPI_Win_test that was true, ended.
void exposure_ended(MPI_Win win, Tick begin, Tick end, std::uint32_t row);
// MPI_Win_start ended.
void accessed(MPI_Win win, MPI_Group targets, Tick begin, Tick end, std::uint32_t row);
// MPI_Win_complete ended.
void access_ended(MPI_Win win, Tick begin, Tick end, std::uint32_t row);

}  // namespace tailrace::plugins
