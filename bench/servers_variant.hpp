// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io_pattern.hpp"
#include "mpi_driver.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"

namespace bench {

/// The field that is written: `n`^3 doubles, a box a rank. Slabs are cut along z; pencils along z
/// and x, so that a rank's part is scattered over the file in short pieces.
struct StepField {
  StepField(const tailrace::Comm& comm, int n, const std::string& shape, std::string folder_path);
  /// Of a step: without suffix.
  std::string path(int step) const { return folder + "/step_" + std::to_string(step); }

  std::string folder;
  Pattern pattern;
  tailrace::Layout layout;
  tailrace::Box box;  ///< of this rank
  std::ptrdiff_t num_items = 0;
};

/// One way to get a field a step out of a simulation. Made on all ranks; collective over the ranks
/// that compute, unless said otherwise.
class StepWriter {
 public:
  virtual ~StepWriter() = default;
  /// The ranks that compute. nullptr on a rank that serves. Local.
  virtual const tailrace::Comm* compute() const = 0;
  /// Returns when the ranks that compute have called `close`. Only where nothing is computed.
  virtual void serve() {}
  /// Before the first step.
  virtual void open(const StepField& field) = 0;
  /// Before the first step of a run, which ends with `finish`; there may be several.
  virtual void begin() {}
  /// When it returns, `data` may change.
  virtual void write(int step, const double* data) = 0;
  virtual void computing(bool begins) { static_cast<void>(begins); }
  virtual void progress() {}
  /// Returns when all steps are on disk.
  virtual void finish() {}
  /// Reads what was written. After `finish`.
  virtual void read(int step, double* data) = 0;
  /// Whether data is on its way at this moment, where that can be known. Local.
  virtual std::optional<bool> under_way() { return std::nullopt; }
  /// Adds what the variant itself knows. Local.
  virtual void report(JsonLine& line) { static_cast<void>(line); }
  /// Ends the servers.
  virtual void close() {}
};

/// A line of the list of variants.
struct ServerVariant {
  std::string name;
  std::string family;         ///< "ours" or "peer"
  bool own_ranks = false;     ///< needs ranks beside those that compute
  bool many_threads = false;  ///< calls MPI from several threads
  /// Throws `Errc::invalid_input` if the variant cannot be used here. Collective over all ranks.
  std::function<std::unique_ptr<StepWriter>(const Arguments&)> make;
};

/// Compute alone; tailrace::Session without servers, with threads, processes, and ranks by every
/// transport.
std::vector<ServerVariant> session_variants();
/// A server in 20 lines: one more rank, two buffers a client, plain messages.
std::vector<ServerVariant> toy_variants();
/// Parallel HDF5 and files of the ranks, synchronous.
std::vector<ServerVariant> file_variants();
/// ADIOS2 BP5, synchronous and asynchronous; empty if it was not found.
std::vector<ServerVariant> adios2_variants();

/// Processor time that each thread has used so far [s]: of all processes that the launcher of this
/// rank has started here, and their children, but not the calling thread. Empty where this system
/// does not tell. Local.
std::map<int, double> threads_cpu_s();

}  // namespace bench
