// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

namespace tailrace::apps {

/// A variable of the MPI library whose values are a list of words.
class MpiControl {
 public:
  struct Value {
    int number = 0;
    std::string name;
  };
  /// The variable called `name`, if the library has it. Local.
  static std::optional<MpiControl> find(const std::string& name);

  const std::vector<Value>& values() const { return values_; }
  void set(int number) const;

  MpiControl(MpiControl&& other) noexcept;
  MpiControl& operator=(MpiControl&&) = delete;
  ~MpiControl();

 private:
  MpiControl() = default;

  MPI_T_cvar_handle handle_{};
  std::vector<Value> values_;
};

}  // namespace tailrace::apps
