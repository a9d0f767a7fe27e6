// SPDX-License-Identifier: BSD-3-Clause
// Transforms of any axes of arrays against the plain sums in long double: Fourier, cosine and sine,
// any number and order of axes, kept modes, grids of ranks, kernels, precisions, in place or not.
#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "random_problems.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/array_transform.hpp"

namespace tailrace::fft {
namespace {

using Big = std::complex<long double>;
using Line = std::vector<Big>;

constexpr AxisKind kinds[] = {AxisKind::fourier, AxisKind::dct1, AxisKind::dct2,
                              AxisKind::dct3,    AxisKind::dct4, AxisKind::dst1,
                              AxisKind::dst2,    AxisKind::dst3, AxisKind::dst4};

AxisKind inverse_of(AxisKind kind) {
  switch (kind) {
    case AxisKind::dct2:
      return AxisKind::dct3;
    case AxisKind::dct3:
      return AxisKind::dct2;
    case AxisKind::dst2:
      return AxisKind::dst3;
    case AxisKind::dst3:
      return AxisKind::dst2;
    default:
      return kind;
  }
}

double size_of(AxisKind kind, std::ptrdiff_t n) {
  if (kind == AxisKind::fourier) return static_cast<double>(n);
  if (kind == AxisKind::dct1) return static_cast<double>(2 * (n - 1));
  return static_cast<double>(2 * (kind == AxisKind::dst1 ? n + 1 : n));
}

// The definition: point j meets mode k at angle 2 pi a(j) b(k) / period.
Line plain_sum(const Line& line, AxisKind kind, bool backward) {
  const auto n = std::ssize(line);
  std::ptrdiff_t period = 8 * n;
  std::ptrdiff_t a = 2, a0 = 1, b = 2, b0 = 1;  // a(j) = a j + a0, b(k) = b k + b0
  const auto set = [&](std::ptrdiff_t p, std::ptrdiff_t a1, std::ptrdiff_t a2, std::ptrdiff_t b1,
                       std::ptrdiff_t b2) {
    period = p;
    a = a1;
    a0 = a2;
    b = b1;
    b0 = b2;
  };
  if (kind == AxisKind::fourier) set(n, 1, 0, 1, 0);
  if (kind == AxisKind::dct1) set(2 * (n - 1), 1, 0, 1, 0);
  if (kind == AxisKind::dct2) set(4 * n, 2, 1, 1, 0);
  if (kind == AxisKind::dct3) set(4 * n, 1, 0, 2, 1);
  if (kind == AxisKind::dst1) set(2 * (n + 1), 1, 1, 1, 1);
  if (kind == AxisKind::dst2) set(4 * n, 2, 1, 1, 1);
  if (kind == AxisKind::dst3) set(4 * n, 1, 1, 2, 1);
  const bool cosine = kind >= AxisKind::dct1 && kind <= AxisKind::dct4;
  Line roots;
  for (std::ptrdiff_t m = 0; m < period; ++m) {
    const auto angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(m) /
                       static_cast<long double>(period);
    roots.emplace_back(std::cos(angle), std::sin(angle));
  }
  Line out(line.size());
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    Big sum = 0;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const auto root = roots[static_cast<std::size_t>((a * j + a0) * (b * k + b0) % period)];
      // Points at the ends of an even extension exist once.
      const bool once = (kind == AxisKind::dct1 && (j == 0 || j == n - 1)) ||
                        (kind == AxisKind::dct3 && j == 0) ||
                        (kind == AxisKind::dst3 && j == n - 1);
      const auto item = line[static_cast<std::size_t>(j)];
      if (kind == AxisKind::fourier) {
        sum += item * (backward ? root : std::conj(root));
      } else {
        sum += item * (cosine ? root.real() : root.imag()) * (once ? 1.0L : 2.0L);
      }
    }
    out[static_cast<std::size_t>(k)] = sum;
  }
  return out;
}

