// SPDX-License-Identifier: BSD-3-Clause
// y = A x by sparse::Matrix, by plain CSR and by the peers that were found, in turn, for one
// matrix. Times are CPU time of the thread, as the machine may be shared. "read" is the limit of
// any CSR: as many bytes as it has, added up.
#include <deque>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "driver.hpp"
#include "sparse_comparison.hpp"
#include "tailrace/sparse.hpp"

namespace {

tailrace::sparse::Matrix make_ours(const bench::SparseMatrix& a, const std::string& format,
                                   bool bit_for_bit) {
  tailrace::sparse::MatrixOptions options;
  options.format = format;
  options.bit_for_bit = bit_for_bit;
  return {a.rows, std::span<const std::int32_t>(a.row_starts),
          std::span<const std::int32_t>(a.columns), a.values, options};
}

/// A^T as a matrix of its own.
bench::SparseMatrix turned(const bench::SparseMatrix& a) {
  auto t = a;
  std::fill(t.row_starts.begin(), t.row_starts.end(), 0);
  for (const auto column : a.columns) ++t.row_starts[static_cast<std::size_t>(column) + 1];
  std::partial_sum(t.row_starts.begin(), t.row_starts.end(), t.row_starts.begin());
  auto next = t.row_starts;
  for (int row = 0; row < a.rows; ++row) {
    const auto place = static_cast<std::size_t>(row);
    for (auto k = a.row_starts[place]; k < a.row_starts[place + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(a.columns[at])]++);
      t.columns[to] = row;
      t.values[to] = a.values[at];
    }
  }
  return t;
}

bench::SparsePeer ours_transposed(const tailrace::sparse::Matrix& matrix) {
  return {"tailrace, transposed", [&matrix](const double* x, double* y) {
            matrix.multiply_transposed({x, static_cast<std::size_t>(matrix.rows())},
                                       {y, static_cast<std::size_t>(matrix.columns())});
          }};
}

bench::SparsePeer ours(const std::string& entry, const tailrace::sparse::Matrix& matrix) {
  return {entry, [&matrix](const double* x, double* y) {
            matrix.multiply({x, static_cast<std::size_t>(matrix.columns())},
                            {y, static_cast<std::size_t>(matrix.rows())});
          }};
}

/// Reads 12 bytes an item and 8 a row, as doubles.
bench::SparsePeer read_bytes(const bench::SparseMatrix& a) {
  const std::vector<double> data(a.values.size() * 3 / 2 + static_cast<std::size_t>(a.rows), 1.0);
  return {"read", [data](const double*, double* y) {
            double sums[32] = {};
            for (std::size_t i = 0; i + 32 <= data.size(); i += 32) {
              for (std::size_t j = 0; j < 32; j += 8) __builtin_prefetch(data.data() + i + j + 256);
              for (std::size_t j = 0; j < 32; ++j) sums[j] += data[i + j];
            }
            y[0] = std::accumulate(sums, sums + 32, 0.0);
          }};
}

/// The largest difference from plain loops, in sizes of each row's terms.
double error_of(const bench::SparseMatrix& a, const std::vector<double>& x,
                const std::vector<double>& y) {
  double worst = 0;
  for (std::size_t row = 0; row < y.size(); ++row) {
    double sum = 0;
    double size = 0;
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double term = a.values[at] * x[static_cast<std::size_t>(a.columns[at])];
      sum += term;
      size += std::abs(term);
    }
    if (size > 0) worst = std::max(worst, std::abs(y[row] - sum) / size);
  }
  return worst;
}

#ifdef BENCH_HAVE_PETSC
/// Unknowns a point, for formats of blocks.
int block_of(const std::string& name) { return name == "blocks15" ? 15 : (name == "fem3" ? 3 : 1); }
#endif

/// Bytes that one multiply moves at least, each once: the storage's and both vectors'; what "read"
/// reads; of other entries those of CSR with 32-bit indices, or 0 where the storage is another.
double bytes_moved(const bench::SparseMatrix& a, const tailrace::sparse::Matrix& matrix,
                   const std::string& entry) {
  const auto rows = static_cast<double>(a.rows);
  const auto csr = 12 * static_cast<double>(a.values.size()) + 4 * rows;
  if (entry == "read") return csr + 4 * rows;
  if (entry == "tailrace") return static_cast<double>(matrix.memory_bytes()) + 16 * rows;
  const bool known = entry == "plain CSR" || entry == "Eigen" || entry == "PETSc AIJ";
  return known ? csr + 16 * rows : 0;
}

/// What is told of our own row only.
void tell_storage(const tailrace::sparse::Matrix& matrix, double seconds, bench::JsonLine& line) {
  const auto bytes = static_cast<double>(matrix.memory_bytes());
  line.text("storage", matrix.storage()).number("storage_bytes", bytes);
  line.number("bytes_per_item", bytes / static_cast<double>(matrix.num_items()));
  const auto vectors = static_cast<double>(8 * (matrix.rows() + matrix.columns()));
  line.number("bytes_per_s", (bytes + vectors) / seconds);
}

/// Every format of ours that can hold the matrix, but the one that was chosen.
std::vector<bench::SparseRow> every_format(const bench::SparseMatrix& a, const std::string& chosen,
                                           std::deque<tailrace::sparse::Matrix>& kept) {
  std::vector<bench::SparseRow> rows;
  for (const auto& format : tailrace::sparse::formats()) {
    if (format.name == "csr" || chosen.starts_with(format.name + ",")) continue;  // are there
    try {
      kept.push_back(make_ours(a, format.name, false));
    } catch (const std::invalid_argument&) {
      continue;  // says that it cannot
    }
    rows.push_back(bench::SparseRow{ours("tailrace, " + format.name, kept.back())});
  }
  return rows;
}

