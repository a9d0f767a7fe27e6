// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/exchange.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "move/method.hpp"
#include "move/tuned.hpp"

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
  if (shape.in_place && shape.sources_in_node_arrays) {
    return "sources that peers read where they lie cannot be exchanged in place";
  }
  return {};
}

std::string method_names() {
  std::string names;
  for (const auto& method : move_method_table()) names += fmt::format("{}, ", method.name);
  return names + "auto";
}

/// The ranks that this rank exchanges with, directly or through others, and itself: nobody else
/// takes part in what it does. Ascending. Collective, blocking.
std::vector<int> ranks_together(const Comm& comm, const Plan& plan) {
  std::vector<int> label(static_cast<std::size_t>(comm.num_ranks()));
  std::iota(label.begin(), label.end(), 0);
  for (auto before = label;; before = label) {
    int lowest = before[static_cast<std::size_t>(comm.rank())];
    for (const auto* pieces : {&plan.sends(), &plan.receives()}) {
      for (const auto& piece : *pieces) {
        lowest = std::min(lowest, before[static_cast<std::size_t>(piece.peer)]);
      }
    }
    lowest = before[static_cast<std::size_t>(lowest)];
    check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, label.data(), 1, MPI_INT, comm.raw()));
    if (label == before) break;
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    if (label[static_cast<std::size_t>(rank)] == label[static_cast<std::size_t>(comm.rank())]) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace

/// A method's runner with the problem that it refers to.
class Exchange::State {
 public:
  State(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
        std::string_view method)
      : problem{.comm = Comm(comm.raw()),
                .plan = std::move(plan),
                .from = std::move(from),
                .to = std::move(to),
                .shape = shape} {
    const auto fault = fault_of(problem);
    require_all(problem.comm.raw(), fault.empty(), "Exchange: " + fault);
    const auto wanted = method == "auto" ? MethodSpec{} : parse_agreed(problem.comm, method);
    const auto* asked = find_move_method(wanted.name);
    const Comm everybody = set_up(asked == nullptr || asked->in_groups);
    problem.method = method == "auto" ? choose(everybody) : wanted;
    const auto* chosen = find_move_method(problem.method.name);
    require_all(everybody.raw(), chosen != nullptr,
                fmt::format("unknown method '{}' of moving data; there are: {}",
                            problem.method.name, method_names()));
    require_all(everybody.raw(), chosen->applies(problem),
                fmt::format("method '{}' does not apply here; it needs: {}", problem.method.name,
                            chosen->applies_text));
    name = chosen->name;
    runner = chosen->make(problem);
  }

  MoveProblem problem;
  std::string_view name;
  std::string why;
  std::unique_ptr<Runner> runner;
  bool under_way = false;

 private:
  /// Makes the problem that of the ranks which exchange with each other, if `in_groups`; returns
  /// all ranks.
  Comm set_up(bool in_groups) {
    problem.outer_ranks = ranks_together(problem.comm, problem.plan);
    if (!in_groups) {
      problem.outer_ranks.resize(static_cast<std::size_t>(problem.comm.num_ranks()));
      std::iota(problem.outer_ranks.begin(), problem.outer_ranks.end(), 0);
    }
    problem.plan = problem.plan.among(problem.outer_ranks);
    Comm everybody = std::move(problem.comm);
    problem.comm = everybody.split(problem.outer_ranks.front());
    problem.machine = Surroundings::agreed(problem.comm);
    return everybody;
  }

  MethodSpec choose(const Comm& everybody) {
    const auto choice = choose_move_method(everybody, problem);
    problem.method = MethodSpec::parse(choice.name);
    why = choice.why;
    if (find_move_method(problem.method.name)->applies(problem)) return problem.method;
    why = fmt::format("{} was chosen ({}), but does not apply here", choice.name, choice.why);
    return MethodSpec{std::string(move_method_table().front().name), {}};
  }
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
  check_call(sources, destinations);
  state_->runner->run(sources, destinations);
}

void Exchange::start(std::span<const void* const> sources, std::span<void* const> destinations) {
  check_call(sources, destinations);
  state_->runner->start(sources, destinations);
  state_->under_way = true;
}

void Exchange::check_call(std::span<const void* const> sources,
                          std::span<void* const> destinations) const {
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
}

bool Exchange::progress() { return !state_->under_way || state_->runner->progress(); }

void Exchange::finish() {
  if (!state_->under_way) return;
  state_->under_way = false;
  state_->runner->finish();
}

void Exchange::expose(const NodeArray& array) { state_->runner->expose(array); }
std::string_view Exchange::method() const { return state_->name; }
std::string_view Exchange::why() const { return state_->why; }
int Exchange::num_ranks_together() const { return state_->problem.comm.num_ranks(); }
std::ptrdiff_t Exchange::buffer_bytes() const { return state_->runner->buffer_bytes(); }

}  // namespace tailrace
