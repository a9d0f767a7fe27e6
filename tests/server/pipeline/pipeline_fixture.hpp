// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "server/group.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/pipeline/stage_tools.hpp"

namespace tailrace::server {

/// A folder of all ranks for one test, removed at its end.
class SharedFolder {
 public:
  SharedFolder() {
    std::array<char, 256> name{};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (rank_ == 0) {
      const auto pattern =
          (std::filesystem::temp_directory_path() / "tailrace_pipeline_XXXXXX").string();
      std::memcpy(name.data(), pattern.c_str(), pattern.size());
      if (mkdtemp(name.data()) == nullptr) std::abort();
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name.data();
  }
  ~SharedFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    std::error_code ignored;
    if (rank_ == 0) std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int rank_ = 0;
};

/// Value of the item at a global index.
using Values = std::function<double(const Index& at)>;

inline Box box_of(std::vector<std::ptrdiff_t> start, std::vector<std::ptrdiff_t> extents) {
  Box box;
  box.num_dims = static_cast<int>(extents.size());
  std::copy(start.begin(), start.end(), box.start.begin());
  std::copy(extents.begin(), extents.end(), box.extents.begin());
  return box;
}

/// Calls action(global index) for each item of a box in row-major order.
template <class Action>
void for_each_item(const Box& box, Action&& action) {
  for (std::ptrdiff_t item = 0; item < box.num_items(); ++item) {
    Index at{};
    auto rest = item;
    for (auto d = static_cast<std::size_t>(box.num_dims); d-- > 0; rest /= box.extents[d]) {
      at[d] = box.start[d] + rest % box.extents[d];
    }
    action(at);
  }
}

/// Which boxes each of `servers` holds.
using Boxes = std::vector<std::vector<Box>>;

/// Uneven boxes: axis 1 cut in 2 servers + 1 pieces, dealt out backwards; the last of several
/// servers has none.
inline Boxes uneven_boxes(const std::vector<std::ptrdiff_t>& extents, int servers) {
  Boxes boxes(static_cast<std::size_t>(servers));
  const int owners = servers > 1 ? servers - 1 : 1;
  const std::size_t axis = extents.size() > 1 ? 1 : 0;
  const int pieces = 2 * servers + 1;
  for (int piece = pieces - 1; piece >= 0; --piece) {
    const auto share = split_evenly(extents[axis], pieces, piece);
    auto box = box_of(std::vector<std::ptrdiff_t>(extents.size()), extents);
    box.start[axis] = share.start;
    box.extents[axis] = share.count;
    if (!box.empty()) boxes[static_cast<std::size_t>(piece % owners)].push_back(box);
  }
  return boxes;
}

/// The blocks on and above the diagonal of an n x n array, dealt out in turn.
inline Boxes triangle_boxes(std::ptrdiff_t n, std::ptrdiff_t blocks, int servers) {
  Boxes boxes(static_cast<std::size_t>(servers));
  int next = 0;
  for (std::ptrdiff_t i = 0; i < blocks; ++i) {
    for (auto j = i; j < blocks; ++j) {
      const auto rows = split_evenly(n, blocks, i), columns = split_evenly(n, blocks, j);
      boxes[static_cast<std::size_t>(next++ % servers)].push_back(
          box_of({rows.start, columns.start}, {rows.count, columns.count}));
    }
  }
  return boxes;
}

/// This server's part of an array with the given values. `step` keeps its bytes.
inline Field make_field(Step& step, const std::string& name, ItemType type,
                        const std::vector<std::ptrdiff_t>& extents, const std::vector<Box>& boxes,
                        const Values& values) {
  Field field;
  field.name = name;
  field.type = type;
  constexpr const char* names[] = {"z", "y", "x", "c", "d"};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    field.dims.emplace_back(names[d]);
    field.extents[d] = extents[d];
  }
  for (const auto& box : boxes) {
    auto bytes = std::make_shared<std::vector<std::byte>>(
        static_cast<std::size_t>(box.num_items() * item_bytes(type)));
    std::size_t at = 0;
    visit_real(type, [&]<class Item>(Item) {
      for_each_item(box, [&](const Index& index) {
        const auto item = static_cast<Item>(values(index));
        std::memcpy(&(*bytes)[at], &item, sizeof(Item));
        at += sizeof(Item);
      });
    });
    field.parts.push_back({box, bytes->data()});
    step.memory.push_back(bytes);
  }
  return field;
}

/// All values of an array that `boxes` of all servers hold, as the field's type holds them.
inline std::vector<double> all_values(ItemType type, const Boxes& boxes, const Values& values) {
  std::vector<double> list;
  visit_real(type, [&]<class Item>(Item) {
    for (const auto& own : boxes) {
      for (const auto& box : own) {
        for_each_item(box, [&](const Index& at) {
          list.push_back(static_cast<double>(static_cast<Item>(values(at))));
        });
      }
    }
  });
  return list;
}

/// The value of `field` at each item of this server's parts.
template <class Action>
void for_each_value(const Field& field, Action&& action) {
  visit_real(field.type, [&]<class Item>(Item) {
    for (const auto& part : field.parts) {
      const auto* items = reinterpret_cast<const Item*>(part.data);
      for_each_item(part.box,
                    [&](const Index& at) { action(at, static_cast<double>(*(items++))); });
    }
  });
}

using Products = std::vector<Product>;

inline constexpr ItemType real_types[] = {
    ItemType::float32, ItemType::float64, ItemType::int8,   ItemType::int16,  ItemType::int32,
    ItemType::int64,   ItemType::uint8,   ItemType::uint16, ItemType::uint32, ItemType::uint64};

inline std::string text_of(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

/// The cells of a CSV file without quotes.
inline std::vector<std::vector<std::string>> cells_of(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

/// The message of the error that `action` throws.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_holds(const std::string& text, std::initializer_list<const char*> pieces) {
  for (const char* piece : pieces) {
    EXPECT_NE(text.find(piece), std::string::npos) << "\"" << piece << "\" in: " << text;
  }
}

/// The servers of a test: all ranks.
class PipelineTest : public ::testing::Test {
 protected:
  Comm comm_{MPI_COMM_WORLD};
  MpiGroup group_{comm_, "server " + std::to_string(comm_.rank())};
  SharedFolder folder_;

  int rank() const { return group_.rank(); }
  void barrier() const { check_mpi(MPI_Barrier(comm_.raw())); }
  std::size_t own() const { return static_cast<std::size_t>(group_.rank()); }

  /// A step with one 3D variable u.
  Step one_field(std::int64_t number, ItemType type, const Values& values) {
    Step step;
    step.path = folder_ / ("fields_" + std::to_string(number) + ".h5");
    step.step = 10 * number;
    step.number = number;
    step.attributes = {{"time", 0.5 * static_cast<double>(number)}};
    const std::vector<std::ptrdiff_t> extents{5, 9, 6};
    step.fields = {
        make_field(step, "u", type, extents, uneven_boxes(extents, group_.size())[own()], values)};
    return step;
  }

  /// Runs `pipeline`, which must not fail, and returns its results.
  std::vector<Pipeline::Result> run(Pipeline& pipeline, const Step& step, int threads = 2) {
    std::vector<Pipeline::Result> results;
    std::vector<Pipeline::Failure> failures;
    pipeline.run(step, group_, threads, results, failures);
    for (const auto& failure : failures) ADD_FAILURE() << failure.error.what();
    return results;
  }

  /// Runs `pipeline`, of which one product must fail, and returns the message.
  std::string failure_of(Pipeline& pipeline, const Step& step) {
    std::vector<Pipeline::Result> results;
    std::vector<Pipeline::Failure> failures;
    pipeline.run(step, group_, 2, results, failures);
    EXPECT_EQ(failures.size(), 1U);
    return failures.empty() ? "" : failures[0].error.what();
  }

  /// The values of a field of one axis, which server 0 holds.
  static std::vector<double> row_of(const Field& field) {
    std::vector<double> row;
    for_each_value(field, [&](const Index&, double value) { row.push_back(value); });
    return row;
  }
};

}  // namespace tailrace::server
