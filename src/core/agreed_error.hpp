// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <mpi.h>

#include "tailrace/more/agreed_error.hpp"

namespace tailrace {

/// `error` with `what` it is about in front of its text. Local.
inline Error about(const std::string& what, const Error& error) {
  return {error.code(), what + ": " + error.what(), error.sys_errno()};
}

/// Keeps the first failure of several actions. Local.
template <class Action>
void try_also(std::optional<Error>& failure, Action&& action) {
  auto found = failure_of(std::forward<Action>(action));
  if (!failure) failure = std::move(found);
}

/// Throws the error of rank `root` on all ranks; the other ranks' `failure` does not count.
/// Collective over `comm`, blocking.
[[noreturn]] void throw_together(MPI_Comm comm, int root, std::optional<Error> failure);

}  // namespace tailrace
