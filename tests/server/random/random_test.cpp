// SPDX-License-Identifier: BSD-3-Clause
// Random files of `Output` and of a session's streams, in every format and by every kind of server,
// read back by `Input` in another random layout, by other ranks, as another type, and by Python's
// packages. In some problems staging memory holds a step or two, so that steps wait, or are left
// out, lowered or spilled.
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "layout/holes.hpp"
#include "python_reader.hpp"
#include "random_reading.hpp"
#include "random_variants.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/verify.hpp"
#include "temp_folder.hpp"

namespace tailrace {
namespace {

/// What becomes of a step.
constexpr int left_out = 0, as_it_is = 1, as_lowered = 2;

class OutputProblem : private ReadBack {
 public:
  OutputProblem(const Comm& comm, const std::string& folder, PythonReader* python, Counts& counts,
                Variant variant, std::uint64_t seed)
      : ReadBack(comm, folder, counts, seed),
        python_(python),
        variant_(std::move(variant)),
        dice_seed_(seed) {
    const auto compute_ranks = comm.num_ranks() - variant_.num_serving_ranks();
    tight_ = variant_.strategy.empty() && dice_.chance(75);
    if (tight_) ++counts_.tight;
    const auto count = tight_ ? dice_.between(8, 14) : dice_.between(1, 4);
    for (std::ptrdiff_t n = 0; n < count; ++n) {
      steps_.push_back(random_step(dice_, n, compute_ranks, n == 0 ? nullptr : &steps_.back()));
    }
    taken_.assign(steps_.size(), 0);
    plan_files();
  }

  std::string run() {
    bool here = true;
    try {
      variant_.strategy.empty() ? write_by_session() : write_by_output();
    } catch (const Error& error) {
      here = !testing::says_not_here(error);
      if (here) fail(error.what());
    }
    ++(here ? counts_.variants : counts_.not_here)[variant_.name()];
    // Servers know nothing of a failure of those that compute.
    int failed = !here || !failure_.empty() ? 1 : 0;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm_.raw()));
    if (failed == 0) read_back();
    return failure_.empty() ? "" : fmt::format("{} ({})", failure_, variant_.name());
  }

