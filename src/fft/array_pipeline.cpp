// SPDX-License-Identifier: BSD-3-Clause
// Any axes of an array. Each pass reads and writes this rank's part once, an exchange twice more
// (packing and unpacking). Limit for n bytes on one node: 2 n a pass and 4 n an exchange. A cube of
// three Fourier axes is faster by `Transform`, whose passes read and write the blocks of the
// exchanges themselves.
#include "array_pipeline.hpp"

#include <omp.h>

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "choose_library.hpp"
#include "core/last_resort.hpp"
#include "engine.hpp"
#include "move/method_spec.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::fft {

namespace {

constexpr const char* kind_names[] = {"fourier", "dct1", "dct2", "dct3", "dct4",
                                      "dst1",    "dst2", "dst3", "dst4"};

std::string name_of(AxisKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < std::size(kind_names) ? kind_names[number] : std::to_string(number);
}

std::string describe_axes(const std::vector<TransformedAxis>& axes) {
  std::string text;
  for (const auto& one : axes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.axis, name_of(one.kind));
    if (one.kept > 0) text += fmt::format(" kept {}", one.kept);
    if (one.swap_with >= 0) text += fmt::format(" swap {}", one.swap_with);
  }
  return text;
}

/// Also where no exchange is needed, a wrong name is refused.
void require_method(const std::string& text) {
  const auto name = MethodSpec::parse(text).name;
  const auto methods = move_methods();
  const bool known =
      std::ranges::any_of(methods, [&](const auto& one) { return one.name == name; });
  if (!known && name != "auto" && name != "untimed") {
    throw Error(Errc::invalid_input, fmt::format("method `{}` is not one of move_methods()", name));
  }
}

double logical_size(const ArrayStep& step) {
  const auto n = static_cast<double>(step.points);
  if (step.kind == AxisKind::fourier) return n;
  if (step.kind == AxisKind::dct1) return 2 * (n - 1);
  return step.kind == AxisKind::dst1 ? 2 * (n + 1) : 2 * n;
}

template <class Real>
std::ptrdiff_t bytes_of(const ArrayState& state, int rank) {
  return state.layout().num_items(rank) * static_cast<std::ptrdiff_t>(sizeof(Real)) *
         (state.is_complex ? 2 : 1);
}

/// Whether `Transform` does the same with the same arrays.
bool is_cube(const ArrayPlan& plan, const ArrayOptions& options) {
  const auto& problem = plan.problem;
  if (problem.extents.size() != 3 || problem.axes.size() != 3 || options.method != "auto") {
    return false;
  }
  for (int axis = 0; axis < 3; ++axis) {
    const auto& one = problem.axes[static_cast<std::size_t>(axis)];
    if (one.axis != axis || one.kind != AxisKind::fourier || one.kept > 0) return false;
    if (one.swap_with >= 0 && one.swap_with != axis + 1) return false;
  }
  return problem.grid[2] == 1;
}

}  // namespace

std::vector<CommonArgument> common_arguments(const ArrayProblem& problem,
                                             const ArrayOptions& options, std::size_t real_bytes) {
  return {{"precision", real_bytes == 4 ? "single" : "double"},
          {"field", problem.complex_field ? "complex" : "real"},
          {"extents", fmt::format("{}", fmt::join(problem.extents, " x "))},
          {"axes", describe_axes(problem.axes)},
          {"grid", fmt::format("{}", fmt::join(problem.grid, " x "))},
          {"scale", fmt::format("{}", problem.scale)},
          {"kernel", options.kernel},
          {"method", options.method}};
}

template <class Real>
ArrayTransform<Real>::Pipeline::Pipeline(const Comm& comm, const ArrayProblem& given,
                                         const ArrayOptions& wanted)
    : everybody(comm.duplicate()), options(wanted), kernel_name(wanted.kernel) {
  require_same(comm, "ArrayTransform", common_arguments(given, wanted, sizeof(Real)));
  constexpr int most_threads = 4096;
  require_all(comm.raw(), wanted.threads >= 1 && wanted.threads <= most_threads,
              fmt::format("threads {}: must be 1 to {}", wanted.threads, most_threads));
  const auto fault = find_fault(given, comm.num_ranks());
  require_all(comm.raw(), fault.empty(), fault);
  run_agreed(comm.raw(), [&] { require_method(wanted.method); });
  plan = plan_array(given, comm.num_ranks());
  physical_layout.emplace(plan.physical().layout());
  spectral_layout.emplace(plan.spectral().layout());
  num_points = physical_layout->num_items(comm.rank());
  num_modes = spectral_layout->num_items(comm.rank());
  for (const auto& step : plan.steps) {
    if (!step.is_exchange) normalization /= logical_size(step);
  }
  if (is_cube(plan, options)) {
    make_cube();
  } else {
    make_steps();
  }
}

