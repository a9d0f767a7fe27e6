// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "file/part.hpp"
#include "file/segment.hpp"

namespace tailrace::file {

/// Owner of one HDF5 handle.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);
  /// Throws `Errc::io` with HDF5's text, naming `doing` and `path`, if there is none.
  Hdf5Id(hid_t id, Close close, const char* doing, const std::string& path);
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&&) = delete;
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  hid_t id() const { return id_; }
  /// Gives the handle up; the status of closing it.
  herr_t reset() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  Close close_;
};

/// Throws `Errc::io` with what HDF5 says about the last failure: "cannot DOING PATH: ...".
[[noreturn]] void fail_hdf5(const char* doing, const std::string& path);

/// Keeps HDF5 from printing its errors while it lives.
class SilentHdf5 {
 public:
  SilentHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~SilentHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  SilentHdf5(const SilentHdf5&) = delete;
  SilentHdf5& operator=(const SilentHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// A dataset that stands for a range of the bytes of a file: an array of its own shape, or bytes.
class Hdf5Dataset {
 public:
  /// Creates "data" (the first of a file) or "data_FIRSTBYTE". Collective over the file's openers.
  static Hdf5Dataset create(hid_t file, const std::string& path, const FileArray& array,
                            bool first_of_file);
  static Hdf5Dataset open(hid_t file, const std::string& path, const std::string& name);

  const FileArray& array() const { return array_; }
  std::ptrdiff_t first_byte() const { return array_.offset; }
  std::ptrdiff_t end() const { return array_.offset + bytes_; }

  struct Selection {
    Hdf5Id space;
    std::ptrdiff_t bytes = 0;
  };
  /// What of `part`, or of ascending `segments` that it may come from, lies in this dataset. Throws
  /// `Errc::invalid_input` if it cuts items of the dataset.
  Selection select(const FilePart* part, std::span<const Segment> segments) const;
  /// Where in the HDF5 file those of `segments` that lie in this dataset are, in dense memory.
  std::vector<Segment> places(std::span<const Segment> segments) const;
  /// Moves a selection from or to dense memory.
  void transfer(const Selection& selection, std::byte* memory, bool writing, hid_t list) const;

 private:
  Hdf5Dataset(Hdf5Id set, Hdf5Id type, FileArray array, std::string path);
  std::ptrdiff_t select_boxes(hid_t space, std::span<const Box> boxes) const;
  std::ptrdiff_t select_runs(hid_t space, std::span<const Segment> segments) const;

  Hdf5Id set_, type_;
  FileArray array_;
  std::ptrdiff_t bytes_ = 0;
  std::string path_;
};

}  // namespace tailrace::file
