// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>

#include "objects.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/output.hpp"

namespace tailrace::c {

/// What is written to a file, with the layouts that its variables refer to.
struct Contents {
  FileContents contents;
  std::map<std::string, std::shared_ptr<Layout>> layouts;  ///< by the variable's name
};

TAILRACE_BEHIND(tailrace_contents, Contents)

/// Calls `write(path, contents)`; all ranks throw what is wrong with the arguments of one of them
/// there, where they find out as well that a rank makes another call, or has left.
template <class Write>
auto write_given(const char* path, const tailrace_contents* contents, Write&& write) {
  std::shared_ptr<Contents> given;
  FileContents wrong;
  wrong.fault = failure_of([&] {
    given = get(contents);
    require_address(path, "path");
  });
  return wrong.fault ? write(std::string(), wrong) : write(std::string(path), given->contents);
}

}  // namespace tailrace::c
