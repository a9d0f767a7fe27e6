// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_matrices.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "driver.hpp"

namespace bench {

namespace {

/// A number in [0, 1) for item `i`, the same everywhere.
double uniform(std::size_t i) { return 0.5 * (noise(i) + 1); }

/// Items are put row by row, columns in any order.
class Builder {
 public:
  explicit Builder(int rows) { matrix_.rows = rows; }
  void put(int column, double value) { row_.push_back({column, value}); }
  void put(int column) { put(column, noise(next_++)); }
  void end_row() {
    std::sort(row_.begin(), row_.end());
    for (std::size_t i = 0; i < row_.size(); ++i) {
      if (i > 0 && row_[i].first == row_[i - 1].first) continue;
      matrix_.columns.push_back(row_[i].first);
      matrix_.values.push_back(row_[i].second);
    }
    matrix_.row_starts.push_back(static_cast<std::int32_t>(matrix_.columns.size()));
    row_.clear();
  }
  SparseMatrix take() { return std::move(matrix_); }

 private:
  SparseMatrix matrix_;
  std::vector<std::pair<int, double>> row_;
  std::size_t next_ = 0;
};

/// Points of a cube of edge n, and a visit of those of the 7-point neighbours that lie in it.
struct Cube {
  int n;
  int points() const { return n * n * n; }
  template <class Visit>
  void neighbours(int point, Visit visit) const {
    const int z = point % n;
    const int y = point / n % n;
    const int x = point / (n * n);
    visit(point, true);
    if (x > 0) visit(point - n * n, false);
    if (y > 0) visit(point - n, false);
    if (z > 0) visit(point - 1, false);
    if (z < n - 1) visit(point + 1, false);
    if (y < n - 1) visit(point + n, false);
    if (x < n - 1) visit(point + n * n, false);
  }
};

SparseMatrix stencil7(int n, bool constant) {
  const Cube cube{n};
  Builder builder(cube.points());
  for (int point = 0; point < cube.points(); ++point) {
    cube.neighbours(point, [&](int other, bool same) {
      if (constant) {
        builder.put(other, same ? 6.0 : -1.0);
      } else {
        builder.put(other);
      }
    });
    builder.end_row();
  }
  return builder.take();
}

/// `size` unknowns at each point, all coupled to all of the neighbours.
SparseMatrix blocks(int n, int size) {
  const Cube cube{n};
  Builder builder(cube.points() * size);
  for (int point = 0; point < cube.points(); ++point) {
    for (int i = 0; i < size; ++i) {
      cube.neighbours(point, [&](int other, bool) {
        for (int j = 0; j < size; ++j) builder.put(other * size + j);
      });
      builder.end_row();
    }
  }
  return builder.take();
}

/// Three unknowns at each point, coupled to about 12 points nearby, as of unstructured elements.
SparseMatrix fem3(int n) {
  const Cube cube{n};
  Builder builder(cube.points() * 3);
  std::size_t drawn = 0;
  for (int point = 0; point < cube.points(); ++point) {
    std::vector<int> others;
    cube.neighbours(point, [&](int other, bool) { others.push_back(other); });
    for (int k = 0; k < 6; ++k) {
      const int width = n * n;
      const auto offset = static_cast<int>((uniform(drawn++) * 2 - 1) * width);
      others.push_back(std::clamp(point + offset, 0, cube.points() - 1));
    }
    for (int i = 0; i < 3; ++i) {
      for (const int other : others) {
        for (int j = 0; j < 3; ++j) builder.put(other * 3 + j);
      }
      builder.end_row();
    }
  }
  return builder.take();
}

SparseMatrix band(int rows, int half_width) {
  Builder builder(rows);
  for (int row = 0; row < rows; ++row) {
    const int last = std::min(rows - 1, row + half_width);
    for (int column = std::max(0, row - half_width); column <= last; ++column) builder.put(column);
    builder.end_row();
  }
  return builder.take();
}

/// Rows of one to three items within 1000 of the diagonal.
SparseMatrix short_rows(int rows) {
  Builder builder(rows);
  std::size_t drawn = 0;
  for (int row = 0; row < rows; ++row) {
    const int length = 1 + static_cast<int>(3 * uniform(drawn++));
    for (int i = 0; i < length; ++i) {
      const auto offset = static_cast<int>(1000 * (2 * uniform(drawn++) - 1));
      builder.put(std::clamp(row + offset, 0, rows - 1));
    }
    builder.end_row();
  }
  return builder.take();
}

/// Lengths by a power law (mean about 8, up to 2000), columns with more weight on small ones.
SparseMatrix power_law(int rows) {
  Builder builder(rows);
  std::size_t drawn = 0;
  for (int row = 0; row < rows; ++row) {
    const double length = 3.2 * std::pow(1 - uniform(drawn++), -1 / 1.6);
    for (int i = 0; i < static_cast<int>(std::min(2000.0, length)); ++i) {
      const double u = uniform(drawn++);
      builder.put(static_cast<int>(u * u * rows));
    }
    builder.end_row();
  }
  return builder.take();
}

/// Features drawn by seed: 10^4 to 10^6 rows, 2 to 60 items a row of equal or unequal lengths, in
/// runs of neighbours, within some distance of the diagonal, one to six unknowns a point.
SparseMatrix drawn_matrix(int seed) {
  std::mt19937_64 random(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> uniform_01;
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, uniform_01(random));
  };
  const int unknowns = uniform_01(random) < 0.6 ? 1 : 2 + static_cast<int>(random() % 5);
  const double mean = std::max(1.0, between(2, 60) / unknowns);
  const double most = 6e6 / (mean * unknowns * unknowns);
  const auto points = static_cast<int>(std::min(between(1e4, 1e6), most));
  const double spread = uniform_01(random) < 0.4 ? 0 : between(0.1, 1.5);  // of lengths, relative
  const auto run = static_cast<int>(between(1, 8));
  const auto width = static_cast<int>(between(20, points));
  const int kind = static_cast<int>(random() % 4);  // of values
  std::lognormal_distribution<double> factor(-spread * spread / 2, spread);
  Builder builder(points * unknowns);
  std::vector<int> columns;
  for (int point = 0; point < points; ++point) {
    columns.assign(1, point);
    const auto length = static_cast<std::size_t>(mean * (spread == 0 ? 1 : factor(random)));
    while (columns.size() < length && columns.size() < 5000) {
      const auto offset = static_cast<int>((2 * uniform_01(random) - 1) * width);
      for (int i = 0; i < run; ++i) {
        columns.push_back(std::clamp(point + offset + i, 0, points - 1));
      }
    }
    for (int row = 0; row < unknowns; ++row) {
      for (const int column : columns) {
        for (int j = 0; j < unknowns; ++j) {
          const double value = uniform_01(random);
          const double rounded = static_cast<double>(static_cast<float>(value));
          builder.put(column * unknowns + j,
                      kind == 0 ? std::ceil(4 * value) : (kind == 1 ? rounded : value));
        }
      }
      builder.end_row();
    }
  }
  return builder.take();
}

}  // namespace

SparseMatrix make_sparse_matrix(const std::string& name, int n) {
  if (name.ends_with(".mtx")) return read_matrix_market(name);
  if (name == "stencil7") return stencil7(n, true);
  if (name == "stencil7v") return stencil7(n, false);
  if (name == "blocks15") return blocks(n, 15);
  if (name == "fem3") return fem3(n);
  if (name == "band21") return band(n * n * n, 10);
  if (name == "short") return short_rows(n * n * n);
  if (name == "drawn") return drawn_matrix(n);
  if (name == "power") return power_law(n * n * n);
  std::fprintf(stderr, "there is no matrix '%s'; see bench/sparse_matrices.hpp\n", name.c_str());
  std::exit(2);
}

}  // namespace bench
