// SPDX-License-Identifier: BSD-3-Clause
// Transforms without an object: a communicator keeps the plans. Ranks agree in each call on the
// problem and on whether all have its plan, so that none waits in another step than the others.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <list>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "array_pipeline.hpp"
#include "core/kept_on.hpp"
#include "core/last_resort.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace::fft {

namespace {

/// What a call asks for.
struct Call {
  Direction direction;
  const ArrayProblem& problem;
  const ArrayOptions& options;
  bool real_modes;
  std::ptrdiff_t num_points, num_modes;
};

template <class Real>
struct Plan {
  ArrayProblem problem;
  ArrayOptions options;
  std::unique_ptr<typename ArrayTransform<Real>::Pipeline> pipeline;

  /// `threads` may differ between ranks, which must all find a plan or none.
  bool serves(const Call& call) const {
    return problem == call.problem && options.kernel == call.options.kernel &&
           options.method == call.options.method;
  }
};

/// The plans of a communicator, the last used first, on all ranks in the same order.
class KeptPlans final : public KeptObject {
 public:
  explicit KeptPlans(MPI_Comm user) : comm_(user) {
    if (comm_.num_ranks() > 1) agreement_.emplace(comm_, ReductionShape{NumberType::int64, 4});
  }

  /// The plan for a call, the same on all ranks. Collective, blocking.
  template <class Real>
  typename ArrayTransform<Real>::Pipeline& find(const Call& call);

 private:
  using Plans = std::list<std::variant<Plan<float>, Plan<double>>>;
  template <class Real>
  Plans::iterator find_own(const Call& call) {
    return std::ranges::find_if(plans_, [&](const auto& one) {
      const auto* const plan = std::get_if<Plan<Real>>(&one);
      return plan != nullptr && plan->serves(call);
    });
  }
  template <class Real>
  Plan<Real> make(const Call& call) const {
    using Pipeline = typename ArrayTransform<Real>::Pipeline;
    return {call.problem, call.options, make_together(comm_, "fft::transform", [&] {
              return std::make_unique<Pipeline>(comm_, call.problem, call.options);
            })};
  }

  Comm comm_;                           // ends after the plans
  std::optional<Reduction> agreement_;  ///< if there are several ranks
  Plans plans_;
};

std::int64_t digest_of(const Call& call, std::size_t real_bytes) {
  std::uint64_t digest = real_bytes;
  const auto add = [&](auto number) {
    digest = add_to_digest(digest, static_cast<std::uint64_t>(number));
  };
  const auto add_list = [&](const auto& list) {
    add(list.size());
    for (const auto one : list) add(one);
  };
  const auto& problem = call.problem;
  add(call.direction);
  add_list(problem.extents);
  add(problem.complex_field);
  add(call.real_modes);
  add_list(problem.grid);
  add(std::bit_cast<std::uint64_t>(problem.scale));
  add(problem.axes.size());
  for (const auto& one : problem.axes) {
    add(one.axis);
    add(one.kind);
    add(one.kept);
    add(one.swap_with);
  }
  add_list(call.options.kernel);
  add_list(call.options.method);
  return std::bit_cast<std::int64_t>(digest);
}

void require_agreement(const Comm& comm, const Call& call, std::size_t real_bytes) {
  auto arguments = common_arguments(call.problem, call.options, real_bytes);
  arguments.push_back({"modes", call.real_modes ? "real" : "complex"});
  arguments.push_back({"call", call.direction == Direction::forward ? "transform" : "inverse"});
  require_same(comm, "fft::transform", arguments);
}

template <class Pipeline>
std::string find_call_fault(const Pipeline& pipeline, const Call& call) {
  const auto name = [](bool is_real) { return is_real ? "real" : "complex"; };
  const bool real_modes = !pipeline.plan.spectral().is_complex;
  if (call.real_modes != real_modes) {
    return fmt::format("fft::transform: {} modes are given, but this transform has {} modes",
                       name(call.real_modes), name(real_modes));
  }
  if (call.num_points != pipeline.num_points || call.num_modes != pipeline.num_modes) {
    return fmt::format(
        "fft::transform: arrays of {} points and {} modes are given, this rank has {} and {}",
        call.num_points, call.num_modes, pipeline.num_points, pipeline.num_modes);
  }
  return "";
}

template <class Real>
typename ArrayTransform<Real>::Pipeline& KeptPlans::find(const Call& call) {
  auto place = find_own<Real>(call);
  std::string fault;
  bool all_have_plans = false;
  if (place != plans_.end()) {
    const auto& plan = std::get<Plan<Real>>(*place);
    all_have_plans = plan.options.threads == call.options.threads;
    fault = find_call_fault(*plan.pipeline, call);
  }
  bool all_right = fault.empty();
  if (comm_.num_ranks() > 1) {
    const auto digest = digest_of(call, sizeof(Real));
    std::array<std::int64_t, 4> most{digest, ~digest, all_have_plans ? 0 : 1, all_right ? 0 : 1};
    agreement_->allreduce(std::span<std::int64_t>(most), ReduceOp::max);
    if (most[0] != ~most[1]) require_agreement(comm_, call, sizeof(Real));
    all_have_plans = most[2] == 0;
    all_right = most[3] == 0;
  }
  if (!all_right) require_all(comm_.raw(), fault.empty(), fault);
  if (!all_have_plans) {
    auto made = make<Real>(call);
    if (place == plans_.end())
      place = plans_.emplace(place, std::move(made));
    else
      *place = std::move(made);
  }
  plans_.splice(plans_.begin(), plans_, place);
  if (plans_.size() > static_cast<std::size_t>(max_kept_plans)) plans_.pop_back();
  auto& pipeline = *std::get<Plan<Real>>(*place).pipeline;
  if (!all_have_plans) {
    fault = find_call_fault(pipeline, call);
    require_all(comm_.raw(), fault.empty(), fault);
  }
  return pipeline;
}

template <class Item>
constexpr bool is_real_item = std::is_floating_point_v<Item>;
template <class Item>
struct RealOf {
  using Type = Item;
};
template <class Real>
struct RealOf<std::complex<Real>> {
  using Type = Real;
};

/// Calls body(problem), with the type of field that the arrays say.
template <class Field, class Body>
void with_field(const ArrayProblem& problem, Body&& body) {
  if (problem.complex_field == !is_real_item<Field>) return body(problem);
  auto changed = problem;
  changed.complex_field = !problem.complex_field;
  body(changed);
}

ArrayPlan checked_plan(const ArrayProblem& problem, int num_ranks) {
  const auto fault = find_fault(problem, num_ranks);
  if (!fault.empty()) refuse_input("{}", fault);
  return plan_array(problem, num_ranks);
}

}  // namespace

