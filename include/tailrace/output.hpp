// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/hints.hpp"
#include "tailrace/item_type.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/output_statistics.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

/// When the bytes leave: `synchronous` writes inside `write`; `hidden` copies to a staging buffer
/// and lets a background thread of each writer rank do the rest while the caller computes.
enum class OutputMode { synchronous, hidden };

struct OutputOptions {
  OutputMode mode = OutputMode::hidden;
  /// Who writes what: "spokesperson" (rank 0 everything), "collective" (`writers` long runs of the
  /// file), "shared_independent" (each rank its own rows), "grouped" (the first rank of each group
  /// its group's rows), "file_per_rank" (pieces in PATH.pieces/, and PATH shows them as one) or
  /// "auto" (collective). docs/files.md says when which.
  std::string strategy = "auto";
  /// Settings by their names (`hint_table()`): cb_nodes, cb_align, striping_unit, group_size,
  /// direct_io, sync, ... They override the numbers below, and `TAILRACE_HINTS` overrides them.
  Hints hints = {};
  int writers = 0;                        ///< writer ranks; 0 = up to 4 a node (docs/files.md)
  std::ptrdiff_t stripe_bytes = 1 << 20;  ///< file domains end at multiples of it (a multiple of
                                          ///< 8), unless the file system has stripes; 0 = even
                                          ///< shares
  int buffered_files = 2;                 ///< files that may be under way before `write` waits
  /// How data moves to the writers: a name of `move_methods()`, "push" (all ranks on one node: each
  /// rank copies its items straight into the writers' staging buffers, in one pass) or "auto" (push
  /// where it applies, else what measures best, see tune.hpp).
  std::string method = "auto";
  bool checksums = true;   ///< xxHash of each piece, kept in the file
  Trace* trace = nullptr;  ///< not owned
};

using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<double>>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

/// One array of a file: `data` is this rank's part, as `layout` and `memory` say. The shortest form
/// is `Variable("u", layout, std::span(u))`. Refers to layout and data, which must live until the
/// call that it is given to returns.
struct Variable {
  std::string name;
  ItemType type = ItemType::float64;
  /// Name of each axis; empty: "x", or "y", "x", or "z", "y", "x", with "dim_0", "dim_1" before.
  std::vector<std::string> dims;
  const Layout* layout = nullptr;
  /// Without boxes: dense (`Memory::dense`), of `num_items` items, as many as the rank holds.
  Memory memory;
  const void* data = nullptr;
  Attributes attributes;

  Variable() = default;
  Variable(std::string its_name, ItemType its_type, std::vector<std::string> its_dims,
           const Layout* its_layout, Memory its_memory, const void* its_data,
           Attributes its_attributes = {})
      : name(std::move(its_name)),
        type(its_type),
        dims(std::move(its_dims)),
        layout(its_layout),
        memory(std::move(its_memory)),
        data(its_data),
        attributes(std::move(its_attributes)) {}
  /// `array` holds this rank's boxes one after another, each row-major without gaps, and nothing
  /// else; the call that writes throws `Errc::invalid_input` on all ranks if it has another size.
  /// Local.
  template <FileItem T, std::size_t N>
  Variable(std::string its_name, const Layout& its_layout, std::span<T, N> array,
           std::vector<std::string> its_dims = {}, Attributes its_attributes = {})
      : Variable(std::move(its_name), item_type<T>(), std::move(its_dims), &its_layout,
                 Memory{{}, std::ssize(array)}, array.data(), std::move(its_attributes)) {}
  template <FileItem T, std::size_t N>
  Variable(std::string its_name, Layout&& its_layout, std::span<T, N> array,
           std::vector<std::string> its_dims = {}, Attributes its_attributes = {}) = delete;
};

/// A small array that every rank has alike (coordinates, tables); written by one rank.
struct Coordinate {
  std::string name;  ///< names a dimension, e.g. "x"
  std::vector<double> values;
  Attributes attributes;
};

struct FileContents {
  std::vector<Coordinate> coordinates = {};
  std::vector<Variable> variables = {};
  Attributes attributes = {};  ///< of the file
  std::int64_t step = 0;       ///< named in error messages
};

/// Writes plain HDF5 files (contiguous datasets, NetCDF-4 dimension scales) that h5py, xarray and
/// ParaView read: one rank writes the metadata, the writer ranks put the data into the dataset's
/// extent with `pwrite`. A file grows under `PATH.partial`, is flushed and checksummed, and gets
/// its final name last, so `PATH` is either absent, the previous complete file, or the new one.
class Output {
 public:
  /// Collective, blocking. Throws `Errc::invalid_input` on all ranks for options out of range.
  Output(const Comm& comm, OutputOptions options);
  /// Waits for files under way; errors found now are only said (`set_line_handler`), so call
  /// `finish` first. Collective, blocking.
  ~Output();
  Output(Output&&) noexcept;

