// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5_handle.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "core/system_call.hpp"
#include "store/attribute_values.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

void start_hdf5() {
  const std::lock_guard lock(hdf5_mutex());
  check_hdf5(H5open(), "start the library");
}

namespace {

// The innermost reason, any about a version ("bad version number for datatype message"), and any
// about a lock or a mark of a writer ("unable to lock file", "file is already open for write").
struct Reasons {
  std::string first, version, lock, mark;
};

herr_t note_reason(unsigned n, const H5E_error2_t* error, void* reasons) {
  auto& found = *static_cast<Reasons*>(reasons);
  const std::string text = error->desc != nullptr ? error->desc : "";
  if (n == 0) found.first = text;
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (found.version.empty() && has("version")) found.version = text;
  if (found.lock.empty() && has("unable to lock file")) found.lock = text;
  if (found.mark.empty() && has("already open for")) found.mark = text;
  return 0;
}

Reasons reasons_of_failure() {
  Reasons reasons;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_reason, &reasons);
  return reasons;
}

int be_quiet(MPI_Comm, int, void*, void*) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return MPI_SUCCESS;
}

// HDF5 may not get rid of what a damaged file left in it, and would say so when it ends ("infinite
// loop closing library"): a parallel one in MPI_Finalize, by an attribute of MPI_COMM_SELF. Such
// attributes go in reverse order, so that this one goes before.
void be_quiet_at_exit() {
  static bool done = false;
  int here = 0;
  check_mpi(MPI_Is_thread_main(&here));
  if (done || here == 0) return;
  done = true;
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, be_quiet, &key, nullptr));
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
  check_mpi(MPI_Comm_free_keyval(&key));
}

[[noreturn]] void fail_too_old(const std::string& what, const std::string& reason) {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  refuse_input(
      "{}: written in a newer HDF5 format than the library of this program knows, which is HDF5 "
      "{}.{}.{} (it says: {}); build with a newer one, or write the file for older readers (h5py: "
      "libver=(\"earliest\", \"v110\"))",
      what, major, minor, release, reason);
}

}  // namespace

void fail_hdf5(const std::string& what) {
  const int error = errno;
  be_quiet_at_exit();
  const auto reasons = reasons_of_failure();
  if (!reasons.version.empty()) fail_too_old(what, reasons.version);
  throw Error(Errc::io,
              reasons.first.empty() ? fmt::format("HDF5 failed: {}", what)
                                    : fmt::format("HDF5 failed: {} ({})", what, reasons.first),
              error);
}

Hdf5Handle::Hdf5Handle(hid_t id, Close close, const std::string& what) : id_(id), close_(close) {
  if (id_ < 0) fail_hdf5(what);
}

void Hdf5Handle::reset() {
  if (id_ < 0) return;
  const std::lock_guard lock(hdf5_mutex());
  close_(id_);
  id_ = -1;
}

void check_hdf5(herr_t status, const std::string& what) {
  if (status < 0) fail_hdf5(what);
}

QuietHdf5::QuietHdf5() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

