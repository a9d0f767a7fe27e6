// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "server/group.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::server {

/// The servers that are ranks of `comm`.
class MpiGroup : public Group {
 public:
  /// Duplicates `comm`. Collective, blocking.
  explicit MpiGroup(const Comm& comm) : comm_(comm.raw()) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.num_ranks(); }
  void sum(std::span<double> values) override { reduce(values, MPI_SUM); }
  void min(std::span<double> values) override { reduce(values, MPI_MIN); }
  void max(std::span<double> values) override { reduce(values, MPI_MAX); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override;

 private:
  void reduce(std::span<double> values, MPI_Op operation);
  Comm comm_;
};

/// A server without others.
class LoneGroup : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(std::span<double>) override {}
  void min(std::span<double>) override {}
  void max(std::span<double>) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return {{bytes.begin(), bytes.end()}};
  }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override {
    return outgoing;
  }
};

}  // namespace tailrace::server
