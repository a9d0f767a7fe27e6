// SPDX-License-Identifier: BSD-3-Clause
// The memory of winners (chooser/memory.hpp) for choices that are a name for each class of calls.
#pragma once

#include <map>
#include <string>

namespace tailrace::chooser {

/// Class of calls -> the name of its fastest alternative.
using Winners = std::map<std::string, std::string>;

/// Those of an operation on a machine, whose description is `machine`; the text files of version
/// 0.1 (OPERATION/HASH.txt in the cache folder) are read, too. Empty where nothing is known, or no
/// file can be read. Local.
Winners recall_winners(const std::string& operation, const std::string& machine);

/// Adds to them, and to what other processes add meanwhile; what is known is not written again. A
/// failure costs measuring again. Local.
void remember_winners(const std::string& operation, const std::string& machine,
                      const Winners& winners);

}  // namespace tailrace::chooser