void require_unlocked(const std::string& path) {
  const char* locking = std::getenv("HDF5_USE_FILE_LOCKING");
  const std::string_view asked = locking != nullptr ? locking : "";
  if (asked == "FALSE" || asked == "0") return;
  const Descriptor file = open_descriptor(path, O_RDONLY);
  if (!file || flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Error(
      Errc::io,
      fmt::format("{} is locked: another program holds it open to write. Read it when that "
                  "program has closed it; HDF5_USE_FILE_LOCKING=FALSE reads it as it is now",
                  path),
      EWOULDBLOCK);
}

namespace {

// Why HDF5 does not open a file that can be read: its signature lies at byte 0, 512, 1024, ...
std::string what_is_wrong(const std::string& path) {
  constexpr std::string_view signature{"\x89HDF\r\n\x1a\n", 8};
  const Descriptor file = open_descriptor(path, O_RDONLY);
  struct stat status {};
  if (fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) return "is a folder";
  bool found = false;
  std::array<char, 8> start{};
  for (off_t at = 0; !found && pread(file.get(), start.data(), 8, at) == 8;
       at = at == 0 ? 512 : 2 * at) {
    found = std::string_view(start.data(), 8) == signature;
  }
  const auto bytes = lseek(file.get(), 0, SEEK_END);
  if (!found) return fmt::format("is not an HDF5 file ({} bytes, without its signature)", bytes);
  return fmt::format("is not a whole HDF5 file: cut short ({} bytes), or its headers are damaged",
                     bytes);
}

// A lock was refused by the file system, or by another program just now.
[[noreturn]] void fail_without_lock(const std::string& path, const std::string& reason) {
  require_unlocked(path);
  throw Error(Errc::io,
              fmt::format("{} cannot be locked by HDF5 ({}); if its file system has no locks, set "
                          "HDF5_USE_FILE_LOCKING=FALSE",
                          path, reason),
              ENOLCK);
}

[[noreturn]] void fail_marked(const std::string& path) {
  throw Error(Errc::io,
              fmt::format("{} is marked as open to write: another program writes to it, or ended "
                          "without closing it (then `h5clear -s {}` removes the mark)",
                          path, path),
              EWOULDBLOCK);
}

Hdf5Handle copied(hid_t type) { return {H5Tcopy(type), H5Tclose, "copy a type"}; }

Hdf5Handle complex_type(hid_t part) {
  const auto bytes = H5Tget_size(part);
  Hdf5Handle type(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose, "create a complex type");
  check_hdf5(H5Tinsert(type.id(), "r", 0, part), "insert the real part");
  check_hdf5(H5Tinsert(type.id(), "i", bytes, part), "insert the imaginary part");
  return type;
}

// As h5py writes it: HDF5 has a name for it since 1.14 only.
Hdf5Handle half_type() {
  Hdf5Handle type(H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose, "copy a type");
  check_hdf5(H5Tset_fields(type.id(), 15, 10, 5, 0, 10), "set the bits of half precision");
  check_hdf5(H5Tset_size(type.id(), sizeof(Half)), "set the size of half precision");
  check_hdf5(H5Tset_ebias(type.id(), 15), "set the bias of half precision");
  return type;
}

}  // namespace

Hdf5Handle native_type(ItemType type) {
  switch (type) {
    case ItemType::float32:
      return copied(H5T_NATIVE_FLOAT);
    case ItemType::float64:
      return copied(H5T_NATIVE_DOUBLE);
    case ItemType::int32:
      return copied(H5T_NATIVE_INT32);
    case ItemType::int64:
      return copied(H5T_NATIVE_INT64);
    case ItemType::int8:
      return copied(H5T_NATIVE_INT8);
    case ItemType::int16:
      return copied(H5T_NATIVE_INT16);
    case ItemType::uint8:
      return copied(H5T_NATIVE_UINT8);
    case ItemType::uint16:
      return copied(H5T_NATIVE_UINT16);
    case ItemType::uint32:
      return copied(H5T_NATIVE_UINT32);
    case ItemType::uint64:
      return copied(H5T_NATIVE_UINT64);
    case ItemType::complex64:
      return complex_type(H5T_NATIVE_FLOAT);
    case ItemType::complex128:
      return complex_type(H5T_NATIVE_DOUBLE);
    case ItemType::float16:
      return half_type();
  }
  throw Error(Errc::internal, "unknown item type");
}

Hdf5Handle texts_type() {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  check_hdf5(H5Tset_size(type.id(), H5T_VARIABLE), "string size");
  check_hdf5(H5Tset_cset(type.id(), H5T_CSET_UTF8), "string character set");
  return type;
}

Hdf5Handle open_hdf5_file(const std::string& path) {
  if (!open_descriptor(path, O_RDONLY)) fail_io("open", path, errno);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) {
    const auto reasons = reasons_of_failure();
    if (!reasons.lock.empty()) fail_without_lock(path, reasons.first);
    if (!reasons.mark.empty()) fail_marked(path);
    throw Error(Errc::corrupt, fmt::format("{} {}{}", path, what_is_wrong(path),
                                           reasons.version.empty()
                                               ? ""
                                               : fmt::format(" (HDF5 says: {})", reasons.version)));
  }
  return {file, H5Fclose, path};
}

