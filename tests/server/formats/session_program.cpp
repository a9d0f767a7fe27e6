// SPDX-License-Identifier: BSD-3-Clause
// session_program FOLDER SERVERS: a run with these servers writes Zarr stores and products of every
// format to FOLDER, for check_sessions.py.
#include <complex>
#include <cstdio>

#include "mpi_program.hpp"
#include "store/store_fixture.hpp"
#include "tailrace/session.hpp"

namespace tailrace {
namespace {

using namespace store_test;

std::vector<Product> products() {
  return {{.name = "turned", .stages = {"transpose order=x,z,y"}, .path = "{path}_{name}.zarr"},
          {.name = "coarse",
           .variables = {"u"},
           .stages = {"coarsen factor=2", "convert type=float32"},
           .path = "{path}_{name}.nc"},
          {.name = "plane", .stages = {"slice axis=y index=3"}, .path = "{path}_{name}.h5"},
          {.name = "small",
           .variables = {"u"},
           .stages = {"compress codec=bz2 tolerance=0.5 chunk_bytes=4K shard_bytes=16K"},
           .path = "{path}_{name}.zarr",
           .every = 2}};
}

void compute(Session& session, const std::string& folder) {
  const Comm& comm = session.compute();
  const std::vector<std::ptrdiff_t> extents{12, 14, 18};
  const auto layout = pencils(extents, 2, grid_of(comm.num_ranks()));
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  OutputOptions options;
  options.products = products();
  Output stream = session.open("fields", options);
  for (int step = 0; step < 4; ++step) {
    const auto u = filled<double>(layout, memory, comm.rank(), step);
    std::vector<std::uint8_t> mask;
    for (const double value : u) mask.push_back(static_cast<std::uint8_t>(static_cast<int>(value)));
    const std::vector<std::complex<float>> c(u.begin(), u.end());
    FileContents contents;
    std::vector<double> x;
    for (int i = 0; i < 18; ++i) x.push_back(0.5 * i);
    contents.coordinates = {{"x", x, {}}};
    contents.attributes = {{"time", 0.25 * step}};
    contents.step = step;
    const std::vector<std::string> dims{"z", "y", "x"};
    contents.variables = {{"u", ItemType::float64, dims, &layout, memory, u.data(), {}},
                          {"mask", ItemType::uint8, dims, &layout, memory, mask.data(), {}},
                          {"c", ItemType::complex64, dims, &layout, memory, c.data(), {}}};
    stream.write(folder + "/f" + std::to_string(step) + ".zarr", contents);
  }
  stream.finish();
}

int run(const std::string& folder, const std::string& servers) {
  OutputOptions options;
  options.servers = servers;
  options.memory_bytes = 64 << 20;
  options.threads = 2;
  Session session(MPI_COMM_WORLD, options);
  if (!session.computes()) return session.serve();
  compute(session, folder);
  session.close();
  return 0;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  return tailrace::mpi_main("session_program", argc, argv, [](int count, char** words) {
    return count == 3 ? tailrace::run(words[1], words[2]) : 2;
  });
}
