// SPDX-License-Identifier: BSD-3-Clause
// Redistributes an array from x pencils to y pencils: with an Exchange, which chooses its method,
// and by hand with MPI_Alltoallv. A Reduction gives all ranks the times, and whether the results
// are equal.
//   mpirun -n 4 transpose [points along each axis]
#include <algorithm>
#include <complex>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "tailrace/exchange.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/process_grid.hpp"
#include "tailrace/reduction.hpp"

using Item = std::complex<double>;
constexpr int num_runs = 10;

/// The same by hand: packs for each rank, MPI_Alltoallv, unpacks.
class ByHand {
 public:
  ByHand(const tailrace::Comm& comm, const tailrace::Plan& plan) : comm_(comm), plan_(plan) {
    add_up(plan.sends(), send_counts_, send_displs_);
    add_up(plan.receives(), receive_counts_, receive_displs_);
    packed_.resize(static_cast<std::size_t>(plan.from_boxes().at(0).num_items()));
    received_.resize(static_cast<std::size_t>(plan.to_boxes().at(0).num_items()));
  }
  void run(const std::vector<Item>& from, std::vector<Item>& to) {
    auto packed = packed_.begin();
    for (const auto& piece : plan_.sends())
      for_runs(piece.box, plan_.from_boxes()[0], [&](std::ptrdiff_t start, std::ptrdiff_t count) {
        packed = std::copy_n(from.begin() + start, count, packed);
      });
    MPI_Alltoallv(packed_.data(), send_counts_.data(), send_displs_.data(), MPI_C_DOUBLE_COMPLEX,
                  received_.data(), receive_counts_.data(), receive_displs_.data(),
                  MPI_C_DOUBLE_COMPLEX, comm_.raw());
    auto received = received_.cbegin();
    for (const auto& piece : plan_.receives())
      for_runs(piece.box, plan_.to_boxes()[0], [&](std::ptrdiff_t start, std::ptrdiff_t count) {
        std::copy_n(received, count, to.begin() + start);
        received += count;
      });
  }

 private:
  void add_up(const std::vector<tailrace::Piece>& pieces, std::vector<int>& counts,
              std::vector<int>& displs) const {
    counts.assign(static_cast<std::size_t>(comm_.num_ranks()), 0);
    for (const auto& piece : pieces)
      counts[static_cast<std::size_t>(piece.peer)] += tailrace::to_int(piece.box.num_items());
    displs.assign(counts.size(), 0);
    for (std::size_t i = 1; i < counts.size(); ++i) displs[i] = displs[i - 1] + counts[i - 1];
  }
  /// Calls body(start, count) for each run of `piece` in the row-major array of `whole`.
  template <class Body>
  static void for_runs(const tailrace::Box& piece, const tailrace::Box& whole, Body&& body) {
    for (std::ptrdiff_t i = 0; i < piece.extents[0]; ++i)
      for (std::ptrdiff_t j = 0; j < piece.extents[1]; ++j) {
        const auto row = (piece.start[0] - whole.start[0] + i) * whole.extents[1] + piece.start[1] -
                         whole.start[1] + j;
        body(row * whole.extents[2] + piece.start[2] - whole.start[2], piece.extents[2]);
      }
  }
  const tailrace::Comm& comm_;
  const tailrace::Plan& plan_;
  std::vector<int> send_counts_, send_displs_, receive_counts_, receive_displs_;
  std::vector<Item> packed_, received_;
};

/// Shortest time of a run, of the slowest rank.
template <class Body>
double time_s(tailrace::Reduction& reduction, Body&& body) {
  double best = 1e30;
  for (int i = 0; i < num_runs; ++i) {
    reduction.barrier();
    const double start = MPI_Wtime();
    body();
    best = std::min(best, reduction.allreduce(MPI_Wtime() - start, tailrace::ReduceOp::max));
  }
  return best;
}

int run(std::ptrdiff_t n) {
  const tailrace::Comm comm(MPI_COMM_WORLD);
  const auto choice =
      tailrace::choose_process_grid({.extents = {n, n, n}}, tailrace::NodeMap(comm));
  // Rows of a one-column grid have nothing to exchange; then the columns are transposed.
  const bool slabs = choice.grid[1] == 1;
  const auto x_pencils = tailrace::pencils({n, n, n}, slabs ? 1 : 2, choice.grid);
  const auto y_pencils = tailrace::pencils({n, n, n}, slabs ? 0 : 1, choice.grid);
  const tailrace::Plan plan(x_pencils, y_pencils, comm.rank());
  if (plan.from_boxes().empty() || plan.to_boxes().empty()) {
    throw tailrace::Error(tailrace::Errc::invalid_input,
                          "more ranks than pencils; give more points");
  }

  tailrace::Exchange exchange(comm, x_pencils, y_pencils, {.item_bytes = sizeof(Item)});
  tailrace::Reduction reduction(comm);
  std::vector<Item> from(static_cast<std::size_t>(plan.from_boxes()[0].num_items()));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = Item(comm.rank(), static_cast<double>(i));
  std::vector<Item> to(static_cast<std::size_t>(plan.to_boxes()[0].num_items())), expected(to);

  ByHand by_hand(comm, plan);
  const double hand_s = time_s(reduction, [&] { by_hand.run(from, expected); });
  const double exchange_s =
      time_s(reduction, [&] { exchange.run(std::span(from), std::span(to)); });
  const auto wrong = reduction.allreduce(static_cast<double>(to != expected));
  if (comm.rank() == 0) {
    std::printf("grid %s\n", choice.why.c_str());
    std::printf("%s\n", plan.describe(sizeof(Item)).c_str());
    std::printf("exchange by %s: %s\n", std::string(exchange.method()).c_str(),
                std::string(exchange.why()).c_str());
    std::printf("reductions by %s: %s\n", std::string(reduction.method()).c_str(),
                reduction.why().c_str());
    std::printf("%.6f s; packing and MPI_Alltoallv %.6f s, %.2f times as long\n", exchange_s,
                hand_s, hand_s / exchange_s);
  }
  return wrong == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    status = run(argc > 1 ? std::stol(argv[1]) : 128);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "transpose: error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
