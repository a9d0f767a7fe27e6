// SPDX-License-Identifier: BSD-3-Clause
// A run that computes and writes one field a step: without output, with MPI-IO, and with
// tailrace::Output, synchronous and hidden. The variants take turns within each repeat and do the
// same amount of work, calibrated once, so whatever output takes from the processor is seen.

#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compute_step.hpp"
#include "programs.hpp"
#include "tailrace/output.hpp"

namespace {

using tailrace::Comm;
using tailrace::Layout;
using tailrace::Output;
using tailrace::OutputMode;

/// The field: `n`^3 doubles, in slabs or pencils (whole along y, split along z and x, so that a
/// rank's part is scattered over the file in short pieces).
Layout make_layout(const Comm& comm, std::ptrdiff_t n, const std::string& shape) {
  const std::vector<std::ptrdiff_t> extents{n, n, n};
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
  std::vector<double> seconds = {}, seen = {}, drain = {};
};

class Bench {
 public:
  Bench(const Comm& comm, const bench::Arguments& args)
      : comm_(comm),
        n_(args.number("n", 256)),
        steps_(args.number("steps", 4)),
        folder_(args.text("folder", ".")),
        shape_(args.text("shape", "slab")),
        layout_(make_layout(comm, n_, shape_)),
        boxes_(layout_.boxes(comm.rank())),
        memory_(tailrace::Memory::dense(boxes_)),
        field_(static_cast<std::size_t>(memory_.num_items)),
        work_(comm.raw(), {.seconds = args.real("compute-s", 0.7),
                           .sleeps = args.text("compute", "work") == "sleep"}) {
    for (std::size_t i = 0; i < field_.size(); ++i) field_[i] = bench::noise(i);
    variants_.push_back({"no output", true, [](int) {}});
    add_ours("tailrace, hidden", OutputMode::hidden, args);
    add_ours("tailrace, synchronous", OutputMode::synchronous, args);
    variants_.push_back({"MPI-IO, collective", false, [this](int step) { write_mpi_io(step); }});
  }

  void measure(int repeats) {
    for (auto& variant : variants_) run(variant, 1);  // buffers are made at the first use
    for (int i = 0; i < repeats; ++i) {
      for (auto& variant : variants_) {
        const RunTimes times = run(variant, steps_);
        variant.seconds.push_back(times.total_s);
        variant.seen.push_back(times.seen_s);
        variant.drain.push_back(times.drain_s);
      }
    }
  }

  void print(const std::string& compute) const {
    const double bytes = static_cast<double>(n_ * n_ * n_) * sizeof(double);
    for (const auto& variant : variants_) {
      if (comm_.rank() != 0) continue;
      bench::JsonLine()
          .text("entry", variant.name)
          .text("problem", shape_ + " data, " + std::to_string(n_) + "^3 double, " +
                               std::to_string(comm_.num_ranks()) + " ranks, " +
                               std::to_string(steps_) + " steps, compute: " + compute)
          .flag("ours", variant.ours)
          .flag("reference", &variant == variants_.data())
          .numbers("seconds", variant.seconds)
          .number("seen_s", bench::median(variant.seen))
          .number("drain_s", bench::median(variant.drain))
          .number("bytes_per_step", bytes)
          .number("check", work_.check())
          .print();
    }
  }

 private:
  std::string path(int step) const {
    return folder_ + "/bench_" + shape_ + "_" + std::to_string(step) + ".h5";
  }

  void add_ours(const std::string& name, OutputMode mode, const bench::Arguments& args) {
    tailrace::OutputOptions options;
    options.mode = mode;
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
                         [output] { output->progress(); }, [output] { output->finish(); }});
  }

  /// The standard way: one shared file, a file view of this rank's box, a collective write, a sync.
  void write_mpi_io(int step) {
    MPI_File file = MPI_FILE_NULL;
    tailrace::check_mpi(MPI_File_open(comm_.raw(), path(step).c_str(),
                                      MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    const int n = tailrace::to_int(n_);
    const int extents[3] = {n, n, n};
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
    for (int step = 0; step < steps; ++step) {
      work_.run(variant.progress);
      MPI_Barrier(comm_.raw());  // the ranks of a simulation meet in every step, output or not
      const double before = bench::now_s();
      variant.write(step);
      seen += bench::now_s() - before;
    }
    const double loop_end = bench::now_s();
    variant.finish();
    const double end = bench::now_s();
    return {bench::all_max(end - start), bench::all_max(seen) / steps,
            bench::all_max(end - loop_end)};
  }

  const Comm& comm_;
  std::ptrdiff_t n_;
  int steps_;
  std::string folder_, shape_;
  Layout layout_;
  std::vector<tailrace::Box> boxes_;
  tailrace::Memory memory_;
  std::vector<double> field_;
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
