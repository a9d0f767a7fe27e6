// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/comm.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::server {

/// The options of a stream with absolute paths, by the working folder of this moment: the fallback
/// and spill folders, the paths of products, and the files that their stages name. Throws
/// `Errc::invalid_input` on all ranks for a relative path if ranks are in different folders (spill
/// folders are each node's own). Collective over `comm`, blocking.
OutputOptions with_absolute_paths(const Comm& comm, OutputOptions options);

}  // namespace tailrace::server
