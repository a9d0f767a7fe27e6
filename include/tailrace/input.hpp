// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace {

class Trace;

struct InputOptions {
  /// Number of ranks that share a reader (the first of them); only readers open the file, and each
  /// byte is read once. 0: up to 16 readers, spread evenly. Hint `group_size` overrides it.
  int group_size = 0;
  std::ptrdiff_t buffer_bytes = 16 << 20;  ///< buffer of a reader; more is read in rounds
  bool checks = true;                      ///< verify the checksums in the file
  Hints hints;                             ///< hints for the file; `TAILRACE_HINTS` overrides them
  Trace* trace = nullptr;                  ///< not owned
};

/// The cost of reading so far. `reads` counts system calls, or HDF5 calls for data that only HDF5
/// can read. Metadata that HDF5 reads on rank 0 when a file is opened is not counted.
struct InputStatistics {
  std::int64_t opens = 0;  ///< files opened for data
  std::int64_t reads = 0;
  std::int64_t bytes_read = 0;
  std::int64_t checked = 0;  ///< pieces and boxes compared with their checksums
  double io_s = 0;           ///< in calls to the file system or HDF5
  double move_s = 0;         ///< moving data between ranks, waiting included
};

/// Reads a file written by `Output`, or any HDF5 or netCDF-4 file: contiguous, chunked, compressed,
/// external and virtual datasets of 1 to 5 dimensions, and scalars (as one item), with integer,
/// floating-point or complex numbers of any size and byte order (docs/files.md).
class Input {
 public:
  /// Opens the file on rank 0 only and broadcasts its metadata. Throws `Errc::io` on all ranks
  /// (with errno) if `path` is missing, `Errc::corrupt` if it is not a whole HDF5 file,
  /// `Errc::invalid_input` if options or hints are wrong. Collective, blocking.
  Input(const Comm& comm, const std::string& path, const InputOptions& options = {});
  ~Input();
  Input(Input&&) noexcept;

  /// The global extents of variable `name` ("group/name"). Throws `Errc::invalid_input` if it is
  /// absent (the message lists the names) or cannot be read (the message says why).
  std::vector<std::ptrdiff_t> extents(const std::string& name) const;
  /// The type that can hold every item of the variable: its type in the file, or the next larger
  /// type of the same kind (docs/files.md).
  ItemType type(const std::string& name) const;
  std::vector<std::string> names() const;  ///< all readable variables except coordinates
  /// Whether the file has an attribute of this name (`attribute` may be unable to read it).
  bool has_attribute(const std::string& name) const;
  /// An attribute of the file, with its exact value and type. Throws `Errc::invalid_input` if it is
  /// absent or cannot be read (docs/files.md); the message says why. Local.
  AttributeValue attribute(const std::string& name) const;
  /// The value of an attribute, converted to another type as `read` does. A single item and a list
  /// of one item are interchangeable here.
  std::int64_t attribute_int(const std::string& name) const;
  double attribute_double(const std::string& name) const;
  std::string attribute_string(const std::string& name) const;
  std::vector<double> attribute_doubles(const std::string& name) const;
  std::vector<std::string> attribute_strings(const std::string& name) const;
  /// The numbers of an attribute as consecutive items of `type`.
  std::vector<std::byte> attribute_numbers(const std::string& name, ItemType type) const;
  /// The values of a coordinate; this rank reads them from the file. Throws like `read` to float64,
  /// and throws `Errc::invalid_input` if the file has only a dimension of this name. Local.
  std::vector<double> coordinate(const std::string& name) const;

  /// Fills this rank's boxes of `layout`, converted to `type`: floating-point to floating-point and
  /// complex, complex to complex, integers to any type; a value that does not fit gives
  /// `Errc::invalid_input`. `memory` without boxes means dense. Checksums are verified first, each
  /// piece and box once, by one rank; a mismatch gives `Errc::corrupt` naming dataset and box. Any
  /// layout and number of ranks is possible; data that no rank requests is not read. Throws the
  /// same error on all ranks. Collective, blocking.
  void read(const std::string& name, ItemType type, const Layout& layout, const Memory& memory,
            void* data) const;
  /// Reads into `array` (a vector, array or span), which holds exactly this rank's boxes of
  /// `layout` one after another, each row-major without gaps. Type and memory follow from `array`.
  /// With a `form`, the array has a halo around the rank's one box (left unchanged), or its axes in
  /// another order: `read("u", layout, u, {.halo = 1})`. Throws `Errc::invalid_input` on all ranks
  /// if the size of an array is wrong. Collective, blocking.
  template <ItemRange Array>
  void read(const std::string& name, const Layout& layout, Array&& array,
            const ArrayForm& form = {}) const {
    static_assert(!std::is_const_v<std::remove_pointer_t<decltype(std::ranges::data(array))>>,
                  "Input::read fills the array: it cannot be of const items");
    read_form(name, item_type<std::ranges::range_value_t<Array>>(), layout, form,
              static_cast<std::ptrdiff_t>(std::ranges::size(array)), std::ranges::data(array));
  }
  /// Fills `data` of every rank with the whole array, row-major without gaps. Each reader reads a
  /// share and sends it to the other readers, which send the data to their groups. Throws like
  /// `read`. Collective, blocking.
  void read_all(const std::string& name, ItemType type, void* data) const;

  /// Statistics of this rank. Local.
  InputStatistics statistics() const;
  /// Statistics of all ranks: sums, and the longest times. Collective, blocking.
  InputStatistics total_statistics() const;

  class State;

 private:
  void read_form(const std::string& name, ItemType type, const Layout& layout,
                 const ArrayForm& form, std::ptrdiff_t num_items, void* data) const;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
