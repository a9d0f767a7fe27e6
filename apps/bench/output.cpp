// SPDX-License-Identifier: BSD-3-Clause
// A run that computes and writes one field a step: without output, with MPI-IO, and with
// tailrace::Output, synchronous and hidden. The variants take turns within each repeat and do the
// same amount of work, calibrated once, so whatever output takes from the processor is seen. The
// cost of output is measured within the runs as well, of whose steps each has 16 stages. The limit
// is a copy of the field in memory and a plain write of it to a new file, flushed: by the page
// cache or past it, whichever is faster. With `compress`, the field is one that compresses, and
// more methods write it so: hidden, once for each of the settings, and as programs do it with HDF5
// alone, gathered on rank 0 and through the filters of HDF5 ("deflate" of the same level,
// shuffled). After each run of these its first file is read again: by all ranks, or by HDF5 on rank
// 0. With `fields`, the field is an array of an HDF5 file.

#include <unistd.h>

#include <hdf5.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/output_cost.hpp"
#include "compute_step.hpp"
#include "io_limit.hpp"
#include "programs.hpp"
#include "tailrace/input.hpp"
#include "tailrace/output.hpp"

namespace {

using tailrace::Comm;
using tailrace::Layout;
using tailrace::Output;
using tailrace::OutputStatistics;
using tailrace::app::OutputCost;

double cpu_s_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr int num_stages = 16;  // of a step; those without output are what the others are like

using Extents = std::vector<std::ptrdiff_t>;  // along z, y, x

/// An array of a file, "FILE" or "FILE:ARRAY": by default the first one of three axes.
struct FileField {
  FileField(const Comm& comm, const std::string& text) : file(text) {
    const auto colon = text.rfind(':');
    const bool is_named = colon != std::string::npos && text.find('/', colon) == std::string::npos;
    if (is_named) file = text.substr(0, colon);
    const tailrace::Input input(comm, file);
    if (is_named) array = text.substr(colon + 1);
    for (const auto& name : input.names()) {
      if (array.empty() && input.extents(name).size() == 3) array = name;
    }
    if (array.empty() || input.extents(array).size() != 3) {
      throw tailrace::Error(tailrace::Errc::invalid_input,
                            "--fields " + text + ": expected an array of three axes");
    }
    extents = input.extents(array);
  }
  std::string file, array;
  Extents extents;
};

std::vector<std::string> split_settings(const std::string& text) {
  std::vector<std::string> settings;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(';', at), text.size());
    if (end > at) settings.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return settings;
}

/// 0 if the codec is another one than deflate.
int deflate_level(const std::string& compress) {
  if (!compress.starts_with("deflate")) return 0;
  return compress.starts_with("deflate:") ? std::atoi(compress.c_str() + 8) : 1;
}

/// In slabs or pencils (whole along y, split along z and x, so that a rank's part is scattered over
/// the file in short pieces).
Layout make_layout(const Comm& comm, const Extents& extents, const std::string& shape) {
  if (shape == "slab") return tailrace::slabs(extents, 0, comm.num_ranks());
  int grid[2] = {0, 0};
  MPI_Dims_create(comm.num_ranks(), 2, grid);
  const std::vector<int> pencil_grid{grid[1], grid[0]};
  return tailrace::pencils(extents, 1, pencil_grid);
}

/// What one run took.
struct RunTimes {
  double total_s = 0;
  double seen_s = 0;   ///< in output calls, of one step
  double drain_s = 0;  ///< at the end, waiting for the last files
};

/// A way of writing: `write` one step, `progress` between, `finish` at the end of a run.
struct WriteMethod {
  std::string name;
  bool ours;
  std::function<void(int)> write;
  std::function<void()> progress = [] {};
  std::function<void()> finish = [] {};
  std::function<OutputStatistics()> statistics = {};  ///< what `Output` says; none of MPI-IO
  std::function<void()> read = {};  ///< the first file of a run; none: it is not measured
  std::vector<double> seconds = {}, seen = {}, drain = {}, reading = {};
  OutputStatistics before = {};   ///< of the first run, when buffers are made
  OutputStatistics counted = {};  ///< calls, as far as the method does not count them
  OutputCost cost = OutputCost();
  std::string compress = {};
  double of_repacked = 0;  ///< stored bytes over those of the same items through HDF5's filters
};

