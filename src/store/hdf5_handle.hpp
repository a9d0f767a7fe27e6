// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

#include "tailrace/more/attributes.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::store {

/// Throws for a failed call of HDF5, naming `what` and HDF5's own reason: `Errc::invalid_input` if
/// the object seems to be of a newer format than this library knows, else `Errc::io`.
[[noreturn]] void fail_hdf5(const std::string& what);

/// Owner of one HDF5 handle. Throws as `fail_hdf5` if HDF5 gave none.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle(hid_t id, Close close, const std::string& what);
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() { reset(); }
  hid_t id() const { return id_; }
  void reset();

 private:
  hid_t id_;
  Close close_;
};

/// Held around every use of the HDF5 library, which often cannot be used by two threads at once: a
/// server thread lays files out while the main thread reads others. May be taken again by the
/// thread that has it.
std::recursive_mutex& hdf5_mutex();

/// Starts the HDF5 library. A parallel one calls MPI when it starts, so this comes before a thread
/// that is not the main one uses it. Local, once.
void start_hdf5();

/// Throws as `fail_hdf5` if an HDF5 call failed.
void check_hdf5(herr_t status, const std::string& what);

/// The use of HDF5 by this thread alone while it lives; HDF5 does not print its error stack.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> lock_{hdf5_mutex()};
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// A text that HDF5 gives by `get(text, bytes)`, which returns how long it is.
template <class Get>
std::string text_of(Get&& get) {
  const auto bytes = get(nullptr, 0);
  std::string text(static_cast<std::size_t>(bytes > 0 ? bytes : 0), '\0');
  get(text.data(), text.size() + 1);
  return text;
}

/// The type of an item in memory; of complex numbers the compound {r, i} that h5py uses too.
Hdf5Handle native_type(ItemType type);

/// The type of texts of any length in UTF-8, which lie in memory as `const char*`.
Hdf5Handle texts_type();

/// Throws `Errc::io` (EWOULDBLOCK) if another program holds `path` open to write and has locked it
/// as HDF5 does, unless HDF5_USE_FILE_LOCKING forbids locks. Local.
void require_unlocked(const std::string& path);

/// Opens a file to read. Throws `Errc::io` (errno) if it cannot be opened or is locked,
/// `Errc::corrupt` if it is not a whole HDF5 file.
Hdf5Handle open_hdf5_file(const std::string& path);

/// Writes `attributes` to an object, each in its own type. `Errc::io` on failure.
void write_attributes(hid_t object, const Attributes& attributes);
/// The same for array `name` of `type`: its `_FillValue` gets this type, as netCDF has it. Throws
/// `Errc::invalid_input` if that cannot be.
void write_array_attributes(hid_t object, const std::string& name, const Attributes& attributes,
                            ItemType type);
/// Writes one attribute; its data lies in memory as in the file. `Errc::io` on failure.
void write_attribute(hid_t object, const std::string& name, hid_t type, hid_t space,
                     const void* data);
}  // namespace tailrace::store
