// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace tailrace::server {

/// Starts a program that is to know nothing of this process's MPI: with no open files but standard
/// error (standard output goes there, too), default signals, a session of its own and an
/// environment without the launcher's variables. Returns its process number. Throws `Errc::io`.
/// Local.
int start_program(const std::string& path, const std::vector<std::string>& words);

/// For the start of such a program: closes all files but the standard ones, leaves the cores that
/// the parent was bound to, and lowers its priority. Local.
void settle_in_background();

}  // namespace tailrace::server
