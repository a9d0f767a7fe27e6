// SPDX-License-Identifier: BSD-3-Clause
// Every format of the table, on every instruction set of this processor, against plain loops.
#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sparse/matrices.hpp"

namespace tailrace::sparse::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Calls visit(options, format) for each format, instruction set, and way to store values.
void for_each_storage(const std::function<void(const MatrixOptions&, const FormatInfo&)>& visit) {
  for (const auto& format : formats()) {
    for (const auto set :
         {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
      if (set > best_instruction_set()) continue;
      for (const bool plain : {false, true}) {
        if (plain && set != best_instruction_set()) continue;
        MatrixOptions options;
        options.format = format.name;
        options.highest = set;
        options.plain_values = plain;
        visit(options, format);
      }
    }
  }
}

/// The matrix in that format, or nothing if it cannot hold it, which only some formats may say.
std::vector<Matrix> try_make(const Csr& a, const MatrixOptions& options) {
  try {
    return {make(a, options)};
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("cannot hold this matrix"), std::string::npos);
    EXPECT_TRUE(options.format == "dia" || options.format == "block_csr") << error.what();
    return {};
  }
}

std::string about(const std::string& name, const Matrix& m, const MatrixOptions& options) {
  return name + " as " + m.storage() + " on " + sparse::name(options.highest);
}

TEST(Formats, MultiplyAsPlainLoops) {
  const auto all = matrices();
  std::map<std::string, int> held;
  for_each_storage([&](const MatrixOptions& options, const FormatInfo& format) {
    for (const auto& [name, a] : all) {
      const auto x = random_vector(a.columns, 77);
      const auto expected = product(a, x.data());
      const auto size = sizes(a, x);
      for (const auto& m : try_make(a, options)) {
        Vector y(static_cast<std::size_t>(a.rows), infinity);
        m.multiply(x, y);
        ++held[format.name];
        if (format.same_order) {
          EXPECT_TRUE(same_bits(y, expected)) << about(name, m, options);
        }
        for (std::size_t i = 0; i < y.size(); ++i) {
          EXPECT_LE(std::abs(y[i] - expected[i]), 1e-13 * size[i]) << about(name, m, options);
        }
      }
    }
  });
  EXPECT_EQ(held.size(), formats().size());
  for (const auto& [format, count] : held) EXPECT_GE(count, 12) << format;
}

TEST(Formats, StorageConvertsBack) {
  auto all = matrices();
  for (auto& [name, a] : all) {
    if (a.values.size() < 20) continue;
    a.values[3] = 0.0;
    a.values[4] = -0.0;
    a.values[5] = std::bit_cast<double>(0x7ff8000012345678);  // NaN that single precision cuts
    a.values[6] = -infinity;
    a.values[7] = std::numeric_limits<double>::denorm_min();
  }
  for (auto& named : matrices()) all.push_back(std::move(named));
  for_each_storage([&](const MatrixOptions& options, const FormatInfo&) {
    for (const auto& [name, a] : all) {
      for (const auto& m : try_make(a, options)) {
        EXPECT_TRUE(same_matrix(m.to_csr(), a)) << about(name, m, options);
      }
    }
  });
}

TEST(Formats, SeveralVectorsAsOne) {
  const auto all = matrices();
  for_each_storage([&](const MatrixOptions& options, const FormatInfo&) {
    for (const auto& [name, a] : all) {
      const auto ldx = a.columns + 3;
      const auto ldy = a.rows + 2;
      const auto x = random_vector(ldx * 6, 78);
      for (const auto& m : try_make(a, options)) {
        Vector y(static_cast<std::size_t>(ldy * 6), 5.0);
        m.multiply(6, x.data(), ldx, y.data(), ldy);
        Vector one(static_cast<std::size_t>(a.rows));
        for (std::ptrdiff_t v = 0; v < 6; ++v) {
          m.multiply({x.data() + v * ldx, static_cast<std::size_t>(a.columns)}, one);
          const auto* column = y.data() + v * ldy;
          EXPECT_TRUE(same_bits(one, Vector(column, column + a.rows))) << about(name, m, options);
          EXPECT_EQ(column[a.rows], 5.0) << about(name, m, options);
        }
      }
    }
  });
}

