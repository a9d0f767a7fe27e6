// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/buffer.hpp"
#include "move/allreduce/combine.hpp"
#include "move/allreduce/reducer.hpp"

namespace tailrace {

namespace {

/// Vectors that all candidates share. Their sums are whole numbers that every order of sums gives.
struct TrialVectors {
  TrialVectors(NumberType item_type, std::ptrdiff_t length, int rank)
      : type(item_type),
        num_items(length),
        in(length * number_bytes(item_type)),
        out(length * number_bytes(item_type)) {
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      const auto value = static_cast<int>((3 * rank + i) % 16);
      switch (type) {
        case NumberType::float32:
          in.as<float>()[i] = static_cast<float>(value);
          break;
        case NumberType::float64:
          in.as<double>()[i] = value;
          break;
        case NumberType::int32:
          in.as<std::int32_t>()[i] = value;
          break;
        default:
          in.as<std::int64_t>()[i] = value;
      }
    }
  }

  NumberType type;
  std::ptrdiff_t num_items;
  Buffer in, out;
};

/// Allreduces by one method; as many a run as take some time, as solvers do them in rows.
class ReductionTrial : public tune::Trial {
 public:
  ReductionTrial(const ReductionProblem& problem, const ReductionMethod& method,
                 std::shared_ptr<TrialVectors> vectors)
      : runner_(method.make(problem)), vectors_(std::move(vectors)) {}

  void run() override {
    fresh_ = true;
    for (int repeat = 0; repeat < num_repeats(); ++repeat) {
      const auto item_bytes = number_bytes(vectors_->type);
      const auto longest = runner_->piece_bytes() / item_bytes;
      for (std::ptrdiff_t at = 0; at < vectors_->num_items; at += longest) {
        runner_->run({.type = vectors_->type,
                      .in = vectors_->in.data() + at * item_bytes,
                      .out = vectors_->out.data() + at * item_bytes,
                      .num_items = std::min(longest, vectors_->num_items - at)});
      }
    }
  }
  std::uint64_t checksum() override {
    if (!fresh_) return sum_;
    const auto bytes = static_cast<std::size_t>(vectors_->out.bytes());
    sum_ = XXH3_64bits(vectors_->out.data(), bytes);
    std::fill_n(vectors_->out.data(), bytes, std::byte{0});  // who writes nothing is found out
    fresh_ = false;
    return sum_;
  }

 private:
  int num_repeats() const { return vectors_->out.bytes() <= 4096 ? 10 : 1; }

  std::unique_ptr<ReductionRunner> runner_;
  std::shared_ptr<TrialVectors> vectors_;
  bool fresh_ = false;  ///< it has run since the last checksum
  std::uint64_t sum_ = 0;
};

}  // namespace

tune::Choice choose_reduction_method(const ReductionProblem& problem, const ReductionShape& shape) {
  // A winner serves all lengths up to the next power of two.
  const auto bytes = static_cast<std::size_t>(problem.max_bytes);
  tune::Problem asked;
  asked.operation = "allreduce";
  asked.key = fmt::format("up to {} bytes of {}", std::bit_ceil(bytes), number_name(shape.type));
  const bool shared = problem.machine.nodes.most_ranks() > 1;
  const bool one_node = problem.machine.one_node();
  asked.fallback = !shared ? "mpi" : one_node ? "node_shared" : "hierarchical";
  asked.fallback_why = !shared    ? "no two ranks share a node"
                       : one_node ? "all ranks share a node"
                                  : "several nodes with several ranks";
  asked.memory_bytes = 3 * problem.max_bytes;

  std::shared_ptr<TrialVectors> vectors;
  std::vector<tune::Candidate> candidates;
  for (const auto& method : reduction_method_table()) {
    if (!method.applies(problem)) continue;
    candidates.push_back({std::string(method.name), [&] {
                            if (!vectors) {
                              const auto type = real_type(shape.type);
                              vectors = std::make_shared<TrialVectors>(
                                  type, problem.max_bytes / number_bytes(type),
                                  problem.comm.rank());
                            }
                            return std::make_unique<ReductionTrial>(problem, method, vectors);
                          }});
  }
  // Many reductions of a program are tiny: a quarter of the usual time is plenty.
  tune::Settings settings;
  run_agreed(problem.comm.raw(), [&] { settings = tune::Settings::from_environment(); });
  settings.budget_s /= 4;
  return tune::choose(problem.comm, asked, candidates, settings);
}

}  // namespace tailrace
