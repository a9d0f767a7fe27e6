// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace::apps {

/// A collective operation of MPI for which its library lets one choose the algorithm.
enum class Collective { allreduce, alltoall, alltoallv };

/// "allreduce"
std::string name_of(Collective collective);

/// MPI's own algorithms of `collective` on messages of `bytes` (of a rank; of a pair of ranks), the
/// library's own choice first: through the control variables of MPI's tools interface, so that all
/// are timed in one process. Names are "3 recursive_doubling": number and name of the library.
/// Throws `Errc::invalid_input` on all ranks if this library has no such variables (Open MPI: only
/// with coll_tuned_use_dynamic_rules). Collective, blocking.
std::vector<tune::Candidate> mpi_algorithms(const Comm& comm, Collective collective,
                                            std::ptrdiff_t bytes);

}  // namespace tailrace::apps