 private:
  void read_back() {
    dice_ = Dice(dice_seed_ + 1000000007);  // servers have not thrown the dice of the others
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, taken_.data(), static_cast<int>(taken_.size()), MPI_INT,
                            MPI_MAX, comm_.raw()));
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (taken_[n] == as_lowered) steps_[n].lower();
    }
    for (const auto& file : expected_files()) check(file);
    if (comm_.rank() == 0) check_folder();
  }

  // The suffix of each step's file; some steps replace the file of the step before.
  void plan_files() {
    const std::vector<std::string> plain{".h5", ".nc"}, all{".h5", ".nc", ".zarr", ".zarr"};
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      replaces_.push_back(n > 0 && dice_.chance(20));
      const auto& suffix = dice_.one_of(variant_.strategy.empty() ? all : plain);
      paths_.push_back(replaces_[n] ? paths_[n - 1]
                                    : fmt::format("{}/file{}{}", folder_, n, suffix));
    }
    if (!variant_.strategy.empty()) return;
    if (dice_.chance(40)) product_ = random_product(dice_);
    variables_ = !product_ || dice_.chance(70);
  }

  static std::string stem(const std::string& path) { return path.substr(0, path.rfind('.')); }

  std::vector<ExpectedFile> expected_files() const {
    std::map<std::string, ExpectedFile> files;
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (taken_[n] == left_out) continue;
      if (variables_) files[paths_[n]] = {paths_[n], n, checksums_};
      if (!product_) continue;
      const auto path = stem(paths_[n]) + product_->path.substr(std::strlen("{path}"));
      files[path] = {path, n, checksums_};
    }
    std::vector<ExpectedFile> list;
    for (const auto& [path, file] : files) list.push_back(file);
    return list;
  }

  // `write(path, contents)` says what became of the step.
  template <class Write>
  void write_step(const Comm& compute, std::size_t n, Write&& write) {
    StepArrays arrays(steps_[n], compute.rank(), own_dice_);
    if (!tight_) someone_is_late(compute, dice_);
    taken_[n] = write(paths_[n], arrays.contents());
    if (taken_[n] != left_out) arrays.note_written();
    if (arrays.changed()) fail("write changed the caller's arrays");
    arrays.spoil();
  }

  void forget_what_servers_refuse(OutputOptions& options) const {
    if (variant_.servers == "none" || variant_.servers == "hidden") return;
    options.writers = 0;
    options.method = "auto";
  }

  void write_by_output() {
    auto options = random_output(dice_, comm_);
    options.strategy = variant_.strategy;
    options.servers = variant_.servers;
    options.memory_bytes = 64 << 20;
    forget_what_servers_refuse(options);
    checksums_ = options.checksums;
    Output output(comm_, options);
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (replaces_[n]) output.finish();
      write_step(comm_, n, [&](const std::string& path, const FileContents& contents) {
        output.write(path, contents);
        return as_it_is;
      });
      if (dice_.chance(50)) output.progress();
    }
    someone_is_late(comm_, dice_);
    output.finish();
    if (output.last_complete() != paths_.back()) fail("last_complete: " + output.last_complete());
  }

  OutputOptions random_stream(const Comm& compute) {
    auto options = random_output(dice_, compute);
    forget_what_servers_refuse(options);
    options.checksums = checksums_;
    options.priority = static_cast<int>(dice_.below(3));
    options.variables = variables_;
    if (product_) options.products = {*product_};
    if (!tight_) return options;
    options.when_full = dice_.one_of(std::array{WhenFull::wait, WhenFull::drop, WhenFull::thin,
                                                WhenFull::lower, WhenFull::spill});
    if (options.when_full == WhenFull::spill) options.spill_folder = folder_;
    return options;
  }

  // Little memory is as much as every step needs, found by trying.
  void write_by_session() {
    const int most_clients =
        std::min(NodeMap(comm_).most_ranks(), comm_.num_ranks() - variant_.num_serving_ranks());
    const auto dice = dice_, own_dice = own_dice_;
    for (std::ptrdiff_t bytes = 16 << 10;; bytes = 3 * bytes / 2) {
      int fits = try_session(tight_ ? bytes * most_clients : 0) ? 1 : 0;
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm_.raw()));
      if (fits == 1) return;
      if (comm_.rank() == 0) {
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
          std::filesystem::remove_all(entry.path());
        }
      }
      check_mpi(MPI_Barrier(comm_.raw()));
      dice_ = dice;
      own_dice_ = own_dice;
      std::ranges::fill(taken_, 0);
    }
  }

  /// False if a step does not fit into the memory at all; all that compute are told so.
  bool try_session(std::ptrdiff_t memory_bytes) {
    checksums_ = dice_.chance(80);
    auto options = random_session(dice_, variant_, folder_);
    if (memory_bytes > 0) options.memory_bytes = memory_bytes;
    Session session(comm_.raw(), options);
    if (!session.computes()) {
      if (session.serve() != 0) fail("a server lost output");
      return true;
    }
    try {
      write_steps(session);
    } catch (const Error& error) {
      const std::string text = error.what();
      if (memory_bytes == 0 || text.find("does not fit into its") == std::string::npos) throw;
      session.close();
      return false;
    }
    if (dice_.chance(50)) session.close();
    return true;
  }

  void write_steps(Session& session) {
    const Comm& compute = session.compute();
    std::vector<Output> streams;
    streams.push_back(session.open("one", random_stream(compute)));
    if (dice_.chance(40)) streams.push_back(session.open("two", random_stream(compute)));
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      auto& stream = streams[n % streams.size()];
      if (replaces_[n]) {
        for (auto& any : streams) any.finish();
      }
      write_step(compute, n, [&](const std::string& path, const FileContents& contents) {
        const auto result = stream.write(path, contents);
        if (result == WriteResult::lowered) return as_lowered;
        return result == WriteResult::dropped ? left_out : as_it_is;
      });
      if (dice_.chance(50)) stream.progress();
    }
    someone_is_late(compute, dice_);
    std::int64_t complete = 0;
    for (auto& stream : streams) {
      stream.finish();
      complete += stream.statistics().complete;
      if (compute.rank() == 0) count(stream.statistics());
    }
    if (complete != std::ssize(taken_) - std::ranges::count(taken_, left_out)) {
      fail(fmt::format("{} steps are said to be complete", complete));
    }
  }

  void count(const OutputStatistics& statistics) {
    counts_.spilled += static_cast<int>(statistics.spilled);
    counts_.dropped += static_cast<int>(statistics.dropped);
    counts_.thinned += static_cast<int>(statistics.thinned);
    counts_.lowered += static_cast<int>(statistics.lowered);
  }

  // Collective.
  void check(const ExpectedFile& file) {
    const auto suffix = file.path.substr(file.path.rfind('.') + 1);
    ++counts_.formats[suffix];
    const bool is_zarr = suffix == "zarr";
    const bool with_python = is_zarr || dice_.chance(25);
    if (comm_.rank() == 0 && python_ != nullptr && with_python) {
      ++counts_.by_python;
      const auto wrong = python_->check(file.path, steps_[file.step], folder_);
      if (!wrong.empty()) fail(fmt::format("{}: {}", name_of(file), wrong));
    }
    if (is_zarr) return;
    const auto verified = verify_file(comm_, file.path);
    if (verified.damaged() || !verified.problem.empty()) {
      auto text = fmt::format("{}: verify: damaged {}", name_of(file), verified.problem);
      for (const auto& dataset : verified.datasets) {
        if (!dataset.damaged()) continue;
        text += fmt::format(" {}: {} {}", dataset.name, dataset.num_damages, dataset.problem);
        if (dataset.damages.empty()) continue;
        text += ", " + dataset.damages.front().describe(dataset.name, dataset.files.front());
      }
      fail(text);
    }
    // Servers write holes that cross their parts without checksums; an output without a session has
    // several servers on several nodes only.
    const bool served = variant_.servers != "none" && variant_.servers != "hidden";
    const bool several = variant_.strategy.empty() || (served && NodeMap(comm_).num_nodes() > 1);
    const bool bare = several && has_holes_in(steps_[file.step]);
    if (comm_.rank() == 0 && !bare && verified.checksums != file.checksums) {
      fail(name_of(file) + ": verify sees other checksums than were asked for");
    }
    read_by_some(file);
  }

  static bool has_holes_in(const RandomStep& step) {
    return std::ranges::any_of(step.variables, [](const RandomVariable& variable) {
      return has_holes(variable.layout());
    });
  }

  // Nothing else is left in the folder.
  void check_folder() {
    std::set<std::string> right;
    for (const auto& file : expected_files()) right.insert(file.path);
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const auto path = entry.path().string();
      const auto name = entry.path().filename().string();
      const bool pieces = path.ends_with(".pieces") && right.contains(stem(path));
      if (right.contains(path) || pieces || name.starts_with("right_")) continue;
      fail(name + " was left in the folder");
    }
  }

  PythonReader* python_;
  Variant variant_;
  std::uint64_t dice_seed_;
  std::vector<std::string> paths_;
  std::vector<bool> replaces_;
  std::vector<int> taken_;  // what became of each step
  std::optional<Product> product_;
  bool variables_ = true, checksums_ = true;
  bool tight_ = false;  // staging memory is little
};

