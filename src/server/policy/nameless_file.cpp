// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/nameless_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace::server {

int open_nameless(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Network file systems know no nameless files: a name for a moment.
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
    return descriptor;
  }
  std::string name = folder + "/.tailrace_XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace tailrace::server
