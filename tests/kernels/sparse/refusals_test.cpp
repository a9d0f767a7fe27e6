// SPDX-License-Identifier: BSD-3-Clause
// What is refused, and by which words.
#include <stdexcept>

#include <gtest/gtest.h>

#include "sparse/matrices.hpp"

namespace tailrace::sparse::test {
namespace {

template <class Action>
void expect_refused(Action action, const std::string& text) {
  try {
    action();
    FAIL() << "not refused: " << text;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

template <class Index>
void refuse_arrays() {
  const auto call = [](std::ptrdiff_t columns, const std::vector<Index>& starts,
                       const std::vector<Index>& indices, std::size_t values) {
    return [=] {
      const Vector numbers(values, 1.0);
      const Matrix m(columns, std::span<const Index>(starts), std::span<const Index>(indices),
                     numbers);
    };
  };
  expect_refused(call(3, {}, {}, 0), "row_starts is empty");
  expect_refused(call(3, {1, 2}, {0, 1}, 2), "row_starts[0] is 1");
  expect_refused(call(3, {0, 2, 1}, {0}, 1), "row_starts falls from 2 to 1 after row 1");
  expect_refused(call(3, {0, 2}, {0}, 2), "row_starts ends at 2, but there are 1 column indices");
  expect_refused(call(3, {0, 2}, {0, 1}, 1), "1 values");
  expect_refused(call(3, {0, 1, 2}, {0, 3}, 2), "row 1 has column 3; there are 3 columns");
  expect_refused(call(3, {0, 1}, {-1}, 1), "row 0 has column -1; there are 3 columns");
  expect_refused(call(3, {0, 2}, {2, 1}, 2), "row 0 has column 1 after 2; columns must ascend");
  expect_refused(call(3, {0, 0, 2}, {1, 1}, 2), "row 1 has column 1 twice");
  expect_refused(call(-1, {0}, {}, 0), "columns is -1");
  EXPECT_NO_THROW(call(0, {0}, {}, 0)());
}

TEST(Refusals, ArraysAreNamed) {
  refuse_arrays<std::int32_t>();
  refuse_arrays<std::int64_t>();
  const std::vector<std::int64_t> starts{0, 1};
  const std::vector<std::int64_t> far{std::int64_t{1} << 31};
  expect_refused(
      [&] {
        const Matrix m((std::ptrdiff_t{1} << 31) + 1, std::span<const std::int64_t>(starts),
                       std::span<const std::int64_t>(far), Vector{1.0});
      },
      "columns is 2147483649; it must be from 0 to 2147483647");
}

TEST(Refusals, OptionsAreNamed) {
  const auto a = diagonals(10, 10, {0}, normals(1));
  expect_refused([&] { make(a, {.format = "ellpack"}); },
                 "format is \"ellpack\"; it must be one of auto, csr, csr_wide, sell");
  expect_refused([&] { make(a, {.format = "csr_wide", .bit_for_bit = true}); }, "bit_for_bit");
  expect_refused([&] { make(a, {.threads = 0}); }, "threads is 0");
  expect_refused([&] { make(a, {.expected_multiplies = -1}); }, "expected_multiplies");
  expect_refused([&] { make(a, {.expected_multiplies = std::nan("")}); }, "expected_multiplies");
  const auto scattered = random_rows(101, 103, 1, [](int) { return 5; });
  expect_refused([&] { make(scattered, {.format = "dia"}); }, "few diagonals");
  expect_refused([&] { make(scattered, {.format = "block_csr"}); }, "from 2 to 16 divides");
}

TEST(Refusals, LengthsAreNamed) {
  const auto m = make(diagonals(10, 12, {0, 1}, normals(1)), {});
  Vector x(12);
  Vector y(10);
  expect_refused([&] { m.multiply(y, y); }, "x has 10 items; the matrix has 12 columns");
  expect_refused([&] { m.multiply(x, x); }, "y has 12 items; the matrix has 10 rows");
  expect_refused([&] { m.multiply(-1, x.data(), 12, y.data(), 10); }, "vectors is -1");
  expect_refused([&] { m.multiply(1, x.data(), 11, y.data(), 10); }, "ldx is 11");
  expect_refused([&] { m.multiply(1, x.data(), 12, y.data(), 9); }, "ldy 9");
  EXPECT_NO_THROW(m.multiply(0, nullptr, 12, nullptr, 10));
  expect_refused([&] { m.multiply_transposed(x, x); }, "x has 12 items; the matrix has 10 rows");
  expect_refused([&] { m.multiply_transposed(y, y); }, "y has 10 items; the matrix has 12 columns");
  expect_refused([&] { m.multiply_transposed(1, y.data(), 9, x.data(), 12); }, "ldx is 9");
  expect_refused([&] { m.multiply_transposed(1, y.data(), 10, x.data(), 11); }, "ldy 11");
}

TEST(Refusals, OverlapIsNamed) {
  const auto m = make(diagonals(10, 10, {0, 1}, normals(1)), {});
  Vector x(15);
  const std::span<double> all(x);
  expect_refused([&] { m.multiply(all.first(10), all.subspan(5, 10)); }, "overlap");
}

}  // namespace
}  // namespace tailrace::sparse::test
