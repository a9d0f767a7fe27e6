// SPDX-License-Identifier: BSD-3-Clause
// `KIND STEM`: writes files STEM_0.h5 ... of many variables by an Output (KIND output) or a session
// of that kind, and calls MPI_Finalize without `finish` or `close`. The files must be whole then,
// and a line printed. With so many variables the servers still lay files out when that begins.
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include "tailrace/log.hpp"
#include "tailrace/output.hpp"
#include "tailrace/session.hpp"

namespace {

using namespace tailrace;

constexpr int num_steps = 20;
constexpr int num_variables = 200;

FileContents contents_of(const Layout& layout, const std::vector<double>& u) {
  FileContents contents;
  for (int v = 0; v < num_variables; ++v) {
    contents.variables.emplace_back("u" + std::to_string(v), layout, std::span(u));
  }
  return contents;
}

std::vector<double> numbers(const Comm& comm, const Layout& layout) {
  return std::vector<double>(static_cast<std::size_t>(layout.num_items(comm.rank())), comm.rank());
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const std::string kind = argc == 3 ? argv[1] : "";
  const std::string stem = argc == 3 ? argv[2] : "";
  const auto path = [&](int step) { return stem + "_" + std::to_string(step) + ".h5"; };
  const Comm world(MPI_COMM_WORLD);
  const bool first = world.rank() == 0;
  for (int step = 0; first && step < num_steps; ++step) std::filesystem::remove(path(step));
  MPI_Barrier(MPI_COMM_WORLD);
  std::string lines;
  set_line_handler([&](LogLevel, std::string_view text) { lines += text; });
  std::optional<Output> output;
  std::optional<Session> session;
  if (kind == "output") {
    output.emplace(world, OutputOptions{.servers = "hidden"});
    const auto layout = slabs({20, 20, 10}, 0, world.num_ranks());
    const auto u = numbers(world, layout);
    for (int step = 0; step < num_steps; ++step) output->write(path(step), contents_of(layout, u));
  } else {
    session.emplace(MPI_COMM_WORLD, OutputOptions{.servers = kind});
    if (session->computes()) {
      const auto& comm = session->compute();
      const auto layout = slabs({20, 20, 10}, 0, comm.num_ranks());
      const auto u = numbers(comm, layout);
      auto stream = session->open("field", {});
      for (int step = 0; step < num_steps; ++step) stream.write(path(step), contents_of(layout, u));
    } else {
      session->serve();
    }
  }
  MPI_Finalize();
  output.reset();
  session.reset();
  set_line_handler({});
  if (!first) return 0;
  int whole = 0;
  for (int step = 0; step < num_steps; ++step) {
    whole += std::filesystem::exists(path(step)) ? 1 : 0;
    std::filesystem::remove(path(step));
  }
  const bool told = lines.find("MPI_Finalize") != std::string::npos;
  std::printf("%s: %d of %d files, told: %s\n", kind.c_str(), whole, num_steps, lines.c_str());
  return whole == num_steps && told ? 0 : 1;
}