Layout physical_layout(const ArrayProblem& problem, int num_ranks) {
  return checked_plan(problem, num_ranks).physical().layout();
}
Layout spectral_layout(const ArrayProblem& problem, int num_ranks) {
  return checked_plan(problem, num_ranks).spectral().layout();
}

namespace array_detail {

template <class Field, class Modes>
void transform(MPI_Comm comm, const ArrayProblem& given, std::span<const Field> field,
               std::span<Modes> modes, const ArrayOptions& options) {
  with_field<Field>(given, [&](const ArrayProblem& problem) {
    const Call call{Direction::forward,  problem,           options,
                    is_real_item<Modes>, std::ssize(field), std::ssize(modes)};
    auto& pipeline = kept_on<KeptPlans>(comm).find<typename RealOf<Field>::Type>(call);
    pipeline.run(Direction::forward, field.data(), modes.data());
  });
}

template <class Field, class Modes>
void inverse(MPI_Comm comm, const ArrayProblem& given, std::span<const Modes> modes,
             std::span<Field> field, const ArrayOptions& options) {
  with_field<Field>(given, [&](const ArrayProblem& problem) {
    const Call call{Direction::backward, problem,           options,
                    is_real_item<Modes>, std::ssize(field), std::ssize(modes)};
    auto& pipeline = kept_on<KeptPlans>(comm).find<typename RealOf<Field>::Type>(call);
    pipeline.run(Direction::backward, modes.data(), field.data(),
                 pipeline.normalization / problem.scale);
  });
}

#define TAILRACE_FFT_INSTANTIATE(Field, Modes)                                                     \
  template void transform(MPI_Comm, const ArrayProblem&, std::span<const Field>, std::span<Modes>, \
                          const ArrayOptions&);                                                    \
  template void inverse(MPI_Comm, const ArrayProblem&, std::span<const Modes>, std::span<Field>,   \
                        const ArrayOptions&);
TAILRACE_FFT_INSTANTIATE(double, double)
TAILRACE_FFT_INSTANTIATE(double, std::complex<double>)
TAILRACE_FFT_INSTANTIATE(std::complex<double>, std::complex<double>)
TAILRACE_FFT_INSTANTIATE(float, float)
TAILRACE_FFT_INSTANTIATE(float, std::complex<float>)
TAILRACE_FFT_INSTANTIATE(std::complex<float>, std::complex<float>)
#undef TAILRACE_FFT_INSTANTIATE

}  // namespace array_detail

}  // namespace tailrace::fft
