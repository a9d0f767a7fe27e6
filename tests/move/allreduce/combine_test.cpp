// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/reducer.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "move/allreduce/thread_team.hpp"

namespace tailrace {
namespace {

const std::byte* bytes_of(const std::vector<double>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
std::byte* bytes_of(std::vector<double>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

TEST(Combine, OnlyTheRangeIsWritten) {
  const std::vector<double> a{1, 2, 3, 4, 5}, b{10, 20, 30, 40, 50}, c{100, 200, 300, 400, 500};
  for (const std::size_t num_parts : {1U, 2U, 3U}) {
    const std::byte* all[] = {bytes_of(a), bytes_of(b), bytes_of(c)};
    std::vector<double> out(5, -1);
    combine(NumberType::float64, ReduceOp::sum, bytes_of(out), {all, num_parts}, 1, 3);
    const double factor = num_parts == 1 ? 1 : num_parts == 2 ? 11 : 111;
    EXPECT_EQ(out, (std::vector<double>{-1, 2 * factor, 3 * factor, 4 * factor, -1}));
  }
}

TEST(Combine, TheResultMayBeAnyOfTheParts) {
  for (std::size_t place = 0; place < 4; ++place) {
    std::vector<std::vector<double>> parts(4, std::vector<double>(5000));
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t i = 0; i < 5000; ++i) parts[k][i] = static_cast<double>((k + 1) * i);
    }
    std::vector<const std::byte*> all;
    for (const auto& part : parts) all.push_back(bytes_of(part));
    combine(NumberType::float64, ReduceOp::sum, bytes_of(parts[place]), all, 0, 5000);
    for (std::size_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(parts[place][i], 10.0 * static_cast<double>(i)) << place << " " << i;
    }
  }
}

// The order of the parts is the order of the sum: (1e16 + 1) - 1e16 is not 1 + (1e16 - 1e16).
TEST(Combine, AddsInOrder) {
  const std::vector<double> large{1e16}, one{1}, minus{-1e16};
  const std::byte* small_first[] = {bytes_of(large), bytes_of(one), bytes_of(minus)};
  const std::byte* small_last[] = {bytes_of(large), bytes_of(minus), bytes_of(one)};
  std::vector<double> out(1);
  combine(NumberType::float64, ReduceOp::sum, bytes_of(out), small_first, 0, 1);
  EXPECT_EQ(out[0], 0.0);
  combine(NumberType::float64, ReduceOp::sum, bytes_of(out), small_last, 0, 1);
  EXPECT_EQ(out[0], 1.0);
}

TEST(Combine, IntegersWrapAround) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max(), one = 1;
  const std::byte* parts[] = {reinterpret_cast<const std::byte*>(&most),
                              reinterpret_cast<const std::byte*>(&one)};
  std::int32_t out = 0;
  combine(NumberType::int32, ReduceOp::sum, reinterpret_cast<std::byte*>(&out), parts, 0, 1);
  EXPECT_EQ(out, std::numeric_limits<std::int32_t>::min());
}

TEST(ThreadTeam, EachThreadDoesItsPartOfEachTask) {
  for (const int num_threads : {1, 2, 4}) {
    ThreadTeam team(num_threads);
    ASSERT_EQ(team.num_threads(), num_threads);
    std::vector<int> calls(static_cast<std::size_t>(num_threads));
    for (int task = 1; task <= 500; ++task) {
      team.run([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
      for (const int count : calls) ASSERT_EQ(count, task);
    }
  }
}

}  // namespace
}  // namespace tailrace