Line line_forward(const Line& line, const TransformedAxis& one, bool half) {
  const auto n = std::ssize(line), kept = one.kept == 0 ? n : one.kept;
  auto all = plain_sum(line, one.kind, false);
  if (half) {
    const auto num = kept / 2 + 1;
    if (kept < n && kept % 2 == 0) {
      auto& highest = all[static_cast<std::size_t>(kept / 2)];
      highest = 2 * highest.real();
    }
    all.resize(static_cast<std::size_t>(num));
    return all;
  }
  if (kept == n) return all;
  if (one.kind != AxisKind::fourier) {
    all.resize(static_cast<std::size_t>(kept));
    return all;
  }
  Line out;
  for (std::ptrdiff_t k = 0; k < (kept + 1) / 2; ++k)
    out.push_back(all[static_cast<std::size_t>(k)]);
  if (kept % 2 == 0) {
    out.push_back(all[static_cast<std::size_t>(kept / 2)] +
                  all[static_cast<std::size_t>(n - kept / 2)]);
  }
  for (auto k = (kept - 1) / 2; k > 0; --k) out.push_back(all[static_cast<std::size_t>(n - k)]);
  return out;
}

Line line_backward(const Line& modes, const TransformedAxis& one, bool half, std::ptrdiff_t n) {
  const auto kept = one.kept == 0 ? n : one.kept;
  Line all(static_cast<std::size_t>(n));
  const auto put = [&](std::ptrdiff_t k, Big value) {
    all[static_cast<std::size_t>((k + n) % n)] = value;
  };
  const auto mode = [&](std::ptrdiff_t k) { return modes[static_cast<std::size_t>(k)]; };
  const bool joined = kept < n && kept % 2 == 0;
  if (one.kind != AxisKind::fourier) {
    for (std::ptrdiff_t k = 0; k < kept; ++k) put(k, mode(k));
  } else if (half) {
    for (std::ptrdiff_t k = kept / 2; k > 0; --k) {
      const bool alone = 2 * k == n || (joined && 2 * k == kept);
      const Big value = alone ? mode(k).real() * (joined ? 0.5L : 1.0L) : mode(k);
      put(-k, std::conj(value));
      put(k, value);
    }
    put(0, mode(0).real());
  } else {
    for (std::ptrdiff_t k = 0; k < (kept + 1) / 2; ++k) put(k, mode(k));
    for (auto k = (kept - 1) / 2; k > 0; --k) put(-k, mode(kept - k));
    if (kept % 2 == 0) {
      put(kept / 2, mode(kept / 2) * (joined ? 0.5L : 1.0L));
      if (joined) put(-kept / 2, mode(kept / 2) * 0.5L);
    }
  }
  return plain_sum(all, inverse_of(one.kind), true);
}

/// A whole array.
struct Whole {
  std::vector<std::ptrdiff_t> extents;
  Line items;
  std::size_t stride(int axis) const {
    std::size_t items_after = 1;
    for (auto d = static_cast<std::size_t>(axis) + 1; d < extents.size(); ++d) {
      items_after *= static_cast<std::size_t>(extents[d]);
    }
    return items_after;
  }
};

std::size_t product(const std::vector<std::ptrdiff_t>& extents) {
  std::size_t items = 1;
  for (const auto extent : extents) items *= static_cast<std::size_t>(extent);
  return items;
}

template <class OfLine>
Whole along(const Whole& from, int axis, OfLine&& of_line) {
  Whole to{from.extents, {}};
  const auto stride = from.stride(axis);
  const auto n = static_cast<std::size_t>(from.extents[static_cast<std::size_t>(axis)]);
  for (std::size_t outer = 0; outer < from.items.size() / (n * stride); ++outer) {
    for (std::size_t inner = 0; inner < stride; ++inner) {
      Line line;
      for (std::size_t j = 0; j < n; ++j) {
        line.push_back(from.items[(outer * n + j) * stride + inner]);
      }
      line = of_line(line);
      auto& extent = to.extents[static_cast<std::size_t>(axis)];
      extent = std::ssize(line);
      to.items.resize(product(to.extents));
      for (std::size_t j = 0; j < line.size(); ++j) {
        to.items[(outer * line.size() + j) * stride + inner] = line[j];
      }
    }
  }
  return to;
}

/// Which of the axes is the half one: the last Fourier axis of a real field; -1 if none.
int half_axis(const ArrayProblem& problem) {
  if (problem.complex_field) return -1;
  for (auto turn = problem.axes.size(); turn-- > 0;) {
    if (problem.axes[turn].kind == AxisKind::fourier) return problem.axes[turn].axis;
  }
  return -1;
}

Whole reference_forward(Whole whole, const ArrayProblem& problem) {
  for (auto turn = problem.axes.size(); turn-- > 0;) {
    const auto& one = problem.axes[turn];
    const bool half = one.axis == half_axis(problem);
    whole = along(whole, one.axis, [&](const Line& l) { return line_forward(l, one, half); });
  }
  return whole;
}