class Bench {
 public:
  Bench(const Comm& comm, const bench::Arguments& args)
      : comm_(comm),
        source_(source_of(comm, args.text("fields", ""))),
        extents_(source_ ? source_->extents : Extents(3, args.number("n", 256))),
        steps_(args.number("steps", 4)),
        folder_(args.text("folder", ".")),
        shape_(args.text("shape", "slab")),
        layout_(make_layout(comm, extents_, shape_)),
        boxes_(layout_.boxes(comm.rank())),
        memory_(tailrace::Memory::dense(boxes_)),
        field_(static_cast<std::size_t>(memory_.num_items)),
        copy_(field_.size()),
        compress_(split_settings(args.text("compress", ""))),
        raw_(raw_path(), own_bytes()),
        work_(comm.raw(), {.seconds = args.real("compute-s", 0.7),
                           .sleeps = args.text("compute", "work") == "sleep",
                           .stages = num_stages}) {
    fill_field();
    variants_.push_back({"no output", true, [](int) {}});
    add_ours("tailrace, hidden", "hidden", args);
    add_ours("tailrace, synchronous", "none", args);
    variants_.push_back({"MPI-IO, collective", false, [this](int step) { write_mpi_io(step); }});
    if (compress_.empty()) return;
    for (const auto& compress : compress_) {
      add_ours("tailrace, hidden, " + compress, "hidden", args, compress);
      variants_.back().read = [this] { read_ours(); };
      variants_.back().compress = compress;
    }
    if (level() < 1) return;
    variants_.push_back({"HDF5's filters, rank 0", false, [this](int step) { write_hdf5(step); }});
    variants_.back().read = [this] { read_hdf5(); };
#ifdef H5_HAVE_PARALLEL
    variants_.push_back(
        {"HDF5's filters, parallel", false, [this](int step) { write_parallel_hdf5(step); }});
#endif
  }

  void measure(int repeats) {
    for (auto& variant : variants_) {
      run(variant, 1);  // buffers are made at the first use
      if (!variant.compress.empty()) note_chunk(variant);
      variant.before = statistics(variant);
      variant.cost = OutputCost();
      variant.cost.begin_step({variant.before});
    }
    set_limits();
    for (int i = 0; i < repeats; ++i) {
      for (auto& variant : variants_) {
        const RunTimes times = run(variant, steps_);
        variant.seconds.push_back(times.total_s);
        variant.seen.push_back(times.seen_s);
        variant.drain.push_back(times.drain_s);
        if (variant.read) variant.reading.push_back(read_s(variant));
        for (auto& limit : limits_) limit.seconds.push_back(copy_and_write_s(limit.setting));
      }
    }
  }

  void print(const std::string& compute) const {
    const double bytes = static_cast<double>(num_items()) * sizeof(double);
    for (const auto& variant : variants_) {
      const Work work = work_of(variant);
      const auto cost = cost_of(variant);
      if (comm_.rank() != 0) continue;
      bench::JsonLine line;
      line.text("entry", variant.name)
          .text("problem", shape_ + " data, " + describe_field() + ", " +
                               std::to_string(comm_.num_ranks()) + " ranks, " +
                               std::to_string(steps_) + " steps, compute: " + compute)
          .flag("ours", variant.ours)
          .flag("reference", &variant == variants_.data())
          .numbers("seconds", variant.seconds)
          .number("seen_s", bench::median(variant.seen))
          .number("drain_s", bench::median(variant.drain))
          .number("bytes_per_step", bytes)
          .number("check", work_.check());
      if (&variant != variants_.data()) {
        line.number("cost_fraction", cost.fraction())
            .number("cost_spread", cost.spread_s / cost.run_s);
      }
      if (work.output_s) {
        line.number("copy_and_write_s", *work.output_s)
            .number("limit_s", limit_s())
            .number("over_limit", *work.output_s / limit_s())
            .number("writer_cpu_s", work.cpu_s)
            .number("stored", work.written_bytes / bytes);
      } else if (variant.read && variant.counted.steps > 0) {
        line.number("writer_cpu_s", hdf5_cpu_s_ / static_cast<double>(variant.counted.steps))
            .number("stored", hdf5_bytes_ / bytes);
      }
      if (variant.of_repacked > 0) line.number("of_repacked", variant.of_repacked);
      if (!variant.reading.empty()) line.number("read_s", bench::median(variant.reading));
      line.print();
    }
  }

