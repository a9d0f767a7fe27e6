// SPDX-License-Identifier: BSD-3-Clause
// Every method of the table, on the nodes that there are and on nodes of two ranks: all types, ops,
// lengths; in place and not; blocking and not; several reductions at once.
#include <sched.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "move/allreduce/reducer.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

template <class T>
constexpr bool is_complex_number = is_complex(number_type<T>);

/// Small whole numbers: their sums are exact in every order and type.
template <class T>
T number(int rank, std::ptrdiff_t i) {
  const auto value = static_cast<int>((37 * rank + 11 * i + rank * i) % 101 - 50);
  if constexpr (is_complex(number_type<T>)) {
    using Real = typename T::value_type;
    return {static_cast<Real>(value), static_cast<Real>(2 * value + rank)};
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::vector<T> numbers(int rank, std::ptrdiff_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = number<T>(rank, i);
  }
  return values;
}

/// By the plainest loop.
template <class T>
std::vector<T> expected(int num_ranks, std::ptrdiff_t count, ReduceOp op) {
  auto result = numbers<T>(0, count);
  for (int rank = 1; rank < num_ranks; ++rank) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      const T other = number<T>(rank, static_cast<std::ptrdiff_t>(i));
      if (op == ReduceOp::sum) result[i] += other;
      if constexpr (!is_complex_number<T>) {
        if (op == ReduceOp::min) result[i] = std::min(result[i], other);
        if (op == ReduceOp::max) result[i] = std::max(result[i], other);
      }
    }
  }
  return result;
}

/// How many ranks make a node: 0 as it is, else TAILRACE_RANKS_PER_NODE.
class ReductionMethods : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (GetParam() > 0) setenv("TAILRACE_RANKS_PER_NODE", std::to_string(GetParam()).c_str(), 1);
    comm_.emplace(MPI_COMM_WORLD);
    machine_.emplace(*comm_);
    // Many ranks on few cores take their time; nodes of three are enough then.
    if (num_ranks() > 5 && GetParam() == 2) GTEST_SKIP();
#ifdef MPICH_NUMVERSION
    if (num_ranks() > 5) GTEST_SKIP() << "MPICH spins on each other's cores for minutes";
#endif
  }
  void TearDown() override {
    comm_.reset();
    unsetenv("TAILRACE_RANKS_PER_NODE");
  }

  /// Calls `check` with the name of each method that applies here.
  template <class Check>
  void for_each_method(Check&& check) {
    const ReductionProblem problem{*comm_, *machine_, 8};
    const bool shared = machine_->nodes.most_ranks() > 1;
    for (const auto& method : reduction_method_table()) {
      SCOPED_TRACE(std::string(method.name));
      if (method.name.starts_with("node_")) {
        EXPECT_EQ(method.applies(problem), shared);
      } else if (method.name.starts_with("hierarchical")) {
        EXPECT_EQ(method.applies(problem), shared && !machine_->one_node());
      }
      if (!method.applies(problem)) continue;
      check(method.name);
    }
  }
  int rank() const { return comm_->rank(); }
  int num_ranks() const { return comm_->num_ranks(); }

  template <class T>
  void check_type(std::string_view method);
  template <class T>
  void check_length(Reduction& reduction, std::ptrdiff_t count, ReduceOp op);

  std::optional<Comm> comm_;
  std::optional<Surroundings> machine_;
};

template <class T>
void ReductionMethods::check_length(Reduction& reduction, std::ptrdiff_t count, ReduceOp op) {
  const auto in = numbers<T>(rank(), count);
  const auto sums = expected<T>(num_ranks(), count, op);
  auto values = in;
  reduction.allreduce(std::span(values), op);
  EXPECT_EQ(values, sums);

  std::vector<T> out(in.size());
  const auto before = in;
  reduction.allreduce(in, std::span(out), op);
  EXPECT_EQ(out, sums);
  EXPECT_EQ(in, before);

  const int root = static_cast<int>(count % num_ranks());
  values = in;
  reduction.reduce(std::span(values), op, root);
  EXPECT_EQ(values, rank() == root ? sums : in) << "root " << root;

  values = in;
  reduction.start_allreduce(std::span(values), op);
  while (!reduction.progress()) nap(machine_->waiting, 10e-6);  // as a caller that computes
  reduction.finish();
  EXPECT_EQ(values, sums);
}

