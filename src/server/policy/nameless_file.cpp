// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/nameless_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "core/system_call.hpp"

namespace tailrace::server {

int open_nameless(const std::string& folder) {
  const int descriptor =
      uninterrupted([&] { return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); });
  // Network file systems know no nameless files: a name for a moment.
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
    return descriptor;
  }
  std::string name;
  const int named = uninterrupted([&] {
    name = folder + "/.tailrace_XXXXXX";
    return mkostemp(name.data(), O_CLOEXEC);
  });
  if (named >= 0) uninterrupted([&] { return unlink(name.c_str()); });
  return named;
}

}  // namespace tailrace::server