template <class Real>
void ArrayTransform<Real>::Pipeline::make_cube() {
  const auto& given = plan.problem;
  Problem problem;
  problem.kind = given.complex_field ? Kind::complex_to_complex : Kind::real_to_complex;
  std::copy_n(given.extents.begin(), 3, problem.extents.begin());
  problem.grid = {given.grid[0], given.grid[1]};
  problem.mode_order = ModeOrder::kz_ky_kx;
  problem.scale = given.scale;
  Options wanted;
  wanted.kernel = options.kernel;
  wanted.threads = options.threads;
  cube_.emplace(everybody, problem, wanted);
  kernel_name = cube_->kernel();
}

template <class Real>
void ArrayTransform<Real>::Pipeline::make_steps() {
  std::vector<KernelLine> lines;
  std::vector<std::string> names;
  for (const auto& step : plan.steps) {
    if (step.is_exchange || step.items == LineItems::real) continue;
    const bool real = step.items == LineItems::half;
    const auto name = fmt::format("{}{}", step.points, real ? " real" : " complex");
    if (std::ranges::find(names, name) != names.end()) continue;
    names.push_back(name);
    lines.push_back({step.points, real});
  }
  const auto key = fmt::format("lines of {}; {}", fmt::join(names, ", "),
                               sizeof(Real) == 4 ? "single" : "double");
  const auto& library = choose_library<Real>(everybody, lines, key, kernel_name);
  run_agreed(everybody.raw(), [&] {
    std::map<std::pair<std::ptrdiff_t, int>, std::shared_ptr<const Kernel<Real>>> kernels;
    std::ptrdiff_t panel_items = 0;
    for (const auto& step : plan.steps) {
      Step made;
      made.bytes_before = bytes_of<Real>(step.before, everybody.rank());
      made.bytes_after = bytes_of<Real>(step.after, everybody.rank());
      made.in_place = step.in_place();
      if (!step.is_exchange) {
        const bool wave = step.items == LineItems::real;
        const bool half = step.items == LineItems::half;
        auto& kernel = kernels[{step.points, wave ? static_cast<int>(step.kind) : half ? -1 : 0}];
        if (!kernel && wave) kernel = library.template make_wave<Real>(step.points, step.kind);
        if (!kernel) kernel = library.template make<Real>(step.points, half);
        made.pass = std::make_unique<ArrayPass<Real>>(step, everybody.rank(), kernel);
        panel_items = std::max(panel_items, made.pass->panel_items());
      }
      steps_.push_back(std::move(made));
    }
    for (int thread = 0; thread < options.threads; ++thread) spaces_.emplace_back(panel_items);
  });
  for (std::size_t which = 0; which < steps_.size(); ++which) {
    if (!steps_[which].pass) exchange_of(Direction::forward, which);
  }
}

template <class Real>
std::vector<int> ArrayTransform<Real>::Pipeline::places(Direction direction) const {
  std::vector<int> where(steps_.size());
  int place = 0;
  for (auto turn = steps_.size(); turn-- > 0;) {
    where[turn] = place;
    if (!steps_[index(direction, turn)].in_place) place = place == 1 ? 2 : 1;
  }
  return where;
}

template <class Real>
void ArrayTransform<Real>::Pipeline::make_room(Direction direction) {
  const auto where = places(direction);
  std::array<std::ptrdiff_t, 2> bytes{};
  for (std::size_t turn = 0; turn < where.size(); ++turn) {
    if (where[turn] == 0) continue;
    const auto& step = steps_[index(direction, turn)];
    auto& most = bytes[static_cast<std::size_t>(where[turn] - 1)];
    most = std::max(most, direction == Direction::forward ? step.bytes_after : step.bytes_before);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (work_[i].bytes() < bytes[i]) work_[i] = Buffer(bytes[i]);
  }
}

template <class Real>
Exchange& ArrayTransform<Real>::Pipeline::exchange_of(Direction direction, std::size_t which) {
  const bool forward = direction == Direction::forward;
  auto& made = forward ? steps_[which].forward : steps_[which].backward;
  if (!made) {
    const auto& step = plan.steps[which];
    const auto& from = forward ? step.before : step.after;
    const auto& to = forward ? step.after : step.before;
    ExchangeShape shape;
    shape.item_bytes = static_cast<std::ptrdiff_t>(sizeof(Real)) * (from.is_complex ? 2 : 1);
    made = std::make_unique<Exchange>(everybody, from.layout(), to.layout(), shape, options.method);
  }
  return *made;
}

template <class Real>
void ArrayTransform<Real>::Pipeline::run(Direction direction, const void* input, void* output,
                                         double backward_scale) {
  if (cube_) return run_cube(direction, input, output, backward_scale);
  make_room(direction);
  const auto where = places(direction);
  const auto bytes = [&] {
    const auto& first = steps_[index(direction, 0)];
    return direction == Direction::forward ? first.bytes_before : first.bytes_after;
  }();
  if (input == output && where[0] == 0 && !steps_[index(direction, 0)].in_place) {
    if (work_[0].bytes() < bytes) work_[0] = Buffer(bytes);
    if (bytes > 0) std::memcpy(work_[0].data(), input, static_cast<std::size_t>(bytes));
    input = work_[0].data();
  }
  for (std::size_t turn = 0; turn < where.size(); ++turn) {
    void* to = where[turn] == 0 ? output : work_[static_cast<std::size_t>(where[turn] - 1)].data();
    // The pass that reads or writes the modes, which is never an exchange.
    const bool at_modes = index(direction, turn) + 1 == where.size();
    const double scale = direction == Direction::forward ? plan.problem.scale : backward_scale;
    run_step(direction, index(direction, turn), input, to, at_modes ? static_cast<Real>(scale) : 1);
    input = to;
  }
}

