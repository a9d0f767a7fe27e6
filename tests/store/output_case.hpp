// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <numeric>

#include "store_fixture.hpp"
#include "tailrace/input.hpp"

namespace tailrace::store_test {

/// Two arrays of different shape, type and memory, and coordinates for one of them.
struct OutputCase {
  OutputCase(const Comm& comm, std::vector<std::ptrdiff_t> extents, int axis)
      : rank(comm.rank()),
        field(pencils(extents, axis, grid_of(comm.num_ranks()))),
        modes(slabs({extents[1], extents[2] + 1, extents[0]}, 1, comm.num_ranks())) {
    const auto boxes = field.boxes(rank);
    const std::vector<std::ptrdiff_t> halo{1, 0, 2};
    field_memory = boxes.empty() ? Memory{} : Memory::ordered(boxes[0], {0, 1, 2}, halo);
    const auto mode_boxes = modes.boxes(rank);
    modes_memory = mode_boxes.empty() ? Memory{} : Memory::ordered(mode_boxes[0], {1, 0, 2}, {});
    fill(0);
    contents.coordinates = {{"z", std::vector<double>(static_cast<std::size_t>(extents[0])), {}},
                            {"x",
                             std::vector<double>(static_cast<std::size_t>(extents[2])),
                             {{"units", std::string("m")}}}};
    std::iota(contents.coordinates[1].values.begin(), contents.coordinates[1].values.end(), 0.5);
    contents.variables = {
        {"u",
         ItemType::float64,
         {"z", "y", "x"},
         &field,
         field_memory,
         u.data(),
         {{"units", std::string("m s-1")}, {"weights", std::vector<double>{1, 2, 4}}}},
        {"v", ItemType::float32, {"z", "y", "x"}, &field, field_memory, v.data(), {}},
        {"modes", ItemType::float64, {"ky", "kz", "kx"}, &modes, modes_memory, m.data(), {}}};
    contents.attributes = {{"time", 0.25}, {"step", std::int64_t{7}}, {"run", std::string("abc")}};
    contents.step = 7;
  }
  void fill(int salt) {
    u = filled<double>(field, field_memory, rank, salt);
    v = filled<float>(field, field_memory, rank, salt + 1);
    m = filled<double>(modes, modes_memory, rank, salt + 2);
    if (contents.variables.empty()) return;
    contents.variables[0].data = u.data();
    contents.variables[1].data = v.data();
    contents.variables[2].data = m.data();
  }
  int rank;
  Layout field, modes;
  Memory field_memory, modes_memory;
  std::vector<double> u, m;
  std::vector<float> v;
  FileContents contents;

  /// Reads all three arrays back in slabs of another axis and counts wrong items.
  static std::ptrdiff_t wrong_items(const Comm& comm, const std::string& file, int salt) {
    const Input input(comm, file);
    std::ptrdiff_t wrong = 0;
    for (const auto& [name, shift] : {std::pair{"u", 0}, {"v", 1}, {"modes", 2}}) {
      const auto extents = input.extents(name);
      const auto layout = slabs(extents, 1, comm.num_ranks());
      const auto memory = Memory::dense(layout.boxes(comm.rank()));
      std::vector<double> data(static_cast<std::size_t>(memory.num_items));
      input.read(name, ItemType::float64, layout, memory, data.data());
      wrong += num_wrong(data, layout, memory, comm.rank(), salt + shift);
    }
    return wrong;
  }
};

}  // namespace tailrace::store_test
