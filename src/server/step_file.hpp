// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/step.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::server {

/// How files are written, whatever their format.
struct FileSettings {
  OutputOptions output;  ///< hints, stripes, checksums, trace
  int threads = 1;       ///< that `write` may use
  bool say = false;      ///< what is to be said about the hints: the leader, once a stream
};

/// What the parts of a file tell each other, as `ByteWriter` wrote it.
using Message = std::vector<std::byte>;

struct ZarrStoreArrays;

/// One server's part of one file. Without MPI; each call may come from another thread, never two at
/// once. Calls, in order: `needs` (all servers), `lay_out` (leader), `place` (all), these three as
/// often as `rounds` says, `write` (all), then on the leader `commit` once all have written, with
/// what all have `kept` for it, or `discard` if one failed. Failures are `Error(Errc::io)` with
/// errno, path and step. Nothing has the final name before `commit`, and `commit` returns when the
/// file is safe on disk.
class StepFile {
 public:
  virtual ~StepFile() = default;
  /// More than one where the places in the file depend on what its bytes become. The same on all.
  virtual int rounds() const { return 1; }
  /// What the leader must know about this server's part.
  virtual Message needs() = 0;
  /// Leader: makes the unfinished file; `needs` of all servers in their order. Returns what all
  /// must know.
  virtual Message lay_out(std::span<const Message> needs_of_servers) = 0;
  virtual void place(const Message& layout) = 0;
  virtual void write() = 0;
  virtual Message kept() const { return {}; }
  virtual void commit(std::span<const Message> kept_by_servers) = 0;
  /// Removes the unfinished file; returns the name of what could not be removed, or "".
  virtual std::string discard() noexcept = 0;
  /// Leader, once it is laid out: what a series of Zarr stores must know of it; nothing if it is no
  /// store.
  virtual std::shared_ptr<const ZarrStoreArrays> arrays() const { return nullptr; }
  virtual std::int64_t bytes() const = 0;  ///< written by this server
  virtual double seconds() const = 0;      ///< spent writing by this server
};

/// A kind of file: a line of `format_table()`.
struct Format {
  const char* name;
  const char* suffix;  ///< of paths that choose it
  const char* summary;
  /// `server` of `num_servers` writes `step`'s parts. Throws `Errc::invalid_input` for what the
  /// format cannot hold. Local.
  std::unique_ptr<StepFile> (*make)(Step step, const FileSettings& settings, int server,
                                    int num_servers);
};

std::span<const Format> format_table();
/// The format called `name`, or of `path`'s suffix if `name` is "auto" (hdf5 if no suffix fits).
/// Throws `Errc::invalid_input` listing the names. Local.
const Format& find_format(const std::string& name, const std::string& path);

/// Throws `Errc::invalid_input` if `compress` of the options or of a variable is wrong, or the
/// format of a file at `path` cannot have it. Local.
void check_compression(const OutputOptions& options, const std::string& path,
                       const FileContents& contents);

/// Whether `contents` become an HDF5 file of chunks, which those who write keep in memory until all
/// are compressed. Local.
bool makes_chunks(const OutputOptions& options, const std::string& path,
                  const FileContents& contents);
bool makes_chunks(const OutputOptions& options, const Step& step);
/// Whether `step` or one of its fields says how it is compressed. Local.
bool is_compressed(const Step& step);
/// The memory, besides that of the items, in which `threads` threads compress `items_bytes` of a
/// step: chunks take as many bytes as their items if they do not become smaller, and each thread
/// has some at work. `share`: the part of the buffers of these threads that counts here, 1 / share.
std::ptrdiff_t packing_bytes(std::ptrdiff_t items_bytes, int threads, int share);

// The `make` of each line of `format_table()`.
std::unique_ptr<StepFile> make_hdf5(Step step, const FileSettings& settings, int server,
                                    int num_servers);
std::unique_ptr<StepFile> make_zarr(Step step, const FileSettings& settings, int server,
                                    int num_servers);

}  // namespace tailrace::server