void write_attribute(hid_t object, const std::string& name, hid_t type, hid_t space,
                     const void* data) {
  const Hdf5Handle attribute(
      H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      "create attribute " + name);
  if (H5Sget_simple_extent_npoints(space) == 0) return;  // HDF5 wants an address
  check_hdf5(H5Awrite(attribute.id(), type, data), "write attribute " + name);
}

namespace {

// As h5py writes it: an enumeration of FALSE and TRUE.
Hdf5Handle bool_type() {
  Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose, "create a type of booleans");
  std::int8_t value = 0;
  check_hdf5(H5Tenum_insert(type.id(), "FALSE", &value), "insert FALSE");
  value = 1;
  check_hdf5(H5Tenum_insert(type.id(), "TRUE", &value), "insert TRUE");
  return type;
}

template <class Item>
Hdf5Handle type_of_items() {
  if constexpr (FileItem<Item>) {
    return native_type(item_type<Item>());
  } else if constexpr (std::is_same_v<Item, bool>) {
    return bool_type();
  } else {
    return texts_type();
  }
}

// Of fixed length.
void write_value(hid_t object, const std::string& name, const std::string& text) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  // A text with zero bytes is as long as its type, and they do not end it.
  const bool whole = text.find('\0') != std::string::npos;
  check_hdf5(H5Tset_size(type.id(), text.size() + (whole ? 0 : 1)), "string size");
  if (whole) check_hdf5(H5Tset_strpad(type.id(), H5T_STR_NULLPAD), "string padding");
  check_hdf5(H5Tset_cset(type.id(), H5T_CSET_UTF8), "string character set");
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "attribute space");
  write_attribute(object, name, type.id(), space.id(), text.c_str());
}

template <class Item>
void write_value(hid_t object, const std::string& name, const Item& value) {
  const auto type = type_of_items<Item>();
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "attribute space");
  write_attribute(object, name, type.id(), space.id(), &value);
}

// As float32: the netCDF-4 library writes beyond its buffers when it reads an attribute of half
// precision, and it reads all attributes.
void write_value(hid_t object, const std::string& name, const Half& value) {
  write_value(object, name, static_cast<float>(value));
}

template <class Item>
void write_value(hid_t object, const std::string& name, const std::vector<Item>& values) {
  if constexpr (std::is_same_v<Item, Half>) {
    return write_value(object, name, std::vector<float>(values.begin(), values.end()));
  }
  const hsize_t count = values.size();
  const auto type = type_of_items<Item>();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "attribute space");
  if constexpr (std::is_same_v<Item, bool>) {
    const std::vector<std::int8_t> bytes(values.begin(), values.end());
    write_attribute(object, name, type.id(), space.id(), bytes.data());
  } else if constexpr (std::is_same_v<Item, std::string>) {
    std::vector<const char*> texts;
    for (const auto& text : values) texts.push_back(text.c_str());
    write_attribute(object, name, type.id(), space.id(), texts.data());
  } else {
    write_attribute(object, name, type.id(), space.id(), values.data());
  }
}

}  // namespace

void write_attributes(hid_t object, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    std::visit([&, &key = name](const auto& v) { write_value(object, key, v); }, value);
  }
}

void write_array_attributes(hid_t object, const std::string& name, const Attributes& attributes,
                            ItemType type) {
  const auto fill = std::ranges::find(attributes, fill_name, &Attributes::value_type::first);
  if (fill == attributes.end()) return write_attributes(object, attributes);
  auto typed = attributes;
  auto& value = typed[static_cast<std::size_t>(fill - attributes.begin())].second;
  value = converted(name, std::string(fill_name), value, type);
  write_attributes(object, typed);
}

}  // namespace tailrace::store
