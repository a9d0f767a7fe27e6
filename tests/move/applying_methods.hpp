// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::testing {

/// Names of the table's methods that apply to one exchange. Collective over `comm`, blocking;
/// throws what making an exchange throws, unless it is that the method does not apply.
inline std::vector<std::string> applying_methods(const Comm& comm, const Plan& plan,
                                                 const Memory& from, const Memory& to,
                                                 const ExchangeShape& shape) {
  std::vector<std::string> names;
  for (const auto& method : move_methods()) {
    try {
      const Exchange tried(comm, plan, from, to, shape, method.name);
      names.emplace_back(method.name);
    } catch (const Error& error) {
      if (std::string(error.what()).find("does not apply here") == std::string::npos) throw;
    }
  }
  return names;
}

}  // namespace tailrace::testing
