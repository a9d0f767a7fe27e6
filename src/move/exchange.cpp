// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/exchange.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/awaited.hpp"
#include "core/last_resort.hpp"
#include "core/method_table.hpp"
#include "core/same_on_all.hpp"
#include "core/under_way.hpp"
#include "core/wait.hpp"
#include "core/world_ranks.hpp"
#include "move/copy_kinds.hpp"
#include "move/method.hpp"
#include "move/tuned.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/node_array.hpp"

namespace tailrace {
namespace {

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
    label = gather_from_all(comm, lowest);
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
class Exchange::State final : public UnderWay {
 public:
  State(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
        std::string_view method)
      : problem{.comm = comm.duplicate(),
                .plan = std::move(plan),
                .from = std::move(from),
                .to = std::move(to),
                .shape = shape} {
    const auto fault = find_fault(problem);
    require_all(problem.comm.raw(), fault.empty(), "Exchange: " + fault);
    require_agreement(problem, method);
    num_outer_ranks = problem.comm.num_ranks();
    const bool chosen_here = method == "auto" || method == "untimed";
    const auto wanted = chosen_here ? MethodSpec{} : parse_agreed(problem.comm, method);
    const auto* asked = find_line(move_method_table(), wanted.name);
    const auto before = set_up(asked == nullptr || asked->arrays.in_groups);
    const Comm& everybody = before ? *before : problem.comm;
    problem.method = chosen_here ? choose(everybody, method == "auto") : wanted;
    const auto* chosen = find_line(move_method_table(), problem.method.name);
    require_all(everybody.raw(), chosen != nullptr,
                fmt::format("unknown exchange method '{}'; there are: {}", problem.method.name,
                            names_instead(problem.method.name, move_method_table())));
    require_all(everybody.raw(), chosen->arrays.applies(problem),
                fmt::format("method '{}' does not apply here; it needs: {}", problem.method.name,
                            chosen->applies_text));
    name = chosen->name;
    std::ptrdiff_t received = 0;
    for (const auto& piece : problem.plan.receives()) received += piece.box.num_items();
    no_gaps_written = received == problem.to.num_items;
    const auto failure = failure_of([&] {  // groups fail by themselves
      runner =
          make_together(problem.comm, "Exchange", [&] { return chosen->arrays.make(problem); });
    });
    agree(everybody.raw(), failure ? &*failure : nullptr);
    awaited.emplace(problem.comm, "an Exchange");
    const auto groups = runner->copies();
    const auto copied = choose_copies(everybody, groups, problem.method.settings.copies);
    if (!why.empty() && !copied.empty()) why += "; " + copied;
  }

  ~State() { leave(); }

  void start(std::span<const void* const> sources, std::span<void* const> destinations) {
    check_call(sources, destinations);
    awaited->begin();
    const Awaited::Wait wait(*awaited);
    runner->start(sources, destinations);
    under_way = true;
    if (runner->needs_calls()) enter();
  }
  void finish() {
    under_way = false;
    leave();
    const Awaited::Wait wait(*awaited);
    runner->finish();
  }
  void advance() override {
    if (runner->progress()) leave();
  }
  /// Before anything is told to others.
  void check_call(std::span<const void* const> sources, std::span<void* const> destinations) const {
    const auto fault = fault_of_call(sources, destinations);
    if (!fault.empty()) refuse(fault);
  }
  /// The addresses of arrays whose sizes have been checked, in `source_places` and
  /// `destination_places`.
  void check_arrays(std::initializer_list<SourceArray> sources,
                    std::initializer_list<DestinationArray> destinations);
  void expose(const NodeArray& array);

  std::vector<const void*> source_places;  // kept, so that later calls do not allocate
  std::vector<void*> destination_places;
  MoveProblem problem;
  std::string_view name;
  std::string why;
  std::unique_ptr<Runner> runner;
  std::optional<Awaited> awaited;
  bool under_way = false;
  bool no_gaps_written = false;  ///< each item of a destination array is received
  int num_outer_ranks = 1;       ///< of the caller's communicator
  int exceptions_when_made = std::uncaught_exceptions();

