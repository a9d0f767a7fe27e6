// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include "sparse/csr_view.hpp"

namespace tailrace::sparse {

/// Throws std::invalid_argument with that text.
[[noreturn]] void refuse(const std::string& text);
std::string words(std::int64_t number);

/// Refuses arrays that are no CSR matrix. The view has sizes and values, no indices yet.
/// Index: std::int32_t or std::int64_t.
template <class Index>
CsrView checked(std::ptrdiff_t columns, std::span<const Index> row_starts,
                std::span<const Index> column_indices, std::span<const double> values);

}  // namespace tailrace::sparse
