// SPDX-License-Identifier: BSD-3-Clause
// What a rank does where its peers would wait for it for ever: it ends the job, with a line that
// says why.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/wait.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace {

/// How long ranks wait for others that may never come: TAILRACE_PATIENCE_S, else 10. Local.
double patience_s();

/// Writes "tailrace: rank 3: WHY: the job ends" to standard error and ends it. Local.
[[noreturn]] void end_job(const Comm& comm, const std::string& why);
[[noreturn]] void end_job(int rank, const std::string& why);

/// For a call of the time loop that is refused before it has done anything: throws `fault` where
/// all ranks of `comm` refuse theirs, at about the same time. If some do not within some seconds,
/// they would wait for this one, and the job ends.
[[noreturn]] void refuse_call(const Comm& comm, const WaitPolicy& waiting, const Error& fault);

/// Ends an operation that a destructor finds under way: `done` advances it and says whether it has
/// ended, which takes the peers. While an exception is on its way (there were
/// `exceptions_when_made` when the object was made) these may never come: the job ends if they have
/// not within some seconds. Does nothing once MPI has been finalized.
void end_operation(const Comm& comm, const WaitPolicy& waiting, std::string_view what,
                   int exceptions_when_made, const std::function<bool()>& done) noexcept;

/// Waits for the other ranks of `comm` in a destructor that then frees something collectively. Ends
/// the job as `end_operation` does.
void meet_to_free(const Comm& comm, const WaitPolicy& waiting, std::string_view what,
                  int exceptions_when_made) noexcept;

/// Makes an object in steps that are collective over `comm`. What a single rank fails with ends the
/// job; what all throw alike (`AgreedError`), and errors of MPI itself, pass.
template <class Make>
auto make_together(const Comm& comm, std::string_view what, Make&& make) {
  const auto lone = [&](const std::exception& error) {
    end_job(comm, fmt::format("{}: {}; the other ranks would wait for it", what, error.what()));
  };
  try {
    return make();
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    if (error.code() != Errc::mpi && comm.num_ranks() > 1) lone(error);
    throw;
  } catch (const std::exception& error) {
    if (comm.num_ranks() > 1) lone(error);
    throw;
  }
}

}  // namespace tailrace
