// SPDX-License-Identifier: BSD-3-Clause
// A drop spreads on a square plate. I/O servers write the output while the program computes. They
// also compute coarse fields and a table of means from it.
//   mpirun -n 4 servers [1 | "1 per node" | thread | process | none | auto] [folder]
// Fails if the last file differs from the computed field.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/input.hpp"
#include "tailrace/session.hpp"

constexpr std::ptrdiff_t num_points = 256;  // along each axis
constexpr int num_steps = 200, output_every = 20;

/// The rows of this rank, with a row of each neighbour around them.
class Plate {
 public:
  Plate(const tailrace::Comm& comm, const tailrace::Box& box)
      : comm_(comm), rows_(box.extents[0]), u_(size(), 0.0), next_(u_) {
    for (std::ptrdiff_t row = 0; row < rows_; ++row)
      for (std::ptrdiff_t x = 0; x < num_points; ++x)
        u_[at(row + 1, x)] = std::exp(-0.01 * (sq(box.start[0] + row - 100) + sq(x - 80)));
  }
  /// One explicit step of du/dt = laplace u, periodic.
  void step() {
    const int up = (comm_.rank() + 1) % comm_.num_ranks();
    const int down = (comm_.rank() + comm_.num_ranks() - 1) % comm_.num_ranks();
    swap_rows(at(rows_, 0), up, at(0, 0), down);
    swap_rows(at(1, 0), down, at(rows_ + 1, 0), up);
    for (std::ptrdiff_t row = 1; row <= rows_; ++row)
      for (std::ptrdiff_t x = 0; x < num_points; ++x) {
        const double sum = u_[at(row - 1, x)] + u_[at(row + 1, x)] +
                           u_[at(row, (x + 1) % num_points)] +
                           u_[at(row, (x + num_points - 1) % num_points)];
        next_[at(row, x)] = u_[at(row, x)] + 0.2 * (sum - 4 * u_[at(row, x)]);
      }
    std::swap(u_, next_);
  }
  /// Without the neighbours' rows.
  std::span<const double> points() const { return std::span(u_).subspan(at(1, 0), at(rows_, 0)); }

 private:
  static double sq(std::ptrdiff_t i) { return static_cast<double>(i * i); }
  static std::size_t at(std::ptrdiff_t row, std::ptrdiff_t x) {
    return static_cast<std::size_t>(row * num_points + x);
  }
  std::size_t size() const { return at(rows_ + 2, 0); }
  void swap_rows(std::size_t from, int to_rank, std::size_t to, int from_rank) {
    MPI_Sendrecv(&u_[from], num_points, MPI_DOUBLE, to_rank, 0, &u_[to], num_points, MPI_DOUBLE,
                 from_rank, 0, comm_.raw(), MPI_STATUS_IGNORE);
  }

  const tailrace::Comm& comm_;
  std::ptrdiff_t rows_;
  std::vector<double> u_, next_;
};

int run(const std::string& servers, const std::string& folder) {
  tailrace::Session session(
      MPI_COMM_WORLD,
      {.servers = servers, .memory_bytes = std::ptrdiff_t{64} << 20, .folder = folder});
  if (!session.computes()) return session.serve();

  const tailrace::Comm& comm = session.compute();  // never sees the servers
  if (comm.rank() == 0) std::printf("%s\n", session.describe().c_str());
  auto fields = session.open(
      "fields",
      {.products = {
           {.name = "coarse", .stages = {"coarsen factor=4"}},
           {.name = "means", .stages = {"mean", "minmax"}, .path = folder + "/means.csv"}}});

  const auto layout = tailrace::slabs({num_points, num_points}, 0, comm.num_ranks());
  if (comm.num_ranks() > num_points) {  // ranks without a row have no box
    throw tailrace::Error(tailrace::Errc::invalid_input, "more ranks than rows");
  }
  Plate plate(comm, layout.box(comm.rank()));
  tailrace::FileContents contents;
  std::string path;
  for (int step = 0; step <= num_steps; ++step) {
    if (step % output_every == 0) {
      contents.step = step;
      contents.variables = {{"u", layout, plate.points()}};  // dimensions y, x
      path = folder + "/plate_" + std::to_string(step) + ".h5";
      fields.write(path, contents);  // a copy; the array may be changed at once
    }
    fields.progress();  // some transports need it; never waits
    if (step < num_steps) plate.step();
  }
  fields.finish();  // all files are safe on disk

  const auto seen = fields.statistics();
  if (comm.rank() == 0) {
    std::printf("%d files; the computation spent %.4f s on them, the servers %.4f s\n",
                static_cast<int>(seen.complete), seen.call_s, seen.write_s);
  }
  std::vector<double> found(static_cast<std::size_t>(layout.num_items(comm.rank())));
  tailrace::Input(comm, path).read("u", layout, std::span(found));
  session.close();
  return std::ranges::equal(plate.points(), found) ? 0 : 1;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    status = run(argc > 1 ? argv[1] : "auto", argc > 2 ? argv[2] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "servers: error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
