// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>

#include "objects.hpp"
#include "tailrace/output.hpp"

namespace tailrace::c {

/// What is written to a file, with the layouts that its variables refer to.
struct Contents {
  FileContents contents;
  std::map<std::string, std::shared_ptr<Layout>> layouts;  ///< by the variable's name
};

TAILRACE_BEHIND(tailrace_contents, Contents)

}  // namespace tailrace::c