class OutputRandom : public ::testing::Test {
 protected:
  void SetUp() override {
    if (comm.rank() != 0) return;
    const auto missing = python.start();
    have_python = missing.empty();
    if (!have_python) std::printf("Zarr stores are not read: %s\n", missing.c_str());
  }

  std::string run(std::uint64_t seed) {
    const auto own = folder / fmt::format("problem{}", seed);
    if (comm.rank() == 0) std::filesystem::create_directories(own);
    MPI_Barrier(comm.raw());
    const auto& variant = variants[static_cast<std::size_t>((seed - 1) % variants.size())];
    const auto failure =
        OutputProblem(comm, own, have_python ? &python : nullptr, counts, variant, seed).run();
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) std::filesystem::remove_all(own);
    return failure;
  }

  // Every variant ran, unless it cannot be had here, and every format came to be read.
  void check_counts() {
    for (const auto& variant : variants) {
      const auto name = variant.name();
      EXPECT_GT(counts.variants[name] + counts.not_here[name], 0) << name << " never ran";
    }
    for (const auto* format : {"h5", "nc", "zarr"}) {
      EXPECT_GT(counts.formats[format], 0) << format << " was never written";
    }
    EXPECT_GT(counts.converted, 0);
    EXPECT_GT(counts.unfit, 0);
    EXPECT_EQ(counts.fewer_readers > 0, comm.num_ranks() > 1);
    if (comm.rank() != 0) return;
    EXPECT_EQ(counts.by_python > 0, have_python);
    std::printf("%d files of .h5, %d .nc, %d .zarr; %d read by Python\n", counts.formats["h5"],
                counts.formats["nc"], counts.formats["zarr"], counts.by_python);
    std::printf(
        "%d problems in little memory: %d steps spilled, %d dropped, %d thinned, %d lowered\n",
        counts.tight, counts.spilled, counts.dropped, counts.thinned, counts.lowered);
    std::printf("%d files read by a part of the ranks, %d arrays as other types, %d unfit\n",
                counts.fewer_readers, counts.converted, counts.unfit);
    for (const auto& [name, count] : counts.variants)
      std::printf("  %5d by %s\n", count, name.c_str());
    for (const auto& [name, count] : counts.not_here) {
      if (count > 0) std::printf("  cannot be had here: %s\n", name.c_str());
    }
  }

  const Comm comm{MPI_COMM_WORLD};
  const TempFolder folder{comm};
  const std::vector<Variant> variants = all_variants(comm);
  PythonReader python;
  bool have_python = false;
  Counts counts;
};

TEST_F(OutputRandom, IsReadBack) {
  const auto count = std::max(static_cast<int>(variants.size()), 30);
  const auto ran = RandomProblems(comm, count).run([&](std::uint64_t seed) { return run(seed); });
  if (ran >= count) check_counts();
}

}  // namespace
}  // namespace tailrace
