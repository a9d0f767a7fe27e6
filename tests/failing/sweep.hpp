// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>

#include <unistd.h>

#include <fmt/format.h>

#include "failing/failing_calls.h"
#include "store/output_case.hpp"
#include "tailrace/error.hpp"

extern "C" failing_calls* failing_calls_plan(void);

namespace tailrace::failing_test {

using namespace store_test;

struct Failure {
  long error;
  bool all = false;  ///< all calls from one on, else this one alone
  /// Nobody may see it.
  bool is_harmless() const { return error == EINTR || error == failing_short_write; }
};
constexpr Failure failures[] = {{ENOSPC}, {EIO}, {ENOSPC, true}, {EINTR}, {failing_short_write}};

/// How many failing calls of a way to write and an error are tried: TAILRACE_TEST_CALLS (0: all).
inline long calls_to_try() {
  const char* text = std::getenv("TAILRACE_TEST_CALLS");
  return text != nullptr ? std::atol(text) : 2;
}

/// What shall fail, known to all processes: a file that they have mapped. All tests of a program
/// have the same one, as a process keeps its first mapping. Collective.
class Plan {
 public:
  Plan(const Comm& comm, const fs::path& folder) {
    static const File file(comm);
    setenv("TAILRACE_FAILING_CALLS", file.path.c_str(), 1);
    setenv("LD_PRELOAD", TAILRACE_FAILING_LIBRARY, 1);  // of server processes
    plan_ = failing_calls_plan();
    const auto out = folder / "out";
    if (comm.rank() == 0) {
      fs::create_directories(out);
      std::strncpy(plan_->folder, out.c_str(), sizeof plan_->folder - 1);
    }
    check_mpi(MPI_Barrier(comm.raw()));
  }
  ~Plan() { unsetenv("LD_PRELOAD"); }
  failing_calls& get() const { return *plan_; }

 private:
  struct File {
    explicit File(const Comm& comm) : made(comm.rank() == 0) {
      int id = static_cast<int>(getpid());
      check_mpi(MPI_Bcast(&id, 1, MPI_INT, 0, comm.raw()));
      path = fs::temp_directory_path() / fmt::format("tailrace_failing_{}", id);
      if (made) std::ofstream(path) << std::string(sizeof(failing_calls), '\0');
      check_mpi(MPI_Barrier(comm.raw()));
    }
    ~File() {
      if (made) fs::remove(path);
    }
    bool made;
    fs::path path;
  };

  failing_calls* plan_;
};

/// Sweeps over the calls of one way to write. On the ranks that compute.
class Sweep {
 public:
  using Write = std::function<void(const std::string& path, const FileContents& contents)>;
  /// `write` writes a file and waits until it is complete, or throws.
  Sweep(const Comm& comm, failing_calls& plan, std::string way, std::string suffix, Write write)
      : comm_(comm),
        plan_(plan),
        way_(std::move(way)),
        suffix_(std::move(suffix)),
        write_(std::move(write)),
        test_(comm, {4, 8, 9}, 1) {}

  void run() {
    for (const auto& failure : failures) {
      const long total = count(failure);
      EXPECT_GT(total, 0) << way_;
      const long tries = calls_to_try() == 0 ? total : std::min(total, calls_to_try());
      for (long i = 0; i < tries; ++i) {
        // Spread over all calls, others for each error.
        const long at =
            tries == total ? i + 1 : 1 + (i * total + failure.error * 7 % total) / tries % total;
        one(failure, at);
      }
    }
  }

  long num_failed() const { return failed_; }
  long num_fired() const { return fired_; }

 private:
  fs::path out() const { return plan_.folder; }

  void arm(const Failure& failure, long at) {
    check_mpi(MPI_Barrier(comm_.raw()));
    if (comm_.rank() == 0) {
      plan_.at = at;
      plan_.error = failure.error;
      plan_.all = failure.all ? 1 : 0;
      plan_.calls = plan_.fired = 0;
      plan_.armed = 1;
    }
    check_mpi(MPI_Barrier(comm_.raw()));
  }
  bool disarm() {
    check_mpi(MPI_Barrier(comm_.raw()));
    const bool fired = plan_.fired != 0;
    plan_.armed = 0;
    check_mpi(MPI_Barrier(comm_.raw()));
    return fired;
  }
  long count(const Failure& failure) {
    arm(failure, -1);
    write_((out() / ("count" + suffix_)).string(), test_.contents);
    disarm();
    const long calls = plan_.calls;
    check_mpi(MPI_Barrier(comm_.raw()));
    return calls;
  }

  void one(const Failure& failure, long at) {
    const auto path = (out() / fmt::format("f{}{}", number_++, suffix_)).string();
    arm(failure, at);
    std::string text;
    try {
      write_(path, test_.contents);
    } catch (const Error& error) {
      text = error.what();
    }
    if (!disarm()) return;
    ++fired_;
    const auto what =
        fmt::format("{}: {}{} call {} ({} of {}) -> \"{}\"", way_,
                    failure.error > 0 ? std::strerror(static_cast<int>(failure.error)) : "short",
                    failure.all ? " from" : "", at, plan_.name, plan_.path, text);
    check_failure(path, failure, text, what);
    // The next write is as if nothing had been.
    write_(path, test_.contents);
    EXPECT_EQ(wrong_items(path), 0) << what;
    EXPECT_EQ(leftovers(), "") << what;
    check_mpi(MPI_Barrier(comm_.raw()));
    if (comm_.rank() == 0) fs::remove_all(path);
    if (comm_.rank() == 0) fs::remove_all(path + ".pieces");
    check_mpi(MPI_Barrier(comm_.raw()));
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
    const auto left = leftovers();
    EXPECT_TRUE(left.empty() || text.find(left) != std::string::npos) << left << " left: " << what;
    check_mpi(MPI_Barrier(comm_.raw()));
  }

  /// The name of something unfinished in the folder.
  std::string leftovers() const {
    for (const auto& entry : fs::directory_iterator(out())) {
      const auto name = entry.path().filename().string();
      if (name.find(".partial") != std::string::npos) return name;
      if (name.ends_with(".old")) return name;
    }
    return "";
  }
  /// Stores of Zarr are compared with one that was written undisturbed: the number of files that
  /// differ, are missing or too many.
  std::ptrdiff_t wrong_items(const std::string& path) const {
    if (suffix_ != ".zarr") return OutputCase::wrong_items(comm_, path, 0);
    auto right = files_of(out() / ("count" + suffix_));
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
  failing_calls& plan_;
  std::string way_, suffix_;
  Write write_;
  OutputCase test_;
  int number_ = 0;
  long failed_ = 0, fired_ = 0;
};

}  // namespace tailrace::failing_test
