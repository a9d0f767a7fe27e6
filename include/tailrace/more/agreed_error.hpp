// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <mpi.h>

#include "tailrace/error.hpp"

namespace tailrace {

class Comm;

/// Where a failure happened, if known.
struct ErrorPlace {
  int rank = -1;           ///< in the communicator of the call
  std::string path = {};   ///< path of the file
  std::int64_t step = -1;  ///< step of the file
};

/// An error with the place where it happened.
class PlacedError : public Error {
 public:
  PlacedError(const Error& error, ErrorPlace place) : Error(error), place_(std::move(place)) {}
  const ErrorPlace& place() const { return place_; }

 private:
  ErrorPlace place_;
};

/// An error that all ranks of a communicator throw, so that none of them waits for another.
class AgreedError : public PlacedError {
 public:
  AgreedError(Errc code, const std::string& message, int sys_errno = 0, ErrorPlace place = {})
      : PlacedError(Error(code, message, sys_errno), std::move(place)) {}
};

/// Runs `action` and returns what it throws as an `Error`, or nothing. Local.
template <class Action>
std::optional<Error> failure_of(Action&& action) {
  try {
    std::forward<Action>(action)();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Errc::internal, "no memory left");
  } catch (const std::exception& error) {
    return Error(Errc::internal, error.what());
  }
}

/// For a call that is refused before it has any effect: throws `fault` if all ranks of `comm`
/// refuse it at about the same time. If some have not done so after 10 s (`TAILRACE_PATIENCE_S`),
/// they would wait for this rank, so the job aborts with a line on standard error. Collective,
/// blocking.
[[noreturn]] void refuse_call(const Comm& comm, const Error& fault);

/// Waits for the other ranks of `comm` when a collectively freed object has lost its last owner. If
/// they do not arrive in the time of `refuse_call`, the job aborts with a line that names `what`.
/// Does nothing once MPI has been finalized. Collective, blocking.
void meet_to_free(const Comm& comm, std::string_view what) noexcept;

/// Runs `action`; adds `path` and `step` to an error that names no file yet, and rethrows it.
template <class Action>
void with_place(const std::string& path, std::int64_t step, Action&& action) {
  const auto placed = [&](ErrorPlace place) {
    if (place.path.empty()) {
      place.path = path;
      place.step = step;
    }
    return place;
  };
  try {
    std::forward<Action>(action)();
  } catch (const AgreedError& error) {
    throw AgreedError(error.code(), error.what(), error.sys_errno(), placed(error.place()));
  } catch (const PlacedError& error) {
    throw PlacedError(error, placed(error.place()));
  } catch (const Error& error) {
    throw PlacedError(error, placed({}));
  }
}

}  // namespace tailrace
