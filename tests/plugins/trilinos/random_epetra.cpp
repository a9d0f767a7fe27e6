// SPDX-License-Identifier: BSD-3-Clause
// random_epetra SEED: a program of Epetra that knows nothing of the plug-in. It makes random
// matrices, changes their values in every way that Epetra has or allows, and multiplies. Each
// product is compared with sums over the rows that Epetra shows. Systems are solved by AztecOO. The
// lines that it prints hold all digits, so that runs with and without the plug-in can be compared.
#include <AztecOO.h>
#include <Epetra_CrsMatrix.h>
#include <Epetra_FECrsMatrix.h>
#include <Epetra_Map.h>
#include <Epetra_MpiComm.h>
#include <Epetra_MultiVector.h>
#include <Epetra_SerialComm.h>
#include <Epetra_Vector.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

bool is_good = true;

/// The same numbers on every rank.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int end) { return static_cast<int>(engine_() % static_cast<unsigned>(end)); }
  double value() { return static_cast<double>(engine_()) / 2147483648.0 - 1.0; }

 private:
  std::mt19937 engine_;
};

/// Rows of the whole matrix: columns and values.
using Rows = std::vector<std::map<int, double>>;

Rows draw_rows(Random& random, int rows, int columns) {
  Rows all(static_cast<std::size_t>(rows));
  const int shape = random.below(5);
  const int edge = std::max(2, static_cast<int>(std::sqrt(columns)));
  for (int row = 0; row < rows; ++row) {
    auto& items = all[static_cast<std::size_t>(row)];
    const auto add = [&](int column) {
      if (column >= 0 && column < columns) items[column] = shape == 0 ? -1.0 : random.value();
    };
    if (shape <= 1) {  // a stencil
      for (const int shift : {-edge, -1, 0, 1, edge}) add(row + shift);
    } else if (shape == 2) {  // a few anywhere, or none
      for (int i = random.below(6); i > 0; --i) add(random.below(columns));
    } else if (shape == 3) {  // blocks of three
      for (const int block : {row / 3, row / 3 + 2}) {
        for (int i = 0; i < 3; ++i) add(3 * block + i);
      }
    } else {  // some long rows
      for (int i = row % 37 == 0 ? 60 : 3; i > 0; --i) add(random.below(columns));
    }
  }
  return all;
}

/// Some rows for each rank, none for some.
Epetra_Map draw_map(Random& random, int items, const Epetra_Comm& comm) {
  std::vector<int> counts(static_cast<std::size_t>(comm.NumProc()), 0);
  int left = items;
  for (std::size_t rank = 0; rank + 1 < counts.size(); ++rank) {
    counts[rank] = std::min(left, random.below(3) == 0 ? 0 : random.below(2 * items / 3 + 1));
    left -= counts[rank];
  }
  counts.back() = left;
  return {items, counts[static_cast<std::size_t>(comm.MyPID())], 0, comm};
}

/// A matrix, and the arrays of the program that it may lie in.
struct Case {
  Epetra_Map rows, columns;
  std::vector<std::vector<int>> own_columns;
  std::vector<std::vector<double>> own_values;
  std::unique_ptr<Epetra_CrsMatrix> a;
  double* kept = nullptr;  ///< a pointer to values of the rank's row `kept_row`
  int kept_row = 0;
};

std::unique_ptr<Case> make_case(Random& random, const Epetra_Comm& comm, bool square) {
  const int num_rows = 40 + random.below(1500);
  const int num_columns = square ? num_rows : 40 + random.below(1500);
  auto drawn = draw_rows(random, num_rows, num_columns);
  if (square) {
    for (int row = 0; row < num_rows; ++row) drawn[static_cast<std::size_t>(row)][row] = 70.0;
  }
  const auto rows = draw_map(random, num_rows, comm);
  const auto columns = square ? rows : draw_map(random, num_columns, comm);
  auto made = std::make_unique<Case>(Case{rows, columns, {}, {}, nullptr});
  const int kind = random.below(3);
  const auto access = kind == 1 ? View : Copy;
  if (kind == 2) {
    made->a = std::make_unique<Epetra_FECrsMatrix>(Copy, rows, 5);
  } else {
    made->a = std::make_unique<Epetra_CrsMatrix>(access, rows, 0);
  }
  for (int i = 0; i < rows.NumMyElements(); ++i) {
    auto& row_columns = made->own_columns.emplace_back();
    auto& row_values = made->own_values.emplace_back();
    for (const auto& [column, value] : drawn[static_cast<std::size_t>(rows.GID(i))]) {
      row_columns.push_back(column);
      row_values.push_back(value);
    }
    if (row_columns.empty()) continue;
    made->a->InsertGlobalValues(rows.GID(i), static_cast<int>(row_columns.size()),
                                row_values.data(), row_columns.data());
  }
  made->a->FillComplete(columns, rows);
  if (random.below(2) == 0) made->a->OptimizeStorage();
  return made;
}