template <class T>
void ReductionMethods::check_type(std::string_view method) {
  constexpr std::ptrdiff_t longest = 100'003;
  Reduction reduction(*comm_, {number_type<T>, longest}, method);
  EXPECT_EQ(reduction.method(), method);
  const bool all_lengths = num_ranks() <= 3 || number_type<T> == NumberType::float32;
  for (const std::ptrdiff_t count : {0, 1, 2, 7, 1000, 4099, 100'003}) {
    if (!all_lengths && count % 2 == 0) continue;
    if (!all_lengths && count > 5000) break;
    SCOPED_TRACE(count);
    for (const auto op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      if (op == ReduceOp::sum || !is_complex_number<T>) check_length<T>(reduction, count, op);
    }
  }
}

TEST_P(ReductionMethods, Float32) {
  for_each_method([&](auto method) { check_type<float>(method); });
}
TEST_P(ReductionMethods, Float64) {
  for_each_method([&](auto method) { check_type<double>(method); });
}
TEST_P(ReductionMethods, Complex64) {
  for_each_method([&](auto method) { check_type<std::complex<float>>(method); });
}
TEST_P(ReductionMethods, Complex128) {
  for_each_method([&](auto method) { check_type<std::complex<double>>(method); });
}
TEST_P(ReductionMethods, Int32) {
  for_each_method([&](auto method) { check_type<std::int32_t>(method); });
}
TEST_P(ReductionMethods, Int64) {
  for_each_method([&](auto method) { check_type<std::int64_t>(method); });
}

// Real numbers whose sums depend on the order: within rounding of the true sum, and the same bits
// on all ranks.
TEST_P(ReductionMethods, SumsAreTheSameBitsOnAllRanks) {
  for_each_method([&](auto method) {
    for (const std::size_t count : {3U, 20'001U}) {
      Reduction reduction(*comm_, {NumberType::float64, static_cast<std::ptrdiff_t>(count)},
                          method);
      std::vector<double> values(count);
      std::vector<double> bounds(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = std::sin(1.0 + static_cast<double>(i) + 0.37 * rank()) * std::pow(10., i % 5);
      }
      std::vector<long double> sums(count);
      for (int r = 0; r < num_ranks(); ++r) {
        for (std::size_t i = 0; i < count; ++i) {
          const double other =
              std::sin(1.0 + static_cast<double>(i) + 0.37 * r) * std::pow(10., i % 5);
          sums[i] += other;
          bounds[i] += 1e-15 * std::abs(other) * num_ranks();
        }
      }
      reduction.allreduce(std::span(values));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_LE(std::abs(values[i] - static_cast<double>(sums[i])), bounds[i]) << i;
      }
      auto first = values;
      MPI_Bcast(first.data(), static_cast<int>(count), MPI_DOUBLE, 0, comm_->raw());
      EXPECT_EQ(first, values);
    }
  });
}

TEST_P(ReductionMethods, ManyCallsInARow) {
  for_each_method([&](auto method) {
    Reduction reduction(*comm_, {NumberType::int64, 3}, method);
    const int num_calls = num_ranks() <= 3 ? 300 : 50;
    for (int call = 0; call < num_calls; ++call) {
      std::int64_t values[3] = {call, rank(), call * rank()};
      reduction.allreduce(std::span<std::int64_t>(values));
      const int ranks = num_ranks() * (num_ranks() - 1) / 2;
      ASSERT_EQ(values[0], call * num_ranks());
      ASSERT_EQ(values[1], ranks);
      ASSERT_EQ(values[2], call * ranks);
      // A root that differs from call to call, and a barrier now and then.
      std::int64_t one = 1;
      reduction.reduce(std::span<std::int64_t>(&one, 1), ReduceOp::sum, call % num_ranks());
      ASSERT_EQ(one, rank() == call % num_ranks() ? num_ranks() : 1);
      if (call % 7 == 0) reduction.barrier();
      ASSERT_EQ(reduction.allreduce(rank() + call, ReduceOp::max), num_ranks() - 1 + call);
    }
  });
}

// Short ones may run ahead of a slow root, but not over what it has not read yet.
TEST_P(ReductionMethods, ManyReducesInARow) {
  for_each_method([&](auto method) {
    Reduction reduction(*comm_, {NumberType::int64, 40}, method);
    const int num_calls = num_ranks() <= 3 ? 400 : 60;
    for (int call = 0; call < num_calls; ++call) {
      // The same root for a while, then the next; it comes late to the last of its calls.
      const int root = call / 50 % num_ranks();
      if (rank() == root && call % 50 == 48)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::vector<std::int64_t> values(1 + call % 40, call + rank());
      if (call % 3 == 0) {
        reduction.start_reduce(std::span(values), ReduceOp::sum, root);
        while (!reduction.progress()) sched_yield();
        reduction.finish();
      } else {
        reduction.reduce(std::span(values), ReduceOp::sum, root);
      }
      const auto sum = num_ranks() * call + num_ranks() * (num_ranks() - 1) / 2;
      const std::vector<std::int64_t> expected(values.size(), rank() == root ? sum : call + rank());
      ASSERT_EQ(values, expected) << call;
    }
  });
}

TEST_P(ReductionMethods, WhoGivesShortVectorsOnANodeWaitsForNobody) {
  if (num_ranks() == 1 || !machine_->one_node()) GTEST_SKIP() << "not several ranks on one node";
  for (const char* method : {"node_shared", "node_threads"}) {
    Reduction reduction(*comm_, {NumberType::float64, 8}, method);
    double one = 1;
    const auto reduce = [&] { reduction.reduce(std::span(&one, 1), ReduceOp::sum, 0); };
    constexpr int num_calls = 10;
    for (int call = 0; rank() != 0 && call < num_calls; ++call) reduce();
    MPI_Barrier(comm_->raw());  // the root begins when all others are through
    for (int call = 0; rank() == 0 && call < num_calls; ++call) {
      reduce();
      EXPECT_EQ(std::exchange(one, 1), num_ranks());
    }
  }
}

// Nobody leaves the barrier before the last one has entered it.
TEST_P(ReductionMethods, BarrierWaitsForAll) {
  for_each_method([&](auto method) {
    Reduction reduction(*comm_, {}, method);
    for (int late = 0; late < std::min(3, num_ranks()); ++late) {
      int entered = 0;
      MPI_Win window = MPI_WIN_NULL;
      int* counter = nullptr;
      MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm_->raw(), &counter, &window);
      *counter = 0;
      MPI_Barrier(comm_->raw());
      MPI_Win_lock_all(0, window);
      if (rank() == late) nap(machine_->waiting, 0.02);
      const int one = 1;
      MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
      MPI_Win_flush(0, window);
      reduction.start_barrier();
      reduction.finish();
      MPI_Fetch_and_op(nullptr, &entered, MPI_INT, 0, 0, MPI_NO_OP, window);
      MPI_Win_flush(0, window);
      EXPECT_EQ(entered, num_ranks());
      reduction.barrier();
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    }
  });
}

