// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io_pattern.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/file.hpp"

namespace bench {

/// What the operations are about; outlives them.
struct Job {
  const tailrace::Comm& comm;
  tailrace::FilePool& pool;  ///< for variants of ours
  const Pattern& pattern;
  std::string path;       ///< does not exist before a write; anything that begins with it is ours
  tailrace::Hints hints;  ///< the user's, for variants of ours
};

/// One way to get the ranks' data into a file and back. Construction is not timed: it makes what a
/// program makes once for many files (descriptions of its data). Errors are thrown, maybe on one
/// rank alone.
class Method {
 public:
  virtual ~Method() = default;
  /// Open, write, flush to disk, close. Timed. Collective.
  virtual void write(const std::byte* data) = 0;
  /// Open, read, close. Timed. Collective.
  virtual void read(std::byte* data) = 0;
  /// The file at `path` holds the pattern's bytes as they are.
  virtual bool is_plain_file() const { return true; }
  /// What the last operation cost, over all ranks. Collective.
  virtual std::optional<tailrace::FileStatistics> statistics() { return std::nullopt; }
  /// Bytes of the file, where they are others than those of the data; of rank 0.
  virtual std::optional<std::ptrdiff_t> stored_bytes() { return std::nullopt; }
  /// What an automatic choice was.
  virtual std::string chosen() const { return ""; }
};

/// A line of the list of variants.
struct WriteMethod {
  std::string name;
  std::string family;  ///< "ours", "posix", "mpiio", "test", or another library, as "hdf5"
  bool uses_mpi_io = false;
  std::function<std::unique_ptr<Method>(const Job&)> make;
};

/// Every strategy on every back end of this build, and compressed files of `Output`. Some do not
/// apply: their `write` throws `Errc::invalid_input`.
std::vector<WriteMethod> our_variants();
/// A `pwrite` for each piece, as IOR does it; and a variant that writes wrong data, for tests.
std::vector<WriteMethod> posix_variants();
/// MPI-IO as a program calls it: views and single calls, collective or not, with and without hints.
std::vector<WriteMethod> mpiio_variants();
/// All of them, in the order above.
std::vector<WriteMethod> all_variants();

/// Throws `Errc::io` with errno and path. Local.
[[noreturn]] void fail_errno(const std::string& doing, const std::string& path);

}  // namespace bench
