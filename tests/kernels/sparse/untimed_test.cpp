// SPDX-License-Identifier: BSD-3-Clause
// TAILRACE_TUNE=off: "auto" times nothing, and products and solves have the same bits each time.
#include <gtest/gtest.h>

#include "environment.hpp"
#include "sparse/matrices.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace tailrace::sparse::test {
namespace {

TEST(Untimed, ProductsAreThoseOfTheReference) {
  const Environment off("TAILRACE_TUNE", "off");
  int converted = 0;
  for (const auto& [name, a] : matrices()) {
    const auto m = make(a, {});
    EXPECT_TRUE(m.trials().empty()) << name;
    EXPECT_TRUE(same_matrix(m.to_csr(), a)) << name << " as " << m.storage();
    EXPECT_EQ(make(a, {}).storage(), m.storage()) << name;
    converted += m.storage().starts_with("csr") ? 0 : 1;
    const auto x = random_vector(a.columns, 85);
    Vector y(static_cast<std::size_t>(a.rows));
    m.multiply(x, y);
    EXPECT_TRUE(same_bits(y, product(a, x.data()))) << name << " as " << m.storage();
  }
  EXPECT_GT(converted, 10);
}

TEST(Untimed, SolvesHaveOneSchedule) {
  const Environment off("TAILRACE_TUNE", "off");
  for (const auto bit_for_bit : {false, true}) {
    auto a = diagonals(2000, 2000, {-40, -1, 0, 1, 40}, normals(87));
    for (std::size_t row = 0; row < 2000; ++row) {
      for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (a.column_indices[at] == static_cast<std::int32_t>(row)) a.values[at] = 20;
      }
    }
    const std::vector<std::int64_t> columns(a.column_indices.begin(), a.column_indices.end());
    const std::span<const std::int64_t> starts(a.row_starts);
    const auto lu = [&](const std::string& schedule) {
      return IncompleteLu(starts, columns, a.values,
                          {.schedule = schedule, .bit_for_bit = bit_for_bit});
    };
    const auto chosen = lu("auto");
    EXPECT_TRUE(chosen.trials().empty());
    const std::string fixed = bit_for_bit ? "rows" : "chain";
    EXPECT_EQ(chosen.storage(), lu(fixed).storage());
    const auto b = random_vector(a.rows, 86);
    Vector x(b.size()), wanted(b.size());
    chosen.solve(b, x);
    lu(fixed).solve(b, wanted);
    EXPECT_TRUE(same_bits(x, wanted));
  }
}

}  // namespace
}  // namespace tailrace::sparse::test
