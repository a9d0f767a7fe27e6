// SPDX-License-Identifier: BSD-3-Clause
// For check_readers.py: `write FOLDER` makes files for readers that are not ours.
#include <cstdio>
#include <cstring>

#include "store_fixture.hpp"
#include "tailrace/error.hpp"

namespace tailrace {
namespace {

using namespace store_test;

std::vector<double> axis(std::ptrdiff_t count, double step) {
  std::vector<double> values;
  for (std::ptrdiff_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i) * step);
  return values;
}

void write_files(const Comm& comm, const std::string& folder) {
  const std::vector<std::ptrdiff_t> extents{7, 30, 41};
  const auto layout = pencils(extents, 2, grid_of(comm.num_ranks()));
  const auto modes = slabs(extents, 1, comm.num_ranks());
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  const auto boxes = modes.boxes(comm.rank());
  const auto permuted =
      boxes.empty() ? Memory{} : Memory::ordered(boxes[0], std::vector<int>{1, 0, 2}, {});
  const auto u = filled<double>(layout, memory, comm.rank(), 0);
  const auto v = filled<float>(layout, memory, comm.rank(), 1);
  const auto w = filled<double>(modes, permuted, comm.rank(), 2);
  FileContents contents;
  contents.coordinates = {{"z", axis(7, 0.5), {{"units", std::string("m")}}},
                          {"y", axis(30, 0.25), {{"units", std::string("m")}}},
                          {"x", axis(41, 0.125), {{"units", std::string("m")}}}};
  const Attributes units{{"units", std::string("m s-1")}, {"long_name", std::string("velocity")}};
  contents.variables = {
      {"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), units},
      {"v", ItemType::float32, {"z", "y", "x"}, &layout, memory, v.data(), {}},
      {"w", ItemType::float64, {"kz", "ky", "kx"}, &modes, permuted, w.data(), {}}};
  contents.attributes = {{"time", 1.5},
                         {"step", std::int64_t{100}},
                         {"spectrum", std::vector<double>{1, 0.5, 0.25}},
                         {"title", std::string("test file")}};
  for (const auto mode : {OutputMode::synchronous, OutputMode::hidden}) {
    OutputOptions options;
    options.mode = mode;
    options.stripe_bytes = 4096;
    Output output(comm, options);
    output.write(folder + (mode == OutputMode::hidden ? "/hidden.h5" : "/synchronous.h5"),
                 contents);
    output.finish();
  }
  const std::vector<std::string> files{folder + "/synchronous.h5", folder + "/hidden.h5"};
  const std::vector<double> times{0, 1.5}, spacing{0.5, 0.25, 0.125};
  const std::vector<std::string> names{"u", "v"};
  write_xdmf(comm, folder + "/series.xdmf", files, times, std::vector<std::string>{"u"}, extents,
             spacing, ItemType::float64);
}

int run(int argc, char** argv) {
  const Comm comm(MPI_COMM_WORLD);
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "write") {
    write_files(comm, argv[2]);
  } else {
    std::fputs("usage: store_program write FOLDER\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    status = tailrace::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_program: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
