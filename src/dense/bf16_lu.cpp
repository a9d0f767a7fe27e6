// SPDX-License-Identifier: BSD-3-Clause
// Right-looking blocked LU: a panel by LAPACK in fp32, the rows of U by strsm, and nearly all of
// the work, the trailing update, by tiles of bf16 (amx_update.cpp). Storage and sums are fp32, so
// only the products of the update are of low precision. 2/3 n^3 flops, n^2 panel / 2 of them in
// fp32.
#include "dense/bf16_lu.hpp"

#include <algorithm>

#include "dense/lapack.hpp"

namespace tailrace::dense {

bool factor_bf16(Factors<float>& factors, int pieces, std::ptrdiff_t panel) {
  const auto n = factors.n;
  const auto ld = factors.ld;
  const int ld_int = static_cast<int>(ld);
  float* const a = factors.values.get();
  int* const pivots = factors.pivots.data();
  if (panel == 0) panel = n >= 6000 ? 512 : 256;
  for (std::ptrdiff_t k = 0; k < n; k += panel) {
    const auto width = std::min(panel, n - k);
    const int rows = static_cast<int>(n - k);
    const int cols = static_cast<int>(width);
    const auto rest = n - k - width;
    int info = 0;
    sgetrf_(&rows, &cols, a + k + k * ld, &ld_int, pivots + k, &info);
    if (info != 0 || !pivots_within({pivots + k, static_cast<std::size_t>(cols)}, rows))
      return false;
    const int one = 1;
    const int before = static_cast<int>(k);
    const int after = static_cast<int>(rest);
    if (k > 0) slaswp_(&before, a + k, &ld_int, &one, &cols, pivots + k, &one);
    if (rest > 0) {
      float* const u = a + k + (k + width) * ld;
      slaswp_(&after, u, &ld_int, &one, &cols, pivots + k, &one);
      const float unit = 1;
      strsm_("L", "L", "N", "U", &cols, &after, &unit, a + k + k * ld, &ld_int, u, &ld_int, 1, 1, 1,
             1);
      update_by_tiles({rest, rest, width, a + k + width + k * ld, u, u + width, ld, pieces});
    }
    for (std::ptrdiff_t i = k; i < k + width; ++i) pivots[i] += before;
  }
  return true;
}

}  // namespace tailrace::dense
