// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>

#include <fmt/format.h>

#include "failing/failure_plan.hpp"
#include "store/output_case.hpp"
#include "tailrace/error.hpp"

namespace tailrace::failing_test {

using namespace store_test;

/// Sweeps over the calls of one variant of writing. On the ranks that compute.
class Sweep {
 public:
  using Write = std::function<void(const std::string& path, const FileContents& contents)>;
  /// `write` writes a file and waits until it is complete, or throws.
  Sweep(const Comm& comm, const FailurePlan& plan, std::string variant, std::string suffix,
        Write write)
      : comm_(comm),
        plan_(plan),
        variant_(std::move(variant)),
        suffix_(std::move(suffix)),
        write_(std::move(write)),
        test_(comm, {4, 8, 9}, 1) {}

  /// Each failing call once where nothing has the name, and once where a file is replaced.
  void run() {
    write_(undisturbed(), test_.contents);
    for (const bool replaces : {false, true}) {
      for (const auto& failure : failures) {
        const auto path = (plan_.out() / ("count" + suffix_)).string();
        prepare(path, replaces);
        const long total = plan_.count(comm_, failure, [&] { write_(path, test_.contents); });
        EXPECT_GT(total, 0) << variant_;
        for (const long at : calls_of(failure, total, 1)) one(failure, at, replaces);
      }
    }
  }

  long num_failed() const { return failed_; }
  long num_fired() const { return fired_; }

 private:
  std::string undisturbed() const { return (plan_.out() / ("right" + suffix_)).string(); }

  void remove(const std::string& path) const {
    check_mpi(MPI_Barrier(comm_.raw()));
    if (comm_.rank() == 0) fs::remove_all(path);
    if (comm_.rank() == 0) fs::remove_all(path + ".pieces");
    check_mpi(MPI_Barrier(comm_.raw()));
  }

  void prepare(const std::string& path, bool replaces) {
    remove(path);
    if (!replaces) return;
    write_(path, test_.contents);
    // A new file or store gets the mode of the one that it replaces.
    const auto file = suffix_ == ".zarr" ? path + "/zarr.json" : path;
    if (comm_.rank() == 0) fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    check_mpi(MPI_Barrier(comm_.raw()));
  }

  void one(const Failure& failure, long at, bool replaces) {
    const auto path = (plan_.out() / fmt::format("f{}{}", number_++, suffix_)).string();
    if (replaces) prepare(path, true);
    plan_.arm(comm_, failure, at);
    std::string text;
    try {
      write_(path, test_.contents);
    } catch (const Error& error) {
      text = error.what();
    }
    const bool fired = plan_.disarm(comm_);
    const auto what =
        fmt::format("{}{}: {} call {} ({} of {}) -> \"{}\"", variant_, replaces ? ", replaced" : "",
                    describe(failure), at, plan_.get().name, plan_.get().path, text);
    if (fired) {
      ++fired_;
      check_failure(path, failure, text, what);
      EXPECT_TRUE(!replaces || fs::exists(path)) << "the earlier one is lost: " << what;
    } else {
      EXPECT_EQ(text, "") << what;
    }
    // The next write is as if nothing had been.
    write_(path, test_.contents);
    EXPECT_EQ(wrong_items(path), 0) << what;
    EXPECT_EQ(leftovers(), "") << what;
    remove(path);
  }

  void check_failure(const std::string& path, const Failure& failure, const std::string& text,
                     const std::string& what) {
    int failed = text.empty() ? 0 : 1, sum = 0;
    check_mpi(MPI_Allreduce(&failed, &sum, 1, MPI_INT, MPI_SUM, comm_.raw()));
    EXPECT_TRUE(sum == 0 || sum == comm_.num_ranks()) << "some ranks only: " << what;
    if (failure.is_harmless()) {
      EXPECT_EQ(text, "") << what;
    }
    failed_ += failed;
    if (failed != 0) {
      EXPECT_NE(text.find(path), std::string::npos) << what;
      EXPECT_NE(text.find("step 7"), std::string::npos) << what;
      EXPECT_NE(text.find(fmt::format("errno {}", failure.error)), std::string::npos) << what;
    } else {
      EXPECT_TRUE(fs::exists(path)) << what;
    }
    if (fs::exists(path)) {
      EXPECT_EQ(wrong_items(path), 0) << what;
    }
    // The store that was replaced, if no folder can be read: it is told, and removed later.
    if (text.find("the store that it replaces could not be removed") == std::string::npos) {
      EXPECT_EQ(leftovers(), "") << what;
    }
    check_mpi(MPI_Barrier(comm_.raw()));
  }

  /// The name of something unfinished in the folder, or of pieces without their file.
  std::string leftovers() const {
    for (const auto& entry : fs::directory_iterator(plan_.out())) {
      const auto name = entry.path().filename().string();
      if (name.find(".partial") != std::string::npos) return name;
      const bool has_file = fs::exists(entry.path().parent_path() / entry.path().stem());
      if (name.ends_with(".pieces") && !has_file) return name;
    }
    return "";
  }
  /// Stores of Zarr are compared with one that was written undisturbed: the number of files that
  /// differ, are missing or too many.
  std::ptrdiff_t wrong_items(const std::string& path) const {
    if (suffix_ != ".zarr") return OutputCase::wrong_items(comm_, path, 0);
    auto right = files_of(undisturbed());
    std::ptrdiff_t wrong = right.empty() ? 1 : 0;
    for (const auto& [name, bytes] : files_of(path)) {
      const auto same = right.extract(name);
      wrong += !same || same.mapped() != bytes ? 1 : 0;
    }
    return wrong + std::ssize(right);
  }
  static std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto name = entry.path().lexically_relative(folder).string();
      files[name] = entry.is_directory() ? "" : slurp(entry.path());
    }
    return files;
  }

  const Comm& comm_;
  const FailurePlan& plan_;
  std::string variant_, suffix_;
  Write write_;
  OutputCase test_;
  int number_ = 0;
  long failed_ = 0, fired_ = 0;
};

}  // namespace tailrace::failing_test