/// Rows and items (64 bits), then row starts, columns (32 bits) and values, for peers that are
/// programs of their own.
void save(const bench::SparseMatrix& a, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](const auto* items, std::size_t count) {
    file.write(reinterpret_cast<const char*>(items),
               static_cast<std::streamsize>(count * sizeof(*items)));
  };
  const std::int64_t sizes[] = {a.rows, static_cast<std::int64_t>(a.values.size())};
  put(sizes, 2);
  put(a.row_starts.data(), a.row_starts.size());
  put(a.columns.data(), a.columns.size());
  put(a.values.data(), a.values.size());
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void print_trials(const tailrace::sparse::Matrix& matrix) {
  for (const auto& trial : matrix.trials()) {
    std::fprintf(stderr, "%-44s %9.3f ms, conversion %9.3f ms, %8.2f MB\n", trial.storage.c_str(),
                 1e3 * trial.multiply_s, 1e3 * trial.conversion_s,
                 1e-6 * static_cast<double>(trial.memory_bytes));
  }
}

/// `--transposed 1`: y = A^T x from A's storage, by plain CSR, and from
/// a stored transpose.
void bench_transposed(const bench::SparseMatrix& a, const tailrace::sparse::Matrix& matrix,
                      const std::string& name, int repeats) {
  const auto t = turned(a);
  const auto stored = make_ours(t, "auto", false);
  const auto plain = make_ours(a, "csr", true);
  auto plain_peer = ours_transposed(plain);
  plain_peer.entry = "plain CSR, transposed";
  std::vector<bench::SparseRow> rows{bench::SparseRow{ours_transposed(matrix)},
                                     bench::SparseRow{plain_peer},
                                     bench::SparseRow{ours("stored transpose", stored)}};
  bench::measure(a.rows, repeats, rows);
  for (const auto& row : rows) {
    bench::JsonLine line;
    line.text("entry", row.peer.entry).text("matrix", name).numbers("seconds", row.seconds);
    line.text("storage", matrix.storage()).text("transpose", stored.storage());
    line.number("error", error_of(t, row.x, row.y)).print();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments args(argc, argv);
  const std::string name = args.text("matrix", "stencil7");
  const auto a = bench::make_sparse_matrix(name, args.number("n", 100));
  if (const auto path = args.text("save", ""); !path.empty()) {
    save(a, path);
    return 0;
  }
  const double start = bench::cpu_s(CLOCK_THREAD_CPUTIME_ID);
  const auto matrix = make_ours(a, args.text("format", "auto"), args.number("bit-for-bit", 0) != 0);
  const double inspection_s = bench::cpu_s(CLOCK_THREAD_CPUTIME_ID) - start;
  if (args.number("transposed", 0) != 0) {
    bench_transposed(a, matrix, name, args.number("repeats", 10));
    return 0;
  }
  const auto plain = make_ours(a, "csr", true);
  std::vector<bench::SparseRow> rows{bench::SparseRow{ours("tailrace", matrix)},
                                     bench::SparseRow{ours("plain CSR", plain)}};
#ifdef BENCH_HAVE_EIGEN
  rows.push_back(bench::SparseRow{bench::sparse_eigen(a)});
#endif
#ifdef BENCH_HAVE_PETSC
  rows.push_back(bench::SparseRow{bench::sparse_petsc(a)});
#endif
  const std::string reference = rows.back().peer.entry;
  std::deque<tailrace::sparse::Matrix> kept;
  if (args.number("all", 0) != 0) {
    for (auto& row : every_format(a, matrix.storage(), kept)) rows.push_back(std::move(row));
#ifdef BENCH_HAVE_PETSC
    for (auto& peer : bench::sparse_petsc_types(a, block_of(name))) {
      rows.push_back(bench::SparseRow{peer});
    }
#endif
  }
  for (auto& peer : bench::sparse_mkl(args.text("mkl", ""), a)) {
    rows.push_back(bench::SparseRow{peer});
  }
  double best_s = HUGE_VAL;
  rows.push_back(bench::SparseRow{read_bytes(a)});
  bench::measure(a.rows, args.number("repeats", 10), rows);
  for (auto& row : rows) {
    if (row.peer.entry == "read") continue;
    row.error = error_of(a, row.x, row.y);
    best_s = std::min(best_s, bench::median(row.seconds));
  }
  for (const auto& row : rows) {
    bench::JsonLine line;
    line.text("entry", row.peer.entry).text("matrix", name).numbers("seconds", row.seconds);
    line.flag("ours", &row == &rows.front()).flag("reference", row.peer.entry == reference);
    line.number("items", static_cast<double>(a.values.size())).number("error", row.error);
    line.number("bytes_moved", bytes_moved(a, matrix, row.peer.entry));
    if (&row == &rows.front()) {
      tell_storage(matrix, bench::median(row.seconds), line);
      line.number("of_best", bench::median(row.seconds) / best_s);
      line.number("inspection_multiplies", inspection_s / bench::median(rows[1].seconds));
    }
    line.print();
  }
  if (args.number("trials", 0) != 0) print_trials(matrix);
  return 0;
}
