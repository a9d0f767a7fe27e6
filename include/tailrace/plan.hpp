// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/more/plan.hpp"  // where it lies since 0.2