Whole reference_backward(Whole whole, const ArrayProblem& problem) {
  for (const auto& one : problem.axes) {
    const bool half = one.axis == half_axis(problem);
    const auto n = problem.extents[static_cast<std::size_t>(one.axis)];
    whole = along(whole, one.axis, [&](const Line& l) { return line_backward(l, one, half, n); });
  }
  return whole;
}

Whole random_whole(std::vector<std::ptrdiff_t> extents, bool is_complex, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);  // exact in both precisions
  Whole whole{std::move(extents), {}};
  whole.items.resize(product(whole.extents));
  for (auto& item : whole.items) {
    const auto re = static_cast<long double>(uniform(generator));
    const auto im = static_cast<long double>(uniform(generator));
    item = {re, is_complex ? im : 0};
  }
  return whole;
}

template <class Item>
Item item_of(Big value) {
  if constexpr (std::is_floating_point_v<Item>) {
    return static_cast<Item>(value.real());
  } else {
    using Real = typename Item::value_type;
    return {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
  }
}
template <class Item>
Big big_of(Item value) {
  if constexpr (std::is_floating_point_v<Item>) {
    return value;
  } else {
    return {value.real(), value.imag()};
  }
}

/// Calls body(index in `whole`) for each item of a box, row by row.
template <class Body>
void for_items(const Whole& whole, const Box& box, Body&& body) {
  const auto count = box.num_dims == 0 ? 0 : box.num_items();
  for (std::ptrdiff_t number = 0; number < count; ++number) {
    auto rest = number;
    std::size_t place = 0;
    for (int axis = box.num_dims - 1; axis >= 0; --axis) {
      const auto d = static_cast<std::size_t>(axis);
      place += static_cast<std::size_t>(box.start[d] + rest % box.extents[d]) * whole.stride(axis);
      rest /= box.extents[d];
    }
    body(place);
  }
}

template <class Item>
std::vector<Item> part_of_whole(const Whole& whole, const Box& box) {
  std::vector<Item> part;
  for_items(whole, box,
            [&](std::size_t place) { part.push_back(item_of<Item>(whole.items[place])); });
  return part;
}

/// The largest error of `part`, in units of the precision and of the largest item of the whole.
template <class Item, class Real>
double error_of(const std::vector<Item>& part, const Whole& whole, const Box& box) {
  long double largest = 1e-30L, error = 0;
  for (const auto& item : whole.items) largest = std::max(largest, std::abs(item));
  std::size_t number = 0;
  for_items(whole, box, [&](std::size_t place) {
    error = std::max(error, std::abs(big_of(part[number++]) - whole.items[place]));
  });
  return static_cast<double>(error / largest / std::numeric_limits<Real>::epsilon());
}

std::string describe(const ArrayProblem& problem, const ArrayOptions& options) {
  std::string axes;
  for (const auto& one : problem.axes) {
    axes += fmt::format(" ({} kind {} kept {} swap {})", one.axis, static_cast<int>(one.kind),
                        one.kept, one.swap_with);
  }
  return fmt::format("{} array of {}, axes{}, grid {}, scale {}, kernel {}, method {}, {} threads",
                     problem.complex_field ? "complex" : "real", problem.extents, axes,
                     problem.grid, problem.scale, options.kernel, options.method, options.threads);
}

template <class Real, class Field, class Modes>
std::string check(ArrayTransform<Real>& transform, ArrayProblem problem, std::uint64_t seed,
                  bool in_place) {
  problem.axes = transform.problem().axes;
  constexpr double allowed = 40;
  auto field = random_whole(problem.extents, problem.complex_field, seed);
  auto modes = reference_forward(field, problem);
  for (auto& mode : modes.items) mode *= static_cast<long double>(problem.scale);
  const auto box = transform.physical_box(), spectral_box = transform.spectral_box();
  auto u = part_of_whole<Field>(field, box);
  std::vector<Modes> found(
      static_cast<std::size_t>(transform.spectral_layout().num_items(Comm(MPI_COMM_WORLD).rank())));
  const auto given = u;
  for (int run = 0; run < 2; ++run) {
    if constexpr (std::is_same_v<Field, Modes>) {
      if (in_place && u.size() == found.size()) {
        auto same = u;
        transform.forward(std::span<const Field>(same), std::span<Modes>(same));
        found = same;
      } else {
        transform.forward(std::span<const Field>(u), std::span<Modes>(found));
      }
    } else {
      transform.forward(std::span<const Field>(u), std::span<Modes>(found));
    }
    if (u != given) return "forward changed its input";
    const auto error = error_of<Modes, Real>(found, modes, spectral_box);
    if (!(error < allowed)) return fmt::format("forward is off by {} units", error);
  }
  // Other modes, also such that no field has.
  auto random_modes = random_whole(modes.extents, !transform.real_modes(), seed + 1);
  const auto wanted = reference_backward(random_modes, problem);
  auto own = part_of_whole<Modes>(random_modes, spectral_box);
  const auto own_given = own;
  if constexpr (std::is_same_v<Field, Modes>) {
    if (in_place && u.size() == own.size()) {
      auto same = own;
      transform.backward(std::span<const Modes>(same), std::span<Field>(same));
      u = same;
    } else {
      transform.backward(std::span<const Modes>(own), std::span<Field>(u));
    }
  } else {
    transform.backward(std::span<const Modes>(own), std::span<Field>(u));
  }
  if (own != own_given) return "backward changed its input";
  const auto error = error_of<Field, Real>(u, wanted, box);
  if (!(error < allowed)) return fmt::format("backward is off by {} units", error);
  double normalization = 1;
  for (const auto& one : problem.axes) {
    normalization /= size_of(one.kind, problem.extents[static_cast<std::size_t>(one.axis)]);
  }
  return std::abs(transform.normalization() / normalization - 1) < 1e-14 ? ""
                                                                         : "wrong normalization";
}

template <class Real>
std::string check_problem(const Comm& comm, const ArrayProblem& problem,
                          const ArrayOptions& options, std::uint64_t seed, bool in_place) {
  using Complex = std::complex<Real>;
  ArrayTransform<Real> transform(comm, problem, options);
  std::string wrong;
  if (problem.complex_field) {
    wrong = check<Real, Complex, Complex>(transform, problem, seed, in_place);
  } else if (transform.real_modes()) {
    wrong = check<Real, Real, Real>(transform, problem, seed, in_place);
  } else {
    wrong = check<Real, Real, Complex>(transform, problem, seed, in_place);
  }
  return wrong.empty() ? "" : wrong + ": " + transform.describe();
}

ArrayProblem draw_problem(Dice& dice, int num_ranks) {
  constexpr std::ptrdiff_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 24, 31};
  ArrayProblem problem;
  const auto num_dims = dice.between(1, 5);
  do {
    problem.extents.clear();
    for (std::ptrdiff_t d = 0; d < num_dims; ++d) problem.extents.push_back(dice.one_of(lengths));
  } while (product(problem.extents) > 600);
  problem.complex_field = dice.chance(30);
  std::vector<int> axes;
  for (int axis = 0; axis < num_dims; ++axis) axes.push_back(axis);
  if (dice.chance(60)) dice.shuffle(axes);
  axes.resize(static_cast<std::size_t>(dice.between(1, num_dims)));
  const bool all_fourier = dice.chance(30), all_waves = !all_fourier && dice.chance(30);
  for (const int axis : axes) {
    const auto n = problem.extents[static_cast<std::size_t>(axis)];
    TransformedAxis one{.axis = axis};
    do {
      one.kind = all_fourier ? AxisKind::fourier : dice.one_of(kinds);
    } while ((one.kind == AxisKind::dct1 && n < 2) || (all_waves && one.kind == AxisKind::fourier));
    if (dice.chance(25)) one.kept = dice.between(1, n);
    problem.axes.push_back(one);
  }
  if (dice.chance(50)) {
    problem.grid.assign(static_cast<std::size_t>(num_dims), 1);
    for (int ranks = num_ranks; ranks > 1;) {
      const int part = ranks % 2 == 0 ? 2 : ranks;
      problem.grid[static_cast<std::size_t>(dice.below(num_dims))] *= part;
      ranks /= part;
    }
  }
  if (dice.chance(30)) problem.scale = 0.25;
  return problem;
}

