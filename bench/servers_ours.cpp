// SPDX-License-Identifier: BSD-3-Clause
// One run that computes and writes a field every few steps, by one variant of ours or of others;
// what was written is read back and compared. `tailrace bench servers` runs the variants in turn.
// With
// `--what list`, the variants of this build; with `--what calibrate`, how much work a step is.

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>

#include "compute_step.hpp"
#include "servers_variant.hpp"

namespace {

using bench::Arguments;
using bench::JsonLine;
using bench::ServerVariant;
using bench::StepField;
using bench::StepWriter;
using tailrace::Errc;
using tailrace::Error;

std::vector<ServerVariant> all_variants() {
  std::vector<ServerVariant> variants;
  for (auto make : {bench::session_variants, bench::toy_variants, bench::file_variants,
                    bench::adios2_variants}) {
    auto more = make();
    std::move(more.begin(), more.end(), std::back_inserter(variants));
  }
  return variants;
}

bench::ComputeSettings compute_settings(const Arguments& args) {
  return {.seconds = args.real("compute-s", 0.7),
          .sleeps = args.text("compute", "sleep") == "sleep",
          .passes = args.number("passes", 0),
          .stages = args.number("calls", 4),
          .halo_items = args.number("halo", 0)};
}

/// What a run took, on the slowest rank.
struct RunTimes {
  double total_s = 0;
  double drain_s = 0;                  ///< after the last step, waiting for the last files
  std::vector<double> seen_s;          ///< of each call that writes
  std::vector<double> busy_s, idle_s;  ///< computing: while output was under way, and while not
};

/// The ranks that compute.
class Run {
 public:
  Run(const ServerVariant& variant, StepWriter& writer, const Arguments& args)
      : variant_(variant),
        writer_(writer),
        args_(args),
        comm_(*writer.compute()),
        field_(comm_, args.number("n", 256), args.text("shape", "slab"), args.text("folder", ".")),
        data_(static_cast<std::size_t>(field_.num_items)),
        step_(comm_.raw(), compute_settings(args)) {
    const auto first = static_cast<std::size_t>(comm_.rank()) * data_.size();
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = bench::noise(first + i);
  }

  void measure() {
    remove_files();
    memcpy_s_ = time_memcpy();
    const int steps = args_.number("steps", 4);
    const int every = args_.number("every", 1);
    writer_.open(field_);
    run(0, every, every);  // buffers are made at the first use
    times_ = run(every, steps, every);
    if (args_.text("check", "yes") == "yes") check(every, steps, every);
    const double idle_s = args_.real("idle-s", 1);
    idle_cpu_ = idle_s > 0 ? idle_cpu(idle_s) : std::numeric_limits<double>::quiet_NaN();
    writer_.close();
    remove_files();
  }

  void print() {
    if (comm_.rank() != 0) return;
    JsonLine line;
    line.text("entry", variant_.name)
        .text("problem", args_.text("problem", "servers"))
        .text("family", variant_.family)
        .flag("ours", variant_.family == "ours")
        .flag("reference", variant_.name == "no output")
        .numbers("seconds", {times_.total_s})
        .number("seen_s", bench::median(times_.seen_s))
        .number("seen_worst_s", *std::max_element(times_.seen_s.begin(), times_.seen_s.end()))
        .number("seen_sum_s", std::accumulate(times_.seen_s.begin(), times_.seen_s.end(), 0.0))
        .number("drain_s", times_.drain_s)
        .number("memcpy_s", memcpy_s_)
        .number("idle_cpu", idle_cpu_)
        .number("outputs", static_cast<double>(times_.seen_s.size()))
        .number("bytes_per_output", static_cast<double>(field_.pattern.total_bytes))
        .number("compute_ranks", comm_.num_ranks());
    if (!times_.busy_s.empty()) line.number("busy_step_s", bench::median(times_.busy_s));
    if (!times_.idle_s.empty()) line.number("idle_step_s", bench::median(times_.idle_s));
    writer_.report(line);
    line.print();
  }

 private:
  /// Makes the field that of `step`: as many changes as show what was written, and when.
  void stamp(int step) {
    for (std::size_t i = 0; i < data_.size(); i += 509) {
      data_[i] = step + static_cast<double>(i) + 0.25 * comm_.rank();
    }
  }

  RunTimes run(int first_step, int steps, int every) {
    if (comm_.rank() == 0) ::sync();  // what was before is not ours to pay
    writer_.begin();
    RunTimes times;
    MPI_Barrier(comm_.raw());
    const double start = bench::now_s();
    for (int step = first_step; step < first_step + steps; ++step) {
      stamp(step);
      compute(times);
      if ((step + 1) % every != 0) continue;
      MPI_Barrier(comm_.raw());  // so that one rank's lateness is not taken for output
      const double before = bench::now_s();
      writer_.write(step, data_.data());
      times.seen_s.push_back(bench::now_s() - before);
    }
    const double loop_end = bench::now_s();
    writer_.finish();
    const double end = bench::now_s();
    times.total_s = bench::all_max(end - start, comm_.raw());
    times.drain_s = bench::all_max(end - loop_end, comm_.raw());
    for (double& seen : times.seen_s) seen = bench::all_max(seen, comm_.raw());
    return times;
  }

  void compute(RunTimes& times) {
    writer_.progress();
    const auto under_way = writer_.under_way();
    const double start = bench::now_s();
    writer_.computing(true);
    step_.run([this] { writer_.progress(); });
    writer_.computing(false);
    if (under_way) (*under_way ? times.busy_s : times.idle_s).push_back(bench::now_s() - start);
  }

