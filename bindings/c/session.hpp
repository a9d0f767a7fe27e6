// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "objects.hpp"
#include "tailrace/c/session.h"
#include "tailrace/stream.hpp"

namespace tailrace::c {

struct StreamObject {
  std::shared_ptr<Comm> comm;    ///< of the ranks that compute
  std::shared_ptr<Trace> trace;  ///< it must outlive the stream
  Stream stream;
};

TAILRACE_BEHIND(tailrace_stream, StreamObject)

}  // namespace tailrace::c