std::string solve(const Comm& comm, std::uint64_t seed) {
  Dice dice(seed);
  auto problem = draw_problem(dice, comm.num_ranks());
  ArrayOptions options;
  std::vector<std::string> kernel_names{"auto"};
  for (const auto& kernel : kernels()) {
    if (kernel.available) kernel_names.emplace_back(kernel.name);
  }
  options.kernel = dice.one_of(kernel_names);
  options.method = dice.chance(50) ? "auto" : dice.chance(50) ? "pairwise" : "alltoallv";
  options.threads = dice.chance(20) ? 2 : 1;
  const bool single = dice.chance(30), in_place = dice.chance(40);
  const auto text = describe(problem, options);
  try {
    const auto wrong = single ? check_problem<float>(comm, problem, options, seed, in_place)
                              : check_problem<double>(comm, problem, options, seed, in_place);
    return wrong.empty() ? "" : wrong + " in " + text;
  } catch (const Error& error) {
    // A grid may leave no axis that could take the ranks of another.
    const std::string what = error.what();
    if (what.find("another axis must be whole") != std::string::npos) return "";
    return what + " in " + text;
  }
}

TEST(ArrayTransform, RandomOnesArePlainSums) {
  const Comm comm(MPI_COMM_WORLD);
  RandomProblems(comm, 60).run([&](std::uint64_t seed) { return solve(comm, seed); });
}

