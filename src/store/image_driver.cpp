// SPDX-License-Identifier: BSD-3-Clause
#include "store/image_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "store/file_hash.hpp"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace tailrace::store {

/// What HDF5 calls. It holds no file but refers to an `ImageFile`.
struct ImageDriver {
  H5FD_t common;  // HDF5's own, first
  ImageFile* file;

  static ImageFile& of(const H5FD_t* driver) {
    return *reinterpret_cast<const ImageDriver*>(driver)->file;
  }
  static H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
    const auto* info = static_cast<ImageFile* const*>(H5Pget_driver_info(access));
    return info == nullptr ? nullptr : &(new ImageDriver{{}, *info})->common;
  }
  static herr_t close(H5FD_t* driver) {
    delete reinterpret_cast<ImageDriver*>(driver);
    return 0;
  }
  static herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
#ifdef H5FD_FEAT_DEFAULT_VFD_COMPATIBLE
    *flags |= H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;  // it names no driver in the file
#endif
    return 0;
  }
  static haddr_t allocated(const H5FD_t* driver, H5FD_mem_t) {
    return static_cast<haddr_t>(of(driver).allocated_);
  }
  static herr_t set_allocated(H5FD_t* driver, H5FD_mem_t, haddr_t address) {
    of(driver).allocated_ = static_cast<std::ptrdiff_t>(address);
    return 0;
  }
  static haddr_t end(const H5FD_t* driver, H5FD_mem_t) {
    return static_cast<haddr_t>(of(driver).end_);
  }
  static herr_t read(H5FD_t* driver, H5FD_mem_t, hid_t, haddr_t at, std::size_t bytes, void* to) {
    of(driver).pages_.read(static_cast<std::ptrdiff_t>(at), {static_cast<std::byte*>(to), bytes});
    return 0;
  }
  static herr_t write(H5FD_t* driver, H5FD_mem_t kind, hid_t, haddr_t at, std::size_t bytes,
                      const void* from) {
    auto& file = of(driver);
    const auto start = static_cast<std::ptrdiff_t>(at);
    const auto count = static_cast<std::ptrdiff_t>(bytes);
    try {
      if (kind == H5FD_MEM_DRAW && !file.keeps_data_) {
        file.dropped_.push_back({start, count});
      } else {
        file.pages_.write(start, {static_cast<const std::byte*>(from), bytes});
      }
    } catch (const std::bad_alloc&) {
      return -1;
    }
    file.end_ = std::max(file.end_, start + count);
    return 0;
  }
  // A file ends where its space does, as those of HDF5's own drivers.
  static herr_t truncate(H5FD_t* driver, hid_t, hbool_t) {
    of(driver).end_ = of(driver).allocated_;
    return 0;
  }
};

namespace {

H5FD_class_t driver_class() {
  H5FD_class_t made{};
#if H5_VERSION_GE(1, 13, 0)
  made.version = H5FD_CLASS_VERSION;
  made.value = static_cast<H5FD_class_value_t>(511);  // of those that HDF5 leaves to programs
#endif
  made.name = "tailrace_image";
  made.maxaddr = static_cast<haddr_t>(PTRDIFF_MAX);
  made.fc_degree = H5F_CLOSE_WEAK;
  made.fapl_size = sizeof(ImageFile*);
  made.open = ImageDriver::open;
  made.close = ImageDriver::close;
  made.query = ImageDriver::query;
  made.get_eoa = ImageDriver::allocated;
  made.set_eoa = ImageDriver::set_allocated;
  made.get_eof = ImageDriver::end;
  made.read = ImageDriver::read;
  made.write = ImageDriver::write;
  made.truncate = ImageDriver::truncate;
  constexpr H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), made.fl_map);
  return made;
}

// HDF5 keeps the address of a class.
const H5FD_class_t image_class = driver_class();

void add_zeros(Hash& hash, std::ptrdiff_t bytes) {
  static const std::array<std::byte, 1 << 16> zeros{};
  for (; bytes > 0; bytes -= std::ssize(zeros)) {
    hash.add(zeros.data(), std::min(bytes, std::ssize(zeros)));
  }
}

}  // namespace

ImageFile::ImageFile(ImagePages& pages)
    : pages_(pages), driver_(H5FDregister(&image_class), H5FDunregister, "register a driver") {
  pages_.clear();
}

void ImageFile::use(hid_t access) {
  ImageFile* const self = this;
  check_hdf5(H5Pset_driver(access, driver_.id(), &self), "set the file driver");
}

void ImageFile::take_metadata(std::span<const Range> data, FileImage& image) const {
  constexpr auto page_bytes = ImagePages::page_bytes;
  const auto& places = pages_.places();
  image.total_bytes = end_;
  auto range = data.begin();
  for (std::size_t page = 0; page < places.size();) {
    // Pages that follow each other.
    const auto start = places[page].first * page_bytes;
    auto end = start;
    for (; page < places.size() && places[page].first * page_bytes == end; ++page) {
      end += page_bytes;
    }
    end = std::min(end, end_);
    const auto take = [&](std::ptrdiff_t from, std::ptrdiff_t until) {
      if (from >= until) return;
      auto* const to = image.add(from, until - from);
      pages_.read(from, {to, static_cast<std::size_t>(until - from)});
    };
    auto from = start;
    for (; range != data.end() && range->start < end; ++range) {
      take(from, std::min(range->start, end));
      from = std::max(from, range->end());
      if (range->end() > end) break;  // the next pages may lie in it, too
    }
    take(from, end);
  }
}

void add_header_row(std::span<const Range> data, std::ptrdiff_t table_rows,
                    std::size_t num_variables, FileImage& image) {
  Hash hash;
  auto extent = image.extents.begin();
  const auto add_until = [&](std::ptrdiff_t from, std::ptrdiff_t end) {
    for (; extent != image.extents.end() && extent->file_offset < end; ++extent) {
      add_zeros(hash, extent->file_offset - from);
      hash.add(image.bytes.data() + extent->start, extent->count);
      from = extent->file_offset + extent->count;
    }
    add_zeros(hash, end - from);
  };
  std::ptrdiff_t at = 0;
  for (const auto& range : data) {
    add_until(at, range.start);
    at = range.end();
  }
  add_until(at, image.total_bytes);
  const ChecksumRow row{num_variables, 0, static_cast<std::uint64_t>(hash.bytes()), hash.value()};
  const auto bytes = static_cast<std::ptrdiff_t>(sizeof(row));
  std::memcpy(image.add(image.table_offset + table_rows * bytes, bytes), &row, sizeof(row));
}

}  // namespace tailrace::store
