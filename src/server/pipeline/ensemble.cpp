// SPDX-License-Identifier: BSD-3-Clause
// Statistics over the jobs that share a folder. A common file is read, updated (Welford 1962) and
// replaced whole under a lock, by all servers of a job together, each its slab. A file is an HDF5
// file as any output; its array `counted` holds what has been added, so that nothing is added
// twice.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/refuse_input.hpp"
#include "core/system_call.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "server/write_step.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/box.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/whole_file.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

/// Where the arrays of an ensemble's file lie: contiguous, float64, row-major.
struct EnsembleContents {
  /// Keys of what has been counted; empty: there is no file yet.
  std::vector<std::int64_t> counted;
  std::vector<std::int64_t> offsets;  ///< of each array asked for [bytes]
};

using store::Hdf5Handle;

/// Opens without HDF5's own lock: who has the lock of the ensemble is alone, but a job that was
/// killed just after it put the file in place may still be letting go of it.
Hdf5Handle open_unlocked(const std::string& path) {
#if H5_VERSION_GE(1, 10, 7)
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, path);
  store::check_hdf5(H5Pset_file_locking(access.id(), false, true), path);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id());
  if (file >= 0) return {file, H5Fclose, path};
#endif
  return store::open_hdf5_file(path);
}

Hdf5Handle open_dataset(const Hdf5Handle& file, const std::string& name, const std::string& path) {
  const bool there = H5Lexists(file.id(), name.c_str(), H5P_DEFAULT) > 0;
  if (!there) {
    refuse_input("{} has no array {}: it belongs to another product; move it away", path, name);
  }
  return {H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose, path};
}

std::vector<std::ptrdiff_t> extents_of(const Hdf5Handle& dataset, const std::string& path) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, path);
  const int dims = H5Sget_simple_extent_ndims(space.id());
  std::vector<hsize_t> extents(static_cast<std::size_t>(dims > 0 ? dims : 0));
  store::check_hdf5(H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr), path);
  return {extents.begin(), extents.end()};
}

std::int64_t offset_of(const Hdf5Handle& file, const std::string& name,
                       const std::vector<std::ptrdiff_t>& extents, const std::string& path) {
  const auto dataset = open_dataset(file, name, path);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, path);
  const bool fits =
      H5Tequal(type.id(), H5T_NATIVE_DOUBLE) > 0 && extents_of(dataset, path) == extents;
  const auto offset = H5Dget_offset(dataset.id());
  if (!fits || offset == HADDR_UNDEF) {
    refuse_input("{} in {} does not have the extents {} of this job", name, path,
                 fmt::join(extents, " x "));
  }
  return static_cast<std::int64_t>(offset);
}

/// Reads the tables of the ensemble's file at `path`, and where the arrays `names` of the given
/// extents lie in it. Throws `Errc::io`, `Errc::corrupt`, or `Errc::invalid_input` if it has not
/// these arrays. Local.
EnsembleContents read_ensemble(const std::string& path, const std::vector<std::string>& names,
                               const std::vector<std::vector<std::ptrdiff_t>>& extents) {
  EnsembleContents contents;
  if (!std::filesystem::exists(path)) return contents;
  const std::lock_guard lock(store::hdf5_mutex());
  const store::QuietHdf5 quiet;
  const auto file = open_unlocked(path);
  const auto counted = open_dataset(file, "counted", path);
  const auto rows = extents_of(counted, path);
  contents.counted.resize(static_cast<std::size_t>(rows.empty() ? 0 : rows[0]));
  store::check_hdf5(H5Dread(counted.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                            contents.counted.data()),
                    path);
  for (std::size_t i = 0; i < names.size(); ++i) {
    contents.offsets.push_back(offset_of(file, names[i], extents[i], path));
  }
  return contents;
}

/// Reads `values` from byte `offset` of the file. Throws `Errc::io`. Local.
std::vector<double> read_values(const std::string& path, std::int64_t offset,
                                std::ptrdiff_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const Descriptor file = open_descriptor(path, O_RDONLY);
  const auto bytes = count * static_cast<std::ptrdiff_t>(sizeof(double));
  const int error = file ? read_at(file.get(), values.data(), bytes, offset) : errno;
  if (error != 0) fail_io("read", path, error);
  return values;
}

