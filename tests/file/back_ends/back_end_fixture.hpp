// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "file/back_end.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {

using Bytes = std::vector<std::byte>;

/// The byte that belongs at a place of the file.
inline std::byte content(std::ptrdiff_t offset) {
  const auto number = static_cast<std::uint64_t>(offset);
  return static_cast<std::byte>((number * 2654435761 >> 9) ^ number ^ (number >> 8));
}

/// Memory for segments, filled with what belongs in the file.
inline Bytes filled(std::span<const Segment> segments) {
  std::ptrdiff_t end = 0;
  for (const auto& segment : segments) end = std::max(end, segment.memory_offset + segment.bytes);
  Bytes memory(static_cast<std::size_t>(end), std::byte{0});
  for (const auto& segment : segments) {
    for (std::ptrdiff_t i = 0; i < segment.bytes; ++i) {
      memory[static_cast<std::size_t>(segment.memory_offset + i)] =
          content(segment.file_offset + i);
    }
  }
  return memory;
}

inline Bytes slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class BackEndTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<char, 500> text{};
    if (comm.rank() == 0) {
      folder =
          std::filesystem::temp_directory_path() / fmt::format("tailrace_back_ends_{}", getpid());
      std::filesystem::create_directories(folder);
      std::strncpy(text.data(), folder.c_str(), text.size() - 1);
    }
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, comm.raw());
    folder = text.data();
    settings.file_system = file_system_of(folder);
    settings.ind_rd_buffer_size = 64 << 10;
    settings.ind_wr_buffer_size = 16 << 10;
    settings.ds_density = 0.1;
    settings.queue_depth = 3;
  }
  void TearDown() override {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) std::filesystem::remove_all(folder);
  }
  std::string path(const std::string& name) const { return folder / name; }
  std::unique_ptr<BackEnd> open(const BackEndEntry& entry, const std::string& name,
                                FileAccess access, const Comm& openers) {
    return entry.open({&openers, path(name), access, settings, statistics});
  }
  /// Makes the file as a strategy does: on one rank, before anyone opens it.
  void create(const BackEndEntry& entry, const std::string& name) {
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == 0 && entry.name != "hdf5") create_file(path(name), settings);
    });
  }

  Comm comm{MPI_COMM_WORLD};
  Comm self{MPI_COMM_SELF};
  std::filesystem::path folder;
  Settings settings;
  FileStatistics statistics;
};

inline std::vector<const BackEndEntry*> available_back_ends() {
  std::vector<const BackEndEntry*> entries;
  for (const auto& entry : back_end_table()) {
    if (entry.available()) entries.push_back(&entry);
  }
  return entries;
}

}  // namespace tailrace::file
