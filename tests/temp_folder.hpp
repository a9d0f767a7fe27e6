// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tailrace/comm.hpp"

namespace tailrace {

/// An empty folder, removed at the end.
class TempFolder {
 public:
  /// Of this rank alone.
  TempFolder() : path_(make()), mine_(true) {}
  /// The same folder for all ranks of a node; rank 0 removes it. Collective.
  explicit TempFolder(const Comm& comm) : mine_(comm.rank() == 0) {
    path_ = mine_ ? make() : std::string(pattern().size(), ' ');
    check_mpi(MPI_Bcast(path_.data(), to_int(std::ssize(path_)), MPI_CHAR, 0, comm.raw()));
  }
  ~TempFolder() {
    std::error_code failed;
    if (mine_) std::filesystem::remove_all(path_, failed);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  static std::string pattern() {
    return (std::filesystem::temp_directory_path() / "tailrace_test_XXXXXX").string();
  }
  static std::string make() {
    std::string path = pattern();
    return mkdtemp(path.data()) == nullptr ? "." : path;
  }

  std::string path_;
  bool mine_;
};

}  // namespace tailrace
