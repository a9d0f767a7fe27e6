// SPDX-License-Identifier: BSD-3-Clause
#include "stored_distributed_factors.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tailrace::lapack {

namespace {

std::vector<std::shared_ptr<StoredDistributedFactors>>& list() {
  static auto& it = *new std::vector<std::shared_ptr<StoredDistributedFactors>>;
  return it;
}
int last = 0;
std::mutex mutex;  // of both: threads may have a grid each

/// Calls visit(local column, its rows that are read) for this rank's.
template <class Visit>
void for_each_column(const dense::BlockCyclic& cyclic, char triangle, Visit visit) {
  const int columns = cyclic.columns.count();
  for (int j = 0; j < columns; ++j) visit(j, dense::rows_read(cyclic, triangle, j));
}

/// What items of the factors of scale * A are divided by for the program: of local column `j`,
/// those of local rows before `end` by one number, the others by another.
struct Divisors {
  int end;
  double upper, lower;

  Divisors(const StoredDistributedFactors& kept, int j)
      : end(kept.cyclic.rows.count_before(kept.cyclic.columns.global(j) + 1)),
        upper(kept.triangle == 'A' ? kept.factors.scale : std::sqrt(kept.factors.scale)),
        lower(kept.triangle == 'A' ? 1 : upper) {}
};

/// An item of the factors as the program gets it.
double item_of(const StoredDistributedFactors& kept, const Divisors& divisors, int i, int j) {
  const auto at = static_cast<std::size_t>(i) +
                  static_cast<std::size_t>(j) * static_cast<std::size_t>(kept.cyclic.dense_ld());
  const auto item = static_cast<double>(kept.factors.values[at]);
  return item / (i < divisors.end ? divisors.upper : divisors.lower);
}

std::uint64_t checksum(const dense::BlockCyclic& cyclic, char triangle, const double* a, int lda) {
  std::uint64_t sum = 0;
  for_each_column(cyclic, triangle, [&](int j, dense::RowRange rows) {
    const auto* const start = a + rows.first + static_cast<std::ptrdiff_t>(j) * lda;
    const auto count = static_cast<std::size_t>(std::max(0, rows.end - rows.first));
    sum = XXH3_64bits_withSeed(start, count * sizeof(double), sum);
  });
  return sum;
}

bool same_places(const dense::BlockCyclicAxis& a, const dense::BlockCyclicAxis& b) {
  return a.extent == b.extent && a.block == b.block && a.distance() == b.distance() &&
         a.places == b.places;
}

std::size_t bytes_of(const dense::BlockCyclic& cyclic) {
  return cyclic.num_items() * (sizeof(double) + sizeof(float));
}

/// Whether some items are still ours. The array may be gone, so the system reads it.
bool seems_alive(const StoredDistributedFactors& kept) {
  constexpr int samples = 64;
  const int columns = kept.cyclic.columns.count();
  for (int k = 0; k < std::min(samples, columns); ++k) {
    const int j =
        static_cast<int>(static_cast<std::int64_t>(k) * columns / std::min(samples, columns));
    const auto rows = dense::rows_read(kept.cyclic, kept.triangle, j);
    if (rows.first >= rows.end) continue;
    const int i = rows.first + k * 7919 % (rows.end - rows.first);
    double found = 0;
    iovec to{&found, sizeof found};
    iovec from{kept.a + i + static_cast<std::ptrdiff_t>(j) * kept.lda, sizeof found};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof found) return false;
    if (found != item_of(kept, Divisors(kept, j), i, j)) return false;
  }
  return true;
}

}  // namespace

StoredDistributedFactors::StoredDistributedFactors(const dense::DistributedSystem& system,
                                                   double* factors_in)
    : a(factors_in),
      lda(system.lda),
      triangle(system.triangle),
      cyclic(system.a),
      factors(system.a, system.triangle),
      matrix(std::make_unique_for_overwrite<double[]>(system.a.num_items())) {}

bool has_room(const dense::BlockCyclic& a) {
  const std::scoped_lock lock(mutex);
  std::erase_if(list(), [](const auto& one) { return !seems_alive(*one); });
  std::size_t bytes = bytes_of(a);
  for (const auto& one : list()) bytes += bytes_of(one->cyclic);
  const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto ranks =
      static_cast<std::size_t>(a.rows.places) * static_cast<std::size_t>(a.columns.places);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return bytes * std::min(ranks, cores) <= memory / 4;
}

std::shared_ptr<StoredDistributedFactors> keep(const dense::DistributedSystem& system, double* a) {
  auto kept = std::make_shared<StoredDistributedFactors>(system, a);
  const std::scoped_lock lock(mutex);
  list().reserve(list().size() + 1);
  return kept;
}

void give(const std::shared_ptr<StoredDistributedFactors>& kept, int* pivots) {
  const auto ld = static_cast<std::ptrdiff_t>(kept->cyclic.dense_ld());
  for_each_column(kept->cyclic, kept->triangle, [&](int j, dense::RowRange rows) {
    double* const column = kept->a + static_cast<std::ptrdiff_t>(j) * kept->lda;
    std::copy(column + rows.first, column + rows.end, kept->matrix.get() + rows.first + j * ld);
    const Divisors divisors(*kept, j);
    for (int i = rows.first; i < rows.end; ++i) column[i] = item_of(*kept, divisors, i, j);
  });
  if (kept->triangle == 'A') {
    std::copy_n(kept->factors.pivots.data(), kept->cyclic.rows.count(), pivots);
  }
  kept->checksum = checksum(kept->cyclic, kept->triangle, kept->a, kept->lda);
  const std::scoped_lock lock(mutex);
  last = kept->number;
  list().push_back(kept);
}

int find_number(const dense::BlockCyclic& cyclic, char triangle, const double* a, int lda,
                const int* pivots, int bound) {
  int found = 0;
  const std::scoped_lock lock(mutex);
  for (const auto& one : list()) {
    if (one->number <= found || one->number > bound || one->triangle != triangle ||
        !same_places(one->cyclic.rows, cyclic.rows) ||
        !same_places(one->cyclic.columns, cyclic.columns)) {
      continue;
    }
    const auto& ours = one->factors.pivots;
    if (triangle == 'A' && !std::equal(ours.begin(), ours.begin() + cyclic.rows.count(), pivots)) {
      continue;
    }
    if (checksum(cyclic, triangle, a, lda) == one->checksum) found = one->number;
  }
  return found;
}

std::shared_ptr<StoredDistributedFactors> kept_of(int number) {
  const std::scoped_lock lock(mutex);
  for (const auto& one : list()) {
    if (one->number == number) return one;
  }
  return nullptr;
}

int last_number() {
  const std::scoped_lock lock(mutex);
  return last;
}

void write_matrix(const StoredDistributedFactors& kept, double* a, int lda) {
  const auto ld = static_cast<std::ptrdiff_t>(kept.cyclic.dense_ld());
  for_each_column(kept.cyclic, kept.triangle, [&](int j, dense::RowRange rows) {
    const double* const from = kept.matrix.get() + j * ld;
    std::copy(from + rows.first, from + rows.end,
              a + rows.first + static_cast<std::ptrdiff_t>(j) * lda);
  });
}

void forget(const double* a) {
  const std::scoped_lock lock(mutex);
  std::erase_if(list(), [&](const auto& one) { return one->a == a; });
}

}  // namespace tailrace::lapack
