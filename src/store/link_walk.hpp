// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

namespace tailrace::store {

/// What the links of a file lead to.
struct LinkedObjects {
  struct Dataset {
    std::string name;           ///< path from the root group, "group/var"
    bool in_this_file = false;  ///< and not in one that an external link names
  };
  std::vector<Dataset> datasets;  ///< by name
  /// Further names of groups, and the groups: {"latest", "run_007"}; the root group is "". By name.
  std::vector<std::pair<std::string, std::string>> aliases;
  struct Dead {
    std::string name;
    std::string why;
  };
  std::vector<Dead> dead;  ///< links that lead nowhere, and groups of other files that fail
};

/// Follows all links of an open file: hard, soft and external ones, each group once however many
/// names it has. The group "tailrace" is left out. `path` names the file. Throws as `fail_hdf5`.
/// Local.
LinkedObjects walk_links(hid_t file, const std::string& path);

/// The name under which `LinkedObjects` has what `name` leads to: no link to a group is left in it,
/// nor an empty part or a ".". Local.
std::string without_aliases(const std::vector<std::pair<std::string, std::string>>& aliases,
                            const std::string& name);

}  // namespace tailrace::store
