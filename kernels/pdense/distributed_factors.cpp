// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/distributed_factors.hpp"

#include <algorithm>
#include <cmath>

#include "pdense/refine.hpp"

namespace tailrace::dense {

namespace {

bool same_places(const BlockCyclicAxis& a, const BlockCyclicAxis& b) {
  return a.extent == b.extent && a.block == b.block && a.distance() == b.distance() &&
         a.places == b.places;
}

/// What items of the factors of scale * A are divided by for the program: of a local column, those
/// of local rows before `end` by one number, the others by another.
struct Divisors {
  int end;
  double upper, lower;

  Divisors(const BlockCyclic& cyclic, char triangle, double scale, int column)
      : end(cyclic.rows.count_before(cyclic.columns.global(column) + 1)),
        upper(triangle == 'A' ? scale : std::sqrt(scale)),
        lower(triangle == 'A' ? 1 : upper) {}
  double of(int row) const { return row < end ? upper : lower; }
};

/// Writes x, without gaps, to the caller's B.
template <class S>
void write_answer(const DistributedSystem<S>& system, const std::vector<S>& x, S* b) {
  const int columns = system.b.columns.count();
  for (int j = 0; j < columns; ++j) {
    std::copy_n(x.data() + static_cast<std::ptrdiff_t>(j) * system.b.dense_ld(),
                system.b.rows.count(), b + static_cast<std::ptrdiff_t>(j) * system.ldb);
  }
}

}  // namespace

template <class S>
struct DistributedLowFactors<S>::Impl {
  char triangle;
  BlockCyclic cyclic;
  int lda;  ///< of the array that the factors were written to
  DistributedFactors<S> factors;
  std::unique_ptr<S[]> matrix;  ///< without gaps
  DistributedNorms norms{};
  // Of the next solve:
  DistributedSystem<S> system{};
  std::unique_ptr<DistributedWork<S>> work{};

  int n() const { return cyclic.rows.extent; }
  RowRange rows(int column) const { return rows_read(cyclic, triangle, column); }
  /// An item of the factors of scale * A.
  S item(int i, int j) const {
    const auto at = static_cast<std::size_t>(i) +
                    static_cast<std::size_t>(j) * static_cast<std::size_t>(cyclic.dense_ld());
    return widened(factors.values[at]);
  }
};

std::array<int, 2> local_extents(const int* descriptor, int rows, int columns) {
  const auto cyclic = block_cyclic_of(descriptor, rows, columns);
  return {cyclic.rows.count(), cyclic.columns.count()};
}

template <class S>
DistributedLowFactors<S>::DistributedLowFactors(char triangle, int n, const int* descriptor) {
  const auto cyclic = block_cyclic_of(descriptor, n, n);
  impl_.reset(new Impl{triangle, cyclic, descriptor[8], DistributedFactors<S>(cyclic, triangle),
                       std::make_unique_for_overwrite<S[]>(cyclic.num_items())});
}
template <class S>
DistributedLowFactors<S>::~DistributedLowFactors() = default;

template <class S>
void DistributedLowFactors<S>::prepare(const int* a, int nrhs, const int* b) {
  const int n = impl_->n();
  impl_->system = {impl_->triangle,
                   block_cyclic_of(a, n, n),
                   block_cyclic_of(b, n, nrhs),
                   nullptr,
                   a[8],
                   nullptr,
                   b[8]};
  impl_->work = std::make_unique<DistributedWork<S>>(impl_->system);
}

template <class S>
Certificate DistributedLowFactors<S>::solve(const S* a, S* b, int max_steps) {
  const auto work = std::move(impl_->work);
  auto& system = impl_->system;
  system.a_items = a;
  system.b_items = b;
  impl_->norms = norms_of(system, *work);
  Certificate certificate;
  certificate.rung = Rung::fp32;
  certificate.info = -1;
  if (!impl_->norms.usable()) return certificate;
  certificate = solve_low(system, impl_->norms, impl_->factors, max_steps, *work);
  if (certificate.info == 0) write_answer(system, work->x, b);
  return certificate;
}

template <class S>
void DistributedLowFactors<S>::exchange(S* a, int* pivots) {
  const auto& cyclic = impl_->cyclic;
  const auto ld = static_cast<std::ptrdiff_t>(cyclic.dense_ld());
  for (int j = 0; j < cyclic.columns.count(); ++j) {
    const auto rows = impl_->rows(j);
    S* const column = a + static_cast<std::ptrdiff_t>(j) * impl_->lda;
    std::copy(column + rows.first, column + rows.end, impl_->matrix.get() + rows.first + j * ld);
    const Divisors divisors(cyclic, impl_->triangle, impl_->factors.scale, j);
    for (int i = rows.first; i < rows.end; ++i) column[i] = impl_->item(i, j) / divisors.of(i);
  }
  std::ranges::copy(this->pivots(), pivots);
}

template <class S>
bool DistributedLowFactors<S>::solve_again(S* b, int max_steps) {
  const auto work = std::move(impl_->work);
  auto& system = impl_->system;
  system.a_items = impl_->matrix.get();
  system.lda = impl_->cyclic.dense_ld();
  system.b_items = b;
  const auto refined = refine(system, impl_->norms, impl_->factors, max_steps, *work);
  if (refined.why_not != nullptr) return false;
  write_answer(system, work->x, b);
  return true;
}

template <class S>
void DistributedLowFactors<S>::write_matrix(S* a, int lda) const {
  const auto ld = static_cast<std::ptrdiff_t>(impl_->cyclic.dense_ld());
  for (int j = 0; j < num_columns(); ++j) {
    const auto rows = impl_->rows(j);
    const S* const from = impl_->matrix.get() + j * ld;
    std::copy(from + rows.first, from + rows.end,
              a + rows.first + static_cast<std::ptrdiff_t>(j) * lda);
  }
}

template <class S>
bool DistributedLowFactors<S>::has_shape(char triangle, int n, const int* descriptor) const {
  const auto cyclic = block_cyclic_of(descriptor, n, n);
  return triangle == impl_->triangle && same_places(cyclic.rows, impl_->cyclic.rows) &&
         same_places(cyclic.columns, impl_->cyclic.columns);
}

template <class S>
int DistributedLowFactors<S>::num_columns() const {
  return impl_->cyclic.columns.count();
}

template <class S>
std::array<int, 2> DistributedLowFactors<S>::rows(int column) const {
  const auto range = impl_->rows(column);
  return {range.first, range.end};
}

template <class S>
S DistributedLowFactors<S>::item(int row, int column) const {
  const Divisors divisors(impl_->cyclic, impl_->triangle, impl_->factors.scale, column);
  return impl_->item(row, column) / divisors.of(row);
}

template <class S>
std::span<const int> DistributedLowFactors<S>::pivots() const {
  const std::span<const int> all(impl_->factors.pivots);
  return all.first(all.empty() ? 0 : static_cast<std::size_t>(impl_->cyclic.rows.count()));
}

template class DistributedLowFactors<double>;
template class DistributedLowFactors<Complex>;

}  // namespace tailrace::dense
