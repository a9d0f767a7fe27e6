// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include <mpi.h>

namespace tailrace {

/// Kinds of failure, the same in every language.
enum class Errc {
  invalid_input,  ///< a value given by the user is wrong; the message says what would be right
  io,             ///< a file operation failed; `sys_errno()` gives the reason
  mpi,            ///< an MPI call failed
  corrupt,        ///< data read back does not match its checksum or its format
  internal        ///< a defect of this library
};

/// The one exception type of the library.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message, int sys_errno = 0)
      : std::runtime_error(message), code_(code), sys_errno_(sys_errno) {}
  Errc code() const { return code_; }
  /// The `errno` of the failed system call, or 0.
  int sys_errno() const { return sys_errno_; }

 private:
  Errc code_;
  int sys_errno_;
};

/// Throws `Error(Errc::mpi)` with MPI's error text unless `status` is MPI_SUCCESS. Local.
void check_mpi(int status, std::source_location where = std::source_location::current());

/// Throws the same `Error(Errc::invalid_input, text)` on every rank of `comm` if `ok` is false on
/// any; the text of the lowest failing rank is used. Collective, blocking.
void require_all(MPI_Comm comm, bool ok, const std::string& text);

/// Makes the ranks of `comm` agree on failure: if `failure` is not null on any rank, every rank
/// throws an `Error` with the code, errno and message of the lowest failing rank (the message
/// begins with its rank if there is more than one rank). Collective, blocking.
void agree(MPI_Comm comm, const Error* failure);

/// Runs `action` on this rank and then `agree`s on its outcome; `action` must make no MPI call.
/// Any std::exception is caught. Collective, blocking.
template <class Action>
void run_agreed(MPI_Comm comm, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    agree(comm, &error);
    return;
  } catch (const std::exception& error) {
    const Error wrapped(Errc::internal, error.what());
    agree(comm, &wrapped);
    return;
  }
  agree(comm, nullptr);
}

}  // namespace tailrace
