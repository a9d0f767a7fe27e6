// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the benches of reductions do, with MPI alone: allreduce, reduce (onto rank 0) and barrier of
// doubles whose sums are exact, so that results can be compared bit by bit.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "words.hpp"

namespace bench {

class ReductionProblem {
 public:
  /// `operation`: "allreduce", "reduce", "barrier", or "many": tiny allreduces, one after another.
  ReductionProblem(std::string operation, std::ptrdiff_t bytes)
      : operation_(std::move(operation)),
        source_(static_cast<std::size_t>(bytes / 8)),
        target_(source_.size()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
  }

  const std::string& operation() const { return operation_; }
  bool on_all() const { return operation_ == "allreduce" || operation_ == "many"; }
  std::vector<double>& source() { return source_; }
  /// Results of an allreduce; of a reduce also its input, which rank 0 replaces.
  std::vector<double>& target() { return target_; }
  /// To be called with every reduce: each adds the others' numbers to those of rank 0 once more.
  void count() { ++reduces_; }

  void prepare(int round) {
    reduces_ = 0;
    for (std::size_t i = 0; i < source_.size(); ++i) {
      source_[i] = value(i, round, rank_);
      target_[i] = on_all() ? -1 : source_[i];
    }
    round_ = round;
  }

  double wrong() const {
    if (!on_all() && rank_ != 0) return 0;
    double wrong = 0;
    for (std::size_t i = 0; i < target_.size(); ++i) {
      double sum = 0;
      for (int rank = 0; rank < num_ranks_; ++rank) {
        sum += value(i, round_, rank) * (on_all() || rank == 0 ? 1 : reduces_);
      }
      wrong += target_[i] == sum ? 0 : 1;
    }
    return wrong;
  }

  Contender mpi(const std::string& name, const std::string& family) {
    Contender contender{name, family, {}};
    const int count = static_cast<int>(source_.size());
    if (operation_ == "barrier") {
      contender.checked = false;
      contender.run = [] { MPI_Barrier(MPI_COMM_WORLD); };
    } else if (operation_ == "reduce") {
      contender.run = [this, count] {
        this->count();
        const bool root = rank_ == 0;
        MPI_Reduce(root ? MPI_IN_PLACE : static_cast<const void*>(target_.data()), target_.data(),
                   count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
      };
    } else {
      contender.run = [this, count] {
        MPI_Allreduce(source_.data(), target_.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      };
    }
    return contender;
  }

  void describe(JsonLine& line, const std::string& nodes) const {
    const auto bytes = static_cast<double>(source_.size() * 8);
    const std::string ranks = std::to_string(num_ranks_) + (num_ranks_ == 1 ? " rank" : " ranks");
    const std::string size =
        operation_ == "barrier" ? "" : ", " + bytes_text(std::ssize(source_) * 8);
    const std::string what = operation_ == "many"
                                 ? std::to_string(many_calls) + " allreduces of 8 B"
                                 : operation_ + size;
    line.text("problem", what + ", " + ranks + nodes)
        .text("pattern", operation_)
        .number("size", bytes)
        .number("ranks", num_ranks_);
  }

  /// Those of a groundwater model, which took them for most of its time.
  static constexpr int many_calls = 150000;

 private:
  static double value(std::size_t i, int round, int rank) {
    return static_cast<double>((i * 7 + 3) % 1001) * (rank + 1) + round;
  }
  std::string operation_;
  std::vector<double> source_, target_;
  int rank_ = 0, num_ranks_ = 1, round_ = 0;
  double reduces_ = 0;
};

/// Times the comparison as the problem needs: many calls are ten turns of a tenth of them, added
/// up.
inline void measure(Comparison& comparison, const ReductionProblem& problem, const Effort& effort) {
  if (problem.operation() != "many") return comparison.measure(effort);
  comparison.measure_calls(10, ReductionProblem::many_calls / 10);
}

}  // namespace bench
