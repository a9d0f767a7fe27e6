// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/nameless_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace::server {

Descriptor open_nameless(const std::string& folder) {
  Descriptor nameless(
      uninterrupted([&] { return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); }));
  // Network file systems know no nameless files: a name for a moment.
  if (nameless || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
    return nameless;
  }
  std::string name;
  Descriptor named(uninterrupted([&] {
    name = folder + "/.tailrace_XXXXXX";
    return mkostemp(name.data(), O_CLOEXEC);
  }));
  if (named) uninterrupted([&] { return unlink(name.c_str()); });
  return named;
}

}  // namespace tailrace::server
