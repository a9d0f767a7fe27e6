// SPDX-License-Identifier: BSD-3-Clause
// `KIND WAY FOLDER`: ranks write together by an Output (KIND output, sync) or by a session of that
// kind (zarr: one without servers that writes Zarr). Then the last one that computes leaves, or
// does something else than the others (WAY). What the ranks hear is printed.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "tailrace/output.hpp"
#include "tailrace/session.hpp"

namespace {

using namespace tailrace;

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// One face over the kinds.
struct Written {
  Written(const std::string& kind, double watchdog_s) {
    if (kind == "output" || kind == "sync") {
      output = std::make_unique<Output>(
          world, OutputOptions{.servers = kind == "sync" ? "none" : "hidden"});
      comm = &world;
    } else {
      const bool zarr = kind == "zarr";
      if (zarr) suffix = ".zarr";
      session = std::make_unique<Session>(
          MPI_COMM_WORLD, OutputOptions{.servers = zarr ? "none" : kind, .watchdog_s = watchdog_s});
      if (!session->computes()) return;
      comm = &session->compute();
      stream = std::make_unique<Output>(session->open("s"));
    }
    rows = std::make_unique<Layout>(slabs({24, 30}, 0, comm->num_ranks()));
    columns = std::make_unique<Layout>(slabs({24, 30}, 1, comm->num_ranks()));
    u.assign(static_cast<std::size_t>(rows->num_items(comm->rank())), 1);
    v.assign(static_cast<std::size_t>(columns->num_items(comm->rank())), 1);
  }
  bool is_last() const { return comm->rank() == comm->num_ranks() - 1; }
  void write(const std::string& name, bool by_columns = false) {
    const FileContents contents{
        .variables = {by_columns ? Variable("u", *columns, std::span(std::as_const(v)))
                                 : Variable("u", *rows, std::span(std::as_const(u)))}};
    if (output) {
      output->write(name, contents);
    } else {
      stream->write(name, contents);
    }
  }
  void finish() {
    if (output) {
      output->finish();
    } else {
      stream->finish();
    }
  }
  void close() {
    if (session) session->close();
  }
  void destroy() {
    stream.reset();
    session.reset();
    output.reset();
  }

  const Comm world{MPI_COMM_WORLD};
  const Comm* comm = nullptr;
  std::string suffix = ".h5";
  std::unique_ptr<Session> session;
  std::unique_ptr<Output> stream;
  std::unique_ptr<Output> output;
  std::unique_ptr<Layout> rows, columns;
  std::vector<double> u, v;
};

/// What the last rank does while the others write.
using Deed = std::function<void(Written&)>;

const std::map<std::string, Deed>& deeds() {
  static const std::map<std::string, Deed> all{
      {"exception", [](Written&) { throw std::runtime_error("of this rank alone"); }},
      {"finalize",
       [](Written&) {
         MPI_Finalize();
         std::_Exit(0);
       }},
      {"destroy", [](Written& w) { w.destroy(); }},
      {"exit", [](Written&) { std::exit(3); }},
      {"_exit", [](Written&) { std::_Exit(3); }},
      {"signal", [](Written&) { std::raise(SIGKILL); }},
      {"abort", [](Written&) { std::abort(); }},
      {"stuck", [](Written&) { sleep_s(600); }},
      {"late",
       [](Written& w) {
         sleep_s(2);
         w.write("b" + w.suffix);
       }},
      {"finish", [](Written& w) { w.finish(); }},
      {"close", [](Written& w) { w.close(); }},
      {"open", [](Written& w) { w.session->open("t"); }},
      {"other_path", [](Written& w) { w.write("c" + w.suffix); }},
      {"other_format", [](Written& w) { w.write(w.suffix == ".h5" ? "b.zarr" : "b.h5"); }},
      {"other_layout", [](Written& w) { w.write("b" + w.suffix, true); }},
  };
  return all;
}

void act(Written& w, const std::string& way) {
  w.write("a" + w.suffix);
  w.finish();
  try {
    if (w.is_last()) {
      deeds().at(way)(w);
    } else {
      w.write("b" + w.suffix);
    }
  } catch (const Error& error) {
    std::printf("rank %d heard: %s\n", w.comm->rank(), error.what());
    std::fflush(stdout);
  }
  // All go on together.
  w.write("d" + w.suffix);
  w.finish();
  w.close();
  std::printf("rank %d went on\n", w.comm->rank());
}

int run(const std::string& kind, const std::string& way) {
  try {
    // A busy machine may take more than a second for what comes before the rank that is stuck.
    Written written(kind, way == "stuck" ? 6 : 600);
    if (written.comm == nullptr) return written.session->serve();
    act(written, way);
    return 0;
  } catch (const std::exception& error) {
    std::printf("ended: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (argc != 4 || chdir(argv[3]) != 0) return 2;
  const int status = run(argv[1], argv[2]);
  MPI_Finalize();
  return status;
}
