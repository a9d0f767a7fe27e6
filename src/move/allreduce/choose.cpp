// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/last_resort.hpp"
#include "move/allreduce/reducer.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace {
namespace {

/// Vectors that all candidates share. Their sums are known whole numbers, in every order of sums.
struct TrialVectors {
  TrialVectors(const Comm& comm, NumberType number_type, std::ptrdiff_t length)
      : type(number_type), num_items(length), in(bytes()), out(bytes()), sums(bytes()) {
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      const auto column = static_cast<int>(i % period);
      set(in, i, value(comm.rank(), column));
      if (i < period) sum_of_column[column] = 0;
      for (int rank = 0; i < period && rank < comm.num_ranks(); ++rank) {
        sum_of_column[column] += value(rank, column);
      }
      set(sums, i, sum_of_column[column]);
    }
  }
  static std::int32_t value(int rank, int column) { return (3 * rank + column) % period; }
  void set(const Buffer& buffer, std::ptrdiff_t i, std::int32_t number) const {
    switch (type) {
      case NumberType::float32:
        buffer.as<float>()[i] = static_cast<float>(number);
        break;
      case NumberType::float64:
        buffer.as<double>()[i] = number;
        break;
      case NumberType::int32:
        buffer.as<std::int32_t>()[i] = number;
        break;
      default:
        buffer.as<std::int64_t>()[i] = number;
    }
  }
  std::ptrdiff_t bytes() const { return num_items * number_bytes(type); }

  static constexpr int period = 16;
  NumberType type;
  std::ptrdiff_t num_items;
  Buffer in, out, sums;
  std::int32_t sum_of_column[period] = {};
};

/// Allreduces by one method.
class ReductionTrial : public tune::Trial {
 public:
  ReductionTrial(const ReductionProblem& problem, const ReductionMethod& method,
                 std::shared_ptr<TrialVectors> vectors)
      : runner_(
            make_together(problem.comm, "a method on trial", [&] { return method.make(problem); })),
        vectors_(std::move(vectors)) {}

  void run() override {
    allreduce();
    fresh_ = true;
    if (std::exchange(checked_, true)) return;
    if (checksum() != right) throw Error(Errc::internal, "its sums are wrong");
  }
  std::uint64_t checksum() override {
    if (!fresh_) return sum_;
    const auto bytes = static_cast<std::size_t>(vectors_->bytes());
    sum_ = std::memcmp(vectors_->out.data(), vectors_->sums.data(), bytes) == 0 ? right : wrong;
    std::fill_n(vectors_->out.data(), bytes, std::byte{0});  // who writes nothing is found out
    fresh_ = false;
    return sum_;
  }

 private:
  void allreduce() {
    const auto item_bytes = number_bytes(vectors_->type);
    const auto longest = runner_->piece_bytes() / item_bytes;
    for (std::ptrdiff_t at = 0; at < vectors_->num_items; at += longest) {
      runner_->run({.type = vectors_->type,
                    .in = vectors_->in.data() + at * item_bytes,
                    .out = vectors_->out.data() + at * item_bytes,
                    .num_items = std::min(longest, vectors_->num_items - at)});
    }
  }

  std::unique_ptr<ReductionRunner> runner_;
  std::shared_ptr<TrialVectors> vectors_;
  static constexpr std::uint64_t right = 1, wrong = 2;
  bool fresh_ = false;  ///< it has run since the last checksum
  bool checked_ = false;
  std::uint64_t sum_ = wrong;
};

}  // namespace

tune::Choice choose_reduction_method(const ReductionProblem& problem, const ReductionShape& shape) {
  // A winner serves all lengths up to the next power of two.
  const auto bytes = static_cast<std::size_t>(problem.max_bytes);
  tune::Problem asked;
  asked.operation = "allreduce";
  asked.key = fmt::format("up to {} bytes of {}", std::bit_ceil(bytes), number_name(shape.type));
  const bool shared = problem.machine.nodes.most_ranks() > 1;
  asked.fallback = shared ? "node_shared" : "mpi";
  asked.fallback_why = shared ? "ranks share nodes" : "no two ranks share a node";
  asked.memory_bytes = 4 * problem.max_bytes;

  std::shared_ptr<TrialVectors> vectors;
  std::vector<tune::Candidate> candidates;
  for (const auto& method : reduction_method_table()) {
    if (!method.applies(problem)) continue;
    candidates.push_back({std::string(method.name), [&] {
                            if (!vectors) {
                              const auto type = real_type(shape.type);
                              std::shared_ptr<TrialVectors> made;  // kept by all or by none
                              const auto failure = failure_of([&] {
                                made = std::make_shared<TrialVectors>(
                                    problem.comm, type, problem.max_bytes / number_bytes(type));
                              });
                              agree(problem.comm.raw(), failure ? &*failure : nullptr);
                              vectors = std::move(made);
                            }
                            return std::make_unique<ReductionTrial>(problem, method, vectors);
                          }});
  }
  // Of those that cannot be told apart the first wins: let it be the one that is expected to.
  std::ranges::stable_partition(candidates, [&](const tune::Candidate& candidate) {
    return candidate.name == asked.fallback;
  });
  // A program has many reductions: a fraction of the usual time is for each.
  tune::Settings settings;
  run_agreed(problem.comm.raw(), [&] { settings = tune::Settings::from_environment(); });
  settings.budget_s /= 8;
  return tune::choose(problem.comm, asked, candidates, settings);
}

}  // namespace tailrace
