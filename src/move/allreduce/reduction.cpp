// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <complex>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/awaited.hpp"
#include "core/last_resort.hpp"
#include "core/method_table.hpp"
#include "core/same_on_all.hpp"
#include "core/under_way.hpp"
#include "core/wait.hpp"
#include "move/allreduce/reducer.hpp"
#include "tailrace/more/reduction_tally.hpp"
#include "tailrace/reduction.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {
namespace {

/// Items of a block: a few vectors of them fit into the innermost caches.
constexpr std::ptrdiff_t block_items = 1024;

template <class Real>
double dot(const Real* x, const Real* y, std::ptrdiff_t num_items) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t i = 0; i < num_items; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
  return sum;
}

// Complex arrays are pairs of real numbers, as the C++ standard says.
template <class Real>
std::complex<double> dot(const std::complex<Real>* x, const std::complex<Real>* y,
                         std::ptrdiff_t num_items) {
  const auto* a = reinterpret_cast<const Real*>(x);
  const auto* b = reinterpret_cast<const Real*>(y);
  double real = 0, imaginary = 0;
#pragma omp simd reduction(+ : real, imaginary)
  for (std::ptrdiff_t i = 0; i < num_items; ++i) {
    const double a_real = a[2 * i], a_imaginary = a[2 * i + 1];
    const double b_real = b[2 * i], b_imaginary = b[2 * i + 1];
    real += a_real * b_real + a_imaginary * b_imaginary;
    imaginary += a_real * b_imaginary - a_imaginary * b_real;
  }
  return {real, imaginary};
}

/// results[k] = sum(conj(x) * y) over the items of pair k on this rank. Vectors are passed in
/// blocks, pair by pair, so that one that occurs in several pairs is read from memory once.
template <class T, class Result>
void local_dots(std::span<const DotPair<T>> pairs, Result* results) {
  std::ptrdiff_t longest = 0;
  for (const auto& pair : pairs) longest = std::max(longest, std::ssize(pair.x));
  std::fill_n(results, pairs.size(), Result{});
  for (std::ptrdiff_t at = 0; at < longest; at += block_items) {
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto count = std::min(block_items, std::ssize(pairs[k].x) - at);
      if (count > 0) results[k] += dot(pairs[k].x.data() + at, pairs[k].y.data() + at, count);
    }
  }
}

/// Bytes of `max_items` numbers, once all ranks agree on what they ask for.
std::ptrdiff_t agreed_bytes(const Comm& comm, const ReductionShape& shape,
                            std::string_view method) {
  // More than any memory; a few times as much, as for trials, can still be counted.
  constexpr auto longest_bytes = std::ptrdiff_t{1} << 60;
  const std::ptrdiff_t item_bytes = number_bytes(shape.type);
  const auto most = longest_bytes / item_bytes;
  require_all(comm.raw(), shape.max_items >= 1 && shape.max_items <= most,
              fmt::format("Reduction: max_items {} must be positive, and at most {} for {}",
                          shape.max_items, most, number_name(shape.type)));
  const std::array arguments{CommonArgument{"type", std::string(number_name(shape.type))},
                             CommonArgument{"max_items", std::to_string(shape.max_items)},
                             CommonArgument{"method", std::string(method)}};
  require_same(comm, "Reduction", arguments);
  return shape.max_items * item_bytes;
}

}  // namespace

/// The runner of one method, and the task that it works on, piece by piece.
class Reduction::State final : public UnderWay {
 public:
  State(const Comm& user, const ReductionShape& shape, std::string_view name)
      : comm_(user.duplicate()),
        machine_(Surroundings::agreed(comm_)),
        problem_{comm_, machine_, agreed_bytes(comm_, shape, name)} {
    std::string wanted(name);
    why_ = "asked for";
    if (name == "auto") {
      const auto choice = choose_reduction_method(problem_, shape);
      wanted = choice.name;
      why_ = choice.why;
    }
    method_ = find_reduction_method(wanted);
    require_all(comm_.raw(), method_ != nullptr,
                fmt::format("unknown reduction method '{}'; there are: {}", wanted,
                            names_instead(wanted, reduction_method_table())));
    require_all(comm_.raw(), method_->applies(problem_),
                fmt::format("reduction method '{}' does not apply here ({}); it needs: {}", wanted,
                            machine_.nodes.describe(), method_->applies_text));
    runner_ = method_->make(problem_);
    awaited_.emplace(comm_, "a Reduction");
  }

