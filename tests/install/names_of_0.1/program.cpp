// SPDX-License-Identifier: BSD-3-Clause
// A program of 0.1. A line that uses a name of 0.1 ends with what the compiler's warning says
// there; the other lines give no warning (use_installed.cmake compares them). Fails if a file is
// not what was written.
//   mpirun -n 2 program FOLDER
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tailrace/input.hpp"
#include "tailrace/more/stream_options.hpp"
#include "tailrace/output.hpp"
#include "tailrace/session.hpp"
#include "tailrace/stream.hpp"

constexpr std::ptrdiff_t memory_bytes = 16 << 20;

/// An array, and the files that hold it.
class Field {
 public:
  Field(const tailrace::Comm& comm, std::string folder)
      : comm_(comm),
        folder_(std::move(folder)),
        layout_(tailrace::slabs({12, 10}, 0, comm.num_ranks())),
        u_(static_cast<std::size_t>(layout_.num_items(comm.rank())), 0.5 + comm.rank()) {}
  std::string path(const std::string& name) const { return folder_ + "/" + name + ".h5"; }
  tailrace::FileContents contents() const {
    tailrace::FileContents contents;
    contents.variables = {{"u", layout_, u_}};
    return contents;
  }
  void require_file(const std::string& name) const {
    std::vector<double> found(u_.size());
    tailrace::Input(comm_, path(name)).read("u", layout_, std::span(found));
    if (found != u_) throw std::runtime_error(path(name) + " holds other items");
  }

 private:
  const tailrace::Comm& comm_;
  std::string folder_;
  tailrace::Layout layout_;
  std::vector<double> u_;
};

void write_alone(const std::string& folder) {
  const tailrace::Comm comm(MPI_COMM_WORLD);
  const Field field(comm, folder);
  tailrace::OutputOptions options{
      .mode = tailrace::OutputMode::synchronous,  // warns: use OutputOptions::servers
      .strategy = "collective",
      .writers = 1,
      .stripe_bytes = 4096,
      .checksums = false};
  tailrace::Output synchronous(comm, options);
  synchronous.write(field.path("synchronous"), field.contents());
  if (comm.rank() == 0 && synchronous.statistics().complete != 1)
    throw std::runtime_error("synchronous output returned before its file was complete");
  synchronous.finish();
  field.require_file("synchronous");

  options.mode = tailrace::OutputMode::hidden;  // warns: use OutputOptions::servers
  tailrace::Output hidden(comm, options);
  hidden.write(field.path("hidden"), field.contents());
  hidden.progress();
  hidden.finish();
  field.require_file("hidden");
}

void write_to(tailrace::Stream& to, const Field& field, const char* name) {  // warns: use Output
  const tailrace::WriteResult result = to.write(field.path(name), field.contents());
  to.progress();
  to.finish();
  const tailrace::OutputStatistics seen = to.statistics();
  if (result == tailrace::WriteResult::dropped || seen.complete != 1)
    throw std::runtime_error(field.path(name) + " was not written");
  field.require_file(name);
}

/// Options are variables, and servers write.
void write_with_variables(const std::string& folder) {
  tailrace::SessionOptions options;  // warns: use OutputOptions
  options.servers = "thread";
  options.memory_bytes = memory_bytes;
  options.folder = folder;
  tailrace::Session session(MPI_COMM_WORLD, options);
  const Field field(session.compute(), folder);

  tailrace::StreamOptions how;  // warns: use OutputOptions
  how.when_full = tailrace::WhenFull::drop;
  how.stall_budget = 0.5;
  how.wait_limit_s = 60;
  how.on_failure = tailrace::OnFailure::stop;
  how.products = {{.name = "coarse", .stages = {"coarsen factor=2"}}};
  how.output.stripe_bytes = 4096;
  how.output.hints = {{"sync", "false"}};
  std::optional<tailrace::Stream> stream;          // warns: use Output
  stream.emplace(session.open("variables", how));  // warns: use OutputOptions
  write_to(*stream, field, "variables");
  session.close();
}

/// Options are in braces, and compute ranks write.
void write_with_braces(const std::string& folder) {
  const tailrace::SessionOptions options{.servers = "none",  // warns: use OutputOptions
                                         .transport = "auto",
                                         .memory_bytes = memory_bytes,
                                         .watchdog_s = 60,
                                         .folder = folder,
                                         .functions = {}};
  tailrace::Session session(MPI_COMM_WORLD, options);
  const Field field(session.compute(), folder);

  auto braces = session.open("a", {.output = {.stripe_bytes = 4096}});  // warns: use OutputOptions
  write_to(braces, field, "braces");
  constexpr auto drop = tailrace::WhenFull::drop;
  auto both = session.open("b", {.when_full = drop, .output = {}});  // warns: use OutputOptions
  write_to(both, field, "both");
  const tailrace::StreamOptions named{.priority = 1, .output = {}};  // warns: use OutputOptions
  auto constant = session.open("c", named);                          // warns: use OutputOptions
  write_to(constant, field, "constant");

  tailrace::Stream plain = session.open("plain");  // warns: use Output
  write_to(plain, field, "plain");
  auto empty = session.open("empty", {});
  write_to(empty, field, "empty");
  auto same = session.open("same", {.when_full = drop, .format = "hdf5"});
  write_to(same, field, "same");
  session.close();
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  try {
    const std::string folder = argc > 1 ? argv[1] : ".";
    write_alone(folder);
    write_with_variables(folder);
    write_with_braces(folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "program of 0.1: error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