/// Writes the file of all servers. A job that was killed may let go of the lock a moment before its
/// unfinished file, as the kernel closes one after the other: then it is tried again. Collective.
void write_together(const Step& step, Group& group) {
  constexpr double busy_limit_s = 10;
  const double start_s = now_s();
  while (true) {
    try {
      std::vector<StepOutput> outputs;
      outputs.push_back(output_of({step, "hdf5"}, FileSettings{}, group));
      const auto outcome = write_files(outputs, OutputOptions{}, group);
      if (outcome.failure) throw Error(*outcome.failure);
      return;
    } catch (const Error& error) {
      double waited_s = now_s() - start_s;
      group.max({&waited_s, 1});
      if (error.sys_errno() != EBUSY || waited_s > busy_limit_s) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// The running statistics of a variable in this server's slab.
struct Share {
  const Field* field = nullptr;
  Box box;
  std::vector<double> now;                   ///< this job's values
  std::vector<std::vector<double>> results;  ///< of each name in `wanted`
};

class EnsembleStage : public Stage {
 public:
  explicit EnsembleStage(const StageSettings& settings) {
    SettingsReader reader("ensemble", settings);
    folder_ = reader.required("folder");
    job_ = reader.text("job", "");
    wanted_ = reader.words("what", "mean,variance", {"mean", "variance", "min", "max"});
    all_steps_ = reader.word("steps", "each", {"each", "all"}) == "all";
    wait_s_ = reader.real("wait_s", 60);
    reader.finish();
    const auto add_first = [&](const char* name) {
      if (std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end()) return;
      wanted_.insert(wanted_.begin(), name);
    };
    add_first("mean");  // the variance cannot be updated without it
  }

  void run(Step& step, StageContext& context) override {
    const auto path = path_of(step, context.product);
    FileLock lock;
    EnsembleContents old;
    if (context.group.rank() == 0) {
      std::filesystem::create_directories(folder_);
      lock = FileLock(path + ".lock", wait_s_);
      old = read_ensemble(path, names_of(step), extents_of(step));
    }
    old.counted = context.group.gather_values(old.counted)[0];
    old.offsets = context.group.gather_values(old.offsets)[0];
    const auto key = key_of(step);
    if (std::find(old.counted.begin(), old.counted.end(), key) == old.counted.end()) {
      add(step, path, old, key, context);
    }
    step.fields.clear();
  }

 private:
  std::string path_of(const Step& step, const std::string& product) const {
    const auto name = all_steps_ ? product + ".h5" : fmt::format("{}_{:06}.h5", product, step.step);
    return (std::filesystem::path(folder_) / name).string();
  }

  /// What this job adds by this step, as a number. A job is known by the folder that it writes to.
  std::int64_t key_of(const Step& step) const {
    const auto folder = std::filesystem::weakly_canonical(
        std::filesystem::absolute(std::filesystem::path(step.path)).parent_path());
    const auto text = fmt::format("{}:{}", job_.empty() ? folder.string() : job_, step.step);
    return static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()));
  }

  std::vector<std::string> names_of(const Step& step) const {
    std::vector<std::string> names;
    for (const auto& field : step.fields) {
      for (const auto& name : wanted_) names.push_back(fmt::format("{}_{}", field.name, name));
    }
    return names;
  }

  std::vector<std::vector<std::ptrdiff_t>> extents_of(const Step& step) const {
    std::vector<std::vector<std::ptrdiff_t>> list;
    for (const auto& field : step.fields) {
      list.insert(list.end(), wanted_.size(),
                  {field.extents.begin(), field.extents.begin() + field.num_dims()});
    }
    return list;
  }

  void add(const Step& step, const std::string& path, EnsembleContents& old, std::int64_t key,
           StageContext& context) {
    const auto members = static_cast<double>(old.counted.size());
    Step made;
    made.path = path;
    made.step = step.step;
    made.coordinates = step.coordinates;
    std::size_t array = 0;
    for (const auto& field : step.fields) {
      auto share = share_of(field, context.group);
      for (std::size_t i = 0; i < wanted_.size(); ++i, ++array) {
        share.results.push_back(
            members == 0 ? std::vector<double>(share.now.size())
                         : read_values(path, old.offsets[array] + start_of(share), count(share)));
      }
      update(share, members);
      give(made, share);
    }
    old.counted.push_back(key);
    made.attributes = {{"members", static_cast<std::int64_t>(old.counted.size())}};
    made.fields.push_back(row_field<std::int64_t>(made, "counted", "member",
                                                  std::span<const std::int64_t>(old.counted),
                                                  context.group.rank()));
    write_together(made, context.group);
  }

  static Share share_of(const Field& field, Group& group) {
    require_real("ensemble", field);
    const auto slab = to_slab(field, group);
    return {&field, slab.box, as_doubles(slab, field.type), {}};
  }

  static std::ptrdiff_t count(const Share& share) {
    return static_cast<std::ptrdiff_t>(share.now.size());
  }

  /// Bytes before this server's slab.
  static std::int64_t start_of(const Share& share) {
    auto before = share.box;
    before.extents[0] = before.start[0];
    return before.num_items() * 8;
  }

  void update(Share& share, double members) const {
    const auto* mean = result(share, "mean");
    auto* variance = result(share, "variance");
    for (std::size_t i = 0; i < share.now.size() && variance != nullptr; ++i) {
      const double delta = share.now[i] - (*mean)[i];
      const double sum = (*variance)[i] * members + delta * delta * members / (members + 1);
      (*variance)[i] = sum / (members + 1);
    }
    for (std::size_t which = 0; which < wanted_.size(); ++which) {
      auto& values = share.results[which];
      const auto& name = wanted_[which];
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double now = share.now[i];
        if (name == "mean") values[i] += (now - values[i]) / (members + 1);
        if (name == "min") values[i] = members == 0 ? now : std::min(values[i], now);
        if (name == "max") values[i] = members == 0 ? now : std::max(values[i], now);
      }
    }
  }

  std::vector<double>* result(Share& share, const char* name) const {
    const auto found = std::find(wanted_.begin(), wanted_.end(), name);
    return found == wanted_.end()
               ? nullptr
               : &share.results[static_cast<std::size_t>(found - wanted_.begin())];
  }

  void give(Step& made, Share& share) const {
    for (std::size_t which = 0; which < wanted_.size(); ++which) {
      Field field = *share.field;
      field.name = fmt::format("{}_{}", share.field->name, wanted_[which]);
      field.type = ItemType::float64;
      field.parts.clear();
      if (!share.box.empty()) {
        auto values = std::make_shared<std::vector<double>>(std::move(share.results[which]));
        field.parts.push_back({share.box, reinterpret_cast<const std::byte*>(values->data())});
        made.memory.push_back(std::move(values));
      }
      made.fields.push_back(std::move(field));
    }
  }

  std::string folder_, job_;
  std::vector<std::string> wanted_;
  bool all_steps_ = false;
  double wait_s_ = 60;
};

}  // namespace

MadeStage make_ensemble(const StageSettings& settings) {
  return std::make_unique<EnsembleStage>(settings);
}

}  // namespace tailrace::server
