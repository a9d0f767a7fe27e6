// SPDX-License-Identifier: BSD-3-Clause
// MPI-IO as a program calls it: without hints, and with those that are known to help (no sieving
// when writing, a number of aggregators that is really used by cb_config_list, deferred open,
// stripes of 1 MiB).

#include <mpi.h>

#include <algorithm>
#include <memory>

#include "io_variant.hpp"
#include "mpi_driver.hpp"

namespace bench {

namespace {

using tailrace::check_mpi;
using tailrace::FileRun;
using tailrace::OwnedType;
using tailrace::to_int;
using HintList = std::vector<std::pair<std::string, std::string>>;

/// Who writes.
enum class Aggregators { unspecified, one, all };

HintList hints_for(Aggregators aggregators, int num_ranks) {
  if (aggregators == Aggregators::unspecified) return {};
  const std::string count = aggregators == Aggregators::one ? "1" : std::to_string(num_ranks);
  HintList hints{{"romio_ds_write", "disable"},    {"romio_cb_write", "enable"},
                 {"romio_cb_read", "enable"},      {"cb_nodes", count},
                 {"cb_config_list", "*:" + count}, {"cb_buffer_size", "16777216"},
                 {"striping_unit", "1048576"}};
  if (aggregators == Aggregators::one) hints.emplace_back("romio_no_indep_rw", "true");
  return hints;
}

class Info {
 public:
  explicit Info(const HintList& hints) {
    if (hints.empty()) return;
    check_mpi(MPI_Info_create(&raw_));
    for (const auto& [name, value] : hints) {
      check_mpi(MPI_Info_set(raw_, name.c_str(), value.c_str()));
    }
  }
  ~Info() {
    if (raw_ != MPI_INFO_NULL) MPI_Info_free(&raw_);
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  MPI_Info raw() const { return raw_; }

 private:
  MPI_Info raw_ = MPI_INFO_NULL;
};

OwnedType subarray(const ArrayPart& array) {
  std::vector<int> extents, part, start;
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    extents.push_back(to_int(array.extents[d]));
    part.push_back(to_int(array.part[d]));
    start.push_back(to_int(array.start[d]));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_subarray(to_int(static_cast<std::ptrdiff_t>(extents.size())),
                                     extents.data(), part.data(), start.data(), MPI_ORDER_C,
                                     array.item_bytes == 8 ? MPI_DOUBLE : MPI_BYTE, &type));
  return OwnedType(type);
}

OwnedType indexed(const std::vector<FileRun>& runs) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  for (const auto& run : runs) {
    lengths.push_back(to_int(run.bytes));
    places.push_back(run.offset);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hindexed(to_int(static_cast<std::ptrdiff_t>(runs.size())),
                                     lengths.data(), places.data(), MPI_BYTE, &type));
  return OwnedType(type);
}

/// Equal blocks at equal distances; they start at `runs[0].offset`.
bool is_regular(const std::vector<FileRun>& runs) {
  if (runs.size() < 2) return false;
  const auto stride = runs[1].offset - runs[0].offset;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].bytes != runs[0].bytes || runs[i].offset - runs[i - 1].offset != stride) {
      return false;
    }
  }
  return true;
}

OwnedType regular(const std::vector<FileRun>& runs) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hvector(to_int(static_cast<std::ptrdiff_t>(runs.size())),
                                    to_int(runs[0].bytes), runs[1].offset - runs[0].offset,
                                    MPI_BYTE, &type));
  return OwnedType(type);
}

/// An open MPI file, closed at the end of its life if `close` was not called.
class MpiFile {
 public:
  MpiFile(const Job& job, int mode, const Info& info) {
    check_mpi(MPI_File_open(job.comm.raw(), job.path.c_str(), mode, info.raw(), &raw_));
  }
  ~MpiFile() {
    if (raw_ != MPI_FILE_NULL) MPI_File_close(&raw_);
  }
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  MPI_File raw() const { return raw_; }
  void flush() { check_mpi(MPI_File_sync(raw_)); }
  void close() { check_mpi(MPI_File_close(&raw_)); }

