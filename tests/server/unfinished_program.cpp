// SPDX-License-Identifier: BSD-3-Clause
// `KIND FILE`: writes a file by an Output (KIND output) or a session of that kind, and calls
// MPI_Finalize without `finish` or `close`. The file must be whole then, and a line printed.
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

FileContents contents_of(const Layout& layout, const std::vector<double>& u) {
  return {.variables = {{"u", layout, std::span(u)}}};
}

std::vector<double> numbers(const Comm& comm, const Layout& layout) {
  return std::vector<double>(static_cast<std::size_t>(layout.num_items(comm.rank())), comm.rank());
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const std::string kind = argc == 3 ? argv[1] : "";
  const std::string path = argc == 3 ? argv[2] : "";
  const Comm world(MPI_COMM_WORLD);
  std::string lines;
  set_line_handler([&](LogLevel, std::string_view text) { lines += text; });
  std::optional<Output> output;
  std::optional<Session> session;
  if (kind == "output") {
    output.emplace(world, OutputOptions{.mode = OutputMode::hidden});
    const auto layout = slabs({300, 100, 100}, 0, world.num_ranks());
    output->write(path, contents_of(layout, numbers(world, layout)));
  } else {
    session.emplace(MPI_COMM_WORLD, SessionOptions{.servers = kind});
    if (session->computes()) {
      const auto& comm = session->compute();
      const auto layout = slabs({300, 100, 100}, 0, comm.num_ranks());
      session->open("field", {}).write(path, contents_of(layout, numbers(comm, layout)));
    } else {
      session->serve();
    }
  }
  const bool first = world.rank() == 0;
  MPI_Finalize();
  output.reset();
  session.reset();
  set_line_handler({});
  if (!first) return 0;
  const bool whole = std::filesystem::exists(path) && !std::filesystem::exists(path + ".partial");
  const bool told = lines.find("MPI_Finalize") != std::string::npos;
  std::printf("%s: whole %d, told: %s\n", kind.c_str(), whole ? 1 : 0, lines.c_str());
  std::filesystem::remove(path);
  return whole && told ? 0 : 1;
}