/// Changes some values in a way that `random` chooses.
const char* change(Random& random, Case& c) {
  auto& a = *c.a;
  const int way = random.below(12);
  const double factor = 1.0 + random.below(3);
  const int rank_rows = a.NumMyRows();
  const int row = random.below(1 << 20) % std::max(rank_rows, 1);
  const double value = random.value();
  double* values = nullptr;
  int* indices = nullptr;
  int count = 0;
  if (rank_rows > 0) a.ExtractMyRowView(row, count, values, indices);
  const std::vector<int> columns(indices, indices + count);
  const std::vector<double> others(columns.size(), value);
  switch (way) {
    case 0:
      a.Scale(factor);
      return "Scale";
    case 1:
      a.PutScalar(value);
      return "PutScalar";
    case 2:
      if (count > 0) a.ReplaceMyValues(row, count, others.data(), columns.data());
      return "ReplaceMyValues";
    case 3:
      if (count > 0) a.SumIntoMyValues(row, count, others.data(), columns.data());
      return "SumIntoMyValues";
    case 4:
      for (int i = 0; i < count; ++i) values[i] += value;
      return "ExtractMyRowView";
    case 5: {
      if (!a.StorageOptimized()) return "nothing";
      int* starts = nullptr;
      a.ExtractCrsDataPointers(starts, indices, values);
      for (int k = 0; k < a.NumMyNonzeros(); k += 7) values[k] -= value;
      return "ExtractCrsDataPointers";
    }
    case 6:
      if (count > 0) a[row][count - 1] = value;
      return "operator[]";
    case 7: {
      Epetra_Vector scale(a.RowMap());
      for (int i = 0; i < scale.MyLength(); ++i) scale[i] = 0.5 + i % 3;
      a.LeftScale(scale);
      return "LeftScale";
    }
    case 8: {
      Epetra_Vector scale(a.DomainMap());
      scale.PutScalar(factor);
      a.RightScale(scale);
      return "RightScale";
    }
    case 9:
      if (c.kept != nullptr) *c.kept = value;
      return "a pointer that was kept";
    case 10:
      c.kept = count > 0 ? values : nullptr;
      return "nothing, but a pointer is kept";
    default:
      return "nothing";
  }
}

/// Sums over ranks.
std::vector<double> add_up(const std::vector<double>& mine, const Epetra_Comm& comm) {
  std::vector<double> all(mine.size());
  comm.SumAll(const_cast<double*>(mine.data()), all.data(), static_cast<int>(mine.size()));
  return all;
}

/// All items of distributed vectors on every rank, one vector after the other.
std::vector<double> gather(const Epetra_MultiVector& x) {
  const auto length = static_cast<std::size_t>(x.GlobalLength());
  std::vector<double> mine(length * static_cast<std::size_t>(x.NumVectors()), 0.0);
  for (int v = 0; v < x.NumVectors(); ++v) {
    for (int i = 0; i < x.MyLength(); ++i) {
      mine[static_cast<std::size_t>(v) * length + static_cast<std::size_t>(x.Map().GID(i))] =
          x[v][i];
    }
  }
  return add_up(mine, x.Comm());
}

/// Products by sums over the rows that Epetra shows; the vectors of x one after the other.
std::vector<double> multiply_plainly(const Epetra_CrsMatrix& a, bool transposed,
                                     const std::vector<double>& x, int vectors) {
  const auto num_rows = static_cast<std::size_t>(a.NumGlobalRows());
  const auto num_columns = static_cast<std::size_t>(a.NumGlobalCols());
  const auto x_length = transposed ? num_rows : num_columns;
  const auto y_length = transposed ? num_columns : num_rows;
  std::vector<double> mine(y_length * static_cast<std::size_t>(vectors), 0.0);
  std::vector<double> values(static_cast<std::size_t>(a.MaxNumEntries()) + 1);
  std::vector<int> columns(values.size());
  for (int i = 0; i < a.NumMyRows(); ++i) {
    int count = 0;
    const int row = a.GRID(i);
    a.ExtractGlobalRowCopy(row, static_cast<int>(values.size()), count, values.data(),
                           columns.data());
    for (int k = 0; k < count; ++k) {
      const auto item = static_cast<std::size_t>(k);
      const auto to = static_cast<std::size_t>(transposed ? columns[item] : row);
      const auto from = static_cast<std::size_t>(transposed ? row : columns[item]);
      for (std::size_t v = 0; v < static_cast<std::size_t>(vectors); ++v) {
        mine[v * y_length + to] += values[item] * x[v * x_length + from];
      }
    }
  }
  return add_up(mine, a.Comm());
}