  // What is under way belongs to MPI and to the peers until it has ended.
  ~State() {
    if (busy_) {
      end_operation(comm_, machine_.waiting, "a Reduction", exceptions_when_made_,
                    [this] { return move_on(false); });
    }
    leave();
  }

  void run(ReductionTask task) {
    if (!begin(task)) return;
    const Awaited::Wait wait(*awaited_);
    for (; left_ > 0 || barrier_; next_piece()) runner_->run(piece_);
    busy_ = false;
  }
  void start(ReductionTask task) {
    if (!begin(task)) return;
    runner_->start(piece_);
    if (runner_->needs_calls() || left_ > longest_) enter();
  }
  void advance() override {
    if (move_on(false)) leave();
  }
  bool progress() {
    const bool done = move_on(false);
    UnderWay::advance_all();
    if (!done) progress_mpi(comm_.raw());
    return done;
  }
  void finish() {
    leave();
    const Awaited::Wait wait(*awaited_);
    move_on(true);
  }
  [[noreturn]] void refuse(const std::string& fault) const {
    refuse_call(comm_, machine_.waiting, Error(Errc::invalid_input, "Reduction: " + fault));
  }

  /// Combines parts of this rank into the task's vector.
  void combine(std::span<const std::byte* const> parts, const ReductionTask& task) const {
    check(task);
    if (parts.empty()) refuse("there are no parts");
    const int scale = is_complex(task.type) ? 2 : 1;
    runner_->combine_parts(real_type(task.type), task.op, task.out, parts, scale * task.num_items);
  }

  /// The local products, in `results`, and the task that adds those of all ranks.
  template <class T, class Result>
  ReductionTask dots(std::span<const DotPair<T>> pairs, std::span<Result> results) const {
    if (pairs.size() != results.size()) {
      refuse(fmt::format("{} results for {} dot products", results.size(), pairs.size()));
    }
    for (const auto& pair : pairs) {
      if (pair.x.size() == pair.y.size()) continue;
      refuse(
          fmt::format("a dot product of vectors of {} and {} items", pair.x.size(), pair.y.size()));
    }
    local_dots(pairs, results.data());
    auto* const bytes = reinterpret_cast<std::byte*>(results.data());
    return {
        .type = number_type<Result>, .in = bytes, .out = bytes, .num_items = std::ssize(results)};
  }

  ReductionRunner& runner() const { return *runner_; }
  std::string_view method() const { return method_->name; }
  const std::string& why() const { return why_; }

  /// Runs `call`, of `count` tasks like this one, in the tally of this thread if there is one.
  template <class Call>
  static void tallied(ReductionKind kind, std::ptrdiff_t bytes, std::int64_t count, Call&& call) {
    auto* const tally = ReductionTally::current();
    if (tally == nullptr || (bytes == 0 && kind != ReductionKind::barrier)) return call();
    const double start_s = now_s();
    call();
    tally->add(kind, bytes, count, now_s() - start_s);
  }
  ReductionKind kind() const { return piece_.kind; }
  std::ptrdiff_t bytes() const { return started_bytes_; }

 private:
  bool move_on(bool may_wait) {
    while (busy_) {
      if (!runner_->advance(may_wait)) return false;
      next_piece();
      busy_ = left_ > 0;
      if (busy_) runner_->start(piece_);
    }
    return true;
  }
  /// False if there is nothing to do.
  bool begin(ReductionTask task) {
    check(task);
    if (is_complex(task.type)) task.num_items *= 2;
    task.type = real_type(task.type);
    piece_ = task;
    started_bytes_ = task.num_bytes();
    left_ = task.num_items;
    barrier_ = task.kind == ReductionKind::barrier;
    busy_ = left_ > 0 || barrier_;
    awaited_->begin();
    longest_ = runner_->piece_bytes() / number_bytes(task.type);
    piece_.num_items = std::min(left_, longest_);
    return busy_;
  }
  void next_piece() {
    const auto done_bytes = piece_.num_bytes();
    left_ -= piece_.num_items;
    barrier_ = false;
    piece_.in += done_bytes;
    piece_.out += done_bytes;
    piece_.num_items = std::min(left_, longest_);
  }
  void check(const ReductionTask& task) const {
    if (busy_) refuse("an operation is under way; finish it first");
    if (task.num_bytes() > problem_.max_bytes) {
      refuse(fmt::format(
          "{} numbers of {} are more than the {} bytes for which it was created (max_items)",
          task.num_items, number_name(task.type), problem_.max_bytes));
    }
    if (is_complex(task.type) && task.op != ReduceOp::sum) {
      refuse("complex numbers can be summed, but have no min or max");
    }
    if (task.root < 0 || task.root >= comm_.num_ranks()) {
      refuse(fmt::format("root {} is not one of the {} ranks", task.root, comm_.num_ranks()));
    }
  }

