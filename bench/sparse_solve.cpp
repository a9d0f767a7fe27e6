// SPDX-License-Identifier: BSD-3-Clause
// x = U^-1 L^-1 b with the factors of ILU(0): IncompleteLu in double and in single precision, row
// after row, and PETSc's MatSolve where it was found, in turn. CPU time of the thread.
#include "sparse_comparison.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace {

/// The diagonal becomes larger than the rest of its row, so that factors stay of moderate size.
void make_dominant(bench::SparseMatrix& a) {
  for (int row = 0; row < a.rows; ++row) {
    double size = 1;
    std::size_t diagonal = 0;
    const auto at = static_cast<std::size_t>(row);
    for (auto k = a.row_starts[at]; k < a.row_starts[at + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      size += std::abs(a.values[item]);
      if (a.columns[item] == row) diagonal = item;
    }
    a.values[diagonal] = size;
  }
}

tailrace::sparse::IncompleteLu make_ours(const bench::SparseMatrix& a, const std::string& schedule,
                                         bool single) {
  tailrace::sparse::IncompleteLuOptions options;
  options.schedule = schedule;
  options.single_precision = single;
  return {std::span<const std::int32_t>(a.row_starts), std::span<const std::int32_t>(a.columns),
          a.values, options};
}

bench::SparseRow ours(const std::string& entry, const tailrace::sparse::IncompleteLu& lu) {
  const auto n = static_cast<std::size_t>(lu.rows());
  return bench::SparseRow{{entry, [&lu, n](const double* b, double* x) {
                             lu.solve({b, n}, {x, n});
                           }}};
}

double difference(const std::vector<double>& x, const std::vector<double>& reference) {
  double largest = 0;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(reference[i]));
    worst = std::max(worst, std::abs(x[i] - reference[i]));
  }
  return worst / largest;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const std::string name = args.text("matrix", "stencil7");
  auto a = bench::make_sparse_matrix(name, args.number("n", 100));
  make_dominant(a);
  const auto chosen = make_ours(a, args.text("schedule", "auto"), false);
  const auto single = make_ours(a, args.text("schedule", "auto"), true);
  const auto plain = make_ours(a, "rows", false);
  std::vector<bench::SparseRow> rows{ours("tailrace", chosen), ours("tailrace, fp32", single),
                                     ours("plain rows", plain)};
#ifdef BENCH_HAVE_PETSC
  rows.push_back(bench::SparseRow{bench::sparse_petsc_ilu(a)});
#endif
  const std::string reference = rows.back().peer.entry;
  bench::measure(a.rows, args.number("repeats", 10), rows);
  for (const auto& row : rows) {
    bench::JsonLine line;
    const bool is_ours = row.peer.entry.starts_with("tailrace");
    line.text("entry", row.peer.entry).text("matrix", name).numbers("seconds", row.seconds);
    line.flag("ours", is_ours).flag("reference", row.peer.entry == reference);
    line.number("items", static_cast<double>(a.values.size()));
    const bool is_single = row.peer.entry == "tailrace, fp32";
    line.number(is_single ? "rounding" : "error", difference(row.y, rows[2].y));
    if (is_ours) {
      const auto& lu = is_single ? single : chosen;
      line.text("storage", lu.storage()).number("levels", static_cast<double>(lu.num_levels()));
      line.number("storage_bytes", static_cast<double>(lu.memory_bytes()));
    }
    line.print();
  }
  return 0;
}