/// One product, compared; a line with its digits.
void multiply(Random& random, const Case& c, const std::string& after) {
  const bool transposed = random.below(3) == 0;
  const int vectors = random.below(2) == 0 ? 1 : 2 + random.below(6);
  const auto& from = transposed ? c.rows : c.columns;
  const auto& to = transposed ? c.columns : c.rows;
  Epetra_MultiVector x(from, vectors), y(to, vectors);
  for (int v = 0; v < vectors; ++v) {
    for (int i = 0; i < x.MyLength(); ++i) x[v][i] = std::cos(3.0 * v + from.GID(i));
  }
  if (vectors == 1) {
    c.a->Multiply(transposed, *x(0), *y(0));
  } else {
    c.a->Multiply(transposed, x, y);
  }
  double sum = 0;
  const auto right = multiply_plainly(*c.a, transposed, gather(x), vectors);
  const auto found = gather(y);
  for (std::size_t i = 0; i < right.size(); ++i) {
    sum += found[i] * std::sin(static_cast<double>(i));
    if (std::abs(found[i] - right[i]) <= 1e-11 * (1 + std::abs(right[i]))) continue;
    if (is_good) {
      std::printf("after %s: item %zu is %.17g, not %.17g\n", after.c_str(), i, found[i], right[i]);
    }
    is_good = false;
  }
  if (c.rows.Comm().MyPID() == 0) {
    std::printf("%s%s %d: %a\n", after.c_str(), transposed ? ", transposed" : "", vectors, sum);
  }
}

/// Solves with a triangle of each rank, as Ifpack does with its factors: the diagonal of ones is
/// not stored. The right-hand side is made from a solution that is known.
void solve_triangle(Random& random) {
  const Epetra_SerialComm comm;
  const int n = 50 + random.below(800);
  const bool upper = random.below(2) == 0;
  const Epetra_Map map(n, 0, comm);
  Epetra_CrsMatrix t(Copy, map, map, 0);
  const int edge = 3 + random.below(30);
  for (int row = 0; row < n; ++row) {
    for (const int distance : {1, 2, edge}) {
      const int column = upper ? row + distance : row - distance;
      const double value = 0.3 * random.value();
      if (column >= 0 && column < n) t.InsertGlobalValues(row, 1, &value, &column);
    }
  }
  t.FillComplete();
  for (int i = 0; i < 30; ++i) {
    const bool transposed = random.below(3) == 0;
    Epetra_Vector right(map), b(map), x(map);
    for (int k = 0; k < n; ++k) right[k] = std::sin(k + i);
    t.Multiply(transposed, right, b);
    b.Update(1, right, 1);
    t.Solve(upper, transposed, true, b, x);
    double norm = 0;
    x.Update(-1, right, 1);
    x.NormInf(&norm);
    if (norm > 1e-12) {
      if (is_good) std::printf("solve %d with a triangle: an error of %g\n", i, norm);
      is_good = false;
    }
    if (random.below(4) == 0) t[random.below(n / 2) + n / 4][0] = 0.3 * random.value();
  }
}

void solve(Random& random, Case& c) {
  Epetra_Vector x(c.rows), b(c.rows);
  for (int i = 0; i < b.MyLength(); ++i) b[i] = std::sin(c.rows.GID(i));
  Epetra_LinearProblem problem(c.a.get(), &x, &b);
  AztecOO solver(problem);
  const int method = random.below(3);
  solver.SetAztecOption(AZ_solver, method == 0 ? AZ_gmres : method == 1 ? AZ_bicgstab : AZ_tfqmr);
  solver.SetAztecOption(AZ_precond, random.below(2) == 0 ? AZ_Jacobi : AZ_dom_decomp);
  solver.SetAztecOption(AZ_output, AZ_none);
  solver.Iterate(30, 1e-10);
  double norm = 0;
  x.Norm2(&norm);
  if (c.rows.Comm().MyPID() == 0) std::printf("%d iterations: %a\n", solver.NumIters(), norm);
}

void run(unsigned seed) {
  Random random(seed);
  const Epetra_MpiComm comm(MPI_COMM_WORLD);
  std::vector<std::unique_ptr<Case>> cases;
  for (int step = 0; step < 24; ++step) {
    if (cases.size() < 3 || random.below(12) == 0) {
      if (cases.size() >= 3) cases.erase(cases.begin());
      cases.push_back(make_case(random, comm, random.below(2) == 0));
    }
    auto& c = *cases[static_cast<std::size_t>(random.below(static_cast<int>(cases.size())))];
    std::string after = "nothing";
    if (random.below(2) == 0) after = change(random, c);
    for (int i = 1 + random.below(6); i > 0; --i) multiply(random, c, after);
  }
  for (int i = 0; i < 3; ++i) {
    solve_triangle(random);
    auto c = make_case(random, comm, true);
    solve(random, *c);
    change(random, *c);
    if (i > 0) multiply(random, *c, "a solve and a change");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  run(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
  int mine = is_good ? 1 : 0, all = 0, rank = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%s\n", all == 1 ? "all is right" : "WRONG");
  MPI_Finalize();
  return all == 1 ? 0 : 1;
}
