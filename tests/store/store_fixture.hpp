// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/output.hpp"

namespace tailrace::store_test {

namespace fs = std::filesystem;

/// What item `place` of a test array holds; exact in float32 up to 2^24 items.
inline double value_at(const Index& place, const Index& extents, int num_dims, int salt) {
  std::ptrdiff_t linear = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(num_dims); ++d) {
    linear = linear * extents[d] + place[d];
  }
  return static_cast<double>(linear + salt);
}

/// Calls `visit(place, item)` for each item of this rank's boxes, with its place in memory.
template <class Visit>
void for_each_item(const Layout& layout, const Memory& memory, int rank, Visit&& visit) {
  const auto boxes = layout.boxes(rank);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const auto dims = static_cast<std::size_t>(boxes[b].num_dims);
    for (std::ptrdiff_t i = 0; i < boxes[b].num_items(); ++i) {
      Index place = boxes[b].start;
      auto item = memory.boxes[b].offset;
      auto rest = i;
      for (auto d = dims; d-- > 0; rest /= boxes[b].extents[d]) {
        place[d] += rest % boxes[b].extents[d];
        item += rest % boxes[b].extents[d] * memory.boxes[b].strides[d];
      }
      visit(place, item);
    }
  }
}

/// A filled array of this rank.
template <class T>
std::vector<T> filled(const Layout& layout, const Memory& memory, int rank, int salt) {
  std::vector<T> data(static_cast<std::size_t>(memory.num_items), T(-1));
  for_each_item(layout, memory, rank, [&](const Index& place, std::ptrdiff_t item) {
    data[static_cast<std::size_t>(item)] =
        static_cast<T>(value_at(place, layout.global_extents(), layout.num_dims(), salt));
  });
  return data;
}

/// Number of items of `data` that do not hold what `filled` puts there.
template <class T>
std::ptrdiff_t num_wrong(const std::vector<T>& data, const Layout& layout, const Memory& memory,
                         int rank, int salt) {
  const auto right = filled<T>(layout, memory, rank, salt);
  std::ptrdiff_t wrong = 0;
  for (std::size_t i = 0; i < right.size(); ++i) wrong += data[i] != right[i] ? 1 : 0;
  return wrong;
}

/// The squarest grid of `num_ranks` that can be had with two factors.
inline std::vector<int> grid_of(int num_ranks) {
  if (num_ranks == 4) return {2, 2};
  return {1, num_ranks};
}

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A new folder, the same on all ranks; removed at the end.
class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int id = static_cast<int>(getpid());
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    folder = fs::temp_directory_path() / ("tailrace_store_" + std::to_string(id));
    if (comm.rank() == 0) fs::create_directories(folder);
    MPI_Barrier(comm.raw());
  }
  void TearDown() override {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) fs::remove_all(folder);
    MPI_Barrier(comm.raw());
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  Comm comm{MPI_COMM_WORLD};
  fs::path folder;
};

}  // namespace tailrace::store_test
