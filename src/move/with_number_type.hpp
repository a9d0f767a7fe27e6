// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstdint>

#include "tailrace/reduction.hpp"

namespace tailrace {

/// Calls `action` with a zero of the C++ type that `type` stands for.
template <class Action>
void with_number_type(NumberType type, Action&& action) {
  switch (type) {
    case NumberType::float32:
      return action(float{});
    case NumberType::float64:
      return action(double{});
    case NumberType::complex64:
      return action(std::complex<float>{});
    case NumberType::complex128:
      return action(std::complex<double>{});
    case NumberType::int32:
      return action(std::int32_t{});
    case NumberType::int64:
      return action(std::int64_t{});
  }
}

}  // namespace tailrace