/// Fill may not spread what x has at other columns; items may.
TEST(Formats, NotFiniteAsPlainLoops) {
  const auto all = matrices();
  for_each_storage([&](const MatrixOptions& options, const FormatInfo&) {
    for (auto [name, a] : all) {
      if (a.columns < 10 || a.values.size() < 40) continue;
      a.values[11] = std::nan("");
      a.values[30] = infinity;
      auto x = random_vector(a.columns, 79);
      x[2] = infinity;
      x[5] = -infinity;
      x[static_cast<std::size_t>(a.columns) / 2] = std::nan("");
      const auto expected = product(a, x.data());
      for (const auto& m : try_make(a, options)) {
        Vector y(static_cast<std::size_t>(a.rows));
        m.multiply(x, y);
        for (std::size_t i = 0; i < y.size(); ++i) {
          EXPECT_EQ(std::isnan(y[i]), std::isnan(expected[i])) << about(name, m, options);
          EXPECT_EQ(std::isinf(y[i]), std::isinf(expected[i])) << about(name, m, options);
        }
      }
    }
  });
}

/// The transpose's CSR, whose rows have their items in the order of the rows of `a`.
Csr turned(const Csr& a) {
  std::vector<std::vector<std::pair<std::int32_t, double>>> rows(
      static_cast<std::size_t>(a.columns));
  for (std::ptrdiff_t row = 0; row < a.rows; ++row) {
    for (auto k = a.row_starts[static_cast<std::size_t>(row)];
         k < a.row_starts[static_cast<std::size_t>(row) + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      rows[static_cast<std::size_t>(a.column_indices[at])].emplace_back(row, a.values[at]);
    }
  }
  Csr t{a.columns, a.rows, {0}, {}, {}};
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      t.column_indices.push_back(column);
      t.values.push_back(value);
    }
    t.row_starts.push_back(static_cast<std::int64_t>(t.values.size()));
  }
  return t;
}

TEST(Formats, TransposedHasTheBitsOfTheTransposesRows) {
  std::map<std::string, int> held;
  for (const auto& [name, a] : matrices()) {
    const auto t = turned(a);
    const auto ldx = a.rows + 3;
    const auto ldy = a.columns + 2;
    const auto x = random_vector(ldx * 6, 81);
    for_each_storage([&](const MatrixOptions& options, const FormatInfo& format) {
      for (const auto& m : try_make(a, options)) {
        ++held[format.name];
        Vector y(static_cast<std::size_t>(ldy * 6), 5.0);
        m.multiply_transposed(6, x.data(), ldx, y.data(), ldy);
        for (std::ptrdiff_t v = 0; v < 6; ++v) {
          const auto expected = product(t, x.data() + v * ldx);
          const auto* column = y.data() + v * ldy;
          EXPECT_TRUE(same_bits(Vector(column, column + a.columns), expected))
              << about(name, m, options);
          EXPECT_EQ(column[a.columns], 5.0) << about(name, m, options);
          Vector one(static_cast<std::size_t>(a.columns), infinity);
          m.multiply_transposed({x.data() + v * ldx, static_cast<std::size_t>(a.rows)}, one);
          EXPECT_TRUE(same_bits(one, expected)) << about(name, m, options);
        }
      }
    });
  }
  EXPECT_EQ(held.size(), formats().size());
  for (const auto& [format, count] : held) EXPECT_GE(count, 12) << format;
}

TEST(Formats, TransposedNotFiniteAsPlainLoops) {
  int held = 0;
  for (auto [name, a] : matrices()) {
    if (a.rows < 10 || a.values.size() < 40) continue;
    a.values[11] = std::nan("");
    a.values[30] = infinity;
    const auto t = turned(a);
    auto x = random_vector(a.rows, 82);
    x[2] = infinity;
    x[5] = -infinity;
    x[static_cast<std::size_t>(a.rows) / 2] = std::nan("");
    const auto expected = product(t, x.data());
    for_each_storage([&](const MatrixOptions& options, const FormatInfo&) {
      for (const auto& m : try_make(a, options)) {
        ++held;
        Vector y(static_cast<std::size_t>(a.columns));
        m.multiply_transposed(x, y);
        EXPECT_TRUE(same_bits(y, expected)) << about(name, m, options);
      }
    });
  }
  EXPECT_GT(held, 100);
}

