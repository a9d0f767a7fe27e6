// SPDX-License-Identifier: BSD-3-Clause
#include "core/common_path.hpp"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/same_on_all.hpp"

namespace tailrace {

void require_same_folder(const Comm& comm, std::string_view who, const std::string& path) {
  const auto start = static_cast<std::int64_t>(start_of_path(path));
  std::array<std::int64_t, 2> ends{start, -start};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_INT64_T, MPI_MIN, comm.raw()));
  if (ends[0] == -ends[1]) return;
  // Folders of different nodes may have one name.
  const CommonArgument named{"the path", fmt::format("{} (folder {})", absolute_path(path), start)};
  require_same(comm, who, {&named, 1});
}

std::string common_path(const Comm& comm, std::string_view who, const std::string& path) {
  require_same_folder(comm, who, path);
  return absolute_path(path);
}

}  // namespace tailrace
