// SPDX-License-Identifier: BSD-3-Clause
#include "stored_distributed_factors.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

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

/// Of the factors in an array with leading dimension `lda`.
std::uint64_t checksum(const dense::DistributedLowFactors& low, const double* a, int lda) {
  std::uint64_t sum = 0;
  for (int j = 0; j < low.num_columns(); ++j) {
    const auto [first, end] = low.rows(j);
    const auto count = static_cast<std::size_t>(std::max(0, end - first));
    sum = XXH3_64bits_withSeed(a + first + static_cast<std::ptrdiff_t>(j) * lda,
                               count * sizeof(double), sum);
  }
  return sum;
}

std::size_t bytes_of(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) *
         (sizeof(double) + sizeof(float));
}

/// Whether some items are still ours. The array may be gone, so the system reads it.
bool seems_alive(const StoredDistributedFactors& kept) {
  constexpr int samples = 64;
  const int columns = kept.low.num_columns();
  for (int k = 0; k < std::min(samples, columns); ++k) {
    const int j =
        static_cast<int>(static_cast<std::int64_t>(k) * columns / std::min(samples, columns));
    const auto [first, end] = kept.low.rows(j);
    if (first >= end) continue;
    const int i = first + k * 7919 % (end - first);
    double found = 0;
    iovec to{&found, sizeof found};
    iovec from{kept.a + i + static_cast<std::ptrdiff_t>(j) * kept.lda, sizeof found};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof found) return false;
    if (found != kept.low.item(i, j)) return false;
  }
  return true;
}

}  // namespace

bool has_room(int n, const int* descriptor, const std::array<int, 2>& grid) {
  const std::scoped_lock lock(mutex);
  std::erase_if(list(), [](const auto& one) { return !seems_alive(*one); });
  const auto own = dense::local_extents(descriptor, n, n);
  std::size_t bytes = bytes_of(own[0], own[1]);
  for (const auto& one : list()) bytes += one->bytes;
  const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto ranks = static_cast<std::size_t>(grid[0]) * static_cast<std::size_t>(grid[1]);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return bytes * std::min(ranks, cores) <= memory / 4;
}

std::shared_ptr<StoredDistributedFactors> keep(char triangle, int n, double* a,
                                               const int* descriptor) {
  auto kept = std::make_shared<StoredDistributedFactors>(triangle, n, a, descriptor);
  const auto own = dense::local_extents(descriptor, n, n);
  kept->bytes = bytes_of(own[0], own[1]);
  const std::scoped_lock lock(mutex);
  list().reserve(list().size() + 1);
  return kept;
}

void give(const std::shared_ptr<StoredDistributedFactors>& kept, int* pivots) {
  kept->low.exchange(kept->a, pivots);
  kept->checksum = checksum(kept->low, kept->a, kept->lda);
  const std::scoped_lock lock(mutex);
  last = kept->number;
  list().push_back(kept);
}

int find_number(char triangle, int n, const double* a, const int* descriptor, const int* pivots,
                int bound) {
  int found = 0;
  const std::scoped_lock lock(mutex);
  for (const auto& one : list()) {
    if (one->number <= found || one->number > bound ||
        !one->low.has_shape(triangle, n, descriptor)) {
      continue;
    }
    const auto ours = one->low.pivots();
    if (!std::equal(ours.begin(), ours.end(), pivots)) continue;
    if (checksum(one->low, a, descriptor[8]) == one->checksum) found = one->number;
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

void forget(const double* a) {
  const std::scoped_lock lock(mutex);
  std::erase_if(list(), [&](const auto& one) { return one->a == a; });
}

}  // namespace tailrace::lapack