template <class Real>
void ArrayTransform<Real>::Pipeline::run_step(Direction direction, std::size_t which,
                                              const void* input, void* output, Real scale) {
  if (steps_[which].pass) {
    return run_pass(direction, which, static_cast<const Real*>(input), static_cast<Real*>(output),
                    scale);
  }
  const void* const sources[] = {input};
  void* const destinations[] = {output};
  exchange_of(direction, which).run(sources, destinations);
}

template <class Real>
void ArrayTransform<Real>::Pipeline::run_pass(Direction direction, std::size_t which,
                                              const Real* input, Real* output, Real scale) {
  const auto& pass = *steps_[which].pass;
  const auto count = pass.num_panels();
#pragma omp parallel for num_threads(options.threads) schedule(static) if (options.threads > 1)
  for (std::ptrdiff_t panel = 0; panel < count; ++panel) {
    const auto& space = spaces_[static_cast<std::size_t>(omp_get_thread_num())];
    if (direction == Direction::forward) {
      pass.forward(panel, input, output, scale, space);
    } else {
      pass.backward(panel, input, output, scale, space);
    }
  }
}

template <class Real>
void ArrayTransform<Real>::Pipeline::run_cube(Direction direction, const void* input, void* output,
                                              double backward_scale) {
  Transform<Real>::Engine::of(*cube_).stages.backward_scale = static_cast<Real>(backward_scale);
  const bool forward = direction == Direction::forward;
  if (input == output) {  // complex items: both sides are arrays of these
    const auto bytes =
        std::max(num_points, num_modes) * static_cast<std::ptrdiff_t>(sizeof(Complex));
    if (work_[0].bytes() < bytes) work_[0] = Buffer(bytes);
    const auto items = forward ? num_points : num_modes;
    if (items > 0) {
      std::memcpy(work_[0].data(), input, static_cast<std::size_t>(items) * sizeof(Complex));
    }
    input = work_[0].data();
  }
  const auto list = [](auto* one) { return std::array{one}; };
  if (plan.problem.complex_field) {
    const auto from = list(static_cast<const Complex*>(input));
    const auto to = list(static_cast<Complex*>(output));
    if (forward) {
      cube_->forward(std::span<const Complex* const>(from), std::span<Complex* const>(to));
    } else {
      cube_->backward(std::span<const Complex* const>(from), std::span<Complex* const>(to));
    }
  } else if (forward) {
    const auto from = list(static_cast<const Real*>(input));
    const auto to = list(static_cast<Complex*>(output));
    cube_->forward(std::span<const Real* const>(from), std::span<Complex* const>(to));
  } else {
    const auto from = list(static_cast<const Complex*>(input));
    const auto to = list(static_cast<Real*>(output));
    cube_->backward(std::span<const Complex* const>(from), std::span<Real* const>(to));
  }
}

template <class Real>
void ArrayTransform<Real>::Pipeline::refuse(const std::string& fault) const {
  refuse_call(everybody, Error(Errc::invalid_input, "ArrayTransform: " + fault));
}

template <class Real>
std::ptrdiff_t ArrayTransform<Real>::Pipeline::buffer_bytes() const {
  std::ptrdiff_t bytes = work_[0].bytes() + work_[1].bytes();
  for (const auto& space : spaces_) bytes += space.num_bytes();
  for (const auto& step : steps_) {
    if (step.forward) bytes += step.forward->buffer_bytes();
    if (step.backward) bytes += step.backward->buffer_bytes();
  }
  return cube_ ? bytes + cube_->buffer_bytes() : bytes;
}

template <class Real>
std::string ArrayTransform<Real>::Pipeline::describe() const {
  const auto& problem = plan.problem;
  auto text = fmt::format("{} array of {} items, axes {}, {} ranks, kernel {}, {} thread(s): ",
                          problem.complex_field ? "complex" : "real",
                          fmt::join(problem.extents, " x "), describe_axes(problem.axes),
                          fmt::join(problem.grid, " x "), kernel_name, options.threads);
  if (cube_) return text + cube_->describe();
  for (std::size_t which = 0; which < steps_.size(); ++which) {
    const auto& step = plan.steps[which];
    text += which > 0 ? "; " : "";
    if (step.is_exchange) {
      text += fmt::format("exchange to axis {} by {}, {} bytes", step.axis,
                          steps_[which].forward->method(), steps_[which].bytes_before);
    } else {
      text += fmt::format("{} along axis {}", name_of(step.kind), step.axis);
    }
  }
  return text;
}

template class ArrayTransform<float>::Pipeline;
template class ArrayTransform<double>::Pipeline;

}  // namespace tailrace::fft
