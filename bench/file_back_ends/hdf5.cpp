// SPDX-License-Identifier: BSD-3-Clause
// Parallel HDF5, the standard to compare with. The bytes of the file are those of its datasets:
// an array becomes a dataset of its shape, runs become a dataset of bytes up to the end of the last
// one; bytes written later beyond become further datasets. Datasets are made collectively, so the
// first `write_part` of a place is collective over the openers.
#include <hdf5.h>

#include "file/back_end.hpp"

#ifdef H5_HAVE_PARALLEL

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "file/back_ends/posix.hpp"
#include "file_back_ends/hdf5_dataset.hpp"
#include "file_back_ends/mpi_types.hpp"
#include "file_back_ends/ompio.hpp"

namespace tailrace::file {
namespace {

using Bounds = std::array<std::int64_t, 2>;  // first byte and end

Bounds bounds_of(std::span<const Segment> segments) {
  if (segments.empty()) return {std::numeric_limits<std::int64_t>::max(), 0};
  return {segments.front().file_offset, segments.back().file_end()};
}

// A file that OMPIO opens on some ranks only, it never does: they wait for each other. To read,
// each rank opens alone there; to write, HDF5 needs the others.
bool opened_alone(const OpenRequest& request) {
  return request.access == FileAccess::read && uses_ompio();
}

Hdf5Id access_list(const OpenRequest& request) {
  Hdf5Id list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "open", request.path);
  const MpiInfo info(request.settings.mpi_hints);
  const MPI_Comm together = opened_alone(request) ? MPI_COMM_SELF : request.openers->raw();
  if (H5Pset_fapl_mpio(list.id(), together, info.raw()) < 0) {
    fail_hdf5("open", request.path);
  }
  if (const auto stripe = request.settings.striping_unit; stripe > 1) {
    H5Pset_alignment(list.id(), static_cast<hsize_t>(stripe), static_cast<hsize_t>(stripe));
  }
  return list;
}

Hdf5Id open_file(const OpenRequest& request) {
  const SilentHdf5 silent;
  const auto list = access_list(request);
  int exists = 1;
  if (request.access == FileAccess::write) exists = 0;
  if (request.access == FileAccess::update) {
    exists = access(request.path.c_str(), F_OK) == 0 ? 1 : 0;
    check_mpi(MPI_Bcast(&exists, 1, MPI_INT, 0, request.openers->raw()));
  }
  errno = 0;
  const auto flags = request.access == FileAccess::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR;
  const char* path = request.path.c_str();
  return {exists != 0 ? H5Fopen(path, flags, list.id())
                      : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list.id()),
          H5Fclose, exists != 0 ? "open" : "create", request.path};
}

class Hdf5File final : public BackEnd {
 public:
  explicit Hdf5File(const OpenRequest& request)
      : openers_(*request.openers),
        path_(request.path),
        statistics_(request.statistics),
        opened_alone_(opened_alone(request)),
        reads_back_(ReadBack::is_needed(request)),
        file_(open_file(request)) {
    ++statistics_.opens;
    if (ReadBack::is_needed_for_reads_of_hdf5(request)) read_again_.emplace(request);
    find_datasets();
  }

  void write(std::span<const Segment> segments, const std::byte* memory, bool) override {
    const AddTime time(statistics_.io_s);
    const SilentHdf5 silent;
    if (openers_.num_ranks() == 1) make_datasets(nullptr, segments);
    transfer(nullptr, segments, const_cast<std::byte*>(memory), {true, false});
  }
  void read(std::span<const Segment> segments, std::byte* memory, bool) override {
    const AddTime time(statistics_.io_s);
    const SilentHdf5 silent;
    transfer(nullptr, segments, memory, {false, false});
  }
  void write_part(const FilePart& part, const std::byte* data) override {
    write_kind(part, data, {true, false});
  }
  void write_all(const FilePart& part, const std::byte* data) override {
    write_kind(part, data, {true, true});
  }
  void read_part(const FilePart& part, std::byte* data) override {
    read_kind(part, data, {false, false});
  }
  void read_all(const FilePart& part, std::byte* data) override {
    read_kind(part, data, {false, true});
  }

