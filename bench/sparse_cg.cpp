// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients end to end, from the arrays of a matrix to x: by tailrace::krylov and by the
// peers that were found, in turn, on one rank, in CPU time of the thread. The matrices are those of
// the other drivers with symmetric structure, made symmetric and positive definite.
#include <array>

#include "mpi_driver.hpp"
#include "sparse_other.hpp"
#include "tailrace/krylov.hpp"

namespace {

/// Off the diagonal -|noise| of the pair of places, on it a little more than their sum.
void make_definite(bench::SparseMatrix& a) {
  for (int row = 0; row < a.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    double sum = 0;
    std::size_t diagonal = 0;
    for (auto k = a.row_starts[at]; k < a.row_starts[at + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      const auto low = static_cast<std::size_t>(std::min(row, a.columns[item]));
      const auto high = static_cast<std::size_t>(std::max(row, a.columns[item]));
      if (low == high) {
        diagonal = item;
        continue;
      }
      a.values[item] = -std::abs(bench::noise(low * 4294967291U + high));
      sum -= a.values[item];
    }
    a.values[diagonal] = 1.0001 * sum;
  }
}

bench::SparseSolver ours(const bench::SparseMatrix& a, const std::string& preconditioner,
                         const tailrace::Comm& comm) {
  return {"tailrace", [&a, preconditioner, &comm](const double* b, double* x) {
            using namespace tailrace;
            const auto n = static_cast<std::size_t>(a.rows);
            const std::array extents{static_cast<std::ptrdiff_t>(a.rows)};
            const std::vector<std::int64_t> starts(a.row_starts.begin(), a.row_starts.end());
            const std::vector<std::int64_t> columns(a.columns.begin(), a.columns.end());
            sparse::DistMatrix matrix(comm, slabs(extents, 0, 1), 1, starts, columns, a.values);
            const auto m = sparse::make_preconditioner(matrix, preconditioner);
            sparse::KrylovSolver solver(matrix, *m,
                                        {.method = "cg",
                                         .relative_tolerance = bench::sparse_tolerance,
                                         .max_iterations = 10000});
            return solver.solve({b, n}, {x, n}).iterations;
          }};
}

double residual(const bench::SparseMatrix& a, const std::vector<double>& b,
                const std::vector<double>& x) {
  double left = 0;
  double given = 0;
  for (std::size_t row = 0; row < b.size(); ++row) {
    double sum = b[row];
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      sum -= a.values[item] * x[static_cast<std::size_t>(a.columns[item])];
    }
    left += sum * sum;
    given += b[row] * b[row];
  }
  return std::sqrt(left / given);
}

void run(const bench::MpiProgram&, const bench::Arguments& args) {
  const std::string name = args.text("matrix", "stencil7");
  const std::string preconditioner = args.text("preconditioner", "jacobi");
  auto a = bench::make_sparse_matrix(name, args.number("n", 100));
  make_definite(a);
  const tailrace::Comm comm(MPI_COMM_SELF);
  std::vector<bench::SparseSolver> solvers{ours(a, preconditioner, comm)};
#ifdef BENCH_HAVE_EIGEN
  solvers.push_back(bench::sparse_eigen_cg(a, preconditioner));
#endif
#ifdef BENCH_HAVE_PETSC
  solvers.push_back(bench::sparse_petsc_cg(a, preconditioner));
#endif
  std::vector<double> b(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = bench::noise(i);
  std::vector<std::vector<double>> seconds(solvers.size());
  std::vector<double> residuals(solvers.size());
  std::vector<int> iterations(solvers.size());
  std::vector<double> x(b.size());
  for (int repeat = 0; repeat < args.number("repeats", 3); ++repeat) {
    for (std::size_t i = 0; i < solvers.size(); ++i) {
      std::fill(x.begin(), x.end(), 0.0);
      const double start = bench::cpu_s(CLOCK_THREAD_CPUTIME_ID);
      iterations[i] = solvers[i].solve(b.data(), x.data());
      seconds[i].push_back(bench::cpu_s(CLOCK_THREAD_CPUTIME_ID) - start);
      residuals[i] = residual(a, b, x);
    }
  }
  for (std::size_t i = 0; i < solvers.size(); ++i) {
    bench::JsonLine line;
    line.text("entry", solvers[i].entry).text("matrix", name).numbers("seconds", seconds[i]);
    line.flag("ours", i == 0).flag("reference", i + 1 == solvers.size());
    line.text("preconditioner", preconditioner).number("iterations", iterations[i]);
    line.number("error", residuals[i]).number("tolerance", 1.5 * bench::sparse_tolerance).print();
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run_program("bench_sparse_cg", argc, argv, run); }
