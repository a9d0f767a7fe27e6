// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "move/strided_copy.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {

/// Copies of one rank that are alike and done one after another, such as those out of its arrays.
struct CopyGroup {
  std::string what;  ///< "packing", ...
  std::vector<StridedCopy*> copies;
};

/// The kind that measures best on the largest copy of a group, on all ranks at once; nullptr if no
/// rank has enough to copy. Collective, blocking.
const CopyKind* measure_copies(const Comm& comm, const CopyGroup& group);
/// `kind` for those copies that are not small; nothing for nullptr. Local.
void use_for_large(std::span<StridedCopy* const> copies, const CopyKind* kind);

/// Makes the copies of each group be of the kind called `name` (copy_kinds()), or, if that is
/// "auto", of the one that measures best on the largest of them, all ranks copying at the same time
/// as they share the memory; then only copies that are not small. Groups of less than a few MiB
/// are not measured. Returns what was chosen in words, "" if nothing was. All ranks give as many
/// groups in the same order; their copies must outlive the call. Throws `Errc::invalid_input` on
/// all ranks if `name` is unknown. Collective, blocking.
std::string choose_copies(const Comm& comm, std::span<const CopyGroup> groups,
                          const std::string& name);

}  // namespace tailrace
