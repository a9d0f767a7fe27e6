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
/// floating-point and complex numbers of any size and byte order (docs/files.md).
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
  /// kind (docs/files.md).
  ItemType type(const std::string& name) const;
  std::vector<std::string> names() const;  ///< of all that can be read but coordinates
  /// Whether the file has an attribute of this name, which `attribute` may nevertheless refuse.
  bool has_attribute(const std::string& name) const;
  /// An attribute of the file, exactly and in its own type. Throws `Errc::invalid_input` if it is
  /// absent, or saying why it cannot be read (docs/files.md). Local.
  AttributeValue attribute(const std::string& name) const;
  /// The same as another type: numbers are converted as by `read`. One item stands for a list of
  /// one, and the other way round.
  std::int64_t attribute_int(const std::string& name) const;
  double attribute_double(const std::string& name) const;
  std::string attribute_string(const std::string& name) const;
  std::vector<double> attribute_doubles(const std::string& name) const;
  std::vector<std::string> attribute_strings(const std::string& name) const;
  /// Its numbers as items of `type`, one after another.
  std::vector<std::byte> attribute_numbers(const std::string& name, ItemType type) const;
  /// The values of a coordinate, which this rank reads from the file. Throws like `read` of
  /// float64, and `Errc::invalid_input` if the file has only a dimension of this name. Local.
  std::vector<double> coordinate(const std::string& name) const;

  /// Fills this rank's boxes of `layout`, converted to `type`: floating-point numbers to each
  /// other and to complex ones, complex ones to each other, integers to anything; a value that does
  /// not fit is `Errc::invalid_input`. `memory` without boxes is dense. Whatever is read is checked
  /// first, each piece and box once, by one rank; a wrong one is `Errc::corrupt` naming dataset and
  /// box. Any layout, any number of ranks; what no rank wants is not read.
  /// Throws the same error on all ranks. Collective, blocking.
  void read(const std::string& name, ItemType type, const Layout& layout, const Memory& memory,
            void* data) const;
  /// The same into `array` (a vector, array or span), which holds this rank's boxes of `layout` one
  /// after another, each row-major without gaps, and nothing else: type and memory follow from it.
  /// With a `form` it also has a halo around the rank's one box, which is left as it is, or its
  /// axes in another order: `read("u", layout, u, {.halo = 1})`. Throws `Errc::invalid_input` on
  /// all ranks if one array has another size. Collective, blocking.
  template <ItemRange Array>
  void read(const std::string& name, const Layout& layout, Array&& array,
            const ArrayForm& form = {}) const {
    static_assert(!std::is_const_v<std::remove_pointer_t<decltype(std::ranges::data(array))>>,
                  "Input::read fills the array: it cannot be of const items");
    read_form(name, item_type<std::ranges::range_value_t<Array>>(), layout, form,
              static_cast<std::ptrdiff_t>(std::ranges::size(array)), std::ranges::data(array));
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
  void read_form(const std::string& name, ItemType type, const Layout& layout,
                 const ArrayForm& form, std::ptrdiff_t num_items, void* data) const;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
