// SPDX-License-Identifier: BSD-3-Clause
// Nothing is allocated in the time loop after the first step, and memory is what the docs say.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "counted_new.hpp"
#include "navier_stokes.hpp"

namespace tailrace::turbulence {
namespace {

NavierStokesOptions options_for(std::ptrdiff_t n) {
  NavierStokesOptions options;
  options.extents = {n, n, n};
  options.lengths = {1, 1, 1};
  options.viscosity = 0.01;
  return options;
}

TEST(StepMemory, NothingIsAllocatedAfterTheFirstStep) {
  const Comm comm(MPI_COMM_WORLD);
  for (const auto dealias : {Dealias::two_thirds, Dealias::phase_shift}) {
    int num_methods = 0;
    for (const auto& method : fft::exchange_methods()) {
      auto options = options_for(24);
      options.dealias = dealias;
      options.scalars = {{0.7, {1, 0, 0}}};
      options.fft.method = std::string(method.name);
      counted_new::reset();
      std::optional<NavierStokes<double>> made;
      try {
        made.emplace(comm, options);
      } catch (const Error& error) {  // not every method is for every grid
        EXPECT_NE(std::string(error.what()).find("does not apply"), std::string::npos)
            << error.what();
        continue;
      }
      ++num_methods;
      auto& flow = *made;
      EXPECT_GT(counted_new::allocations, 0) << "the counter does not count";
      const auto items = static_cast<std::size_t>(flow.transform().physical_box().num_items());
      std::vector<double> u(items), v(items), w(items), theta(items);
      double* fields[] = {u.data(), v.data(), w.data(), theta.data()};
      std::vector<ForcedMode<double>> force(3);
      flow.capture(fields);
      flow.set_forcing(force);
      flow.step(0.01);
      counted_new::reset();
      for (int i = 0; i < 3; ++i) {
        flow.capture(fields);
        flow.set_forcing(force);
        flow.step(0.01 + 0.001 * i);
        flow.courant_rate();
      }
      EXPECT_EQ(counted_new::allocations, 0) << method.name;
    }
    EXPECT_GE(num_methods, 4);
  }
}

// docs/applications.md: about five and a half arrays of the size of one physical field.
TEST(StepMemory, AFlowNeedsFewFields) {
  const Comm comm(MPI_COMM_WORLD);
  NavierStokes<double> flow(comm, options_for(96));
  auto bytes = static_cast<double>(flow.memory_bytes());
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_LT(bytes / (8.0 * 96 * 96 * 96), 6.5);
}

}  // namespace
}  // namespace tailrace::turbulence
