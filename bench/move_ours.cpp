// SPDX-License-Identifier: BSD-3-Clause
// Every method of the table over two movements: x-pencils to y-pencils, and blocks to the file
// domains of a collective write; beside a plain memcpy of the same bytes, the limit in memory.
// One line of JSON a method; the methods take turns within each repeat.

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "mpi_driver.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/node_array.hpp"

namespace {

using tailrace::Comm;
using tailrace::Exchange;
using tailrace::Layout;
using tailrace::Memory;
using tailrace::Plan;

/// One movement: its arrays hold the global row-major number of each point, so that what arrives
/// can be checked exactly.
struct Movement {
  std::string name;
  Layout from, to;
  Memory from_memory, to_memory;
};

Memory dense(const Layout& layout, int rank) {
  const auto boxes = layout.boxes(rank);
  return Memory::dense(boxes);
}

Movement make_movement(const std::string& name, const Comm& comm, Layout from, Layout to) {
  return {name, from, to, dense(from, comm.rank()), dense(to, comm.rank())};
}

/// The two movements for a cube of `n` points an edge.
std::vector<Movement> movements(const Comm& comm, std::ptrdiff_t n) {
  const std::vector<std::ptrdiff_t> extents{n, n, n};
  int grid[2] = {0, 0};
  MPI_Dims_create(comm.num_ranks(), 2, grid);
  const std::vector<int> pencil_grid{grid[0], grid[1]};
  const std::vector<int> block_grid{grid[0], grid[1], 1};
  std::vector<int> writers(static_cast<std::size_t>(comm.num_ranks()));
  std::iota(writers.begin(), writers.end(), 0);
  std::vector<Movement> all;
  // Of a 2D grid P1 x P2 the first transpose exchanges within groups of P2; with P x 1 all of it
  // would stay at home, so that grid is turned round.
  const std::vector<int> turned{grid[1], grid[0]};
  const auto& rows = grid[1] == 1 ? turned : pencil_grid;
  all.push_back(make_movement("x-pencils to y-pencils", comm, tailrace::pencils(extents, 2, rows),
                              tailrace::pencils(extents, 1, rows)));
  const std::vector<int> columns{grid[1], grid[0], 1};
  all.push_back(
      make_movement("blocks to file domains", comm,
                    tailrace::blocks(extents, grid[1] == 1 ? columns : block_grid),
                    tailrace::file_domains(extents, 8, writers, comm.num_ranks(), 1 << 20, 4096)));
  return all;
}

/// Calls `visit(position in memory, global number)` for each point of the rank's dense `boxes`.
template <class Visit>
void for_points(const std::vector<tailrace::Box>& boxes, std::ptrdiff_t n, Visit visit) {
  std::size_t position = 0;
  for (const auto& box : boxes) {
    for (std::ptrdiff_t z = 0; z < box.extents[0]; ++z) {
      for (std::ptrdiff_t y = 0; y < box.extents[1]; ++y) {
        const std::ptrdiff_t row = ((box.start[0] + z) * n + box.start[1] + y) * n + box.start[2];
        for (std::ptrdiff_t x = 0; x < box.extents[2]; ++x) visit(position++, row + x);
      }
    }
  }
}

/// A way of moving, with what it gave.
struct Contender {
  std::string name;
  bool ours = true;
  std::function<void()> run;
  std::vector<double> seconds = {};
  double error = 0;  ///< items that arrived wrong
  std::ptrdiff_t buffer_bytes = 0;
};

/// The arrays and exchanges of one movement.
class Contest {
 public:
  Contest(const Comm& comm, Movement movement, std::ptrdiff_t n)
      : comm_(comm),
        movement_(std::move(movement)),
        n_(n),
        source_(static_cast<std::size_t>(movement_.from_memory.num_items)),
        arrived_(static_cast<std::size_t>(movement_.to_memory.num_items)) {
    for_points(movement_.from.boxes(comm.rank()), n,
               [&](std::size_t at, std::ptrdiff_t i) { source_[at] = static_cast<double>(i); });
    exchanges_.reserve(tailrace::move_methods().size() + 1);
    for (const auto& method : tailrace::move_methods()) add(std::string(method.name));
    add_exposed();
    contenders_.push_back({"limit: memcpy", false, [this] { copy(); }});
  }

