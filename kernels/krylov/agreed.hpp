// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <new>
#include <stdexcept>

#include "tailrace/error.hpp"

namespace tailrace::sparse {

/// As `run_agreed`, with the exceptions of tailrace::sparse told as what they are: bad input, or
/// no memory. Collective over `comm`, blocking.
template <class Action>
void run_agreed_sparse(MPI_Comm comm, Action&& action) {
  run_agreed(comm, [&] {
    try {
      action();
    } catch (const std::bad_alloc&) {
      throw Error(Errc::io, "no memory for a sparse matrix", ENOMEM);
    } catch (const std::invalid_argument& error) {
      throw Error(Errc::invalid_input, error.what());
    } catch (const std::domain_error& error) {
      throw Error(Errc::invalid_input, error.what());
    }
  });
}

}  // namespace tailrace::sparse