 private:
  /// What `Output` did for a step.
  struct Work {
    std::optional<double> output_s;  ///< copied and wrote; the slowest rank
    double cpu_s = 0;                ///< processor time of all writers
    double written_bytes = 0;        ///< by all of them
  };

  static std::optional<FileField> source_of(const Comm& comm, const std::string& text) {
    if (text.empty()) return std::nullopt;
    return FileField(comm, text);
  }
  std::ptrdiff_t num_items() const { return extents_[0] * extents_[1] * extents_[2]; }
  std::string describe_field() const {
    if (!source_) return std::to_string(extents_[0]) + "^3 double";
    const auto name = source_->file.substr(source_->file.rfind('/') + 1);
    return name + ":" + source_->array + ", " + std::to_string(extents_[0]) + "x" +
           std::to_string(extents_[1]) + "x" + std::to_string(extents_[2]) + " double";
  }
  std::ptrdiff_t own_bytes() const { return std::ssize(field_) * std::ptrdiff_t{sizeof(double)}; }

  std::string raw_path() const { return folder_ + "/bench_raw_" + std::to_string(comm_.rank()); }

  OutputStatistics statistics(const WriteMethod& variant) const {
    return variant.statistics ? variant.statistics() : variant.counted;
  }

  /// Collective.
  Work work_of(const WriteMethod& variant) const {
    if (!variant.statistics) return {};
    const auto now = variant.statistics();
    const auto& before = variant.before;
    const double steps = static_cast<double>(now.steps - before.steps);
    const double own_s = now.copy_s - before.copy_s + now.write_s - before.write_s;
    return {
        bench::all_max(own_s) / steps,
        bench::all_reduce(now.writer_cpu_s - before.writer_cpu_s, MPI_SUM) / steps,
        bench::all_reduce(static_cast<double>(now.written_bytes - before.written_bytes), MPI_SUM) /
            steps};
  }

  /// The cost within all runs, on this rank.
  tailrace::app::CostOfOutput cost_of(const WriteMethod& variant) const {
    auto output = statistics(variant);
    output.call_s -= variant.before.call_s;
    double run_s = 0;
    for (const double seconds : variant.seconds) run_s += seconds;
    return variant.cost.cost({output}, run_s);
  }

  /// Copies the field and writes it to a new file, on all ranks at once. Collective.
  double copy_and_write_s(const bench::LimitSetting& setting) {
    if (comm_.rank() == 0) ::sync();
    MPI_Barrier(comm_.raw());
    const double start = bench::now_s();
    std::memcpy(copy_.data(), field_.data(), static_cast<std::size_t>(own_bytes()));
    const double copied_s = bench::now_s() - start;
    return bench::all_max(copied_s + raw_.write_s(setting));
  }

  /// One thread and large calls, by the page cache and, where the file system can, past it.
  void set_limits() {
    constexpr std::ptrdiff_t call_bytes = 8 << 20;
    for (const auto& setting : bench::limit_settings(raw_path())) {
      if (setting.threads != 1 || setting.call_bytes != call_bytes) continue;
      copy_and_write_s(setting);
      limits_.push_back({setting, {}});
    }
  }
  double limit_s() const {
    std::vector<double> medians;
    for (const auto& limit : limits_) medians.push_back(bench::median(limit.seconds));
    return *std::ranges::min_element(medians);
  }

  std::string path(int step) const {
    return folder_ + "/bench_" + shape_ + "_" + std::to_string(step) + ".h5";
  }

