// SPDX-License-Identifier: BSD-3-Clause
// Forward + backward transform of some axes of an array, by an object and by fft::transform, whose
// plan the communicator keeps. Both in turn, so that their ratio is of the same moment.
#include "fft_arrays.hpp"

#include <array>
#include <complex>
#include <string>
#include <vector>

#include "array_shape.hpp"
#include "mpi_driver.hpp"
#include "tailrace/more/array_transform.hpp"

namespace bench {

namespace {

using tailrace::fft::ArrayOptions;
using tailrace::fft::ArrayProblem;

tailrace::fft::AxisKind kind_of(const std::string& name) {
  const std::array names{"fourier", "dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<tailrace::fft::AxisKind>(i);
  }
  std::fprintf(stderr, "tailrace-bench fft: unknown kind %s\n", name.c_str());
  std::exit(2);
}

ArrayProblem problem_of(const ArrayShape& shape) {
  ArrayProblem problem;
  problem.extents.assign(shape.extents.begin(), shape.extents.end());
  for (std::size_t i = 0; i < shape.axes.size(); ++i) {
    problem.axes.push_back({.axis = shape.axes[i], .kind = kind_of(shape.kinds[i])});
  }
  return problem;
}

template <class Field, class Modes, class Real>
void measure(const tailrace::Comm& comm, const Arguments& args, const ArrayShape& shape) {
  auto problem = problem_of(shape);
  problem.complex_field = !std::is_floating_point_v<Field>;
  ArrayOptions options;
  options.kernel = args.text("kernel", "auto");
  options.method = args.text("method", "auto");
  options.threads = args.number("threads", 1);
  const double plan_start = now_s();
  tailrace::fft::ArrayTransform<Real> transform(comm, problem, options);
  const double plan_s = all_max(now_s() - plan_start);
  const auto items = [&](const tailrace::Layout& layout) {
    return static_cast<std::size_t>(layout.num_items(comm.rank()));
  };
  std::vector<Field> field(items(transform.physical_layout())), back(field.size());
  std::vector<Modes> modes(items(transform.spectral_layout()));
  for (std::size_t i = 0; i < field.size(); ++i) {
    field[i] = static_cast<Real>(noise(field.size() * static_cast<std::size_t>(comm.rank()) + i));
  }
  const auto error = [&](double scale) {
    double largest = 0;
    for (std::size_t i = 0; i < field.size(); ++i) {
      const auto difference = back[i] * static_cast<Real>(scale) - field[i];
      largest = std::max(largest, static_cast<double>(std::abs(difference)));
    }
    return all_max(largest);
  };
  const auto by_object = [&] {
    transform.forward(std::span<const Field>(field), std::span<Modes>(modes));
    transform.backward(std::span<const Modes>(modes), std::span<Field>(back));
  };
  const auto by_call = [&] {
    tailrace::fft::transform(comm.raw(), problem, field, modes, options);
    tailrace::fft::inverse(comm.raw(), problem, modes, back, options);
  };
  std::array<std::vector<double>, 2> seconds;
  std::array<double, 2> errors{};
  const int warmups = args.number("warmups", 1);
  for (int run = 0; run < warmups + args.number("repeats", 5); ++run) {
    for (std::size_t way = 0; way < 2; ++way) {
      const auto once = way == 0 ? time_together(0, 1, by_object) : time_together(0, 1, by_call);
      if (run >= warmups) seconds[way].push_back(once.front());
      errors[way] = std::max(errors[way], error(way == 0 ? transform.normalization() : 1));
    }
  }
  if (comm.rank() != 0) return;
  const auto label = args.text("label", "tailrace");
  for (std::size_t way = 0; way < 2; ++way) {
    JsonLine()
        .text("entry", way == 0 ? label : label + ", fft::transform")
        .flag("reference", way == 0 && args.text("reference", "yes") == "yes")
        .numbers("seconds", seconds[way])
        .number("error", errors[way])
        .number("points", static_cast<double>(shape.num_points()))
        .number("plan_s", plan_s)
        .text("kernel", std::string(transform.kernel()))
        .print();
  }
}

}  // namespace

void measure_arrays(const tailrace::Comm& comm, const Arguments& args) {
  const ArrayShape shape(args);
  const bool complex_field = args.text("kind", "r2c") == "c2c";
  const auto run = [&]<class Real>(Real) {
    using Complex = std::complex<Real>;
    if (complex_field) return measure<Complex, Complex, Real>(comm, args, shape);
    if (shape.axes_of(true).empty()) return measure<Real, Real, Real>(comm, args, shape);
    measure<Real, Complex, Real>(comm, args, shape);
  };
  if (args.text("precision", "double") == "single") {
    run(0.0F);
  } else {
    run(0.0);
  }
}

}  // namespace bench
