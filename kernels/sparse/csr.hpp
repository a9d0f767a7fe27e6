// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse/stored.hpp"

namespace tailrace::sparse {

/// The caller's arrays as they are, for timing: the reference, or csr_wide with these kernels.
std::unique_ptr<Stored> borrow_csr(const CsrView& a, const Kernels* wide);

// What the table of formats names.
std::unique_ptr<Stored> make_csr(const CsrView& a, const Features& f, const Wish& wish);
std::unique_ptr<Stored> make_csr_wide(const CsrView& a, const Features& f, const Wish& wish);
std::unique_ptr<Stored> make_sell(const CsrView& a, const Features& f, const Wish& wish);
std::unique_ptr<Stored> make_sell_sorted(const CsrView& a, const Features& f, const Wish& wish);
std::unique_ptr<Stored> make_block_csr(const CsrView& a, const Features& f, const Wish& wish);
/// The same of blocks that are there already: `rows` block rows, `columns` block columns.
std::unique_ptr<Stored> make_block_csr(int size, std::ptrdiff_t rows, std::ptrdiff_t columns,
                                       const BlockArrays& blocks, const Wish& wish);
std::unique_ptr<Stored> make_dia(const CsrView& a, const Features& f, const Wish& wish);

}  // namespace tailrace::sparse