  /// That of a file; else noise; or, if it is to be compressed, waves of many lengths with the
  /// digits of a float.
  void fill_field() {
    if (source_) {
      const tailrace::Input input(comm_, source_->file);
      input.read(source_->array, tailrace::ItemType::float64, layout_, memory_, field_.data());
      return;
    }
    std::size_t at = 0;
    for (const auto& box : boxes_) {
      for (std::ptrdiff_t i = 0; i < box.num_items(); ++i, ++at) {
        if (compress_.empty()) {
          field_[at] = bench::noise(at);
          continue;
        }
        const double z = static_cast<double>(box.start[0] + i / (box.extents[1] * box.extents[2]));
        const double y = static_cast<double>(box.start[1] + i / box.extents[2] % box.extents[1]);
        const double x = static_cast<double>(box.start[2] + i % box.extents[2]);
        double value = 0;
        for (int m = 1; m <= 8; ++m) {  // across the axes, so that no row is like another
          const double turn = 6.283185307179586 * m / static_cast<double>(extents_[0]);
          value += std::sin(turn * (m * x + (m + 1) * y - (2 * m - 1) * z) + m) / m;
        }
        field_[at] = static_cast<double>(static_cast<float>(value));
      }
    }
  }

  int level() const { return deflate_level(compress_.front()); }

