// SPDX-License-Identifier: BSD-3-Clause
#include "dense/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tailrace::dense {
namespace {

TEST(Memory, StartsAtACacheLine) {
  for (const std::size_t items : {0UL, 1UL, 77UL, 1UL << 20}) {
    const auto array = make_array<double>(items);
    ASSERT_NE(array, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.get()) % 64, 0U);
    std::fill_n(array.get(), items, 1.0);
  }
}

TEST(Memory, BlocksInUseAreNotGivenAgain) {
  constexpr std::size_t items = std::size_t{1} << 20;
  for (int round = 0; round < 3; ++round) {  // from the second on, of blocks that were kept
    std::vector<Array<double>> arrays;
    for (int number = 0; number < 4; ++number) {
      arrays.push_back(make_array<double>(items));
      std::fill_n(arrays.back().get(), items, number);
    }
    for (int number = 0; number < 4; ++number) {
      const double* const array = arrays[static_cast<std::size_t>(number)].get();
      EXPECT_TRUE(std::all_of(array, array + items, [&](double x) { return x == number; }));
    }
  }
}

}  // namespace
}  // namespace tailrace::dense
