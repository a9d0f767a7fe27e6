// SPDX-License-Identifier: BSD-3-Clause
// Parallel HDF5 as a program calls it: one contiguous dataset, allocated early, not filled, aligned
// to 1 MiB; each rank selects its part and writes it in one call.

#include <H5pubconf.h>

#include "io_hdf5.hpp"

#ifdef H5_HAVE_PARALLEL

#include <hdf5.h>

#include <memory>
#include <utility>

namespace bench {

namespace {

using Close = herr_t (*)(hid_t);

[[noreturn]] void fail(const std::string& doing, const std::string& path) {
  throw tailrace::Error(tailrace::Errc::io, "HDF5 cannot " + doing + " " + path);
}

class Handle {
 public:
  Handle(hid_t raw, Close closes, const std::string& doing, const std::string& path)
      : raw_(raw), close_(closes), path_(path) {
    if (raw_ < 0) fail(doing, path);
  }
  ~Handle() {
    if (raw_ >= 0) close_(raw_);
  }
  Handle(Handle&& other) noexcept
      : raw_(std::exchange(other.raw_, -1)), close_(other.close_), path_(other.path_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  hid_t raw() const { return raw_; }
  void close() {
    if (close_(std::exchange(raw_, -1)) < 0) fail("close", path_);
  }

 private:
  hid_t raw_;
  Close close_;
  std::string path_;
};

void check(herr_t status, const std::string& doing, const std::string& path) {
  if (status < 0) fail(doing, path);
}

std::vector<hsize_t> sizes(const std::vector<std::ptrdiff_t>& values) {
  return {values.begin(), values.end()};
}

enum class Hint { none, all_write };

class Hdf5 : public Method {
 public:
  Hdf5(const Job& job, bool collective, Hint hint) : job_(job), collective_(collective) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    if (hint == Hint::none) return;
    const std::string ranks = std::to_string(job.comm.num_ranks());
    tailrace::check_mpi(MPI_Info_create(&info_));
    const std::pair<const char*, std::string> hints[] = {{"romio_cb_write", "enable"},
                                                         {"romio_ds_write", "disable"},
                                                         {"cb_nodes", ranks},
                                                         {"cb_config_list", "*:" + ranks},
                                                         {"cb_buffer_size", "16777216"},
                                                         {"striping_unit", "1048576"}};
    for (const auto& [name, value] : hints) {
      tailrace::check_mpi(MPI_Info_set(info_, name, value.c_str()));
    }
  }
  ~Hdf5() override {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  Hdf5(const Hdf5&) = delete;
  Hdf5& operator=(const Hdf5&) = delete;

  void write(const std::byte* data) override {
    const Handle access = file_access();
    Handle file(H5Fcreate(job_.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.raw()), H5Fclose,
                "create", job_.path);
    const Handle space = file_space();
    const Handle creation = make(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_layout(creation.raw(), H5D_CONTIGUOUS), "set the layout in", job_.path);
    check(H5Pset_alloc_time(creation.raw(), H5D_ALLOC_TIME_EARLY), "allocate in", job_.path);
    check(H5Pset_fill_time(creation.raw(), H5D_FILL_TIME_NEVER), "leave unfilled", job_.path);
    Handle dataset = make(H5Dcreate2(file.raw(), "data", type(), space.raw(), H5P_DEFAULT,
                                     creation.raw(), H5P_DEFAULT),
                          H5Dclose);
    select(space.raw());
    const Handle memory = memory_space();
    const Handle transfer = transfer_list();
    check(H5Dwrite(dataset.raw(), type(), memory.raw(), space.raw(), transfer.raw(), data), "write",
          job_.path);
    dataset.close();
    check(H5Fflush(file.raw(), H5F_SCOPE_GLOBAL), "flush", job_.path);
    file.close();
  }

  void read(std::byte* data) override {
    const Handle access = file_access();
    Handle file(H5Fopen(job_.path.c_str(), H5F_ACC_RDONLY, access.raw()), H5Fclose, "open",
                job_.path);
    const Handle dataset = make(H5Dopen2(file.raw(), "data", H5P_DEFAULT), H5Dclose);
    const Handle space = file_space();
    select(space.raw());
    const Handle memory = memory_space();
    const Handle transfer = transfer_list();
    check(H5Dread(dataset.raw(), type(), memory.raw(), space.raw(), transfer.raw(), data), "read",
          job_.path);
  }
  bool is_plain_file() const override { return false; }

 private:
  Handle make(hid_t raw, Close close) const { return {raw, close, "describe data in", job_.path}; }

  hid_t type() const {
    const auto& array = job_.pattern.array;
    return array && array->item_bytes == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UCHAR;
  }
  Handle file_access() const {
    Handle list = make(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_fapl_mpio(list.raw(), job_.comm.raw(), info_), "use MPI-IO for", job_.path);
    check(H5Pset_alignment(list.raw(), 65536, 1048576), "align", job_.path);
    return list;
  }
  Handle transfer_list() const {
    Handle list = make(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
    const auto mode = collective_ ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT;
    check(H5Pset_dxpl_mpio(list.raw(), mode), "set the mode for", job_.path);
    return list;
  }
  Handle file_space() const {
    const auto& pattern = job_.pattern;
    const auto extents = pattern.array ? sizes(pattern.array->extents)
                                       : std::vector{static_cast<hsize_t>(pattern.total_bytes)};
    return make(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                H5Sclose);
  }
  Handle memory_space() const {
    const auto& pattern = job_.pattern;
    const auto item = pattern.array ? pattern.array->item_bytes : 1;
    const auto items = static_cast<hsize_t>(pattern.bytes() / item);
    return make(H5Screate_simple(1, &items, nullptr), H5Sclose);
  }

  /// A box, or the union of the runs.
  void select(hid_t space) const {
    const auto& pattern = job_.pattern;
    if (pattern.array) {
      const auto start = sizes(pattern.array->start);
      const auto part = sizes(pattern.array->part);
      check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr),
            "select in", job_.path);
      return;
    }
    check(H5Sselect_none(space), "select in", job_.path);
    for (const auto& run : pattern.runs) {
      const auto start = static_cast<hsize_t>(run.offset);
      const auto bytes = static_cast<hsize_t>(run.bytes);
      check(H5Sselect_hyperslab(space, H5S_SELECT_OR, &start, nullptr, &bytes, nullptr),
            "select in", job_.path);
    }
  }

  const Job& job_;
  bool collective_;
  MPI_Info info_ = MPI_INFO_NULL;
};

WriteMethod make_variant(const std::string& name, bool collective, Hint hint) {
  return {name, "hdf5", true, [collective, hint](const Job& job) {
            return std::make_unique<Hdf5>(job, collective, hint);
          }};
}

}  // namespace

std::vector<WriteMethod> hdf5_variants() {
  return {make_variant("hdf5 collective", true, Hint::none),
          make_variant("hdf5 collective all write", true, Hint::all_write),
          make_variant("hdf5 independent", false, Hint::none)};
}

}  // namespace bench

#else

namespace bench {
std::vector<WriteMethod> hdf5_variants() { return {}; }
}  // namespace bench

#endif