// Each kind and kernel, on lines that all algorithms of the kernels transform: powers, a prime, an
// odd product; and long ones.
TEST(ArrayTransform, EachKindIsAccurate) {
  const Comm comm(MPI_COMM_WORLD);
  for (const auto kind : kinds) {
    ArrayProblem problem;
    problem.axes = {{.axis = 1, .kind = kind}};
    for (const auto& kernel : kernels()) {
      if (!kernel.available) continue;
      ArrayOptions options;
      options.kernel = kernel.name;
      for (const std::ptrdiff_t n : {64, 67, 75}) {
        problem.extents = {comm.num_ranks(), n, 3};
        EXPECT_EQ(check_problem<double>(comm, problem, options, 5, false), "") << kernel.name;
        EXPECT_EQ(check_problem<float>(comm, problem, options, 5, false), "") << kernel.name;
      }
    }
    problem.extents = {comm.num_ranks(), 1000, 1};
    EXPECT_EQ(check_problem<double>(comm, problem, {}, 5, false), "");
  }
}

// A channel: two periodic axes, one wall; pencils and slabs.
TEST(ArrayTransform, ChannelOnEachGrid) {
  const Comm comm(MPI_COMM_WORLD);
  for (int parts = 1; parts <= comm.num_ranks(); ++parts) {
    if (comm.num_ranks() % parts != 0) continue;
    for (int whole = 0; whole < 3; ++whole) {
      ArrayProblem problem;
      problem.extents = {9, 8, 12};
      problem.axes = {{.axis = 1, .kind = AxisKind::dct1}, {.axis = 0}, {.axis = 2}};
      problem.grid = {parts, comm.num_ranks() / parts, 1};
      std::rotate(problem.grid.begin(), problem.grid.begin() + whole, problem.grid.end());
      EXPECT_EQ(check_problem<double>(comm, problem, {}, 7, false), "");
    }
  }
}

TEST(ArrayTransform, ABatchAxisTakesTheRanks) {
  const Comm comm(MPI_COMM_WORLD);
  ArrayProblem problem;
  problem.extents = {12, 8, 10};
  problem.axes = {{.axis = 1}, {.axis = 2}};
  const ArrayTransform<double> transform(comm, problem);
  EXPECT_EQ(transform.problem().grid, (std::vector<int>{comm.num_ranks(), 1, 1}));
  EXPECT_EQ(transform.describe().find("exchange"), std::string::npos) << transform.describe();
}

// The pipeline of `Transform`, and the steps of other arrays.
TEST(ArrayTransform, ACubeIsTransform) {
  const Comm comm(MPI_COMM_WORLD);
  ArrayProblem problem;
  problem.extents = {9, 8, 10};
  problem.grid = {comm.num_ranks(), 1, 1};
  ArrayTransform<double> cube(comm, problem);
  EXPECT_NE(cube.describe().find("transform of 9 x 8 x 10 points"), std::string::npos);
  ArrayOptions plain;
  plain.method = "pairwise";
  ArrayTransform<double> steps(comm, problem, plain);
  EXPECT_EQ(steps.describe().find("transform of"), std::string::npos);
  EXPECT_EQ((check<double, double, std::complex<double>>(cube, problem, 3, false)), "");
  EXPECT_EQ((check<double, double, std::complex<double>>(steps, problem, 3, false)), "");
  EXPECT_EQ(cube.spectral_box(), steps.spectral_box());
}