  std::ptrdiff_t size() override {
    hsize_t bytes = 0;
    if (H5Fget_filesize(file_.id(), &bytes) < 0) fail_hdf5("look at", path_);
    return static_cast<std::ptrdiff_t>(bytes);
  }
  void flush() override {
    const AddTime time(statistics_.io_s);
    const SilentHdf5 silent;
    errno = 0;
    if (H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) < 0) fail_hdf5("flush", path_);
  }
  void close() override {
    const AddTime time(statistics_.io_s);
    const SilentHdf5 silent;
    datasets_.clear();
    errno = 0;
    if (file_.id() >= 0 && file_.reset() < 0) fail_hdf5("close", path_);
  }
  bool opens_alone() const override { return opened_alone_; }

 private:
  struct Kind {
    bool writing;
    bool collective;
  };
  void write_kind(const FilePart& part, const std::byte* data, Kind kind) {
    const AddTime time(statistics_.io_s);
    const SilentHdf5 silent;
    make_datasets(&part, FilePart::Data::of(part).segments());
    transfer(&part, FilePart::Data::of(part).segments(), const_cast<std::byte*>(data), kind);
  }
  void read_kind(const FilePart& part, std::byte* data, Kind kind) {
    const AddTime time(statistics_.io_s);
    const SilentHdf5 silent;
    transfer(&part, FilePart::Data::of(part).segments(), data, kind);
  }
  void find_datasets();
  void add(Hdf5Dataset set);
  FileArray agree_on_array(const FilePart* part) const;
  Bounds agree_on_bounds(std::span<const Segment> segments) const;
  void make_datasets(const FilePart* part, std::span<const Segment> segments);
  void cover(const FileArray& array);
  void transfer(const FilePart* part, std::span<const Segment> segments, std::byte* data,
                Kind kind);
  void transfer_dense(const FilePart* part, std::span<const Segment> segments, std::byte* dense,
                      Kind kind);
  void check_written(const Hdf5Dataset& set, const Hdf5Dataset::Selection& selection,
                     const std::byte* dense);

  const Comm& openers_;
  std::string path_;
  FileStatistics& statistics_;
  const bool opened_alone_;
  const bool reads_back_;
  std::vector<std::byte> held_;
  Hdf5Id file_;
  std::optional<ReadBack> read_again_;
  std::map<std::ptrdiff_t, Hdf5Dataset> datasets_;  // by first byte; disjoint
};

herr_t note_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  if (std::string_view(name).starts_with("data")) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  }
  return 0;
}

void Hdf5File::find_datasets() {
  const SilentHdf5 silent;
  std::vector<std::string> names;
  if (H5Literate(file_.id(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_name, &names) < 0) {
    fail_hdf5("read", path_);
  }
  for (const auto& name : names) add(Hdf5Dataset::open(file_.id(), path_, name));
}

void Hdf5File::add(Hdf5Dataset set) {
  const auto first_byte = set.first_byte();
  datasets_.emplace(first_byte, std::move(set));
}

// Makes a dataset of the array's shape, or if others hold some of its bytes, datasets of bytes for
// the rest.
void Hdf5File::cover(const FileArray& array) {
  const auto end = array.offset + std::accumulate(array.extents.begin(), array.extents.end(),
                                                  array.item_bytes, std::multiplies<>());
  std::vector<FileArray> gaps;
  auto at = array.offset;
  for (const auto& [first_byte, set] : datasets_) {
    if (set.end() <= at || first_byte >= end) continue;
    if (first_byte > at) gaps.push_back({at, {first_byte - at}, 1});
    at = set.end();
  }
  if (at == array.offset && at < end) {
    gaps.push_back(array);
  } else if (at < end) {
    gaps.push_back({at, {end - at}, 1});
  }
  for (const auto& gap : gaps) {
    add(Hdf5Dataset::create(file_.id(), path_, gap, datasets_.empty()));
  }
}

// The array of the lowest opener that has one; empty extents if none has.
FileArray Hdf5File::agree_on_array(const FilePart* part) const {
  const auto* own = part != nullptr && FilePart::Data::of(*part).array()
                        ? &*FilePart::Data::of(*part).array()
                        : nullptr;
  int root = own != nullptr ? openers_.rank() : openers_.num_ranks();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &root, 1, MPI_INT, MPI_MIN, openers_.raw()));
  if (root == openers_.num_ranks()) return {};
  std::array<std::int64_t, 3 + max_dims> shape{};
  if (openers_.rank() == root) {
    shape = {own->offset, own->item_bytes, std::ssize(own->extents)};
    std::ranges::copy(own->extents, shape.begin() + 3);
  }
  check_mpi(MPI_Bcast(shape.data(), to_int(std::ssize(shape)), MPI_INT64_T, root, openers_.raw()));
  return {shape[0], {shape.begin() + 3, shape.begin() + 3 + shape[2]}, shape[1]};
}

// What the openers access together.
Bounds Hdf5File::agree_on_bounds(std::span<const Segment> segments) const {
  auto bounds = bounds_of(segments);
  bounds[1] = -bounds[1];  // one reduction for the least and the greatest
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, bounds.data(), 2, MPI_INT64_T, MPI_MIN, openers_.raw()));
  return {bounds[0], -bounds[1]};
}