TEST(Formats, TransposedFollowsOtherValues) {
  for (const auto& [name, a] : matrices()) {
    auto other = a;
    const auto normal = normals(78);
    for (double& value : other.values) value = normal();
    const auto x = random_vector(a.rows, 83);
    const auto expected = product(turned(other), x.data());
    for (const auto& format : formats()) {
      const MatrixOptions options{.format = format.name};
      for (auto& m : try_make(a, options)) {
        m.set_values(other.values);
        Vector y(static_cast<std::size_t>(a.columns));
        m.multiply_transposed(x, y);
        EXPECT_TRUE(same_bits(y, expected)) << about(name, m, options);
      }
    }
  }
}

TEST(Formats, ThreadsAndInstructionSetsChangeNothing) {
  for (const auto& [name, a] : matrices()) {
    const auto x = random_vector(a.columns, 80);
    for (const auto& format : formats()) {
      MatrixOptions options;
      options.format = format.name;
      options.highest = InstructionSet::portable;
      const auto reference = try_make(a, options);
      if (reference.empty()) continue;
      Vector expected(static_cast<std::size_t>(a.rows));
      reference[0].multiply(x, expected);
      options.highest = InstructionSet::avx512;
      for (const int threads : {1, 2, 3, 7}) {
        options.threads = threads;
        const auto m = make(a, options);
        Vector y(static_cast<std::size_t>(a.rows), infinity);
        m.multiply(x, y);
        EXPECT_TRUE(same_bits(y, expected)) << about(name, m, options) << " " << threads;
      }
    }
  }
}

TEST(Formats, OtherValuesInTheSameStructure) {
  int held = 0;
  for (const auto& [name, a] : matrices()) {
    auto other = a;
    const auto normal = normals(77);
    for (double& value : other.values) value = normal();
    const auto x = random_vector(a.columns, 5);
    for (const auto& format : formats()) {
      const MatrixOptions options{.format = format.name};
      for (auto& m : try_make(a, options)) {
        ++held;
        const auto copy = m;
        m.set_values(other.values);
        EXPECT_TRUE(same_matrix(m.to_csr(), other)) << about(name, m, options);
        EXPECT_TRUE(same_matrix(copy.to_csr(), a)) << about(name, copy, options);
        Vector y(static_cast<std::size_t>(a.rows));
        Vector expected(y.size());
        m.multiply(x, y);
        make(other, options).multiply(x, expected);
        EXPECT_TRUE(same_bits(y, expected)) << about(name, m, options);
        m.set_values(a.values);  // alone now
        EXPECT_TRUE(same_matrix(m.to_csr(), a)) << about(name, m, options);
        EXPECT_THROW(m.set_values(Vector(a.values.size() + 1)), std::invalid_argument);
      }
    }
  }
  EXPECT_GT(held, 200);
}

TEST(Formats, IndicesOf32And64Bits) {
  for (const auto& [name, a] : matrices()) {
    const std::vector<std::int32_t> starts(a.row_starts.begin(), a.row_starts.end());
    MatrixOptions options;
    options.format = "sell";
    const Matrix narrow(a.columns, std::span<const std::int32_t>(starts),
                        std::span<const std::int32_t>(a.column_indices), a.values, options);
    EXPECT_TRUE(same_matrix(narrow.to_csr(), make(a, options).to_csr())) << name;
    EXPECT_EQ(narrow.rows(), a.rows);
    EXPECT_EQ(narrow.columns(), a.columns);
    EXPECT_EQ(narrow.num_items(), a.row_starts.back());
  }
}

std::string storage(const Csr& a, const std::string& format) {
  MatrixOptions options;
  options.format = format;
  const auto m = make(a, options);
  EXPECT_LT(m.memory_bytes(), make(a, {.format = "csr"}).memory_bytes());
  return m.storage();
}

