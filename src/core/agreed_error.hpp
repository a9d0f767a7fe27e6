// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <mpi.h>

#include "tailrace/error.hpp"

namespace tailrace {

/// An error that all ranks of a communicator throw alike: none of them waits for another.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Throws the error of rank `root` on all ranks; the other ranks' `failure` does not count.
/// Collective over `comm`, blocking.
[[noreturn]] void throw_together(MPI_Comm comm, int root, std::optional<Error> failure);

}  // namespace tailrace
