// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "server/kinds_here.hpp"
#include "server/transport.hpp"
#include "store/output_case.hpp"
#include "tailrace/session.hpp"

namespace tailrace::testing {

struct Variant {
  std::string servers, transport;
};

class SessionTest : public store_test::FolderTest {
 protected:
  /// All variants that this number of ranks allows.
  std::vector<Variant> variants() const {
    std::vector<Variant> found;
    for (const auto& kind : kinds_here(comm)) found.push_back({kind, "auto"});
    for (int servers = 1; servers <= 2 && servers < comm.num_ranks(); ++servers) {
      for (const auto& transport : server::transport_table()) {
        found.push_back({std::to_string(servers), transport.name});
      }
    }
    return found;
  }

  /// Runs `compute(session)` on the ranks that compute; false if this variant cannot be had here.
  template <class Compute>
  bool run(const Variant& variant, OutputOptions options, Compute&& compute) {
    options.servers = variant.servers;
    options.transport = variant.transport;
    try {
      Session session(comm.raw(), options);
      if (session.computes()) {
        compute(session);
        session.close();
      } else {
        session.serve();
      }
    } catch (const Error& error) {
      if (!says_not_here(error)) throw;
      return false;
    }
    MPI_Barrier(comm.raw());
    return true;
  }

  static OutputOptions small() {
    OutputOptions options;
    options.memory_bytes = 64 << 20;
    return options;
  }
};

}  // namespace tailrace::testing