// After the exchange, the ranks divide the axis that is asked for.
TEST(ArrayTransform, SwapsWithTheAxisThatIsAskedFor) {
  const Comm comm(MPI_COMM_WORLD);
  for (const int with : {1, 2}) {
    ArrayProblem problem;
    problem.extents = {9, 8, 10};
    problem.axes = {{.axis = 0, .swap_with = with}, {.axis = 1}, {.axis = 2}};
    problem.grid = {comm.num_ranks(), 1, 1};
    ArrayTransform<double> transform(comm, problem);
    const auto box = transform.spectral_layout().box(0);
    EXPECT_EQ(box.extents[static_cast<std::size_t>(with)],
              split_evenly(with == 1 ? 8 : 6, comm.num_ranks(), 0).count);
    EXPECT_EQ((check<double, double, std::complex<double>>(transform, problem, 3, false)), "");
  }
}

template <class Change>
std::string refusal(Change&& change) {
  const Comm comm(MPI_COMM_WORLD);
  ArrayProblem problem;
  problem.extents = {8, 6, 10};
  problem.axes = {{.axis = 0}, {.axis = 2}};
  ArrayOptions options;
  change(problem, options);
  try {
    const ArrayTransform<double> transform(comm, problem, options);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    return error.what();
  }
}

TEST(ArrayTransform, WrongProblemsAreRefused) {
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos ? "" : text;
  };
  using Problem = ArrayProblem&;
  using Options = ArrayOptions&;
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.extents = {}; }), "0 axes: must be 1 to 5"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.extents[1] = 0; }), "extent 0 of axis 1"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.axes[0].axis = 3; }), "axis 3 of an array"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.axes[0].axis = 2; }), "listed twice"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.axes[0].kept = 9; }), "kept 9 of 8"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.axes[0].swap_with = 0; }), "swap_with 0"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.grid = {1, 1}; }), "grid 1 x 1"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) { p.grid = {1, 64, 1}; }), "grid 1 x 64"));
  EXPECT_EQ("", has(refusal([](Problem, Options o) { o.kernel = "none"; }), "`none` is unknown"));
  EXPECT_EQ("", has(refusal([](Problem, Options o) { o.threads = 0; }), "threads 0"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) {
                      p.extents[0] = 1;
                      p.axes[0].kind = AxisKind::dct1;
                    }),
                    "a dct1 needs 2 points"));
  EXPECT_EQ("", has(refusal([](Problem p, Options) {
                      if (Comm(MPI_COMM_WORLD).num_ranks() == 1) p.extents = {};
                      if (Comm(MPI_COMM_WORLD).rank() == 0) p.scale = 2;
                    }),
                    Comm(MPI_COMM_WORLD).num_ranks() == 1 ? "must be 1 to 5" : "scale must be"));
}

TEST(ArrayTransform, ArraysOfAnotherSizeOrTypeAreRefused) {
  const Comm comm(MPI_COMM_WORLD);
  ArrayProblem problem;
  problem.extents = {8, 6};
  problem.axes = {{.axis = 1}};
  ArrayTransform<double> transform(comm, problem);
  std::vector<double> field(static_cast<std::size_t>(transform.physical_box().num_items()));
  std::vector<double> other(field);
  std::vector<std::complex<double>> modes(
      static_cast<std::size_t>(transform.spectral_box().num_items()) + 1);
  EXPECT_THROW(transform.forward(std::span<const double>(field), std::span(modes)), Error);
  EXPECT_THROW(transform.forward(std::span<const double>(field), std::span(other)), Error);
  modes.pop_back();
  transform.forward(std::span<const double>(field), std::span(modes));
}

/// A communicator of the user, which keeps plans.
class UserComm {
 public:
  UserComm() { check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &raw_)); }
  ~UserComm() { MPI_Comm_free(&raw_); }
  UserComm(const UserComm&) = delete;
  UserComm& operator=(const UserComm&) = delete;
  MPI_Comm raw() const { return raw_; }
  int rank() const { return Comm(raw_).rank(); }
  int num_ranks() const { return Comm(raw_).num_ranks(); }
  bool is_last() const { return rank() + 1 == num_ranks(); }

 private:
  MPI_Comm raw_ = MPI_COMM_NULL;
};

