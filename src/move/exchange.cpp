// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/exchange.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "move/method.hpp"

namespace tailrace {

namespace {

/// The first thing wrong with the arguments on this rank, or "".
std::string fault_of(const MoveProblem& problem) {
  const auto& plan = problem.plan;
  const auto& shape = problem.shape;
  if (plan.rank() != problem.comm.rank() || plan.num_ranks() != problem.comm.num_ranks()) {
    return fmt::format("the plan is for rank {} of {}, the communicator's is rank {} of {}",
                       plan.rank(), plan.num_ranks(), problem.comm.rank(),
                       problem.comm.num_ranks());
  }
  if (problem.from.boxes.size() != plan.from_boxes().size() ||
      problem.to.boxes.size() != plan.to_boxes().size()) {
    return fmt::format(
        "memory of {} source and {} destination boxes is given, rank {} holds {} and {}",
        problem.from.boxes.size(), problem.to.boxes.size(), plan.rank(), plan.from_boxes().size(),
        plan.to_boxes().size());
  }
  if (shape.item_bytes < 1 || shape.num_fields < 1) {
    return fmt::format("item_bytes {} and num_fields {} must be positive", shape.item_bytes,
                       shape.num_fields);
  }
  return {};
}

std::string method_names() {
  std::string names;
  for (const auto& method : move_method_table()) names += fmt::format("{}, ", method.name);
  return names + "auto";
}

/// The table's line of `name`, the same on all ranks. Collective.
const MoveMethod& chosen_method(const MoveProblem& problem, std::string_view name) {
  const auto table = move_method_table();
  if (name == "auto") {
    const auto direct = std::ranges::find(table, "node_direct", &MoveMethod::name);
    return direct != table.end() && direct->applies(problem) ? *direct : table.front();
  }
  const auto found = std::ranges::find(table, name, &MoveMethod::name);
  require_all(
      problem.comm.raw(), found != table.end(),
      fmt::format("unknown method '{}' of moving data; there are: {}", name, method_names()));
  require_all(
      problem.comm.raw(), found->applies(problem),
      fmt::format("method '{}' does not apply here; it needs: {}", name, found->applies_text));
  return *found;
}

}  // namespace

/// A method's runner with the problem that it refers to.
class Exchange::State {
 public:
  State(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
        std::string_view method)
      : problem{Comm(comm.raw()), std::move(plan), std::move(from), std::move(to), shape} {
    const auto fault = fault_of(problem);
    require_all(problem.comm.raw(), fault.empty(), "Exchange: " + fault);
    const auto& chosen = chosen_method(problem, method);
    name = chosen.name;
    runner = chosen.make(problem);
  }

  MoveProblem problem;
  std::string_view name;
  std::unique_ptr<Runner> runner;
  bool under_way = false;
};

Exchange::Exchange(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
                   std::string_view method)
    : state_(std::make_unique<State>(comm, std::move(plan), std::move(from), std::move(to), shape,
                                     method)) {}
Exchange::~Exchange() {
  // The buffers belong to MPI until the transfer has ended.
  if (state_ != nullptr && state_->under_way && !detail::mpi_is_finalized())
    state_->runner->finish();
}
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

void Exchange::run(std::span<const void* const> sources, std::span<void* const> destinations) {
  start(sources, destinations);
  finish();
}

void Exchange::start(std::span<const void* const> sources, std::span<void* const> destinations) {
  const auto wanted = static_cast<std::size_t>(state_->problem.shape.num_fields);
  if (sources.size() != wanted || destinations.size() != wanted) {
    throw Error(
        Errc::invalid_input,
        fmt::format("Exchange: {} sources and {} destinations given, it was made for {} fields",
                    sources.size(), destinations.size(), wanted));
  }
  if (state_->under_way) {
    throw Error(Errc::invalid_input, "Exchange: start called again before finish");
  }
  state_->runner->start(sources, destinations);
  state_->under_way = true;
}

bool Exchange::progress() { return !state_->under_way || state_->runner->progress(); }

void Exchange::finish() {
  if (!state_->under_way) return;
  state_->under_way = false;
  state_->runner->finish();
}

void Exchange::expose(const NodeArray& array) { state_->runner->expose(array); }
std::string_view Exchange::method() const { return state_->name; }
const Plan& Exchange::plan() const { return state_->problem.plan; }
std::ptrdiff_t Exchange::buffer_bytes() const { return state_->runner->buffer_bytes(); }

}  // namespace tailrace
