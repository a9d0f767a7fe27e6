// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/c/region.h"

namespace tailrace::app {

/// A part of the run that `tailrace profile` tells apart, from its making to its end. Local.
class Region {
 public:
  explicit Region(const char* name) : name_(name) { tailrace_region_begin(name); }
  ~Region() { tailrace_region_end(name_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  const char* name_;
};

}  // namespace tailrace::app
