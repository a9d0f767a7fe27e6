// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices whose arrays the program changes in every way that a program has: through
// pointers, by system calls, from another thread, by replacing the memory. Each product has to use
// the present values and structure. Linked with the plug-in before plain_epetra, it needs no
// Trilinos.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

extern "C" {
extern int num_plain_products;
extern int num_plain_solves;
void epetra_dcrsmv_(const int*, const int*, const int*, double*, int*, int*, double*, double*);
void epetra_dcrsmm_(const int*, const int*, const int*, double*, int*, int*, double*, const int*,
                    double*, const int*, const int*);
void epetra_dcrssv_(const int*, const int*, const int*, const int*, const int*, const int*, double*,
                    int*, int*, double*, double*, const int*);
}

namespace {

constexpr int num_rows = 3000;
constexpr int num_items = 5 * num_rows;
int num_wrong = 0;
int num_products = 0;
int num_solves = 0;

/// Memory of its own for an array: private pages, or shared ones.
template <class T>
class Pages {
 public:
  explicit Pages(std::size_t items, int sharing = MAP_PRIVATE, std::size_t offset = 0)
      : bytes_(items * sizeof(T) + offset) {
    start_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    data_ = reinterpret_cast<T*>(static_cast<char*>(start_) + offset);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(start_, bytes_); }
  /// Other memory at the same address, of zeros.
  void replace() {
    mmap(start_, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t bytes_;
  void* start_;
  T* data_;
};

struct Arrays {
  double* values;
  int* columns;
  int* starts;
};

/// A band, with items at -50, -1, 0, 1, 50 around the diagonal, modulo the number of rows.
struct Band {
  explicit Band(int sharing = MAP_PRIVATE, std::size_t offset = 0)
      : values(num_items, sharing, offset), columns(num_items, sharing), starts(num_rows + 1) {
    fill(50);
  }
  void fill(int distance) const {
    std::size_t k = 0;
    for (int row = 0; row < num_rows; ++row) {
      starts[static_cast<std::size_t>(row) + 1] = 5 * (row + 1);
      std::vector<int> of_row;
      for (const int shift : {-distance, -1, 0, 1, distance}) {
        of_row.push_back((row + shift + num_rows) % num_rows);
      }
      std::ranges::sort(of_row);
      for (const int column : of_row) {
        columns[k] = column;
        values[k] = std::sin(static_cast<double>(k));
        ++k;
      }
    }
  }
  operator Arrays() const { return {values.data(), columns.data(), starts.data()}; }
  Pages<double> values;
  Pages<int> columns, starts;
};

void expect_equal(const std::string& what, const std::vector<double>& found,
                  const std::vector<double>& right) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (std::abs(found[i] - right[i]) <= 1e-13 * (1 + std::abs(right[i]))) continue;
    if (++num_wrong < 20) {
      std::printf("%s: item %zu is %.17g, not %.17g\n", what.c_str(), i, found[i], right[i]);
    }
    return;
  }
}

void check(const std::string& what, const Arrays& a, bool transposed = false, int vectors = 1) {
  const int flag = transposed ? 1 : 0;
  const auto n = static_cast<std::size_t>(num_rows);
  const auto count = static_cast<std::size_t>(vectors);
  std::vector<double> x(n * count), y(n * count, NAN), right(n * count, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<double>(i) + num_products);
  for (std::size_t v = 0; v < count; ++v) {
    for (std::size_t row = 0; row < n; ++row) {
      for (int k = a.starts[row]; k < a.starts[row + 1]; ++k) {
        const auto item = static_cast<std::size_t>(k);
        const auto column = static_cast<std::size_t>(a.columns[item]);
        const auto to = transposed ? column : row;
        const auto from = transposed ? row : column;
        right[v * n + to] += a.values[item] * x[v * n + from];
      }
    }
  }
  if (vectors == 1) {
    epetra_dcrsmv_(&flag, &num_rows, &num_rows, a.values, a.columns, a.starts, x.data(), y.data());
  } else {
    epetra_dcrsmm_(&flag, &num_rows, &num_rows, a.values, a.columns, a.starts, x.data(), &num_rows,
                   y.data(), &num_rows, &vectors);
  }
  expect_equal(what, y, right);
  ++num_products;
}

/// Two matrices whose values, or columns, are the same arrays.
void check_sharing() {
  const Band a;
  const Band b;
  const std::vector<int> starts(a.starts.data(), a.starts.data() + num_rows + 1);
  auto other_starts = starts;
  const Arrays same_values{a.values.data(), a.columns.data(), other_starts.data()};
  const Arrays same_columns{b.values.data(), a.columns.data(), a.starts.data()};
  for (std::size_t i = 0; i < 60; ++i) {
    const auto what = "shared arrays " + std::to_string(i);
    if (i % 4 == 1) a.values[50 * i] += 1;
    if (i % 4 == 2) b.values[50 * i] += 1;
    if (i % 20 == 3) a.fill(static_cast<int>(10 + i));
    for (int k = static_cast<int>(i) % 3; k >= 0; --k) check(what, a);
    check(what + ", values", same_values);
    check(what + ", columns", same_columns, i % 5 == 0);
  }
}

/// A triangle without its diagonal of ones.
struct Triangle {
  explicit Triangle(bool is_upper)
      : upper(is_upper), values(3 * num_rows), columns(3 * num_rows), starts(num_rows + 1) {
    fill(50);
  }
  void fill(int distance) const {
    std::size_t k = 0;
    for (int row = 0; row < num_rows; ++row) {
      for (const int shift : {distance, 2, 1}) {
        const int column = upper ? row + distance + 1 - shift : row - shift;
        if (column <= row && upper) continue;
        if (column < 0 || column >= num_rows) continue;
        columns[k] = column;
        values[k] = 0.3 * std::sin(static_cast<double>(k));
        ++k;
      }
      starts[static_cast<std::size_t>(row) + 1] = static_cast<int>(k);
    }
  }
  bool upper;
  Pages<double> values;
  Pages<int> columns, starts;
};

/// The right-hand side is made from a solution that is known.
void check_solve(const std::string& what, const Triangle& t, bool transposed, bool in_place) {
  const int upper = t.upper ? 1 : 0;
  const int turned = transposed ? 1 : 0;
  const int one = 1;
  const int same = in_place ? 1 : 0;
  const auto n = static_cast<std::size_t>(num_rows);
  std::vector<double> right(n);
  for (std::size_t i = 0; i < n; ++i) right[i] = std::cos(static_cast<double>(i) + num_solves);
  auto b = right;
  for (std::size_t row = 0; row < n; ++row) {
    for (int k = t.starts[row]; k < t.starts[row + 1]; ++k) {
      const auto item = static_cast<std::size_t>(k);
      const auto column = static_cast<std::size_t>(t.columns[item]);
      (transposed ? b[column] : b[row]) +=
          t.values[item] * (transposed ? right[row] : right[column]);
    }
  }
  std::vector<double> apart(n, NAN);
  auto& x = in_place ? b : apart;
  epetra_dcrssv_(&upper, &turned, &one, &one, &num_rows, &num_rows, t.values.data(),
                 t.columns.data(), t.starts.data(), b.data(), x.data(), &same);
  ++num_solves;
  expect_equal(what, x, right);
}

void check_solves(bool upper) {
  const Triangle t(upper);
  const std::string which = upper ? "upper triangle" : "lower triangle";
  for (int i = 0; i < 100; ++i) {
    const std::string what = which + " " + std::to_string(i);
    for (int k = 0; k < 6; ++k) check_solve(what, t, k % 3 == 2, k % 2 == 1);
    if (i % 10 == 9) {
      t.fill(40 + i);
    } else {
      t.values[static_cast<std::size_t>(29 * i)] += 0.125;
    }
    check_solve(what + ", changed", t, false, false);
    check_solve(what + ", changed, transposed", t, true, false);
  }
}

struct Change {
  const char* name;
  std::function<void(Band&)> make;
};

void write_from_file(Band& a) {
  char name[] = "/tmp/tailrace_watched_XXXXXX";
  const int file = mkstemp(name);
  const std::vector<double> items(1000, 0.25);
  const auto bytes = items.size() * sizeof(double);
  const bool good = write(file, items.data(), bytes) == static_cast<ssize_t>(bytes) &&
                    pread(file, a.values.data() + 5000, bytes, 0) == static_cast<ssize_t>(bytes);
  if (!good) ++num_wrong;
  close(file);
  unlink(name);
}

std::vector<Change> all_changes() {
  return {
      {"nothing", [](Band&) {}},
      {"first value", [](Band& a) { a.values[0] += 1; }},
      {"last value", [](Band& a) { a.values[num_items - 1] += 1; }},
      {"a value in the middle", [](Band& a) { a.values[num_items / 2] += 1; }},
      {"a value to NaN and back",
       [](Band& a) {
         const double kept = a.values[77];
         a.values[77] = NAN;
         a.values[77] = kept;
       }},
      {"all values",
       [](Band& a) {
         for (std::size_t k = 0; k < num_items; ++k) a.values[k] *= 1.5;
       }},
      {"read(2)", write_from_file},
      {"another thread", [](Band& a) { std::thread([&] { a.values[4321] = 7; }).join(); }},
      {"a column", [](Band& a) { a.fill(40); }},
      {"row starts",
       [](Band& a) {  // an empty row, and one of ten items
         a.starts[200] = a.starts[199];
         for (std::size_t k = 995; k < 1005; ++k) a.columns[k] = static_cast<int>(k);
       }},
      {"other memory at the same address",
       [](Band& a) {
         a.values.replace();
         a.columns.replace();
         a.fill(30);
       }},
      {"memory of zeros that nothing wrote to", [](Band& a) { a.values.replace(); }},
      {"memory that was given back",
       [](Band& a) { madvise(a.values.data(), 8 * 4096, MADV_DONTNEED); }},
  };
}

/// Some products, a change, some products; `before` may be too few for a copy.
void run_changes(Band& a, const std::string& which, int before) {
  for (const auto& change : all_changes()) {
    const auto what = which + ", " + change.name;
    for (int i = 0; i < before; ++i) check(what + ", before", a, i % 4 == 3);
    change.make(a);
    for (int i = 0; i < 3; ++i) check(what, a, i == 1);
    check(what + ", 5 vectors", a, false, 5);
    check(what + ", 3 vectors, transposed", a, true, 3);
  }
}

/// A child of a fork has its own memory, and does not hear of writes.
void check_fork(Band& a) {
  for (int i = 0; i < 12; ++i) check("before the fork", a);
  std::fflush(stdout);
  const auto child = fork();
  if (child == 0) {
    a.values[100] = 3;
    for (int i = 0; i < 6; ++i) check("in the child", a);
    std::fflush(stdout);
    _exit(num_wrong == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) ++num_wrong;
  check("after the fork", a);
  a.values[200] = 5;
  check("after the fork and a change", a);
}

/// Another process writes to memory that both share.
void check_shared() {
  Band a(MAP_SHARED);
  for (int i = 0; i < 12; ++i) check("shared memory", a);
  const auto child = fork();
  if (child == 0) {
    a.values[7000] = 11;
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  check("shared memory that another process wrote to", a);
}

}  // namespace

int main(int argc, char** argv) {
  const bool solves_too = argc > 1 && std::strcmp(argv[1], "replaced") == 0;
  const bool is_replaced = solves_too || (argc > 1 && std::strcmp(argv[1], "products") == 0);
  {
    Band a;
    Band b(MAP_PRIVATE, 24);  // whose pages hold something else before it
    for (const int before : {0, 2, 5, 16}) {
      run_changes(a, "own pages", before);
      run_changes(b, "parts of pages", before);
    }
    for (int i = 0; i < 40; ++i) {  // both at once
      check("one", a);
      check("other", b, i % 2 == 1);
      if (i % 7 == 0) b.values[static_cast<std::size_t>(i)] = i;
    }
    check_fork(a);
  }
  for (int i = 0; i < 80; ++i) {  // more than are kept, at new and at old addresses
    const auto c = std::make_unique<Band>();
    c->values[static_cast<std::size_t>(i)] = i;
    for (int k = 0; k < 8; ++k) check("one of many", *c);
  }
  check_sharing();
  check_solves(false);
  check_solves(true);
  check_shared();  // the last one: matrices at its addresses stay Epetra's
  const int replaced = num_products - num_plain_products;
  if (is_replaced && replaced < 1500) {
    std::printf("only %d products were replaced\n", replaced);
    ++num_wrong;
  }
  const int replaced_solves = num_solves - num_plain_solves;
  if (is_replaced && (replaced_solves > 1000) != solves_too) {
    std::printf("%d of %d solves were replaced\n", replaced_solves, num_solves);
    ++num_wrong;
  }
  if (num_wrong == 0)
    std::printf("%d products, %d solves: all is right\n", num_products, num_solves);
  std::fflush(stdout);
  return num_wrong == 0 ? 0 : 1;
}
