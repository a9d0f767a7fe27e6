// SPDX-License-Identifier: BSD-3-Clause
// A simulated striped file system: files of recorded extents, a metadata service, and targets that
// take simulated time. All ranks of a simulation share it: it is in a shared library, of which
// SimGrid makes no private copies. Its parameters are those of `tailrace plan --storage`.
//
// A request passes three stages, each of which serves in the order of arrival:
//   process   the rank itself, at clients.process_bytes_per_s
//   node      an actor for each node, at clients.node_bytes_per_s or slower: with network.routers,
//   a
//             message over the machine's links to the node of a router, and through it to the
//             target
//   target    an actor for each target, on a host with a disk: targets.request_s, the bytes, and
//             locks.transfer_s if the lock of the object is with another node
// A rank has up to 8 requests in flight. A read passes the target before the node.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <simgrid/s4u.hpp>

namespace scale {

/// The paths of simulated files begin with it.
constexpr std::string_view storage_folder = "/simulated/";

/// Contiguous bytes of a file that a rank wrote.
struct Extent {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  int rank = 0;
  std::int64_t end() const { return offset + bytes; }
};

/// How extents cover a file.
struct Coverage {
  std::int64_t missing = 0;         ///< bytes that no rank wrote
  std::int64_t twice = 0;           ///< bytes that were written before
  std::int64_t beyond = 0;          ///< bytes that the file is too long
  int writers = 0;                  ///< ranks that wrote
  std::int64_t shared_stripes = 0;  ///< stripes with bytes of several ranks
};
Coverage coverage(std::vector<Extent> extents, std::int64_t file_bytes, std::int64_t stripe_bytes);

struct StripeLayout {
  std::int64_t stripe_bytes = 0;
  int stripes = 0;
};

/// What the file system has done so far.
struct StorageCounts {
  std::int64_t creates = 0, opens = 0, stats = 0;
  std::int64_t requests = 0, lock_transfers = 0, bytes_written = 0, bytes_read = 0;
};

/// TAILRACE_STORAGE, "targets.count=8,targets.bytes_per_s=1e8,...". Ends the program if a key is
/// missing. `load` has the share of each target that other jobs take; empty: none.
class StorageSettings {
 public:
  explicit StorageSettings(const std::string& text);
  double number(const std::string& key) const { return list(key).front(); }
  const std::vector<double>& list(const std::string& key) const;

 private:
  std::map<std::string, std::vector<double>> values_;
};

class Storage {
 public:
  /// Makes the hosts of the targets, reached through nodes of `machine`. Once, while SimGrid loads
  /// the platform.
  static void attach(const std::string& settings, simgrid::s4u::NetZone* world,
                     simgrid::s4u::NetZone* machine, unsigned long nodes);
  /// The file system of this simulation. Ends the program if the machine has none.
  static Storage& get();

  /// The following act as the system calls of these names, for a rank. They return a negative errno
  /// on failure.
  int open(const std::string& path, int flags, int rank);
  int close(int descriptor);
  std::int64_t write(int descriptor, std::span<const iovec> pieces, std::int64_t offset);
  std::int64_t read(int descriptor, std::span<const iovec> pieces, std::int64_t offset);
  std::int64_t size(int descriptor);
  int resize(int descriptor, std::int64_t bytes);
  /// Waits until all requests of the rank are done.
  int flush(int descriptor);
  bool exists(const std::string& path);
  static bool is_descriptor(int descriptor) { return descriptor >= first_descriptor; }

  /// The layout of a file, or of a new one. Takes no simulated time, nor does any call below.
  StripeLayout layout(const std::string& path) const;
  /// Lays out an empty file; 0 leaves a number as it is.
  int set_layout(const std::string& path, StripeLayout layout);
  /// Makes a file of `bytes` that was written before the simulation.
  void provide(const std::string& path, std::int64_t bytes);
  const std::vector<Extent>& written(const std::string& path) const;
  const StorageCounts& counts() const { return counts_; }

 private:
  static constexpr int first_descriptor = 1 << 20;
  struct StoredFile;
  struct Client;
  struct OpenFile;
  struct Request;
  class Station;

  Storage(const std::string& settings, std::vector<simgrid::s4u::Host*> targets);
  ~Storage();
  void ask_metadata(double calls_per_s);
  Client& client(int rank);
  Station& node(simgrid::s4u::Host* host);
  Station& target(std::size_t number);
  OpenFile* find(int descriptor);
  void transfer(OpenFile& file, std::int64_t offset, std::int64_t bytes, bool writing);
  void cross_network(Request& request);
  void use_disk(Request& request, simgrid::s4u::Disk* disk);
  void drain(Client& client);

  StorageSettings settings_;
  bool keeps_contents_;
  StorageCounts counts_;
  double metadata_free_s_ = 0;
  std::size_t next_target_ = 0;
  std::map<std::string, std::shared_ptr<StoredFile>> files_;
  std::vector<std::unique_ptr<OpenFile>> opened_;
  std::map<int, std::unique_ptr<Client>> clients_;
  std::map<simgrid::s4u::Host*, std::unique_ptr<Station>> nodes_;
  std::vector<simgrid::s4u::Host*> target_hosts_;
  std::vector<std::unique_ptr<Station>> targets_;
};

}  // namespace scale
