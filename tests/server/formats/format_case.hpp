// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "layout/row_major.hpp"
#include "server/step_file.hpp"
#include "store/item_convert.hpp"

namespace tailrace::server {

/// A step of which each of some servers holds a part.
struct FormatCase {
  std::string name;  ///< of the file, with its suffix
  std::vector<std::ptrdiff_t> extents;
  ItemType type = ItemType::float64;
  int servers = 1;
  /// Who holds what: "slabs" of the first axis, "blocks" of the two last ones (4 servers), "rows"
  /// in turn, "triangle" (blocks of 8 x 8 of the upper triangle, in turn) or "few" (one server, two
  /// corners).
  std::string parts = "slabs";
  std::vector<std::pair<std::string, std::string>> encoding = {};
  bool smooth = false;  ///< a wave; else numbers of up to 127 that look like noise
  int threads = 1;

  Box whole() const {
    Box box{static_cast<int>(extents.size()), {}, {}};
    std::copy(extents.begin(), extents.end(), box.extents.begin());
    return box;
  }
  std::vector<Box> boxes(int server) const {
    std::vector<Box> found;
    auto box = whole();
    const auto split = [&](std::size_t axis, int num_parts, int part) {
      const auto range = split_evenly(extents[axis], num_parts, part);
      box.start[axis] = range.start;
      box.extents[axis] = range.count;
    };
    if (parts == "slabs") {
      split(0, servers, server);
      found.push_back(box);
    } else if (parts == "blocks") {
      split(extents.size() - 2, 2, server / 2);
      split(extents.size() - 1, 2, server % 2);
      found.push_back(box);
    } else if (parts == "rows") {
      for (std::ptrdiff_t row = server; row < extents[0]; row += servers) {
        box.start[0] = row;
        box.extents[0] = 1;
        found.push_back(box);
      }
    } else if (parts == "triangle") {
      int number = 0;
      for (std::ptrdiff_t i = 0; i < extents[0]; i += 8) {
        for (std::ptrdiff_t j = i; j < extents[1]; j += 8) {
          if (number++ % servers != server) continue;
          found.push_back(intersect({2, {i, j}, {8, 8}}, whole()));
        }
      }
    } else if (server == 0) {
      found.push_back({2, {0, 0}, {3, 5}});
      found.push_back({2, {extents[0] - 4, extents[1] - 2}, {4, 2}});
    }
    return found;
  }
  double value(std::ptrdiff_t linear) const {
    if (smooth) return std::sin(0.01 * static_cast<double>(linear));
    return static_cast<double>(linear * 7919 % 1000003 % 127);
  }

  /// The step as `server` has it.
  Step step(const std::string& folder, int server) const {
    Step step;
    step.path = folder + "/" + name;
    step.step = 7;
    step.encoding = encoding;
    step.attributes = {{"time", 1.5},
                       {"step", std::int64_t{7}},
                       {"title", std::string("a \"test\"\n")},
                       {"spectrum", std::vector<double>{1, 0.5}}};
    Field field{"u", type, {}, whole().extents, {{"units", std::string("m s-1")}}, {}, {}};
    const std::string names = "abcxy";
    for (std::size_t d = 0; d < extents.size(); ++d) {
      field.dims.push_back(names.substr(names.size() - extents.size() + d, 1));
    }
    Coordinate last{field.dims.back(), {}, {{"units", std::string("m")}}};
    for (std::ptrdiff_t i = 0; i < extents.back(); ++i) {
      last.values.push_back(0.25 * static_cast<double>(i));
    }
    step.coordinates = {last};
    const RowMajor array{whole().num_dims, whole().extents};
    for (const auto& box : boxes(server)) {
      std::vector<double> numbers;
      const RowMajor local{box.num_dims, box.extents};
      for (std::ptrdiff_t i = 0; i < box.num_items(); ++i) {
        auto place = local.place_of(i);
        for (std::size_t d = 0; d < extents.size(); ++d) place[d] += box.start[d];
        numbers.push_back(value(array.linear(place)));
      }
      auto bytes = std::make_shared<std::vector<std::byte>>(
          static_cast<std::size_t>(box.num_items() * item_bytes(type)));
      store::convert_items(ItemType::float64, type,
                           reinterpret_cast<const std::byte*>(numbers.data()), std::ssize(numbers),
                           bytes->data());
      field.parts.push_back({box, bytes->data()});
      step.memory.push_back(bytes);
    }
    step.fields.push_back(std::move(field));
    return step;
  }
};

/// Plays all servers up to `write`; the first one is the leader. Throws what they throw.
inline std::vector<std::unique_ptr<StepFile>> write_case(const FormatCase& test,
                                                         const std::string& folder,
                                                         const FileSettings& settings = {}) {
  const auto& format = find_format("auto", test.name);
  FileSettings own = settings;
  own.threads = test.threads;
  std::vector<std::unique_ptr<StepFile>> files;
  for (int server = 0; server < test.servers; ++server) {
    files.push_back(format.make(test.step(folder, server), own, server, test.servers));
  }
  for (int round = 0; round < files[0]->rounds(); ++round) {
    std::vector<Message> needs;
    for (auto& file : files) needs.push_back(file->needs());
    const auto layout = files[0]->lay_out(needs);
    for (auto& file : files) file->place(layout);
  }
  for (auto& file : files) file->write();
  return files;
}

}  // namespace tailrace::server