  /// HDF5's filters get chunks of the shape that ours had.
  void note_chunk(WriteMethod& variant) {
    const bool is_first = variant.compress == compress_.front();
    auto chunk = chunk_;
    if (comm_.rank() == 0) repack(variant, chunk);
    MPI_Bcast(chunk.data(), 3 * int{sizeof(hsize_t)}, MPI_BYTE, 0, comm_.raw());
    if (is_first) chunk_ = chunk;
  }
  /// Writes the items of the file once more, through the filters of HDF5, as h5repack does it.
  void repack(WriteMethod& variant, std::array<hsize_t, 3>& chunk) {
    read_.resize(static_cast<std::size_t>(num_items()));
    const hid_t file = H5Fopen(path(0).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "u", H5P_DEFAULT);
    const hid_t create = H5Dget_create_plist(dataset);
    const bool is_chunked = H5Pget_layout(create) == H5D_CHUNKED;
    if (is_chunked) H5Pget_chunk(create, 3, chunk.data());
    H5Pclose(create);
    const int its_level = deflate_level(variant.compress);
    const bool reads =
        is_chunked && its_level > 0 &&
        H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read_.data()) >= 0;
    const auto stored = static_cast<double>(H5Dget_storage_size(dataset));
    H5Dclose(dataset);
    H5Fclose(file);
    if (!reads) return;
    const auto name = folder_ + "/bench_repacked.h5";
    const hid_t copy = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t repacked = make_filtered(copy, chunk, its_level);
    H5Dwrite(repacked, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read_.data());
    H5Fflush(copy, H5F_SCOPE_LOCAL);
    variant.of_repacked = stored / static_cast<double>(H5Dget_storage_size(repacked));
    H5Dclose(repacked);
    H5Fclose(copy);
    ::unlink(name.c_str());
  }

  hid_t make_filtered(hid_t file) const { return make_filtered(file, chunk_, level()); }
  hid_t make_filtered(hid_t file, const std::array<hsize_t, 3>& chunk, int its_level) const {
    const std::vector<hsize_t> extents(extents_.begin(), extents_.end());
    const hid_t space = H5Screate_simple(3, extents.data(), nullptr);
    const hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(create, 3, chunk.data());
    H5Pset_shuffle(create);
    H5Pset_deflate(create, static_cast<unsigned>(its_level));
    const hid_t dataset =
        H5Dcreate2(file, "u", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    H5Pclose(create);
    H5Sclose(space);
    return dataset;
  }

#ifdef H5_HAVE_PARALLEL
  /// All ranks write their boxes, collectively, through the filters of HDF5.
  void write_parallel_hdf5(int step) const {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, comm_.raw(), MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    const hid_t file = H5Fcreate(path(step).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const hid_t dataset = make_filtered(file);
    const hid_t space = H5Dget_space(dataset);
    const hsize_t items = field_.size();
    const hid_t memory = H5Screate_simple(1, &items, nullptr);
    H5Sselect_none(space);
    if (!boxes_.empty()) {
      std::array<hsize_t, 3> start{}, count{};
      std::copy_n(boxes_[0].start.begin(), 3, start.begin());
      std::copy_n(boxes_[0].extents.begin(), 3, count.begin());
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    }
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, field_.data());
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Pclose(transfer);
    H5Pclose(access);
  }
#endif

  /// Everything to rank 0, which writes it through the filters of HDF5.
  void write_hdf5(int step) {
    const double start_s = cpu_s_of_thread();
    std::vector<double> whole;
    gather(whole);
    if (comm_.rank() != 0) return;
    const hid_t file = H5Fcreate(path(step).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t dataset = make_filtered(file);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, whole.data());
    H5Dclose(dataset);
    H5Fclose(file);
    struct stat written {};
    ::stat(path(step).c_str(), &written);
    hdf5_bytes_ = static_cast<double>(written.st_size);
    hdf5_cpu_s_ += cpu_s_of_thread() - start_s;
  }

  /// Collective.
  double read_s(const WriteMethod& variant) const {
    MPI_Barrier(comm_.raw());
    const double start = bench::now_s();
    variant.read();
    return bench::all_max(bench::now_s() - start);
  }

  void read_ours() {
    const tailrace::Input input(comm_, path(0));
    input.read("u", tailrace::ItemType::float64, layout_, memory_, copy_.data());
  }

  void read_hdf5() {
    if (comm_.rank() != 0) return;
    read_.resize(static_cast<std::size_t>(num_items()));
    const hid_t file = H5Fopen(path(0).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "u", H5P_DEFAULT);
    H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read_.data());
    H5Dclose(dataset);
    H5Fclose(file);
  }

  /// The whole field on rank 0. Collective.
  void gather(std::vector<double>& whole) const {
    const int ranks = comm_.num_ranks();
    std::vector<int> counts(static_cast<std::size_t>(ranks)), places(counts.size());
    std::ptrdiff_t total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      counts[static_cast<std::size_t>(rank)] = tailrace::to_int(layout_.num_items(rank));
      places[static_cast<std::size_t>(rank)] = tailrace::to_int(total);
      total += layout_.num_items(rank);
    }
    std::vector<double> parts(comm_.rank() == 0 ? static_cast<std::size_t>(total) : 0);
    MPI_Gatherv(field_.data(), tailrace::to_int(std::ssize(field_)), MPI_DOUBLE, parts.data(),
                counts.data(), places.data(), MPI_DOUBLE, 0, comm_.raw());
    if (comm_.rank() != 0) return;
    whole.resize(parts.size());
    const auto* from = parts.data();
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& box : layout_.boxes(rank)) {
        for (std::ptrdiff_t row = 0; row < box.extents[0] * box.extents[1]; ++row) {
          const auto z = box.start[0] + row / box.extents[1];
          const auto y = box.start[1] + row % box.extents[1];
          std::copy_n(
              from, box.extents[2],
              &whole[static_cast<std::size_t>((z * extents_[1] + y) * extents_[2] + box.start[2])]);
          from += box.extents[2];
        }
      }
    }
  }

  void add_ours(const std::string& name, const std::string& servers, const bench::Arguments& args,
                const std::string& compress = "") {
    tailrace::OutputOptions options;
    options.compress = compress;
    options.servers = servers;
    options.writers = args.number("writers", 0);
    options.buffered_files = args.number("buffered-files", 2);
    outputs_.push_back(std::make_unique<Output>(comm_, options));
    Output* output = outputs_.back().get();
    variants_.push_back({name, true,
                         [this, output](int step) {
                           tailrace::Variable variable;
                           variable.name = "u";
                           variable.dims = {"z", "y", "x"};
                           variable.layout = &layout_;
                           variable.memory = memory_;
                           variable.data = field_.data();
                           tailrace::FileContents contents;
                           contents.variables.push_back(variable);
                           contents.step = step;
                           output->write(path(step), contents);
                         },
                         [output] { output->progress(); }, [output] { output->finish(); },
                         [output] { return output->statistics(); }});
  }

  /// The standard way: one shared file, a file view of this rank's box, a collective write, a sync.
  void write_mpi_io(int step) {
    MPI_File file = MPI_FILE_NULL;
    tailrace::check_mpi(MPI_File_open(comm_.raw(), path(step).c_str(),
                                      MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    int extents[3] = {0, 0, 0};
    for (std::size_t d = 0; d < 3; ++d) extents[d] = tailrace::to_int(extents_[d]);
    int part[3] = {0, 0, 0};
    int start[3] = {0, 0, 0};
    for (std::size_t d = 0; d < 3 && !boxes_.empty(); ++d) {
      part[d] = tailrace::to_int(boxes_[0].extents[d]);
      start[d] = tailrace::to_int(boxes_[0].start[d]);
    }
    MPI_Datatype view = MPI_DATATYPE_NULL;
    tailrace::check_mpi(
        MPI_Type_create_subarray(3, extents, part, start, MPI_ORDER_C, MPI_DOUBLE, &view));
    tailrace::check_mpi(MPI_Type_commit(&view));
    tailrace::check_mpi(MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", MPI_INFO_NULL));
    tailrace::check_mpi(MPI_File_write_all(file, field_.data(), tailrace::to_int(memory_.num_items),
                                           MPI_DOUBLE, MPI_STATUS_IGNORE));
    tailrace::check_mpi(MPI_File_sync(file));
    tailrace::check_mpi(MPI_File_close(&file));
    MPI_Type_free(&view);
  }

  RunTimes run(WriteMethod& variant, int steps) {
    if (comm_.rank() == 0) {
      for (int step = 0; step < steps_; ++step) ::unlink(path(step).c_str());
      ::sync();  // what the variant before left to the system is not ours to pay
    }
    MPI_Barrier(comm_.raw());
    const double start = bench::now_s();
    double seen = 0;
    auto& cost = variant.cost;
    for (int step = 0; step < steps; ++step) {
      cost.begin_step({statistics(variant)});
      work_.run([&] {
        MPI_Barrier(comm_.raw());  // the ranks of a simulation meet in every step, output or not
        cost.end_step();
        cost.output(variant.progress);
        cost.begin_step({statistics(variant)});
      });
      const double before = bench::now_s();
      cost.output([&] { variant.write(step); });
      const double call_s = bench::now_s() - before;
      if (&variant != variants_.data()) {
        ++variant.counted.steps;
        ++variant.counted.complete;
        variant.counted.call_s += call_s;
      }
      seen += call_s;
    }
    const double loop_end = bench::now_s();
    cost.output(variant.finish);
    cost.begin_step({statistics(variant)});  // the next run does not begin after a write
    const double end = bench::now_s();
    return {bench::all_max(end - start), bench::all_max(seen) / steps,
            bench::all_max(end - loop_end)};
  }

  const Comm& comm_;
  std::optional<FileField> source_;
  Extents extents_;
  int steps_;
  std::string folder_, shape_;
  Layout layout_;
  std::vector<tailrace::Box> boxes_;
  tailrace::Memory memory_;
  std::vector<double> field_, copy_, read_;
  std::vector<std::string> compress_;
  double hdf5_cpu_s_ = 0, hdf5_bytes_ = 0;
  std::array<hsize_t, 3> chunk_{1, 1, 1};
  bench::Limit raw_;
  struct PlainWrite {
    bench::LimitSetting setting;
    std::vector<double> seconds;
  };
  std::vector<PlainWrite> limits_;
  bench::ComputeStep work_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::vector<WriteMethod> variants_;
};

}  // namespace

int bench::run_output(int argc, char** argv) {
  return bench::run_program("tailrace-bench output", argc, argv, [](const auto&, const auto& args) {
    const Comm comm(MPI_COMM_WORLD);
    Bench bench(comm, args);
    bench.measure(args.number("repeats", 1));
    bench.print(args.text("compute", "work"));
  });
}
