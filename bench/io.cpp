// SPDX-License-Identifier: BSD-3-Clause
// `tailrace-bench io` with parallel HDF5 as one more way to write the file.

#include "other_libraries/io_hdf5.hpp"
#include "programs.hpp"

int main(int argc, char** argv) {
  auto variants = bench::all_variants();
  for (auto& variant : bench::hdf5_variants()) variants.push_back(std::move(variant));
  return bench::run_io(argc, argv, variants);
}