void Hdf5File::make_datasets(const FilePart* part, std::span<const Segment> segments) {
  const auto array = agree_on_array(part);
  const auto bounds = agree_on_bounds(segments);
  if (bounds[0] >= bounds[1]) return;
  run_agreed(openers_.raw(), [&] {
    if (!array.extents.empty()) cover(array);
    const auto start = array.extents.empty() ? 0 : bounds[0];
    cover({start, {bounds[1] - start}, 1});
  });
}

void Hdf5File::transfer(const FilePart* part, std::span<const Segment> segments, std::byte* data,
                        Kind kind) {
  if (dense_in_memory(segments)) {
    transfer_dense(part, segments, segments.empty() ? data : data + segments[0].memory_offset,
                   kind);
    return;
  }
  std::ptrdiff_t bytes = 0;
  for (const auto& segment : segments) bytes += segment.bytes;
  const auto dense = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  const auto copy = [&](bool from_dense) {
    auto* at = dense.get();
    for (const auto& segment : segments) {
      auto* own = data + segment.memory_offset;
      std::memcpy(from_dense ? own : at, from_dense ? at : own,
                  static_cast<std::size_t>(segment.bytes));
      at += segment.bytes;
    }
  };
  if (kind.writing) copy(false);
  transfer_dense(part, segments, dense.get(), kind);
  if (!kind.writing) copy(true);
}

// What OMPIO has lost without an error; `run` has waited for those who write for this rank.
void Hdf5File::check_written(const Hdf5Dataset& set, const Hdf5Dataset::Selection& selection,
                             const std::byte* dense) {
  if (selection.bytes == 0) return;
  const Hdf5Id alone(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "access", path_);
  held_.resize(static_cast<std::size_t>(selection.bytes));
  set.transfer(selection, held_.data(), false, alone.id());
  if (std::memcmp(held_.data(), dense, held_.size()) == 0) return;
  throw Error(
      Errc::io,
      fmt::format("cannot write {}: HDF5 and MPI-IO (OMPIO) reported success, but some of {} "
                  "bytes are not in the file; is the disk full?",
                  path_, selection.bytes),
      EIO);
}

void Hdf5File::transfer_dense(const FilePart* part, std::span<const Segment> segments,
                              std::byte* dense, Kind kind) {
  const bool together = kind.collective && !opened_alone_;
  const auto run = [&](auto&& action) { together ? run_agreed(openers_.raw(), action) : action(); };
  std::ptrdiff_t left = 0;
  for (const auto& segment : segments) left += segment.bytes;
  const auto bounds = together ? agree_on_bounds(segments) : bounds_of(segments);
  const Hdf5Id list(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "access", path_);
  H5Pset_dxpl_mpio(list.id(), together ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  if (together && !kind.writing && uses_ompio()) {
    H5Pset_dxpl_mpio_collective_opt(list.id(), H5FD_MPIO_INDIVIDUAL_IO);
  }
  for (const auto& [first_byte, set] : datasets_) {
    if (set.end() <= bounds[0] || first_byte >= bounds[1]) continue;
    std::optional<Hdf5Dataset::Selection> selection;
    run([&] { selection.emplace(set.select(part, segments)); });
    if (selection->bytes == 0 && !together) continue;
    run([&] { set.transfer(*selection, dense, kind.writing, list.id()); });
    if (kind.writing && reads_back_) run([&] { check_written(set, *selection, dense); });
    if (!kind.writing && read_again_) {
      run([&] { read_again_->check(set.places(segments), dense, false); });
    }
    dense += selection->bytes;
    (kind.writing ? statistics_.writes : statistics_.reads) += 1;
    (kind.writing ? statistics_.bytes_written : statistics_.bytes_read) += selection->bytes;
    left -= selection->bytes;
  }
  if (left == 0) return;
  if (kind.writing) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: HDF5 makes datasets in collective calls, and none holds the last "
                            "{} bytes up to byte {}; write the part by a collective strategy first",
                            path_, left, bounds_of(segments)[1]));
  }
  throw Error(Errc::corrupt, fmt::format("{} holds {} bytes less than are to be read up to byte {}",
                                         path_, left, bounds_of(segments)[1]));
}

}  // namespace

std::unique_ptr<BackEnd> open_hdf5(const OpenRequest& request) {
  return std::make_unique<Hdf5File>(request);
}
bool hdf5_available() { return true; }

}  // namespace tailrace::file

#else

namespace tailrace::file {

std::unique_ptr<BackEnd> open_hdf5(const OpenRequest&) {
  throw Error(
      Errc::invalid_input,
      "this tailrace was built with a serial HDF5: back end hdf5 needs a parallel one of the "
      "same MPI (Debian: libhdf5-openmpi-dev or libhdf5-mpich-dev); use another back end");
}
bool hdf5_available() { return false; }

}  // namespace tailrace::file

#endif