TEST_P(ReductionMethods, SeveralUnderWayOnOneCommunicator) {
  for_each_method([&](auto method) {
    Reduction first(*comm_, {NumberType::float64, 20'000}, method);
    Reduction second(*comm_, {NumberType::float64, 20'000}, method);
    Reduction third(*comm_, {}, "mpi");
    for (const std::ptrdiff_t count : {5, 20'000}) {
      auto a = numbers<double>(rank(), count);
      auto b = numbers<double>(rank() + 1, count);
      first.start_allreduce(std::span(a));
      second.start_allreduce(std::span(b), ReduceOp::max);
      EXPECT_EQ(third.allreduce(1.0), num_ranks());
      second.finish();
      first.finish();
      EXPECT_EQ(a, expected<double>(num_ranks(), count, ReduceOp::sum));
      auto largest = numbers<double>(1, count);
      for (int r = 2; r <= num_ranks(); ++r) {
        for (std::size_t i = 0; i < largest.size(); ++i) {
          largest[i] = std::max(largest[i], number<double>(r, static_cast<std::ptrdiff_t>(i)));
        }
      }
      EXPECT_EQ(b, largest);
    }
  });
}

TEST_P(ReductionMethods, PartsOfARank) {
  for_each_method([&](auto method) {
    constexpr std::ptrdiff_t longest = 30'001;
    Reduction reduction(*comm_, {NumberType::float32, longest}, method);
    for (const std::ptrdiff_t count : {std::ptrdiff_t{1}, longest}) {
      for (const int num_parts : {1, 2, 5}) {
        std::vector<std::vector<float>> parts;
        std::vector<const float*> starts;
        for (int p = 0; p < num_parts; ++p) {
          parts.push_back(numbers<float>(rank() * num_parts + p, count));
        }
        for (const auto& part : parts) starts.push_back(part.data());
        // The result takes the place of the last part.
        reduction.allreduce_parts(starts, std::span(parts.back()));
        EXPECT_EQ(parts.back(), expected<float>(num_ranks() * num_parts, count, ReduceOp::sum));
      }
    }
  });
}

TEST_P(ReductionMethods, WrongUseIsRefused) {
  for_each_method([&](auto method) {
    Reduction reduction(*comm_, {NumberType::float64, 2}, method);
    std::vector<double> three(3);
    EXPECT_THROW(reduction.allreduce(std::span(three)), Error);
    EXPECT_THROW(reduction.reduce(std::span(three).first(1), ReduceOp::sum, num_ranks()), Error);
    EXPECT_THROW(reduction.allreduce(three, std::span(three).first(2)), Error);
    std::complex<double> z{1, 2};
    EXPECT_THROW(reduction.allreduce(std::span(&z, 1), ReduceOp::max), Error);
    reduction.start_allreduce(std::span(three).first(2));
    EXPECT_THROW(reduction.barrier(), Error);
    reduction.finish();
    // It works on after all that.
    EXPECT_EQ(reduction.allreduce(z), std::complex<double>(num_ranks(), 2 * num_ranks()));
  });
  EXPECT_THROW(Reduction(*comm_, {}, "no_such_method"), Error);
  EXPECT_THROW(Reduction(*comm_, {NumberType::float64, 0}, "mpi"), Error);
  if (num_ranks() > 1) {
    EXPECT_THROW(Reduction(*comm_, {NumberType::float64, 1 + rank()}, "mpi"), Error);
  }
  if (machine_->one_node()) {
    EXPECT_THROW(Reduction(*comm_, {}, "hierarchical"), Error);
  }
}

TEST_P(ReductionMethods, AutoGivesRightSums) {
  const Environment no_file("TAILRACE_TUNE_FILE", ""), budget("TAILRACE_TUNE_BUDGET_S", "0.2");
  for (const char* mode : {"off", "first_use"}) {
    const Environment tuning("TAILRACE_TUNE", mode);
    Reduction reduction(*comm_, {NumberType::complex128, 100});
    EXPECT_NE(find_reduction_method(reduction.method()), nullptr);
    EXPECT_FALSE(reduction.why().empty());
    check_length<std::complex<double>>(reduction, 100, ReduceOp::sum);
  }
}

INSTANTIATE_TEST_SUITE_P(RanksPerNode, ReductionMethods, ::testing::Values(0, 2, 3),
                         [](const auto& values) {
                           return values.param == 0 ? std::string("AsItIs")
                                                    : "Of" + std::to_string(values.param);
                         });

}  // namespace
}  // namespace tailrace