template <class Real, class Field, class Modes>
std::string check_call(const UserComm& comm, const ArrayProblem& given, const ArrayOptions& options,
                       std::uint64_t seed, bool in_place) {
  constexpr double allowed = 40;
  auto problem = given;
  problem.complex_field = !std::is_floating_point_v<Field>;
  const auto points = physical_layout(problem, comm.num_ranks());
  const auto waves = spectral_layout(problem, comm.num_ranks());
  if (problem.axes.empty()) {
    for (int axis = 0; axis < std::ssize(problem.extents); ++axis) {
      problem.axes.push_back({.axis = axis});
    }
  }
  const auto box = points.box(comm.rank()), spectral_box = waves.box(comm.rank());
  const auto field = random_whole(problem.extents, problem.complex_field, seed);
  auto modes = reference_forward(field, problem);
  for (auto& mode : modes.items) mode *= static_cast<long double>(problem.scale);
  const auto u = part_of_whole<Field>(field, box);
  std::vector<Modes> u_hat(static_cast<std::size_t>(waves.num_items(comm.rank())));
  auto random_modes = random_whole(modes.extents, !std::is_floating_point_v<Modes>, seed + 1);
  auto wanted = reference_backward(random_modes, problem);
  for (auto& item : wanted.items) {
    for (const auto& one : problem.axes) {
      item /= static_cast<long double>(
          size_of(one.kind, problem.extents[static_cast<std::size_t>(one.axis)]));
    }
    item /= static_cast<long double>(problem.scale);
  }
  const auto v_hat = part_of_whole<Modes>(random_modes, spectral_box);
  std::vector<Field> v(u.size());
  for (int run = 0; run < 2; ++run) {
    if (in_place && std::is_same_v<Field, Modes> && u.size() == u_hat.size()) {
      if constexpr (std::is_same_v<Field, Modes>) {
        u_hat = u;
        transform(comm.raw(), given, u_hat, u_hat, options);
        v = v_hat;
        inverse(comm.raw(), given, v, v, options);
      }
    } else {
      transform(comm.raw(), given, u, u_hat, options);
      inverse(comm.raw(), given, std::span(v_hat), std::span(v), options);
    }
    const auto error = error_of<Modes, Real>(u_hat, modes, spectral_box);
    if (!(error < allowed)) return fmt::format("transform is off by {} units", error);
    const auto back = error_of<Field, Real>(v, wanted, box);
    if (!(back < allowed)) return fmt::format("inverse is off by {} units", back);
  }
  return "";
}

std::string solve_call(const UserComm& comm, std::uint64_t seed) {
  Dice dice(seed);
  const auto problem = draw_problem(dice, comm.num_ranks());
  ArrayOptions options;
  options.method = dice.chance(70) ? "auto" : "alltoallv";
  options.threads = dice.chance(20) ? 2 : 1;
  const bool single = dice.chance(30), in_place = dice.chance(40);
  bool real_modes = !problem.complex_field;
  for (const auto& one : problem.axes) real_modes &= one.kind != AxisKind::fourier;
  const auto run = [&]<class Real>(Real) {
    using Complex = std::complex<Real>;
    if (problem.complex_field) {
      return check_call<Real, Complex, Complex>(comm, problem, options, seed, in_place);
    }
    return real_modes ? check_call<Real, Real, Real>(comm, problem, options, seed, in_place)
                      : check_call<Real, Real, Complex>(comm, problem, options, seed, in_place);
  };
  try {
    const auto wrong = single ? run(1.0F) : run(1.0);
    return wrong.empty() ? "" : wrong + " in " + describe(problem, options);
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.find("another axis must be whole") != std::string::npos) return "";
    return what + " in " + describe(problem, options);
  }
}

TEST(TransformCall, RandomOnesArePlainSums) {
  const UserComm comm;
  RandomProblems(Comm(comm.raw()), 40).run([&](std::uint64_t seed) {
    return solve_call(comm, seed);
  });
}

// The pipeline of `Transform` scales its way back, too.
TEST(TransformCall, ACube) {
  const UserComm comm;
  const ArrayProblem problem{.extents = {9, 8, 10}, .scale = 0.25};
  using Complex = std::complex<double>;
  EXPECT_EQ((check_call<double, double, Complex>(comm, problem, {}, 3, false)), "");
  EXPECT_EQ((check_call<double, Complex, Complex>(comm, problem, {}, 3, true)), "");
}

template <class Field>
void transform_zeros(const UserComm& comm, const ArrayProblem& problem, int threads = 1) {
  auto own = problem;
  own.complex_field = !std::is_floating_point_v<Field>;
  const auto items = [&](const Layout& layout) {
    return static_cast<std::size_t>(layout.num_items(comm.rank()));
  };
  const std::vector<Field> u(items(physical_layout(own, comm.num_ranks())));
  std::vector<std::complex<double>> u_hat(items(spectral_layout(own, comm.num_ranks())));
  transform(comm.raw(), problem, u, u_hat, {.method = "alltoallv", .threads = threads});
}

