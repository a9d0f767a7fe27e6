// SPDX-License-Identifier: BSD-3-Clause
// For programs of 0.1.
#pragma once

#include "tailrace/stream.hpp"
