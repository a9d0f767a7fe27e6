// SPDX-License-Identifier: BSD-3-Clause
// A and B are moved to blocks, solved there (refine.cpp), and X is moved back.
#include "tailrace/more/pgesv.hpp"

#include <cerrno>
#include <climits>
#include <cmath>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "core/same_on_all.hpp"
#include "pdense/refine.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
}

namespace tailrace::dense {

namespace {

using Extents = std::array<std::ptrdiff_t, 2>;

/// BLACS's context of a grid over a communicator.
class Grid {
 public:
  Grid(MPI_Comm comm, std::array<int, 2> extents) : handle_(Csys2blacs_handle(comm)) {
    context_ = handle_;
    Cblacs_gridinit(&context_, "Row", extents[0], extents[1]);
  }
  ~Grid() {
    Cblacs_gridexit(context_);
    Cfree_blacs_system_handle(handle_);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  int context() const { return context_; }

 private:
  int handle_;
  int context_;
};

BlockCyclic block_cyclic_from(const Extents& extents, const PgesvOptions& options, int context) {
  const int block = static_cast<int>(options.block);
  const std::array<int, 9> descriptor{1, context, 0, 0, block, block, 0, 0, 1};
  return block_cyclic_of(descriptor.data(), static_cast<int>(extents[0]),
                         static_cast<int>(extents[1]));
}

/// A matrix in blocks, without gaps.
struct Blocks {
  Layout layout;
  Memory memory;
  BlockCyclic cyclic;
  std::vector<double> items;

  Blocks(const Extents& extents, const PgesvOptions& options, int context, int rank)
      : layout(block_cyclic(extents, options.block, options.grid)),
        memory(block_cyclic_memory(extents, options.block, options.grid, rank)),
        cyclic(block_cyclic_from(extents, options, context)),
        items(static_cast<std::size_t>(memory.num_items)) {}
};

/// A, B, and what it takes to solve them.
struct Work {
  Blocks a, b;
  DistributedSystem<double> system;
  DistributedWork<double> work;

