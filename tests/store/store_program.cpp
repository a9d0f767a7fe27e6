// SPDX-License-Identifier: BSD-3-Clause
// A program for the scripts beside it: `write FOLDER` makes files for readers that are not ours,
// `one FILE KEY=VALUE...` writes one file with these hints and prints what that cost, `loop FOLDER`
// writes files until it is killed (`one`: all under one name), `check FILE...` says whether files
// are whole.
#include <complex>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "mpi_program.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/xdmf.hpp"

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
  const auto permuted = boxes.empty() ? Memory{} : Memory::ordered(boxes[0], {1, 0, 2}, {});
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
  for (const std::string servers : {"none", "hidden"}) {
    OutputOptions options;
    options.servers = servers;
    options.stripe_bytes = 4096;
    Output output(comm, options);
    output.write(folder + (servers == "hidden" ? "/hidden.h5" : "/synchronous.h5"), contents);
    output.finish();
  }
  for (const std::string strategy :
       {"spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"}) {
    OutputOptions options;
    options.strategy = strategy;
    options.stripe_bytes = 4096;
    options.hints = {{"group_size", "2"}, {"cb_align", "2"}};
    Output output(comm, options);
    output.write(folder + "/" + strategy + ".h5", contents);
    output.finish();
  }
  const std::vector<std::string> files{folder + "/synchronous.h5", folder + "/hidden.h5"};
  const std::vector<double> times{0, 1.5}, spacing{0.5, 0.25, 0.125};
  const std::vector<std::string> names{"u", "v"};
  write_xdmf(comm, folder + "/series.xdmf", files, times, std::vector<std::string>{"u"}, extents,
             spacing, ItemType::float64);
}

// One number of each type at each place: its index, negative where the type allows it; of complex
// numbers the real part, and half of it the imaginary one.
void write_types(const Comm& comm, const std::string& folder) {
  const std::vector<std::ptrdiff_t> extents{5, 9};
  const auto layout = slabs(extents, 1, comm.num_ranks());
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  FileContents contents;
  std::vector<std::vector<std::byte>> kept;
  const auto add = [&]<class T>(const char* name, ItemType type, std::type_identity<T>) {
    auto& bytes = kept.emplace_back(static_cast<std::size_t>(memory.num_items) * sizeof(T));
    for_each_item(layout, memory, comm.rank(), [&](const Index& place, std::ptrdiff_t item) {
      const auto index = static_cast<int>(value_at(place, layout.global_extents(), 2, 0));
      T number{};
      if constexpr (std::is_arithmetic_v<T>) {
        number = static_cast<T>(std::is_signed_v<T> ? -index : index);
      } else {
        number = T(static_cast<float>(-index), static_cast<float>(index) / 2);
      }
      std::memcpy(bytes.data() + item * std::ptrdiff_t{sizeof(T)}, &number, sizeof(T));
    });
    contents.variables.push_back({name, type, {"y", "x"}, &layout, memory, bytes.data(), {}});
  };
  add("i1", ItemType::int8, std::type_identity<std::int8_t>{});
  add("i2", ItemType::int16, std::type_identity<std::int16_t>{});
  add("u1", ItemType::uint8, std::type_identity<std::uint8_t>{});
  add("u2", ItemType::uint16, std::type_identity<std::uint16_t>{});
  add("u4", ItemType::uint32, std::type_identity<std::uint32_t>{});
  add("u8", ItemType::uint64, std::type_identity<std::uint64_t>{});
  add("c8", ItemType::complex64, std::type_identity<std::complex<float>>{});
  add("c16", ItemType::complex128, std::type_identity<std::complex<double>>{});
  Output output(comm, {});
  output.write(folder + "/types.h5", contents);
  output.finish();
}

void write_one(const Comm& comm, const std::string& file, int count, char** hints) {
  const std::vector<std::ptrdiff_t> extents{32, 64, 65};  // 1 MB
  const auto layout = pencils(extents, 0, grid_of(comm.num_ranks()));
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  const auto u = filled<double>(layout, memory, comm.rank(), 0);
  const auto v = filled<float>(layout, memory, comm.rank(), 1);
  FileContents contents;
  contents.coordinates = {{"z", axis(32, 0.5), {}}};
  contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}},
                        {"v", ItemType::float32, {"z", "y", "x"}, &layout, memory, v.data(), {}}};
  OutputOptions options;
  options.stripe_bytes = 65536;
  for (int i = 0; i < count; ++i) {
    const std::string hint = hints[i];
    options.hints.set(hint.substr(0, hint.find('=')), hint.substr(hint.find('=') + 1));
  }
  Output output(comm, options);
  output.write(file, contents);
  output.finish();
  std::int64_t cost[3] = {output.statistics().writes, output.statistics().opens,
                          output.statistics().written_bytes};
  MPI_Allreduce(MPI_IN_PLACE, cost, 3, MPI_INT64_T, MPI_SUM, comm.raw());
  if (comm.rank() == 0) {
    std::printf("writes %ld opens %ld bytes %ld\n", static_cast<long>(cost[0]),
                static_cast<long>(cost[1]), static_cast<long>(cost[2]));
  }
}

void write_until_killed(const Comm& comm, const std::string& folder) {
  const std::vector<std::ptrdiff_t> extents{40, 100, 100};
  const auto layout = slabs(extents, 1, comm.num_ranks());
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  FileContents contents;
  Output output(comm, {});
  for (int step = 0;; ++step) {
    const auto u = filled<double>(layout, memory, comm.rank(), step);
    contents.attributes = {{"salt", std::int64_t{step}}};
    contents.variables = {{"u", ItemType::float64, {"z", "y", "x"}, &layout, memory, u.data(), {}}};
    output.write(folder + "/checkpoint.h5", contents);
    if (step == 0 && comm.rank() == 0) std::puts("begun");
    if (step == 0) std::fflush(stdout);
  }
}

int check_files(const Comm& comm, int count, char** files) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    const Input input(comm, files[i]);
    const auto salt = static_cast<int>(input.attribute_int("salt"));
    const auto layout = slabs(input.extents("u"), 0, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    input.read("u", ItemType::float64, layout, memory, data.data());
    wrong += num_wrong(data, layout, memory, comm.rank(), salt) == 0 ? 0 : 1;
  }
  return wrong;
}

int run(int argc, char** argv) {
  const Comm comm(MPI_COMM_WORLD);
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "write") {
    write_files(comm, argv[2]);
    write_types(comm, argv[2]);
  } else if (command == "one") {
    write_one(comm, argv[2], argc - 3, argv + 3);
  } else if (command == "loop") {
    write_until_killed(comm, argv[2]);
  } else if (command == "check") {
    return check_files(comm, argc - 2, argv + 2);
  } else {
    std::fputs(
        "usage: store_program write FOLDER | one FILE HINT... | loop FOLDER | check "
        "FILE...\n",
        stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tailrace

int main(int argc, char** argv) {
  return tailrace::mpi_main("store_program", argc, argv, tailrace::run);
}
