// SPDX-License-Identifier: BSD-3-Clause
// format_program FOLDER: writes files of every format and encoding, as 1 to 4 servers would, and
// prints a line of JSON for each, for check_formats.py.
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format_case.hpp"
#include "server/formats/compressors.hpp"
#include "server/formats/zfp_codec.hpp"

namespace tailrace::server {
namespace {

std::vector<FormatCase> cases() {
  std::vector<FormatCase> all;
  const std::vector<std::pair<std::string, std::string>> small{{"chunk_bytes", "4096"},
                                                               {"shard_bytes", "64K"}};
  const auto add = [&](FormatCase test, const std::string& suffix = ".zarr") {
    test.name = fmt::format("case{}{}", all.size(), suffix);
    all.push_back(std::move(test));
  };
  for (int servers = 1; servers <= 4; ++servers) {
    add({"", {33, 20, 24}, ItemType::float64, servers, "slabs", small});
    add({"", {32, 20, 24}, ItemType::float32, servers, "slabs", small, false, 3});
    add({"", {41, 30}, ItemType::float64, servers, "rows"});
    add({"", {45, 45}, ItemType::int16, servers, "triangle", small});
    add({"", {45, 45}, ItemType::float64, servers, "triangle"}, ".nc");
    add({"", {20, 30}, ItemType::uint8, servers, "few", small});
    add({"", {2, 3, 4, 5, 6}, ItemType::float32, servers, "slabs"});
  }
  add({"", {6, 33, 41}, ItemType::float64, 4, "blocks", small, false, 2});
  add({"", {6, 64, 80}, ItemType::float32, 4, "blocks", small, false, 2});
  add({"", {3, 300, 401}, ItemType::float64, 4, "blocks"});
  add({"", {1}, ItemType::float64, 2, "slabs"});
  for (const auto type :
       {ItemType::float32, ItemType::float64, ItemType::int32, ItemType::int64, ItemType::int8,
        ItemType::int16, ItemType::uint8, ItemType::uint16, ItemType::uint32, ItemType::uint64,
        ItemType::complex64, ItemType::complex128}) {
    add({"", {16, 20}, type, 2, "slabs", small});
    const bool complex = type_name(type).starts_with("complex");
    add({"", {16, 20}, type, 2, "slabs"}, complex ? ".h5" : ".nc");
  }
  const auto encoded = [&](const std::string& codec, const char* suffix) {
    for (const bool smooth : {false, true}) {
      for (const char* tolerance : {"0", "1e-3"}) {
        auto encoding = small;
        encoding.push_back({"codec", codec});
        encoding.push_back({"tolerance", tolerance});
        add({"", {24, 20, 30}, ItemType::float32, 2, "slabs", encoding, smooth, 2}, suffix);
        add({"", {2, 5, 1, 8, 9}, ItemType::float64, 2, "slabs", encoding, smooth}, suffix);
        add({"", {30, 30}, ItemType::int32, 3, "slabs", encoding}, suffix);
        add({"", {30, 30}, ItemType::int8, 3, "triangle", encoding}, suffix);
      }
    }
  };
  for (const auto& compressor : compressor_table()) {
    if (compressor.compress == nullptr) continue;
    encoded(compressor.name, ".zarr");
    if (compressor.hdf5_filter >= 0) {
      const std::vector<std::pair<std::string, std::string>> plain{{"codec", compressor.name}};
      encoded(compressor.name, ".h5");
      encoded(compressor.name, ".nc");
      // Chunks of every server, chunks that all of them share, chunks that nobody has items of.
      for (const char* parts : {"slabs", "rows", "triangle", "few"}) {
        for (const char* chunk : {"7x9", "16x16", "100x100"}) {
          auto encoding = plain;
          encoding.push_back({"chunk", chunk});
          encoding.push_back({"fletcher32", chunk[0] == '7' ? "yes" : "no"});
          add({"", {33, 40}, ItemType::float64, 3, parts, encoding, false, 2}, ".nc");
        }
      }
      add({"", {16, 24, 40}, ItemType::int16, 4, "blocks", plain}, ".nc");
      add({"", {1}, ItemType::float64, 2, "slabs", plain}, ".nc");
      for (const auto type : {ItemType::uint8, ItemType::int64, ItemType::uint32,
                              ItemType::complex64, ItemType::complex128}) {
        add({"", {16, 20}, type, 2, "slabs", plain}, ".h5");
      }
    }
    add({"",
         {50, 40},
         ItemType::float64,
         2,
         "slabs",
         {{"codec", compressor.name}, {"shuffle", "yes"}}});
  }
  if (have_zfp()) encoded("zfp", ".zarr");
  return all;
}

std::string option(const FormatCase& test, const std::string& key) {
  for (const auto& [name, value] : test.encoding) {
    if (name == key) return value;
  }
  return "";
}

int run(const std::string& folder) {
  // Flushing so many small files would take most of the time.
  FileSettings settings;
  settings.output.hints.set("sync", "false");
  for (const auto& test : cases()) {
    auto files = write_case(test, folder, settings);
    files[0]->commit({});
    std::int64_t bytes = 0;
    for (const auto& file : files) bytes += file->bytes();
    const auto tolerance = option(test, "tolerance");
    fmt::print(R"({{"name": "{}", "extents": [{}], "type": "{}", "parts": "{}", "smooth": {}, )"
               R"("tolerance": {}, "codec": "{}", "servers": {}, "bytes": {}}})"
               "\n",
               test.name, fmt::join(test.extents, ", "), type_name(test.type), test.parts,
               test.smooth, tolerance.empty() ? "0" : tolerance, option(test, "codec"),
               test.servers, bytes);
  }
  return 0;
}

}  // namespace
}  // namespace tailrace::server

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: format_program FOLDER\n", stderr);
    return 2;
  }
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = tailrace::server::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "format_program: %s\n", error.what());
  }
  MPI_Finalize();
  return status;
}
