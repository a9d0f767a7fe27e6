// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace tailrace::helium {

/// A partial wave |l1 l2 L 0>. With linear polarisation from the 1S ground state only M = 0 and
/// even l1 + l2 + L occur.
struct Channel {
  int big_l = 0, l1 = 0, l2 = 0;
  bool operator==(const Channel&) const = default;
};

/// All partial waves with l1, l2 <= lmax and L <= big_lmax, ordered by L, l1, l2. Local, as all of
/// this file.
std::vector<Channel> make_channels(int lmax, int big_lmax);

/// Place of the channel with l1 and l2 exchanged, for each.
std::vector<int> mirrors_of(const std::vector<Channel>& channels);

/// Wigner's 3j symbol (l1 l2 l3; 0 0 0) and 6j symbol {j1 j2 j3; l1 l2 l3} of whole numbers, by
/// Racah's formula.
double wigner_3j_000(int l1, int l2, int l3);
double wigner_6j(int j1, int j2, int j3, int l1, int l2, int l3);

/// <l1 l2 L | P_k(cos theta_12) | l1' l2' L'>; 0 unless L = L'.
double repulsion(const Channel& left, const Channel& right, int k);

/// <l1 l2 L 0 | cos theta_e | l1' l2' L' 0> of electron e = 1 or 2.
double cosine(const Channel& left, const Channel& right, int electron);

}  // namespace tailrace::helium
