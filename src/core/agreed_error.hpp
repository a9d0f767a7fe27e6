// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/error.hpp"

namespace tailrace {

/// An error that all ranks of a communicator throw alike: none of them waits for another.
class AgreedError : public Error {
 public:
  using Error::Error;
};

}  // namespace tailrace