  Comm comm_;
  Surroundings machine_;
  ReductionProblem problem_;
  const ReductionMethod* method_ = nullptr;
  std::string why_;
  std::unique_ptr<ReductionRunner> runner_;
  std::optional<Awaited> awaited_;

  ReductionTask piece_;
  std::ptrdiff_t started_bytes_ = 0;
  std::ptrdiff_t left_ = 0;  ///< items from the piece on
  std::ptrdiff_t longest_ = 0;
  bool barrier_ = false;
  bool busy_ = false;
  int exceptions_when_made_ = std::uncaught_exceptions();
};

Reduction::Reduction(const Comm& comm, ReductionShape shape, std::string_view method)
    : state_(make_together(comm, "Reduction",
                           [&] { return std::make_unique<State>(comm, shape, method); })) {}
Reduction::~Reduction() = default;
Reduction::Reduction(Reduction&&) noexcept = default;
Reduction& Reduction::operator=(Reduction&&) noexcept = default;

void Reduction::require_equal(std::ptrdiff_t num_in, std::ptrdiff_t num_out) const {
  if (num_in != num_out) {
    state_->refuse(fmt::format("{} input values, but room for {} results", num_in, num_out));
  }
}

void Reduction::run(const ReductionTask& task) {
  State::tallied(task.kind, task.num_bytes(), 1, [&] { state_->run(task); });
}
void Reduction::start(const ReductionTask& task) {
  State::tallied(task.kind, task.num_bytes(), 1, [&] { state_->start(task); });
}
void Reduction::run_parts(const std::byte* const* parts, std::ptrdiff_t num_parts,
                          const ReductionTask& task) {
  state_->combine({parts, static_cast<std::size_t>(num_parts)}, task);
  run(task);
}
bool Reduction::progress() { return state_->progress(); }
void Reduction::finish() {
  State::tallied(state_->kind(), state_->bytes(), 0, [&] { state_->finish(); });
}
std::string_view Reduction::method() const { return state_->method(); }
const std::string& Reduction::why() const { return state_->why(); }
std::ptrdiff_t Reduction::buffer_bytes() const { return state_->runner().buffer_bytes(); }

void Reduction::dots(std::span<const DotPair<float>> pairs, std::span<double> results) {
  run(state_->dots(pairs, results));
}
void Reduction::start_dots(std::span<const DotPair<float>> pairs, std::span<double> results) {
  start(state_->dots(pairs, results));
}
void Reduction::dots(std::span<const DotPair<double>> pairs, std::span<double> results) {
  run(state_->dots(pairs, results));
}
void Reduction::start_dots(std::span<const DotPair<double>> pairs, std::span<double> results) {
  start(state_->dots(pairs, results));
}
void Reduction::dots(std::span<const DotPair<std::complex<float>>> pairs,
                     std::span<std::complex<double>> results) {
  run(state_->dots(pairs, results));
}
void Reduction::start_dots(std::span<const DotPair<std::complex<float>>> pairs,
                           std::span<std::complex<double>> results) {
  start(state_->dots(pairs, results));
}
void Reduction::dots(std::span<const DotPair<std::complex<double>>> pairs,
                     std::span<std::complex<double>> results) {
  run(state_->dots(pairs, results));
}
void Reduction::start_dots(std::span<const DotPair<std::complex<double>>> pairs,
                           std::span<std::complex<double>> results) {
  start(state_->dots(pairs, results));
}

}  // namespace tailrace