  Work(const Extents& extents, const PgesvOptions& options, int context, int rank)
      : a({extents[0], extents[0]}, options, context, rank),
        b(extents, options, context, rank),
        system{'A',
               a.cyclic,
               b.cyclic,
               a.items.data(),
               a.cyclic.dense_ld(),
               b.items.data(),
               b.cyclic.dense_ld()},
        work(system) {}
};

void solve_fp64(Work& w, const DistributedNorms& norms, Certificate& certificate) {
  const double start = MPI_Wtime();
  auto a = w.a.items;
  auto& x = w.work.x;
  std::copy(w.b.items.begin(), w.b.items.end(), x.begin());
  std::vector<int> pivots(static_cast<std::size_t>(w.a.cyclic.rows.count()) +
                          static_cast<std::size_t>(w.a.cyclic.rows.block));
  const int n = w.system.n();
  const int nrhs = w.system.nrhs();
  const auto desc_a = w.a.cyclic.descriptor(w.system.lda);
  const auto desc_b = w.b.cyclic.descriptor(w.system.ldb);
  pdgesv_(&n, &nrhs, a.data(), &one, &one, desc_a.data(), pivots.data(), x.data(), &one, &one,
          desc_b.data(), &certificate.info);
  certificate.rung = Rung::fp64;
  certificate.steps = 0;
  certificate.rcond = 0;
  certificate.backward_error =
      certificate.info == 0 ? backward_error(w.system, norms, x, w.work) : HUGE_VAL;
  if (certificate.attempts.empty()) return;
  Attempt attempt;
  attempt.seconds = MPI_Wtime() - start;
  attempt.outcome = certificate.info == 0 ? "solved" : "singular";
  certificate.attempts.push_back(attempt);
}

std::array<int, 2> nearly_square(int ranks) {
  int rows = static_cast<int>(std::sqrt(static_cast<double>(ranks)));
  while (ranks % rows != 0) --rows;
  return {rows, ranks / rows};
}

void check(const Comm& comm, const Layout& a, std::size_t a_items, const Layout& b,
           std::size_t b_items, const PgesvOptions& options) {
  const auto require = [](bool ok, const std::string& text) {
    if (!ok) throw Error(Errc::invalid_input, "pgesv: " + text);
  };
  require(a.num_dims() == 2 && b.num_dims() == 2, "the layouts must have two axes");
  const auto& square = a.global_extents();
  const auto& right = b.global_extents();
  require(square[0] == square[1] && square[0] <= INT_MAX,
          fmt::format("A is {} x {}; it must be square, of at most 2^31 - 1 rows", square[0],
                      square[1]));
  require(right[0] == square[0] && right[1] <= INT_MAX,
          fmt::format("B is {} x {}; A has {} rows", right[0], right[1], square[0]));
  require(a.num_ranks() == comm.num_ranks() && b.num_ranks() == comm.num_ranks(),
          fmt::format("the layouts are of {} and {} ranks; there are {}", a.num_ranks(),
                      b.num_ranks(), comm.num_ranks()));
  for (const auto& [layout, items, name] :
       {std::tuple(&a, a_items, "a"), std::tuple(&b, b_items, "b")}) {
    const auto needed = layout->num_items(comm.rank());
    require(static_cast<std::ptrdiff_t>(items) == needed,
            fmt::format("{} has {} items; this rank's boxes have {}", name, items, needed));
  }
  require(options.max_steps >= 1, fmt::format("max_steps is {}; at least 1", options.max_steps));
  require(options.block >= 1 && options.block <= INT_MAX,
          fmt::format("block is {}; at least 1", options.block));
  require(options.lowest <= options.highest, "lowest is above highest");
  require(options.highest >= Rung::fp32, "highest is below fp32, the only low rung");
  require(options.grid[0] >= 1 && options.grid[1] >= 1 &&
              options.grid[0] * options.grid[1] == comm.num_ranks(),
          fmt::format("grid is {} x {}; there are {} ranks", options.grid[0], options.grid[1],
                      comm.num_ranks()));
}

}  // namespace

Certificate pgesv(const Comm& comm, const Layout& a_layout, std::span<const double> a,
                  const Layout& b_layout, std::span<double> b, const PgesvOptions& given) {
  const double start = MPI_Wtime();
  auto options = given;
  if (options.grid == std::array<int, 2>{}) options.grid = nearly_square(comm.num_ranks());
  run_agreed(comm.raw(), [&] { check(comm, a_layout, a.size(), b_layout, b.size(), options); });
  const auto& extents = b_layout.global_extents();
  const std::array arguments{
      CommonArgument{"rows", std::to_string(extents[0])},
      CommonArgument{"right-hand sides", std::to_string(extents[1])},
      CommonArgument{"lowest", name(options.lowest)},
      CommonArgument{"highest", name(options.highest)},
      CommonArgument{"max_steps", std::to_string(options.max_steps)},
      CommonArgument{"block", std::to_string(options.block)},
      CommonArgument{"grid", fmt::format("{} x {}", options.grid[0], options.grid[1])}};
  require_same(comm, "pgesv", arguments);
  Certificate certificate;
  if (extents[0] == 0 || extents[1] == 0) return certificate;
  const Grid grid(comm.raw(), options.grid);
  const bool may_be_low = options.lowest <= Rung::fp32;
  std::optional<Work> made;
  std::optional<DistributedFactors<double>> factors;
  run_agreed(comm.raw(), [&] {
    try {
      made.emplace(Extents{extents[0], extents[1]}, options, grid.context(), comm.rank());
      if (may_be_low) factors.emplace(made->a.cyclic, 'A');
    } catch (const std::bad_alloc&) {
      throw Error(Errc::io, "pgesv: no memory for the blocks", ENOMEM);
    }
  });
  Work& w = *made;
  const auto own = [&](const Layout& layout) { return Memory::dense(layout.boxes(comm.rank())); };
  const auto fetch = [&](const Layout& layout, std::span<const double> from, Blocks& to) {
    Exchange(comm, Plan(layout, to.layout, comm.rank()), own(layout), to.memory, {}, "untimed")
        .run(from, std::span<double>(to.items));
  };
  fetch(a_layout, a, w.a);
  fetch(b_layout, b, w.b);
  const auto norms = norms_of(w.system, w.work);
  certificate.info = -1;
  if (may_be_low && norms.usable()) {
    certificate = solve_low(w.system, norms, *factors, options.max_steps, w.work);
  }
  if (certificate.info != 0 && options.highest == Rung::fp64) solve_fp64(w, norms, certificate);
  if (certificate.info == 0) {
    const std::span<const double> x(w.work.x.data(), w.b.items.size());
    Exchange(comm, Plan(w.b.layout, b_layout, comm.rank()), w.b.memory, own(b_layout), {},
             "untimed")
        .run(x, b);
  }
  certificate.seconds = MPI_Wtime() - start;
  return certificate;
}

}  // namespace tailrace::dense
