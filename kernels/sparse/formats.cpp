// SPDX-License-Identifier: BSD-3-Clause
// The table of formats. To add one: its file, a declaration in csr.hpp, a line here and in
// CMakeLists.txt; tests, the choice and the benchmark walk the table.
#include <array>

#include "sparse/csr.hpp"

namespace tailrace::sparse {

namespace {

std::string none(const Features&) { return {}; }
std::string no_blocks(const Features& f) {
  return f.block == 0 ? "no block size from 2 to 16 divides its rows and columns with little fill"
                      : "";
}
std::string no_diagonals(const Features& f) {
  return f.few_diagonals ? "" : "its items do not lie on few diagonals";
}

bool always(const Features&) { return true; }
bool unequal_rows(const Features& f) { return f.uneven_steps > 0.05; }

double items(const Features& f) { return static_cast<double>(f.num_items); }
double rows(const Features& f) { return static_cast<double>(f.rows); }

double csr_bytes(const Features& f, ValueKind) { return 12 * items(f) + 8 * rows(f); }
double sell_bytes(const Features& f, ValueKind kind) {
  return (bytes_of(kind) + f.chunk_column_bytes) * items(f) + rows(f);
}
double sorted_bytes(const Features& f, ValueKind kind) {
  // Rows from further apart: offsets are wider.
  const double columns = f.chunk_column_bytes < 2 ? f.chunk_column_bytes + 1 : f.chunk_column_bytes;
  return (bytes_of(kind) + columns) * items(f) + 5 * rows(f);
}
double block_bytes(const Features& f, ValueKind kind) {
  return f.block_fill * items(f) * (bytes_of(kind) + 4.0 / (f.block * f.block));
}
double dia_bytes(const Features& f, ValueKind kind) {
  return static_cast<double>(f.diagonals.size()) * rows(f) * bytes_of(kind);
}

bool plain(ValueKind kind) { return kind == ValueKind::fp64; }
bool any(ValueKind) { return true; }
bool but_dictionary(ValueKind kind) { return kind != ValueKind::dictionary; }

constexpr std::array<Format, 6> table{{
    {"csr", "the reference: one sum per row", true, 1, none, always, csr_bytes, plain, make_csr},
    {"csr_wide", "CSR with eight sums per row", false, 1, none, always, csr_bytes, plain,
     make_csr_wide},
    {"sell", "eight rows side by side, narrow columns", true, 8, none, always, sell_bytes, any,
     make_sell},
    {"sell_sorted", "the same, with rows sorted by length", true, 10, none, unequal_rows,
     sorted_bytes, any, make_sell_sorted},
    {"block_csr", "dense blocks of 2 to 16", true, 8, no_blocks, always, block_bytes,
     but_dictionary, make_block_csr},
    {"dia", "whole diagonals", true, 8, no_diagonals, always, dia_bytes, any, make_dia},
}};

}  // namespace

std::span<const Format> format_table() { return table; }

std::vector<FormatInfo> formats() {
  std::vector<FormatInfo> found;
  for (const auto& format : table) {
    found.push_back({format.name, format.summary, format.same_order});
  }
  return found;
}

}  // namespace tailrace::sparse