TEST(TransformCall, PlansAreKeptAndFreedWithTheCommunicator) {
  const auto before = tailrace::detail::count_handles(0);
  {
    const UserComm comm;
    std::vector<std::ptrdiff_t> handles;
    for (int n = 0; n < 3 * max_kept_plans; ++n) {
      transform_zeros<double>(comm, {.extents = {6 + n, 5}});
      handles.push_back(tailrace::detail::count_handles(0));
      transform_zeros<double>(comm, {.extents = {6 + n, 5}});
      EXPECT_EQ(tailrace::detail::count_handles(0), handles.back()) << "a plan was made again";
    }
    EXPECT_GT(handles[1], handles[0]) << "a plan was not kept";
    EXPECT_EQ(handles[max_kept_plans - 1], handles.back()) << "plans beyond the bound are kept";
    // The oldest that is kept is used, so the next oldest is freed.
    const int oldest = 2 * max_kept_plans;
    transform_zeros<double>(comm, {.extents = {6 + oldest, 5}});
    transform_zeros<double>(comm, {.extents = {5, 5}});
    EXPECT_EQ(tailrace::detail::count_handles(0), handles.back());
    // Other types and threads are other plans, and replace those of other threads.
    transform_zeros<std::complex<double>>(comm, {.extents = {5, 5}});
    transform_zeros<double>(comm, {.extents = {5, 5}}, comm.is_last() ? 2 : 1);
    transform_zeros<double>(comm, {.extents = {5, 5}}, 1);
    EXPECT_EQ(tailrace::detail::count_handles(0), handles.back());
  }
  EXPECT_EQ(tailrace::detail::count_handles(0), before);
}

template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    return error.what();
  }
}

// What is wrong on one rank alone fails on all, and the next call is right.
TEST(TransformCall, RanksFailTogether) {
  const UserComm comm;
  const ArrayProblem problem{.extents = {8, 6}};
  const auto size = [&](const Layout& layout) {
    return static_cast<std::size_t>(layout.num_items(comm.rank()));
  };
  const std::vector<double> u(size(physical_layout(problem, comm.num_ranks())), 1.0);
  std::vector<std::complex<double>> u_hat(size(spectral_layout(problem, comm.num_ranks())));
  std::vector<double> v(u.size());
  const bool alone = comm.num_ranks() == 1;
  const auto expect = [&](std::string_view part, auto&& action) {
    const auto text = message_of(action);
    EXPECT_NE(text.find(part), std::string::npos) << text;
    transform(comm.raw(), problem, u, u_hat);
    inverse(comm.raw(), problem, u_hat, v);
    for (const auto item : v) EXPECT_NEAR(item, 1, 1e-14);
  };
  for (int turn = 0; turn < 2; ++turn) {  // before there is a plan, and with one
    expect("this rank has", [&] {
      const std::vector<double> more(u.size() + 1);
      transform(comm.raw(), problem, comm.is_last() ? more : u, u_hat);
    });
    expect(alone ? "accepted" : "extents must be the same", [&] {
      auto other = problem;
      if (comm.is_last()) other.extents = {6, 8};
      std::vector<std::complex<double>> room(u_hat.size() + (alone ? 2 : 0));
      std::span<std::complex<double>> modes(room);
      if (alone) modes = modes.first(size(spectral_layout(other, 1)));
      transform(comm.raw(), other, u, modes);
    });
    expect(alone ? "accepted" : "call must be the same", [&] {
      if (comm.is_last()) {
        inverse(comm.raw(), problem, u_hat, v);
      } else {
        transform(comm.raw(), problem, u, u_hat);
      }
    });
    expect("extent 0 of axis 1", [&] { transform(comm.raw(), {.extents = {8, 0}}, u, u_hat); });
    expect("`none` is unknown",
           [&] { transform(comm.raw(), problem, u, u_hat, {.kernel = "none"}); });
    expect("real modes are given, but this transform has complex modes",
           [&] { transform(comm.raw(), problem, u, v); });
    expect("threads 0",
           [&] { transform(comm.raw(), problem, u, u_hat, {.threads = comm.is_last() ? 0 : 1}); });
  }
  EXPECT_THROW(physical_layout({.extents = {}}, 1), Error);
}

}  // namespace
}  // namespace tailrace::fft
