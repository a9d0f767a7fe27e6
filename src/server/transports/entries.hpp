// SPDX-License-Identifier: BSD-3-Clause
// The lines of the table of transports, each in a file of its own.
#pragma once

#include "server/transport.hpp"

namespace tailrace::server {

Transport push_ordered();
Transport push_any();
Transport credit();
Transport pull();
Transport node();
Transport shmem();

}  // namespace tailrace::server