TEST(Formats, CompressWhatIsExact) {
  const std::vector<int> near{-20, -1, 0, 1, 20};
  EXPECT_EQ(storage(diagonals(900, 900, near, few_values(1)), "sell"),
            "sell, 8-bit columns, dictionary");
  EXPECT_EQ(storage(diagonals(900, 900, near, few_values(1)), "dia"),
            "dia, 5 diagonals, dictionary");
  EXPECT_EQ(storage(diagonals(900, 900, near, short_values(1)), "dia"),
            "dia, 5 diagonals, fp32 (exact)");
  EXPECT_EQ(storage(diagonals(900, 900, near, normals(1)), "sell"), "sell, 8-bit columns, fp64");
  const auto wide = random_rows(
      4000, 4000, 11, [](int) { return 8; }, 1000);
  EXPECT_EQ(storage(wide, "sell"), "sell, 16-bit columns, fp64");
  const auto far = random_rows(4000, 400000, 11, [](int) { return 8; });
  EXPECT_EQ(storage(far, "sell"), "sell, 32-bit columns, fp64");
  EXPECT_EQ(storage(blocks(15, 20, 20, 4, 0, 5), "block_csr"),
            "block_csr, blocks of 15 x 15, fp64");
  // One value that single precision does not hold, or one value too many.
  auto almost = diagonals(900, 900, near, short_values(1));
  almost.values.back() = 0.1;
  EXPECT_EQ(storage(almost, "dia"), "dia, 5 diagonals, fp64");
  auto many = diagonals(900, 900, near, few_values(1));
  for (std::size_t i = 0; i < 300; ++i) many.values[i] = 0.1 * static_cast<double>(i);
  EXPECT_EQ(storage(many, "sell"), "sell, 8-bit columns, fp64");
}

/// A matrix of whole blocks, given as such, is the one that is given by rows.
TEST(Matrix, FromBlocks) {
  for (int size = 2; size <= 16; ++size) {
    for (const bool exact : {false, true}) {
      auto a = blocks(size, 23, 31, 4, 0, static_cast<unsigned>(20 + size));
      if (exact) std::ranges::generate(a.values, short_values(61));
      std::vector<std::int64_t> starts{0};
      std::vector<std::int32_t> columns;
      Vector values;
      for (std::size_t row = 0; row < 23; ++row) {
        const auto edge = static_cast<std::size_t>(size);
        const auto begin = static_cast<std::size_t>(a.row_starts[row * edge]);
        const auto length = static_cast<std::size_t>(a.row_starts[row * edge + 1]) - begin;
        for (std::size_t k = 0; k < length; ++k) {
          if (k % edge == 0) columns.push_back(a.column_indices[begin + k] / size);
          for (std::size_t i = 0; i < edge; ++i) values.push_back(a.values[begin + i * length + k]);
        }
        starts.push_back(std::ssize(columns));
      }
      const auto made = Matrix::from_blocks(size, 31, starts, columns, values, {.threads = 2});
      EXPECT_EQ(made.storage().ends_with("fp32 (exact)"), exact) << made.storage();
      EXPECT_TRUE(same_matrix(made.to_csr(), a)) << size;
      const auto x = random_vector(a.columns, 62);
      Vector y(static_cast<std::size_t>(a.rows));
      made.multiply(x, y);
      EXPECT_TRUE(same_bits(y, product(a, x.data()))) << size;
      values.pop_back();
      EXPECT_THROW(Matrix::from_blocks(size, 31, starts, columns, values), std::invalid_argument);
    }
  }
  const std::vector<std::int64_t> starts{0, 1};
  const std::vector<std::int32_t> columns{0};
  EXPECT_THROW(Matrix::from_blocks(17, 1, starts, columns, Vector(289)), std::invalid_argument);
  EXPECT_THROW(Matrix::from_blocks(2, 0, starts, columns, Vector(4)), std::invalid_argument);
}

}  // namespace
}  // namespace tailrace::sparse::test
