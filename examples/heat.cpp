// SPDX-License-Identifier: BSD-3-Clause
// Heat spreads from a hot spot in a periodic box of side 2 pi: du/dt = laplace u, exactly solved in
// Fourier space, with the field written to HDF5 files while the program computes.
//   mpirun -n 2 heat [points along each axis] [folder]
// Fails if the result differs from the exact solution.
#include <cmath>
#include <complex>
#include <cstdio>
#include <exception>
#include <numbers>
#include <string>
#include <vector>

#include "tailrace/fft.hpp"
#include "tailrace/output.hpp"

constexpr double start_time = 0.1, time_step = 0.005;
constexpr int num_steps = 40, output_every = 10;

/// A line of the exact solution at time t, which is the product of three such lines.
std::vector<double> exact_line(std::ptrdiff_t n, double t) {
  std::vector<double> line(static_cast<std::size_t>(n), 1.0);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double x = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    for (int k = 1; k < n / 2; ++k) line[i] += 2 * std::exp(-t * k * k) * std::cos(k * x);
  }
  return line;
}

/// This rank's part of the exact solution: `box` of the grid, index order (z, y, x).
std::vector<double> exact_field(const tailrace::Box& box, std::ptrdiff_t n, double t) {
  const auto line = exact_line(n, t);
  const auto at = [&](std::size_t axis, std::ptrdiff_t i) {
    return line[static_cast<std::size_t>(box.start[axis] + i)];
  };
  std::vector<double> u;
  for (std::ptrdiff_t k = 0; k < box.extents[0]; ++k)
    for (std::ptrdiff_t j = 0; j < box.extents[1]; ++j)
      for (std::ptrdiff_t i = 0; i < box.extents[2]; ++i)
        u.push_back(at(0, k) * at(1, j) * at(2, i));
  return u;
}

/// Root mean square of a - b over the points of all ranks.
double difference(const tailrace::Comm& comm, const std::vector<double>& a,
                  const std::vector<double>& b, double num_points) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm.raw());
  return std::sqrt(sum / num_points);
}

int run(std::ptrdiff_t n, const std::string& folder) {
  const tailrace::Comm comm(MPI_COMM_WORLD);
  tailrace::fft::Transform<double> transform(comm, {.extents = {n, n, n}});
  const auto& layout = transform.physical_layout();  // which boxes of the grid each rank holds
  const auto& modes = transform.modes();             // the wave numbers of this rank's modes
  std::vector<double> u = exact_field(transform.physical_box(), n, start_time);
  std::vector<std::complex<double>> u_hat(static_cast<std::size_t>(modes.num_modes()));

  tailrace::FileContents contents;
  contents.variables = {{"u", layout, u}};  // dimensions z, y, x
  tailrace::Output output(comm);            // hidden: files leave while the steps continue

  const auto num_points = static_cast<double>(n * n * n);
  transform.forward(u, u_hat);
  for (auto& mode : u_hat) mode /= num_points;  // transforms do not normalise
  for (int step = 1; step <= num_steps; ++step) {
    std::size_t m = 0;
    for (const double ky : modes.ky)
      for (const double kz : modes.kz)
        for (const double kx : modes.kx)
          u_hat[m++] *= std::exp(-(kx * kx + ky * ky + kz * kz) * time_step);
    if (step % output_every == 0) {
      transform.backward(u_hat, u);
      contents.step = step;
      contents.attributes = {{"time", step * time_step}};
      output.write(folder + "/heat_" + std::to_string(step) + ".h5", contents);
    }
    output.progress();  // never waits
  }

  const auto exact = exact_field(transform.physical_box(), n, start_time + num_steps * time_step);
  const double error = difference(comm, u, exact, num_points);
  output.finish();  // waits for the last file
  const auto cost = output.statistics();
  if (comm.rank() == 0) {
    std::printf("%d files: the computation spent %.4f s on them, the background %.4f s\n",
                static_cast<int>(cost.complete), cost.call_s, cost.write_s);
    std::printf("difference from the exact solution: %.1e\n", error);
  }
  return error < 1e-10 ? 0 : 1;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    status = run(argc > 1 ? std::stol(argv[1]) : 128, argc > 2 ? argv[2] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat: error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
