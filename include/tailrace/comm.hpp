// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <mpi.h>

#include "tailrace/error.hpp"
#include "tailrace/more/owned.hpp"

namespace tailrace {

/// A private communicator: a duplicate of the caller's, with MPI_ERRORS_RETURN set, so that
/// `check_mpi` sees every error. Move-only.
class Comm {
 public:
  /// Duplicates `user`. Collective, blocking.
  explicit Comm(MPI_Comm user);
  Comm(Comm&&) = default;
  Comm& operator=(Comm&&) = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm() = default;
  /// The ranks of the same `color`, ordered by `key`, then rank. Collective, blocking.
  Comm split(int color, int key = 0) const;
  /// A duplicate for another object's messages. Both share one `node()`, so they must be used by
  /// the same thread. Collective, blocking.
  Comm duplicate() const;
  /// The ranks that share this rank's node (memory); TAILRACE_RANKS_PER_NODE makes nodes smaller
  /// (see `NodeMap`). The first call creates it; later calls, also on duplicates, return the same
  /// communicator. An object whose messages may overlap with another's duplicates it. Collective,
  /// blocking.
  Comm node() const;
  /// The ranks that share this rank's node; ignores TAILRACE_RANKS_PER_NODE. Collective, blocking.
  Comm whole_node() const;

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  MPI_Comm raw() const { return comm_ == nullptr ? MPI_COMM_NULL : comm_->raw(); }

 private:
  struct Nodes;
  explicit Comm(OwnedComm comm);
  explicit Comm(std::shared_ptr<const OwnedComm> comm) : comm_(std::move(comm)) {}
  Comm shared() const;  ///< the same communicator
  std::shared_ptr<const OwnedComm> comm_;
  std::shared_ptr<Nodes> nodes_;  ///< of all duplicates
  int rank_ = 0;
  int num_ranks_ = 1;
};

/// Returns the text of rank `root` on all ranks; it may have any length. Collective over `comm`,
/// blocking.
std::string broadcast_text(MPI_Comm comm, std::string text, int root = 0);

/// How the ranks of `comm` wait for each other, in a sentence: "16 ranks on 2 cores: ...".
/// Collective, blocking.
std::string describe_waiting(const Comm& comm);

/// Converts `value` to an int count for MPI. Throws `Errc::invalid_input` if it does not fit.
/// Local.
int to_int(std::ptrdiff_t value);

}  // namespace tailrace