  void measure(int warmups, int repeats) {
    for (int i = 0; i < warmups + repeats; ++i) {
      for (auto& contender : contenders_) {
        std::fill(arrived_.begin(), arrived_.end(), -1.0);
        const double taken = bench::time_together(0, 1, contender.run).front();
        if (i >= warmups) contender.seconds.push_back(taken);
        if (contender.ours) contender.error = std::max(contender.error, wrong_items());
      }
    }
  }

  void print() const {
    const double bytes = static_cast<double>(n_) * static_cast<double>(n_) *
                         static_cast<double>(n_) * sizeof(double);
    for (const auto& contender : contenders_) {
      const double error = bench::all_max(contender.error);
      const double buffer = bench::all_max(static_cast<double>(contender.buffer_bytes));
      if (comm_.rank() != 0) continue;
      bench::JsonLine()
          .text("entry", contender.name)
          .text("problem", std::to_string(n_) + "^3 double, " + movement_.name + ", " +
                               std::to_string(comm_.num_ranks()) + " ranks")
          .flag("ours", contender.ours)
          .flag("reference", &contender == contenders_.data())
          .numbers("seconds", contender.seconds)
          .number("error", error)
          .number("bytes", bytes)
          .number("buffer_bytes", buffer)
          .print();
    }
  }

 private:
  void add(const std::string& method, tailrace::NodeArray* exposed = nullptr) {
    try {
      exchanges_.emplace_back(comm_, Plan(movement_.from, movement_.to, comm_.rank()),
                              movement_.from_memory, movement_.to_memory,
                              tailrace::ExchangeShape{sizeof(double), 1, exposed != nullptr},
                              method);
    } catch (const tailrace::Error& error) {  // the same on all ranks: it does not apply here
      if (error.code() != tailrace::Errc::invalid_input) throw;
      if (comm_.rank() == 0) std::fprintf(stderr, "%s: %s\n", method.c_str(), error.what());
      return;
    }
    Exchange& exchange = exchanges_.back();
    if (exposed) exchange.expose(*exposed);
    const void* source = exposed ? exposed->data() : static_cast<const void*>(source_.data());
    contenders_.push_back(
        {method + (exposed ? ", exposed arrays" : ""), true, [this, &exchange, source] {
           void* target = arrived_.data();
           exchange.run(std::span(&source, 1), std::span(&target, 1));
         }});
    contenders_.back().buffer_bytes = exchange.buffer_bytes();
  }

  /// node_direct once more, with the source where the other ranks can read it in place.
  void add_exposed() {
    if (comm_.node().num_ranks() != comm_.num_ranks()) return;
    const auto bytes = static_cast<std::ptrdiff_t>(source_.size() * sizeof(double));
    exposed_ = tailrace::NodeArray(comm_, bytes);
    if (bytes > 0) std::memcpy(exposed_.data(), source_.data(), static_cast<std::size_t>(bytes));
    add("node_direct", &exposed_);
  }

  void copy() {
    const std::size_t items = std::min(source_.size(), arrived_.size());
    if (items > 0) std::memcpy(arrived_.data(), source_.data(), items * sizeof(double));
  }

  double wrong_items() const {
    double wrong = 0;
    for_points(movement_.to.boxes(comm_.rank()), n_, [&](std::size_t at, std::ptrdiff_t i) {
      if (arrived_[at] != static_cast<double>(i)) ++wrong;
    });
    return wrong;
  }

  const Comm& comm_;
  Movement movement_;
  std::ptrdiff_t n_;
  std::vector<double> source_, arrived_;
  tailrace::NodeArray exposed_;
  std::vector<Exchange> exchanges_;
  std::vector<Contender> contenders_;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  const bench::Arguments args(argc, argv);
  try {
    const Comm comm(MPI_COMM_WORLD);
    const std::ptrdiff_t n = args.number("n", 128);
    for (auto& movement : movements(comm, n)) {
      Contest contest(comm, std::move(movement), n);
      contest.measure(args.number("warmups", 1), args.number("repeats", 5));
      contest.print();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_move_ours: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}
