// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transform of real or complex fields by tailrace::fft, full or truncated (2/3
// rule); with --stages NAME then what each stage took, and what a model of it says, as lines of the
// problem NAME. With --extents, transforms of some axes of an array (fft_arrays.cpp).

#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>
#include <vector>

#include "fft_arrays.hpp"
#include "fft_stages.hpp"
#include "mpi_driver.hpp"
#include "programs.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/trace.hpp"

namespace {

tailrace::fft::Problem problem_of(const bench::Arguments& args, bool real) {
  const int n = args.number("n", 256);
  tailrace::fft::Problem problem;
  problem.kind =
      real ? tailrace::fft::Kind::real_to_complex : tailrace::fft::Kind::complex_to_complex;
  problem.extents = {n, n, n};
  if (args.text("cutoff", "none") == "2/3") problem.cutoff.fill((n - 1) / 3);
  problem.grid = {args.number("grid-z", 0), args.number("grid-y", 0)};
  problem.max_fields = args.number("fields", 1);
  return problem;
}

tailrace::fft::Options options_of(const bench::Arguments& args) {
  tailrace::fft::Options options;
  options.kernel = args.text("kernel", "auto");
  options.method = args.text("method", "auto");
  options.stores = args.text("stores", "auto");
  options.reads = args.text("reads", "auto");
  options.threads = args.number("threads", 1);
  return options;
}

/// Fields of white noise, each another one.
template <class Real, class Item>
std::vector<std::vector<Item>> make_fields(int count, std::size_t items, int rank) {
  std::vector<std::vector<Item>> fields(static_cast<std::size_t>(count), std::vector<Item>(items));
  auto next = items * fields.size() * sizeof(Item) * static_cast<std::size_t>(rank);
  for (auto& field : fields) {
    for (auto& item : field) item = static_cast<Real>(bench::noise(next++));
  }
  return fields;
}

/// The largest error of `back`, which is points times `fields`.
template <class Real, class Item>
double largest_error(const std::vector<std::vector<Item>>& fields,
                     const std::vector<std::vector<Item>>& back, Real points) {
  double error = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    for (std::size_t i = 0; i < fields[f].size(); ++i) {
      const auto difference = back[f][i] / points - fields[f][i];
      error = std::max(error, static_cast<double>(std::abs(difference)));
    }
  }
  return bench::all_max(error);
}

template <class Real, class Item>
void measure(const tailrace::Comm& comm, const bench::Arguments& args) {
  constexpr bool real = std::is_same_v<Real, Item>;
  const auto problem = problem_of(args, real);
  const bool truncate = problem.cutoff[0] >= 0;
  auto options = options_of(args);
  const std::string stages = args.text("stages", "");
  // Always there, so that the times of the pair and of its stages are those of the same transform.
  tailrace::Trace trace(stages.empty() ? 0 : 4096);
  options.trace = stages.empty() ? nullptr : &trace;

  const double plan_start = bench::now_s();
  tailrace::fft::Transform<Real> transform(comm, problem, options);
  const double plan_s = bench::all_max(bench::now_s() - plan_start);

  const auto items = static_cast<std::size_t>(transform.physical_box().num_items());
  auto fields = make_fields<Real, Item>(problem.max_fields, items, comm.rank());
  auto back = fields;
  using Spectrum = std::vector<std::complex<Real>>;
  std::vector<Spectrum> modes(fields.size(),
                              Spectrum(static_cast<std::size_t>(transform.modes().num_modes())));
  std::vector<const Item*> in;
  std::vector<Item*> out;
  std::vector<std::complex<Real>*> spectra;
  std::vector<const std::complex<Real>*> kept;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    in.push_back(fields[f].data());
    out.push_back(back[f].data());
    spectra.push_back(modes[f].data());
    kept.push_back(modes[f].data());
  }
  const auto pair = [&] {
    transform.forward(in, spectra);
    transform.backward(kept, out);
  };
  const auto n = static_cast<Real>(problem.extents[0]);
  const Real points = n * n * n;
  pair();
  if (truncate) {  // what the cut-off removed is gone: from here on the pair must be the identity
    for (std::size_t f = 0; f < fields.size(); ++f) {
      for (std::size_t i = 0; i < items; ++i) fields[f][i] = back[f][i] / points;
    }
  }
  const auto seconds =
      bench::time_together(args.number("warmups", 1), args.number("repeats", 5), pair);
  const double error = largest_error(fields, back, points);
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
        .text("reads", std::string(transform.reads()))
        .print();
  }
  if (stages.empty()) return;
  const auto bytes = static_cast<std::ptrdiff_t>(items * sizeof(Item));
  const auto rates = tailrace::MemoryRates::measure(comm, bytes, args.number("repeats", 5));
  const auto model = tailrace::fft::stage_costs<Real>(transform.problem(), comm.rank(),
                                                      std::string(transform.kernel()));
  bench::print_stages(comm, model, bench::times_in(trace, comm), rates,
                      std::string(transform.stores()), stages);
}

template <class Real>
void measure_kind(const tailrace::Comm& comm, const bench::Arguments& args) {
  if (args.text("kind", "r2c") == "c2c") return measure<Real, std::complex<Real>>(comm, args);
  measure<Real, Real>(comm, args);
}

}  // namespace

int bench::run_fft(int argc, char** argv) {
  return bench::run_program("tailrace-bench fft", argc, argv, [](const auto&, const auto& args) {
    const tailrace::Comm comm(MPI_COMM_WORLD);
    if (!args.text("extents", "").empty()) return bench::measure_arrays(comm, args);
    if (args.text("precision", "double") == "single") {
      measure_kind<float>(comm, args);
    } else {
      measure_kind<double>(comm, args);
    }
  });
}