  /// Of this rank's part, all ranks at once, as they write.
  double time_memcpy() {
    std::vector<double> copy(data_.size(), 1.0);
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
      MPI_Barrier(comm_.raw());
      const double start = bench::now_s();
      std::memcpy(copy.data(), data_.data(), data_.size() * sizeof(double));
      seconds.push_back(bench::all_max(bench::now_s() - start, comm_.raw()));
      stamp(static_cast<int>(copy[0]));
    }
    return bench::median(seconds);
  }

  void check(int first_step, int steps, int every) {
    std::vector<double> arrived(data_.size());
    std::string wrong;
    for (int step = first_step; step < first_step + steps; ++step) {
      if ((step + 1) % every != 0 || variant_.name == "no output") continue;
      std::fill(arrived.begin(), arrived.end(), 0.0);
      writer_.read(step, arrived.data());
      stamp(step);
      const auto differs = std::mismatch(data_.begin(), data_.end(), arrived.begin());
      if (differs.first == data_.end() || !wrong.empty()) continue;
      wrong = "step " + std::to_string(step) + ", item " +
              std::to_string(differs.first - data_.begin()) + " of rank " +
              std::to_string(comm_.rank()) + ": " + std::to_string(*differs.second) +
              " in the file, expected " + std::to_string(*differs.first);
    }
    if (bench::all_max(wrong.empty() ? 0 : 1, comm_.raw()) > 0) {
      throw Error(Errc::corrupt, "wrong result: " + (wrong.empty() ? "on another rank" : wrong));
    }
  }

  /// Share of a core that is used while all ranks that compute sleep.
  double idle_cpu(double seconds) {
    MPI_Barrier(comm_.raw());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // all are out of the barrier
    std::map<int, double> before;
    if (comm_.rank() == 0) before = bench::threads_cpu_s();
    const double start = bench::now_s();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double passed = bench::now_s() - start;
    double used = 0;
    if (comm_.rank() == 0) {
      for (const auto& [thread, cpu_s] : bench::threads_cpu_s()) used += cpu_s - before[thread];
    }
    if (comm_.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    MPI_Barrier(comm_.raw());
    return used / passed;
  }

  void remove_files() {
    MPI_Barrier(comm_.raw());
    if (comm_.rank() == 0) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(field_.folder)) {
        if (entry.path().filename().string().rfind("step_", 0) == 0) files.push_back(entry.path());
      }
      for (const auto& file : files) std::filesystem::remove_all(file);
    }
    MPI_Barrier(comm_.raw());
  }

  const ServerVariant& variant_;
  StepWriter& writer_;
  const Arguments& args_;
  const tailrace::Comm& comm_;
  StepField field_;
  std::vector<double> data_;
  bench::ComputeStep step_;
  RunTimes times_;
  double memcpy_s_ = 0, idle_cpu_ = 0;
};

void print_problem(const ServerVariant& variant, const Arguments& args, const Error& error) {
  const bool applies = error.code() != Errc::invalid_input;
  JsonLine()
      .text("entry", variant.name)
      .text("problem", args.text("problem", "servers"))
      .flag("ours", variant.family == "ours")
      .text(applies ? "failure" : "does_not_apply", bench::plain(error.what()))
      .print();
}

/// Throws what makes no run possible, the same on all ranks.
void run(const ServerVariant& variant, const Arguments& args, int rank) {
  std::unique_ptr<StepWriter> writer;
  try {
    writer = variant.make(args);
  } catch (const Error& error) {
    if (error.code() != Errc::invalid_input) throw;
    if (rank == 0) print_problem(variant, args, error);
    return;
  }
  if (writer->compute() == nullptr) return writer->serve();
  Run steps(variant, *writer, args);
  steps.measure();
  steps.print();
}

void list_variants() {
  for (const auto& variant : all_variants()) {
    JsonLine()
        .text("name", variant.name)
        .text("family", variant.family)
        .flag("own_ranks", variant.own_ranks)
        .print();
  }
}

void calibrate(const Arguments& args, int rank) {
  const bench::ComputeStep step(MPI_COMM_WORLD, compute_settings(args));
  if (rank == 0) JsonLine().number("passes", step.passes()).print();
}

const ServerVariant* find_variant(const std::vector<ServerVariant>& variants,
                                  const std::string& name) {
  const auto found =
      std::find_if(variants.begin(), variants.end(),
                   [&](const ServerVariant& variant) { return variant.name == name; });
  return found == variants.end() ? nullptr : &*found;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments args(argc, argv);
  const std::string what = args.text("what", "run");
  if (what == "list") {
    list_variants();
    return 0;
  }
  const auto variants = all_variants();
  const ServerVariant* variant = find_variant(variants, args.text("entry", "no output"));
  if (variant == nullptr) {
    std::fprintf(stderr, "no entry %s\n", args.text("entry", "").c_str());
    return 2;
  }
  const bench::MpiProgram program(
      &argc, &argv, variant->many_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
  try {
    if (what == "calibrate") {
      calibrate(args, program.rank);
    } else {
      run(*variant, args, program.rank);
    }
  } catch (const std::exception& error) {
    // A failure of one rank: nobody knows where the others are.
    std::fprintf(stderr, "%s: %s\n", variant->name.c_str(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}
