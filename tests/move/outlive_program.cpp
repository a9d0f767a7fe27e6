// SPDX-License-Identifier: BSD-3-Clause
// Objects that are destroyed after MPI_Finalize: nothing happens.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include <mpi.h>

#include "first_kernel.hpp"
#include "move/block_exchange.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/fused.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/reduction.hpp"

namespace {

using namespace tailrace;

fft::Options with_first_kernel() {
  fft::Options options;
  options.kernel = first_kernel();
  return options;
}

/// All that can be made here, used once.
struct Objects {
  Objects() {
    const std::array<std::ptrdiff_t, 2> extents{13, 11};
    const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                    comm.rank());
    const auto from = Memory::dense(plan.from_boxes());
    const auto to = Memory::dense(plan.to_boxes());
    std::vector<double> arrived(static_cast<std::size_t>(to.num_items));
    const std::array<const void*, 1> sources{array.data()};
    const std::array<void*, 1> destinations{arrived.data()};
    for (const auto& method : move_methods()) {
      try {
        auto one =
            std::make_unique<Exchange>(comm, plan, from, to, ExchangeShape{8, 1}, method.name);
        one->expose(array);
        one->run(sources, destinations);
        exchanges.push_back(std::move(one));
      } catch (const Error&) {  // does not apply
      }
    }
    for (const auto& method : reduction_methods()) {
      try {
        reductions.push_back(std::make_unique<Reduction>(comm, ReductionShape{}, method.name));
        reductions.back()->barrier();
      } catch (const Error&) {
      }
    }
    const std::vector<std::ptrdiff_t> blocks(static_cast<std::size_t>(comm.num_ranks()), 5);
    for (const auto& method : block_methods()) {
      try {
        block_exchanges.push_back(
            std::make_unique<BlockExchange>(comm, BlockShape{8, {blocks}, {blocks}}, method.name));
      } catch (const Error&) {
      }
    }
    std::vector<double> field(static_cast<std::size_t>(transform.physical_box().num_items()));
    std::vector<std::complex<double>> modes(
        static_cast<std::size_t>(transform.modes().num_modes()));
    const std::array<const double*, 1> in{field.data()};
    const std::array<std::complex<double>*, 1> out{modes.data()};
    transform.forward(in, out);
  }

  Comm comm{MPI_COMM_WORLD};
  NodeArray array{comm, 2000};
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<std::unique_ptr<Reduction>> reductions;
  std::vector<std::unique_ptr<BlockExchange>> block_exchanges;
  fft::Transform<double> transform{comm, {.extents = {8, 6, 10}}, with_first_kernel()};
  fft::Fused<double> fused{transform, {}};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::size_t made = 0;
  {
    auto objects = std::make_unique<Objects>();
    made = objects->exchanges.size() + objects->reductions.size() + objects->block_exchanges.size();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    objects.reset();
  }
  if (made >= 10) std::printf("%zu objects ended after MPI\n", made);
  return made >= 10 ? 0 : 1;
}
