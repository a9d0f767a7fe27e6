// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "dense/ladder.hpp"
#include "dense/matrix.hpp"
#include "dense/refine.hpp"
#include "tailrace/more/dense_factors.hpp"

namespace tailrace::dense {

template <class S>
struct LowFactors<S>::Impl {
  char triangle;
  std::ptrdiff_t n;
  std::unique_ptr<S[]> matrix;  ///< n x n
  Norms norms;
  Factors<Low<S>> factors;
  double rcond = 0;

  Matrix<S> view() const { return {matrix.get(), n, n, triangle}; }
  /// The rows of column `j` that the triangle has: [first, second).
  std::pair<std::ptrdiff_t, std::ptrdiff_t> rows_of(std::ptrdiff_t j) const {
    return {triangle == 'L' ? j : 0, triangle == 'U' ? j + 1 : n};
  }
  S item(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const auto at = [&](std::ptrdiff_t row, std::ptrdiff_t column) -> S {
      return widened(factors.values[static_cast<std::size_t>(row + column * factors.ld)]);
    };
    if (triangle == 'A') return i <= j ? at(i, j) / factors.scale : at(i, j);
    const double root = std::sqrt(factors.scale);
    return triangle == 'L' ? at(i, j) / root : conjugate(at(j, i)) / root;
  }
};

template <class S>
LowFactors<S>::LowFactors(char triangle, std::ptrdiff_t n)
    : impl_(new Impl{triangle, n, nullptr, {}, {}}) {
  impl_->matrix = std::make_unique_for_overwrite<S[]>(static_cast<std::size_t>(n * n));
}
template <class S>
LowFactors<S>::~LowFactors() = default;

template <class S>
Certificate LowFactors<S>::solve(const S* a, std::ptrdiff_t lda, std::ptrdiff_t nrhs, S* b,
                                 std::ptrdiff_t ldb, const SolveOptions& options) {
  const auto certificate =
      dense::solve<S>({a, impl_->n, lda, impl_->triangle}, nrhs, b, ldb, options, &impl_->factors);
  impl_->rcond = certificate.rcond;
  return certificate;
}

template <class S>
void LowFactors<S>::exchange(S* a, std::ptrdiff_t lda) {
  const auto n = impl_->n;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const auto [first, end] = impl_->rows_of(j);
    std::copy(a + first + j * lda, a + end + j * lda, impl_->matrix.get() + first + j * n);
  }
  impl_->norms = norms_of(impl_->view());
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const auto [first, end] = impl_->rows_of(j);
    for (auto i = first; i < end; ++i) a[i + j * lda] = impl_->item(i, j);
  }
}

template <class S>
bool LowFactors<S>::solve_again(std::ptrdiff_t nrhs, S* b, std::ptrdiff_t ldb) const {
  const auto n = impl_->n;
  const auto matrix = impl_->view();
  const Problem<S> problem{matrix, impl_->norms, nrhs, b, ldb};
  Answer<S> answer;
  answer.x.resize(static_cast<std::size_t>(n * nrhs));
  answer.r.resize(answer.x.size());
  answer.w.resize(answer.x.size());
  if (!refine<S>(problem, impl_->factors, {}, impl_->rcond, answer).converged) return false;
  for (std::ptrdiff_t c = 0; c < nrhs; ++c) {
    std::copy_n(answer.x.data() + c * n, n, b + c * ldb);
  }
  return true;
}

template <class S>
S LowFactors<S>::item(std::ptrdiff_t i, std::ptrdiff_t j) const {
  return impl_->item(i, j);
}
template <class S>
std::span<const int> LowFactors<S>::pivots() const {
  return impl_->factors.pivots;
}
template <class S>
const S* LowFactors<S>::matrix() const {
  return impl_->matrix.get();
}

template class LowFactors<double>;
template class LowFactors<Complex>;

}  // namespace tailrace::dense
