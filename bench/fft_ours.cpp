// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transform of one real field by tailrace::fft, full or truncated (2/3 rule);
// with --stages NAME then what each stage took, beside a model of it, as lines of the problem NAME.

#include <span>
#include <string>
#include <vector>

#include "fft_stages.hpp"
#include "mpi_driver.hpp"
#include "tailrace/fft.hpp"

namespace {

template <class Real>
void measure(const tailrace::Comm& comm, const bench::Arguments& args) {
  const int n = args.number("n", 256);
  const bool truncate = args.text("cutoff", "none") == "2/3";
  tailrace::fft::Problem problem;
  problem.extents = {n, n, n};
  if (truncate) problem.cutoff.fill((n - 1) / 3);
  problem.grid = {args.number("grid-z", 0), args.number("grid-y", 0)};
  tailrace::fft::Options options;
  options.kernel = args.text("kernel", "auto");
  options.method = args.text("method", "auto");
  options.stores = args.text("stores", "auto");
  options.threads = args.number("threads", 1);
  const std::string stages = args.text("stages", "");
  // Always there, so that the times of the pair and of its stages are those of the same transform.
  tailrace::Trace trace(stages.empty() ? 0 : 4096);
  options.trace = stages.empty() ? nullptr : &trace;

  const double plan_start = bench::now_s();
  tailrace::fft::Transform<Real> transform(comm, problem, options);
  const double plan_s = bench::all_max(bench::now_s() - plan_start);

  const tailrace::Box box = transform.physical_box();
  std::vector<Real> field(static_cast<std::size_t>(box.num_items()));
  std::vector<Real> back(field.size());
  std::vector<std::complex<Real>> modes(static_cast<std::size_t>(transform.modes().num_modes()));
  for (std::size_t i = 0; i < field.size(); ++i) {
    field[i] =
        static_cast<Real>(bench::noise(i + field.size() * static_cast<std::size_t>(comm.rank())));
  }
  auto pair = [&](const std::vector<Real>& in, std::vector<Real>& out) {
    const Real* input = in.data();
    Real* output = out.data();
    std::complex<Real>* spectrum = modes.data();
    const std::complex<Real>* kept = modes.data();
    transform.forward(std::span(&input, 1), std::span(&spectrum, 1));
    transform.backward(std::span(&kept, 1), std::span(&output, 1));
  };
  const double points = static_cast<double>(n) * n * n;
  pair(field, back);
  if (truncate) {  // what the cut-off removed is gone: from here on the pair must be the identity
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = back[i] / static_cast<Real>(points);
  }
  const auto seconds = bench::time_together(args.number("warmups", 1), args.number("repeats", 5),
                                            [&] { pair(field, back); });
  double error = 0;
  for (std::size_t i = 0; i < field.size(); ++i) {
    error = std::max(
        error, std::abs(static_cast<double>(back[i]) / points - static_cast<double>(field[i])));
  }
  error = bench::all_max(error);
  const double buffer_bytes = bench::all_max(static_cast<double>(transform.buffer_bytes()));
  if (comm.rank() == 0) {
    bench::JsonLine()
        .text("entry", args.text("label", truncate ? "tailrace, 2/3 truncation" : "tailrace"))
        .numbers("seconds", seconds)
        .number("error", error)
        .number("plan_s", plan_s)
        .number("buffer_bytes", buffer_bytes)
        .text("kernel", std::string(transform.kernel()))
        .text("method", std::string(transform.method()))
        .text("stores", std::string(transform.stores()))
        .print();
  }
  if (stages.empty()) return;
  const auto bytes = static_cast<std::ptrdiff_t>(field.size() * sizeof(Real));
  const auto rates = bench::MemoryRates::measure(bytes, args.number("repeats", 5));
  const auto model =
      bench::stages_of<Real>(transform.problem(), comm.rank(), std::string(transform.kernel()));
  bench::print_stages(comm, model, bench::times_in(trace, comm), rates,
                      std::string(transform.stores()), stages);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_fft_ours", argc, argv, [](const auto&, const auto& args) {
    const tailrace::Comm comm(MPI_COMM_WORLD);
    if (args.text("precision", "double") == "single") {
      measure<float>(comm, args);
    } else {
      measure<double>(comm, args);
    }
  });
}