 private:
  MPI_File raw_ = MPI_FILE_NULL;
};

class MpiIo : public Method {
 public:
  MpiIo(const Job& job, bool collective, Aggregators aggregators)
      : job_(job), collective_(collective), info_(hints_for(aggregators, job.comm.num_ranks())) {}
  void write(const std::byte* data) override {
    MpiFile file(job_, MPI_MODE_CREATE | MPI_MODE_RDWR, info_);
    transfer(file.raw(), const_cast<std::byte*>(data), true);
    file.flush();
    file.close();
  }
  void read(std::byte* data) override {
    MpiFile file(job_, MPI_MODE_RDONLY, info_);
    transfer(file.raw(), data, false);
    file.close();
  }

 protected:
  virtual void transfer(MPI_File file, std::byte* data, bool writes) = 0;
  const Job& job_;
  bool collective_;

 private:
  Info info_;
};

/// One call for everything, through a file view.
class View : public MpiIo {
 public:
  View(const Job& job, bool collective, Aggregators aggregators)
      : MpiIo(job, collective, aggregators), bytes_(to_int(job.pattern.bytes())) {
    const auto& pattern = job.pattern;
    if (pattern.array) {
      view_ = subarray(*pattern.array);
    } else if (is_regular(pattern.runs)) {
      view_ = regular(pattern.runs);
      start_ = pattern.runs[0].offset;
    } else {
      view_ = indexed(pattern.runs);
    }
    MPI_Datatype raw = view_.raw();
    check_mpi(MPI_Type_commit(&raw));
  }

 protected:
  void transfer(MPI_File file, std::byte* data, bool writes) override {
    check_mpi(MPI_File_set_view(file, start_, MPI_BYTE, view_.raw(), "native", MPI_INFO_NULL));
    if (writes) {
      const auto call = collective_ ? MPI_File_write_all : MPI_File_write;
      check_mpi(call(file, data, bytes_, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      const auto call = collective_ ? MPI_File_read_all : MPI_File_read;
      check_mpi(call(file, data, bytes_, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }

 private:
  int bytes_;
  OwnedType view_;
  MPI_Offset start_ = 0;
};

/// A call for each piece; where calls are collective, ranks with fewer pieces call with nothing.
class Calls : public MpiIo {
 public:
  Calls(const Job& job, bool collective, Aggregators aggregators)
      : MpiIo(job, collective, aggregators), pieces_(job.pattern.transfers) {
    const auto own = static_cast<double>(pieces_.size());
    if (collective) pieces_.resize(static_cast<std::size_t>(all_max(own)));
  }

 protected:
  void transfer(MPI_File file, std::byte* data, bool writes) override {
    for (const auto& piece : pieces_) {
      const int bytes = to_int(piece.bytes);
      if (writes) {
        const auto call = collective_ ? MPI_File_write_at_all : MPI_File_write_at;
        check_mpi(call(file, piece.offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      } else {
        const auto call = collective_ ? MPI_File_read_at_all : MPI_File_read_at;
        check_mpi(call(file, piece.offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      }
      data += bytes;
    }
  }

 private:
  std::vector<FileRun> pieces_;
};

template <class Kind>
WriteMethod make_variant(const std::string& name, bool collective, Aggregators aggregators) {
  return {name, "mpiio", true, [collective, aggregators](const Job& job) {
            return std::make_unique<Kind>(job, collective, aggregators);
          }};
}

}  // namespace

std::vector<WriteMethod> mpiio_variants() {
  return {make_variant<View>("mpiio view collective", true, Aggregators::unspecified),
          make_variant<View>("mpiio view collective one writes", true, Aggregators::one),
          make_variant<View>("mpiio view collective all write", true, Aggregators::all),
          make_variant<View>("mpiio view independent", false, Aggregators::unspecified),
          make_variant<View>("mpiio view independent no sieving", false, Aggregators::all),
          make_variant<Calls>("mpiio call a piece independent", false, Aggregators::unspecified),
          make_variant<Calls>("mpiio call a piece collective", true, Aggregators::unspecified)};
}

}  // namespace bench
