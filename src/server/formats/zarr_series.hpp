// SPDX-License-Identifier: BSD-3-Clause
// The steps of a run as one Zarr store that grows along a first axis `time`. A chunk of it lies in
// the store of its step: PATH/u/c/12 is a relative link to the folder u/c of step 12, so that a
// chunk c/12/0/0/0 of the series is the chunk c/0/0/0 of the step, whose bytes are the same. The
// metadata gets its new extents when the links are there. .NAME.steps/12, beside the store, leads
// to the store of step 12 itself, and is made before that gets its name: so a run that continues
// the series finds all steps, also after a kill.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/formats/zarr_json.hpp"
#include "server/series_writer.hpp"
#include "store/attribute_values.hpp"
#include "store/series_links.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::server {

/// An array of a step, as a series must know it.
struct ZarrStoreArray {
  enum class Role {
    field,   ///< gets an axis `time`, or has it
    number,  ///< another in each step
    same,    ///< as in the first step
  };
  Role role = Role::field;
  ZarrArray array;          ///< as in the store of the step; not of texts
  std::string json = {};    ///< `same`: its metadata
  store::ItemBytes item{};  ///< `number`
};

/// The store of a step.
struct ZarrStoreArrays {
  Attributes attributes;
  bool checksums = true;
  std::vector<ZarrStoreArray> arrays;
};

/// An array of a series, as its first step has it.
struct ZarrSeriesArray {
  std::string name;
  ZarrStoreArray::Role role = ZarrStoreArray::Role::field;
  ItemType type = ItemType::float64;
  bool has_time = false;  ///< its first axis in the stores of the steps is `time`, of one item
  ChunkGrid grid = {};    ///< in the stores of the steps
  std::string codecs = {};
  store::ItemBytes fill{};
  std::string json = {};  ///< its metadata, with `growing` for the number of steps
};

/// What a series says of itself in the file .NAME.steps/series.json.
struct ZarrSeriesHead {
  std::string form;      ///< what all steps have in common
  std::string encoding;  ///< of all chunks
  bool checksums = true;
  std::vector<ZarrSeriesArray> arrays = {};  ///< none before the first step
  std::string json = {};                     ///< the metadata of the group, with `growing`
};

/// The chunks that the arrays of the series `path` must have, by name; none before its first step.
/// Throws `Errc::io`. Local.
std::map<std::string, ChunkGrid> grids_of_series(const std::string& path);

/// As `store::begin_series`. Throws `Errc::invalid_input` if the series has another `encoding`.
/// Local.
store::BegunSeries begin_zarr_series(const std::string& path, const std::string& file,
                                     const FileContents& contents, const std::string& form,
                                     const std::string& encoding);

/// A series that is a Zarr store.
class ZarrSeries : public SeriesWriter {
 public:
  explicit ZarrSeries(std::string path) : path_(std::move(path)) {}
  void publish(const std::string& path, const StepFile& file,
               const std::function<void()>& commit) override;

 private:
  void load();
  void show(const ZarrStoreArrays& arrays, bool again);

  std::string path_;
  bool loaded_ = false, failed_ = false;
  ZarrSeriesHead head_;
  std::vector<std::string> stores_;  ///< of all steps, absolute
  /// Of each number: the values in its last chunk.
  std::map<std::string, std::vector<store::ItemBytes>> values_;
};

}  // namespace tailrace::server
