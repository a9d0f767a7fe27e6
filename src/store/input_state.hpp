// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/dataset_reader.hpp"
#include "store/file_index.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/input.hpp"
#include "tailrace/output.hpp"

namespace tailrace {

/// An opened file.
class Input::State {
 public:
  /// Collective, blocking.
  State(const Comm& comm_in, std::string path_in, InputOptions options_in);
  /// Throws `Errc::invalid_input` if there is no such variable. Local.
  const store::FileIndex::Entry& entry(const std::string& name) const;
  /// The same, for a call of all ranks. Throws the same on all of them, also if they ask for
  /// different things. Collective, blocking.
  const store::FileIndex::Entry& agreed_entry(const std::string& name, ItemType type) const;
  const AttributeValue* find_attribute(const std::string& name) const;
  template <class T>
  const T& attribute(const std::string& name, const char* kind) const;

  /// Makes `group_comm` and `readers_comm` at their first use. Collective, blocking.
  void make_groups();

  Comm comm;
  std::string path;
  InputOptions options;
  store::FileIndex index;
  std::vector<int> readers;  ///< ranks, ascending; rank 0 is one
  int group = 0;             ///< this rank's, by the number of its reader
  bool is_reader = false;
  file::Settings settings;
  FileStatistics file_statistics;
  std::unique_ptr<store::ReadFile> file;
  std::optional<Comm> group_comm;    ///< the reader is rank 0
  std::optional<Comm> readers_comm;  ///< on readers
  std::int64_t checked = 0;
  double move_s = 0;
};

}  // namespace tailrace