 private:
  void refuse(const std::string& fault) const {
    refuse_call(problem.comm, problem.machine.waiting,
                Error(Errc::invalid_input, "Exchange: " + fault));
  }
  /// Makes the problem that of the ranks which exchange with each other, if `in_groups`; returns
  /// all ranks, if these are more.
  std::optional<Comm> set_up(bool in_groups) {
    problem.outer_ranks = ranks_together(problem.comm, problem.plan);
    if (!in_groups) {
      problem.outer_ranks.resize(static_cast<std::size_t>(problem.comm.num_ranks()));
      std::iota(problem.outer_ranks.begin(), problem.outer_ranks.end(), 0);
    }
    problem.plan = problem.plan.among(problem.outer_ranks);
    std::optional<Comm> everybody;
    if (std::ssize(problem.outer_ranks) < problem.comm.num_ranks()) {
      everybody = std::exchange(problem.comm, problem.comm.split(problem.outer_ranks.front()));
    }
    problem.machine = Surroundings::agreed(problem.comm);
    return everybody;
  }

  std::string fault_of_call(std::span<const void* const> sources,
                            std::span<void* const> destinations) const;
  std::string fault_of_overlap(std::span<const void* const> sources,
                               std::span<void* const> destinations) const;
  bool is_exposed(const void* source) const {
    return std::ranges::any_of(exposed_, [source](std::span<const std::byte> array) {
      const std::less<> before;  // a total order, also between different arrays
      const auto* place = static_cast<const std::byte*>(source);
      return !before(place, array.data()) && before(place, array.data() + array.size());
    });
  }

  std::vector<std::span<const std::byte>> exposed_;  ///< of this rank

