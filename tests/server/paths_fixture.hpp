// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>

#include <fmt/format.h>

#include "server/session_fixture.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::testing {

namespace fs = std::filesystem;
using store_test::OutputCase;
using store_test::slurp;

using Between = std::function<void(const Comm& comm)>;

/// A way to write a file. `write` is called by all ranks; `between` runs on those that compute when
/// the call that takes the path has returned and the file need not be there yet.
struct Way {
  std::string name, suffix;
  std::function<void(const std::string& path, const Between& between)> write;
};

class Paths : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    start_ = fs::current_path();
  }
  void TearDown() override {
    fs::current_path(start_);
    SessionTest::TearDown();
  }

  void add_outputs(std::vector<Way>& ways) const {
    for (const std::string servers : {"none", "hidden"}) {
      for (const char* strategy :
           {"spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"}) {
        OutputOptions options;
        options.servers = servers;
        options.strategy = strategy;
        ways.push_back(
            {fmt::format("Output, {} {}", strategy, servers == "hidden" ? "hidden" : "synchronous"),
             ".h5", [this, options](const auto& path, const auto& between) {
               Output output(comm, options);
               OutputCase test(comm, {4, 8, 9}, 1);
               output.write(path, test.contents);
               between(comm);
               output.finish();
               EXPECT_EQ(output.last_complete(), path);
             }});
      }
    }
  }

  void write_by(const std::string& servers, const std::string& path, OutputOptions options,
                const Between& between) {
    std::optional<Error> failure;  // thrown when the session is closed
    run({servers, "auto"}, small(), [&](Session& session) {
      OutputCase test(session.compute(), {4, 8, 9}, 1);
      Output stream = session.open("fields", std::move(options));
      failure = failure_of([&] {
        stream.write(path, test.contents);
        between(session.compute());
        stream.finish();
      });
    });
    if (failure) throw Error(*failure);
  }

  std::vector<std::string> kinds() const {
    auto kinds = kinds_here(comm);
    if (comm.num_ranks() > 1) kinds.emplace_back("1");
    if (comm.num_ranks() > 2) kinds.emplace_back("2");
    return kinds;
  }

  void add_streams(std::vector<Way>& ways) {
    for (const auto& kind : kinds()) {
      for (const char* suffix : {".h5", ".nc", ".zarr"}) {
        ways.push_back(
            {"servers = " + kind, suffix, [this, kind](const auto& path, const auto& between) {
               write_by(kind, path, {}, between);
             }});
      }
      ways.push_back(
          {"table, servers = " + kind, ".csv", [this, kind](const auto& path, const auto& between) {
             OutputOptions options;
             options.variables = false;
             options.products = {{"means", {"u"}, {"mean"}, "{path}.csv"}};
             write_by(kind, path.substr(0, path.size() - 4), options, between);
           }});
    }
  }

  void add_others(std::vector<Way>& ways) const {
    ways.push_back({"File", ".dat", [this](const auto& path, const auto& between) {
                      File file(comm, path, FileAccess::write, {});
                      between(comm);
                      const std::vector<FileRun> runs{{100 * comm.rank(), 100}};
                      file.write(FilePart::runs(runs), std::string(100, 'x').data());
                      file.close();
                    }});
    ways.push_back({"Trace", ".json", [this](const auto& path, const auto& between) {
                      Trace(10).write(comm, path);
                      between(comm);
                    }});
  }

  std::vector<Way> ways() {
    std::vector<Way> ways;
    add_outputs(ways);
    add_streams(ways);
    add_others(ways);
    return ways;
  }

  /// An empty folder of this name, on all ranks.
  fs::path make_folder(const std::string& name) const {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) {
      fs::remove_all(folder / name);
      fs::create_directories(folder / name);
    }
    MPI_Barrier(comm.raw());
    return folder / name;
  }

  /// True if what `way` has written is whole.
  bool is_whole(const Way& way, const fs::path& path) const {
    MPI_Barrier(comm.raw());
    if (way.suffix == ".zarr") return fs::exists(path / "zarr.json");
    if (way.suffix == ".csv") return slurp(path).starts_with("step,");
    if (way.suffix == ".json") return slurp(path).starts_with("{");
    if (way.suffix == ".dat") {
      return slurp(path) == std::string(100 * static_cast<std::size_t>(comm.num_ranks()), 'x');
    }
    return fs::exists(path) && OutputCase::wrong_items(comm, path, 0) == 0;
  }

  static std::string left_in(const fs::path& folder) {
    std::string names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const auto name = entry.path().filename().string();
      if (name.find(".partial") != std::string::npos) names += name + " ";
    }
    return names;
  }

  /// What stands there before: a file of somebody, or a store.
  void make_old(const Way& way, const fs::path& path) {
    if (way.suffix == ".zarr") {
      way.write(path, [](const Comm&) {});
    } else if (comm.rank() == 0) {
      std::ofstream(path) << (way.suffix == ".csv" ? "" : "an earlier result");
    }
    MPI_Barrier(comm.raw());
  }

 private:
  fs::path start_;
};

inline const Between nothing = [](const Comm&) {};

}  // namespace tailrace::testing
