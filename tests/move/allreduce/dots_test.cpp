// SPDX-License-Identifier: BSD-3-Clause
#include <complex>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

template <class T>
class Dots : public ::testing::Test {
 protected:
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;

  /// Small whole numbers, so that sums are exact; rank r has `length(r)` of them.
  static T number(int vector, int rank, std::ptrdiff_t i) {
    const auto value = static_cast<int>((7 * i + 5 * vector + 3 * rank) % 17 - 8);
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value);
    } else {
      using Real = typename T::value_type;
      return {static_cast<Real>(value), static_cast<Real>(vector - value)};
    }
  }
  static Sum product(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(x) * static_cast<double>(y);
    } else {
      return std::conj(Sum(x)) * Sum(y);
    }
  }
  // Uneven, and one rank without any.
  static std::ptrdiff_t length(int rank) { return rank == 1 ? 0 : 2500 + 3 * rank; }

  /// Three vectors of this rank.
  std::vector<std::vector<T>> make_vectors(int rank) const {
    std::vector<std::vector<T>> vectors(3);
    for (int v = 0; v < 3; ++v) {
      for (std::ptrdiff_t i = 0; i < length(rank); ++i) {
        vectors[static_cast<std::size_t>(v)].push_back(number(v, rank, i));
      }
    }
    return vectors;
  }
  Sum expected(int v, int w, int num_ranks) const {
    Sum sum{};
    for (int rank = 0; rank < num_ranks; ++rank) {
      for (std::ptrdiff_t i = 0; i < length(rank); ++i) {
        sum += product(number(v, rank, i), number(w, rank, i));
      }
    }
    return sum;
  }
};

using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Dots, Types);

TYPED_TEST(Dots, AllPairsInOneReduction) {
  using Result = typename TestFixture::Sum;
  const Comm comm(MPI_COMM_WORLD);
  const auto vectors = this->make_vectors(comm.rank());
  std::vector<DotPair<TypeParam>> pairs;
  std::vector<Result> sums;
  for (int v = 0; v < 3; ++v) {
    for (int w = 0; w <= v; ++w) {
      pairs.push_back({vectors[static_cast<std::size_t>(v)], vectors[static_cast<std::size_t>(w)]});
      sums.push_back(this->expected(v, w, comm.num_ranks()));
    }
  }
  for (const auto& method : reduction_methods()) {
    if (comm.num_ranks() == 1 && method.name != "mpi") continue;
    if (method.name.starts_with("hierarchical")) continue;  // one node
    Reduction reduction(comm, {number_type<Result>, 6}, method.name);
    std::vector<Result> results(6);
    reduction.dots(pairs, results);
    EXPECT_EQ(results, sums);
    std::fill(results.begin(), results.end(), Result{});
    reduction.start_dots(pairs, results);
    while (!reduction.progress()) {
    }
    reduction.finish();
    EXPECT_EQ(results, sums);
  }
}

TYPED_TEST(Dots, PairsOfDifferentLengthsAreRefused) {
  using Result = typename TestFixture::Sum;
  const Comm comm(MPI_COMM_WORLD);
  Reduction reduction(comm, {number_type<Result>, 2}, "mpi");
  const std::vector<TypeParam> three(3), four(4);
  const std::vector<DotPair<TypeParam>> pairs{{three, four}};
  std::vector<Result> one(1), two(2);
  EXPECT_THROW(reduction.dots(pairs, one), Error);
  const std::vector<DotPair<TypeParam>> fine{{three, three}};
  EXPECT_THROW(reduction.dots(fine, two), Error);
  reduction.dots(fine, one);
  EXPECT_EQ(one[0], Result{});
}

}  // namespace
}  // namespace tailrace