  MethodSpec choose(const Comm& everybody, bool timed) {
    const auto choice = timed ? choose_move_method(everybody, problem)
                              : untimed_move_method(everybody, problem.machine);
    problem.method = MethodSpec::parse(choice.name);
    if (!timed) problem.method.settings.copies = copy_kinds().front().name;
    why = choice.why;
    if (find_line(move_method_table(), problem.method.name)->arrays.applies(problem))
      return problem.method;
    why = fmt::format("{} was chosen ({}), but does not apply here", choice.name, choice.why);
    return MethodSpec{std::string(move_method_table().front().name), {}};
  }
};

// Memory with gaps may hold one side between the items of the other; what is written without gaps
// may not.
std::string Exchange::State::fault_of_overlap(std::span<const void* const> sources,
                                              std::span<void* const> destinations) const {
  const auto written = problem.to.num_items, read = problem.from.num_items;
  if (problem.shape.in_place || !no_gaps_written || written == 0 || read == 0) return {};
  const std::less<> before;  // a total order, also between different arrays
  const auto item_bytes = problem.shape.item_bytes;
  for (std::size_t f = 0; f < sources.size(); ++f) {
    const auto* from = static_cast<const std::byte*>(sources[f]);
    const auto* to = static_cast<const std::byte*>(destinations[f]);
    if (before(from, to + written * item_bytes) && before(to, from + read * item_bytes)) {
      return fmt::format(
          "the source and the destination of field {} overlap; two arrays are "
          "needed, or .in_place = true",
          f);
    }
  }
  return {};
}

std::string Exchange::State::fault_of_call(std::span<const void* const> sources,
                                           std::span<void* const> destinations) const {
  const auto wanted = static_cast<std::size_t>(problem.shape.num_fields);
  if (sources.size() != wanted || destinations.size() != wanted) {
    return fmt::format(
        "{} sources and {} destinations given, but the exchange was created for {} fields",
        sources.size(), destinations.size(), wanted);
  }
  if (under_way) return "start called again before finish";
  if (auto fault = fault_of_overlap(sources, destinations); !fault.empty()) return fault;
  const auto is_other = [this](const Piece& piece) { return piece.peer != problem.plan.rank(); };
  if (!problem.shape.sources_in_node_arrays ||
      std::ranges::none_of(problem.plan.sends(), is_other)) {
    return {};
  }
  for (std::size_t f = 0; f < sources.size(); ++f) {
    if (is_exposed(sources[f])) continue;
    return fmt::format(
        "source {} is not in an exposed NodeArray, although sources_in_node_arrays is set", f);
  }
  return {};
}

namespace {

/// Why an array is not what the exchange was made for, or "".
template <class Array>
std::string fault_of_array(const Array& array, std::string_view side, std::size_t field,
                           const Memory& memory, const ExchangeShape& shape) {
  if (array.item_bytes != shape.item_bytes) {
    return fmt::format(
        "the {} of field {} has items of {} bytes, but the exchange was created for item_bytes = "
        "{}",
        side, field, array.item_bytes, shape.item_bytes);
  }
  const bool fits =
      shape.in_place ? array.num_items >= memory.num_items : array.num_items == memory.num_items;
  if (fits) return {};
  return fmt::format("the {} of field {} holds {} items, but this rank's part of its layout has {}",
                     side, field, array.num_items, memory.num_items);
}

}  // namespace

void Exchange::State::check_arrays(std::initializer_list<SourceArray> sources,
                                   std::initializer_list<DestinationArray> destinations) {
  source_places.clear();
  destination_places.clear();
  std::string fault;
  for (const auto& array : sources) {
    if (fault.empty()) {
      fault = fault_of_array(array, "source", source_places.size(), problem.from, problem.shape);
    }
    source_places.push_back(array.data);
  }
  for (const auto& array : destinations) {
    if (fault.empty()) {
      fault = fault_of_array(array, "destination", destination_places.size(), problem.to,
                             problem.shape);
    }
    destination_places.push_back(array.data);
  }
  if (!fault.empty()) refuse(fault);
}

// All ranks find the same, as all know whose arrays they are.
void Exchange::State::expose(const NodeArray& array) {
  const auto& owners = array.world_ranks();
  const auto ours = world_ranks_of(problem.comm);
  bool same = std::ssize(owners) == num_outer_ranks;
  for (std::size_t i = 0; i < ours.size() && same; ++i) {
    same = owners[static_cast<std::size_t>(problem.outer_ranks[i])] == ours[i];
  }
  if (!same) {
    throw AgreedError(
        Errc::invalid_input,
        fmt::format("Exchange: the NodeArray was created on another communicator, of {} ranks; "
                    "create it on the communicator of the exchange, of {} ranks",
                    owners.size(), num_outer_ranks));
  }
  exposed_.emplace_back(array.data(), static_cast<std::size_t>(array.num_bytes()));
  runner->expose(array);
}

Exchange::Exchange(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
                   std::string_view method)
    : state_(make_together(comm, "Exchange", [&] {
        return std::make_unique<State>(comm, std::move(plan), std::move(from), std::move(to), shape,
                                       method);
      })) {}
Exchange::Exchange(const Comm& comm, const Layout& from, const Layout& to, ExchangeShape shape,
                   std::string_view method)
    : state_(make_together(comm, "Exchange", [&] {
        const bool fits = from.num_ranks() == comm.num_ranks() &&
                          to.num_ranks() == comm.num_ranks() && from.num_dims() == to.num_dims() &&
                          from.global_extents() == to.global_extents();
        require_all(
            comm.raw(), fits,
            fmt::format("Exchange: the layouts must have the same extents and {} ranks, not "
                        "{} and {}",
                        comm.num_ranks(), from.describe(), to.describe()));
        Plan plan(from, to, comm.rank());
        auto source = Memory::dense(plan.from_boxes());
        auto destination = Memory::dense(plan.to_boxes());
        return std::make_unique<State>(comm, std::move(plan), std::move(source),
                                       std::move(destination), shape, method);
      })) {}
Exchange::~Exchange() {
  if (state_ == nullptr || !state_->under_way) return;
  // The buffers belong to MPI, and the sources to the peers, until the transfer has ended.
  end_operation(state_->problem.comm, state_->problem.machine.waiting, "an Exchange",
                state_->exceptions_when_made, [this] { return state_->runner->progress(); });
}
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

void Exchange::run(std::span<const void* const> sources, std::span<void* const> destinations) {
  state_->check_call(sources, destinations);
  state_->awaited->begin();
  const Awaited::Wait wait(*state_->awaited);
  state_->runner->run(sources, destinations);
}

void Exchange::start(std::span<const void* const> sources, std::span<void* const> destinations) {
  state_->start(sources, destinations);
}

void Exchange::run(std::initializer_list<SourceArray> sources,
                   std::initializer_list<DestinationArray> destinations) {
  state_->check_arrays(sources, destinations);
  run(state_->source_places, state_->destination_places);
}

void Exchange::start(std::initializer_list<SourceArray> sources,
                     std::initializer_list<DestinationArray> destinations) {
  state_->check_arrays(sources, destinations);
  start(state_->source_places, state_->destination_places);
}

bool Exchange::progress() {
  const bool done = !state_->under_way || state_->runner->progress();
  UnderWay::advance_all();
  // Peers may need what an earlier exchange has sent before they come to this one.
  if (!done) progress_mpi(state_->problem.comm.raw());
  return done;
}

void Exchange::finish() {
  if (state_->under_way) state_->finish();
}

void Exchange::expose(const NodeArray& array) { state_->expose(array); }
std::string_view Exchange::method() const { return state_->name; }
std::string_view Exchange::why() const { return state_->why; }
int Exchange::num_ranks_together() const { return state_->problem.comm.num_ranks(); }
std::ptrdiff_t Exchange::buffer_bytes() const { return state_->runner->buffer_bytes(); }

}  // namespace tailrace
