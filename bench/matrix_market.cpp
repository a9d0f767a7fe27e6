// SPDX-License-Identifier: BSD-3-Clause
// Matrix Market files (Boisvert, Pozo and Remington, NISTIR 5935 (1996)): square, coordinate; real,
// integer or pattern (ones); general, symmetric or skew-symmetric. Items given twice are added up.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "sparse_matrices.hpp"

namespace bench {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), why.c_str());
  std::exit(2);
}

struct Kind {
  bool pattern = false;
  double mirrored = 0;  ///< factor of the item on the other side of the diagonal
};

Kind read_banner(std::istream& file, const std::string& path) {
  std::string line;
  std::getline(file, line);
  std::transform(line.begin(), line.end(), line.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::istringstream words(line);
  std::string banner, object, format, field, symmetry;
  words >> banner >> object >> format >> field >> symmetry;
  if (banner != "%%matrixmarket" || object != "matrix" || format != "coordinate") {
    refuse(path, "does not begin with \"%%MatrixMarket matrix coordinate\"");
  }
  if (field != "real" && field != "integer" && field != "pattern") {
    refuse(path, "has " + field + " items; real, integer and pattern are read");
  }
  const std::map<std::string, double> factors{
      {"general", 0}, {"symmetric", 1}, {"skew-symmetric", -1}};
  if (!factors.contains(symmetry)) {
    refuse(path, "is " + symmetry + "; general, symmetric and skew-symmetric are read");
  }
  return {field == "pattern", factors.at(symmetry)};
}

}  // namespace

SparseMatrix read_matrix_market(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse(path, "cannot be opened");
  const auto kind = read_banner(file, path);
  std::string line;
  while (std::getline(file, line) && (line.empty() || line[0] == '%')) {
  }
  long rows = 0;
  long columns = 0;
  long items = 0;
  if (std::sscanf(line.c_str(), "%ld %ld %ld", &rows, &columns, &items) != 3 || rows < 1 ||
      rows != columns || rows > INT32_MAX || items < 0) {
    refuse(path, "has the sizes \"" + line + "\"; a square matrix is expected");
  }
  std::vector<std::map<std::int32_t, double>> found(static_cast<std::size_t>(rows));
  for (long k = 0; k < items; ++k) {
    long row = 0;
    long column = 0;
    double value = 1;
    file >> row >> column;
    if (!kind.pattern) file >> value;
    if (!file || row < 1 || row > rows || column < 1 || column > columns) {
      refuse(path, "item " + std::to_string(k + 1) + " of " + std::to_string(items) +
                       " is missing or outside of the matrix");
    }
    found[static_cast<std::size_t>(row - 1)][static_cast<std::int32_t>(column - 1)] += value;
    if (kind.mirrored == 0 || row == column) continue;
    found[static_cast<std::size_t>(column - 1)][static_cast<std::int32_t>(row - 1)] +=
        kind.mirrored * value;
  }
  SparseMatrix a;
  a.rows = static_cast<int>(rows);
  for (const auto& row : found) {
    for (const auto& [column, value] : row) {
      a.columns.push_back(column);
      a.values.push_back(value);
    }
    a.row_starts.push_back(static_cast<std::int32_t>(a.columns.size()));
  }
  return a;
}

}  // namespace bench