  /// Writes `contents` to `path`. When it returns, the caller's arrays may be changed. Shapes must
  /// be the same from call to call for buffers to be reused. Waits if `buffered_files` are under
  /// way. Throws on all ranks the same `Errc::io` (errno, rank, path, step) for this file
  /// (synchronous) or for an earlier one (hidden: then nothing of `contents` has been written, and
  /// the call may be repeated). The `Output` stays usable. Collective, blocking for the copy only
  /// if hidden.
  void write(const std::string& path, const FileContents& contents);
  /// Waits until every file has its final name; throws like `write`. Collective, blocking.
  void finish();
  /// Lets files under way get their final names as soon as all writers are done, rather than at the
  /// next `write` or `finish`. Cheap; call it once a step, on all ranks. Never waits, never throws
  /// for a failed file (the next `write` or `finish` does). Local.
  void progress();
  OutputStatistics statistics() const;
  /// Path of the last file known on all ranks to be complete, or "".
  const std::string& last_complete() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

struct InputOptions {
  /// Ranks that share a reader, the first of them; only readers open the file, and each byte is
  /// read once. 0 = up to 16 readers, spread evenly. Hint `group_size`, where set, is used instead.
  int group_size = 0;
  std::ptrdiff_t buffer_bytes = 16 << 20;  ///< of a reader; more is read in rounds
  bool checks = true;                      ///< compare with the checksums that the file has
  Hints hints;                             ///< of the file; `TAILRACE_HINTS` overrides them
  Trace* trace = nullptr;                  ///< not owned
};

/// What reading cost so far. `reads` are system calls, or calls of HDF5 for data that only HDF5 can
/// read. What HDF5 reads on rank 0 to find its way about a file when it is opened is not counted.
struct InputStatistics {
  std::int64_t opens = 0;  ///< files opened for data
  std::int64_t reads = 0;
  std::int64_t bytes_read = 0;
  std::int64_t checked = 0;  ///< pieces and boxes compared with their checksums
  double io_s = 0;           ///< in calls to the file system or HDF5
  double move_s = 0;         ///< moving data between ranks, waiting included
};

/// Reads from a file of `Output`, or any HDF5 or netCDF-4 file: contiguous, chunked, compressed,
/// external and virtual datasets of 1 to 5 dimensions, scalars (as one item), integers,
/// floating-point and complex numbers of any size and byte order (docs/reading.md).
class Input {
 public:
  /// Opens on rank 0 only and shares what it found. Throws `Errc::io` on all ranks (with errno) if
  /// `path` is missing, `Errc::corrupt` if it is not a whole HDF5 file, `Errc::invalid_input` if
  /// options or hints are wrong. Collective, blocking.
  Input(const Comm& comm, const std::string& path, const InputOptions& options = {});
  ~Input();
  Input(Input&&) noexcept;

  /// The global extents of variable `name` ("group/name"). Throws `Errc::invalid_input` if absent,
  /// listing names, or if it is of a kind that cannot be read, saying why.
  std::vector<std::ptrdiff_t> extents(const std::string& name) const;
  /// The type that holds every item of the file's: the file's own, or the next larger one of its
  /// kind (docs/reading.md).
  ItemType type(const std::string& name) const;
  std::vector<std::string> names() const;  ///< of all that can be read but coordinates
  bool has_attribute(const std::string& name) const;
  std::int64_t attribute_int(const std::string& name) const;  ///< of the file; throws if absent
  double attribute_double(const std::string& name) const;
  std::string attribute_string(const std::string& name) const;
  std::vector<double> attribute_doubles(const std::string& name) const;
  std::vector<double> coordinate(const std::string& name) const;

  /// Fills this rank's boxes of `layout`, converted to `type`: floating-point numbers to each
  /// other and to complex ones, complex ones to each other, integers to anything; a value that does
  /// not fit is `Errc::invalid_input`. `memory` without boxes is dense. Whatever is read is checked
  /// first, each piece and box once, by one rank; a wrong one is `Errc::corrupt` naming dataset and
  /// box. Any layout, any number of ranks; what no rank wants is not read.
  /// Throws the same error on all ranks. Collective, blocking.
  void read(const std::string& name, ItemType type, const Layout& layout, const Memory& memory,
            void* data) const;
  /// The same into `array`, which holds this rank's boxes of `layout` one after another, each
  /// row-major without gaps, and nothing else: type and memory follow from it. Throws
  /// `Errc::invalid_input` on all ranks if one array has another size. Collective, blocking.
  template <FileItem T, std::size_t N>
  void read(const std::string& name, const Layout& layout, std::span<T, N> array) const {
    static_assert(!std::is_const_v<T>, "Input::read fills the array: it cannot be of const items");
    read(name, item_type<T>(), layout, Memory{{}, std::ssize(array)}, array.data());
  }
  /// Fills `data` of every rank with the whole array, row-major without gaps. The readers read a
  /// share each and pass it on to the other readers, and each to its group. Throws like `read`.
  /// Collective, blocking.
  void read_all(const std::string& name, ItemType type, void* data) const;

  /// Of this rank. Local.
  InputStatistics statistics() const;
  /// Sums over all ranks (times: the longest). Collective, blocking.
  InputStatistics total_statistics() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

/// Writes (rank 0) an XDMF 3 sidecar that shows `files` (times in seconds, one each) of a uniform
/// grid to ParaView: node-centred scalars `variables` of shape `extents` (z, y, x). Paths in it are
/// relative to its own folder. Collective, blocking; throws `Errc::io` on all ranks.
void write_xdmf(const Comm& comm, const std::string& path, std::span<const std::string> files,
                std::span<const double> times_s, std::span<const std::string> variables,
                std::span<const std::ptrdiff_t> extents, std::span<const double> spacing,
                ItemType type);

}  // namespace tailrace
