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

/// Where a failure happened, as far as that is known.
struct ErrorPlace {
  int rank = -1;           ///< of the communicator of the call
  std::string path = {};   ///< of the file
  std::int64_t step = -1;  ///< of the file
};

/// An error that knows its place.
class PlacedError : public Error {
 public:
  PlacedError(const Error& error, ErrorPlace place) : Error(error), place_(std::move(place)) {}
  const ErrorPlace& place() const { return place_; }

 private:
  ErrorPlace place_;
};

/// An error that all ranks of a communicator throw alike: none of them waits for another.
class AgreedError : public PlacedError {
 public:
  AgreedError(Errc code, const std::string& message, int sys_errno = 0, ErrorPlace place = {})
      : PlacedError(Error(code, message, sys_errno), std::move(place)) {}
};

/// What `action` throws, as an `Error`; nothing if it throws nothing. Local.
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

/// For a call that is refused before it has done anything: throws `fault` where all ranks of `comm`
/// refuse theirs, at about the same time. If some do not within 10 s (`TAILRACE_PATIENCE_S`), they
/// would wait for this one, and the job ends with a line on standard error. Collective, blocking.
[[noreturn]] void refuse_call(const Comm& comm, const Error& fault);

/// Waits for the other ranks of `comm` where an object that is freed collectively has lost its last
/// owner; the job ends, with `what` in its line, if they do not come as for `refuse_call`. Does
/// nothing once MPI has been finalized. Collective, blocking.
void meet_to_free(const Comm& comm, std::string_view what) noexcept;

/// Runs `action`; an error of it that names no file yet is thrown on as one of `path` and `step`.
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
