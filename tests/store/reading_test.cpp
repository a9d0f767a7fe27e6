// SPDX-License-Identifier: BSD-3-Clause
// Files that other programs wrote, read in any layout, by any readers.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <hdf5_hl.h>

#include "foreign_file.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using store::Hdf5Handle;

class ReadingTest : public FolderTest {
 protected:
  void make(const std::function<void(const ForeignFile&)>& action) {
    if (comm.rank() == 0) action(ForeignFile(path("a.h5")));
    MPI_Barrier(comm.raw());
  }
  /// Reads in slabs of the last axis and whole on every rank; item i must be `first + i`.
  template <class T>
  void expect_counting(const Input& input, const std::string& name, ItemType type, double first) {
    const auto extents = input.extents(name);
    const auto layout = slabs(extents, static_cast<int>(extents.size()) - 1, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<T> data(static_cast<std::size_t>(memory.num_items));
    input.read(name, type, layout, memory, data.data());
    EXPECT_EQ(num_wrong(data, layout, memory, comm.rank(), static_cast<int>(first)), 0) << name;
    std::ptrdiff_t items = 1;
    for (const auto extent : extents) items *= extent;
    std::vector<T> all(static_cast<std::size_t>(items));
    input.read_all(name, type, all.data());
    std::ptrdiff_t wrong = 0;
    for (std::ptrdiff_t i = 0; i < items; ++i) {
      wrong += all[static_cast<std::size_t>(i)] != static_cast<T>(first + static_cast<double>(i));
    }
    EXPECT_EQ(wrong, 0) << name;
  }
  std::string error_of(Errc code, const std::function<void()>& action) {
    try {
      action();
      ADD_FAILURE() << "no error on rank " << comm.rank();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return {};
  }
  std::vector<InputOptions> ways() const {
    std::vector<InputOptions> found(4);
    found[1].group_size = 2;
    found[2].group_size = 100;
    found[3].buffer_bytes = 1;  // one unit a round
    return found;
  }
};

TEST_F(ReadingTest, EveryNumberType) {
  const auto half = store::native_type(ItemType::float16),
             swapped = store::native_type(ItemType::float16);
  H5Tset_order(swapped.id(), H5T_ORDER_BE);
  const std::vector<std::pair<hid_t, ItemType>> types{
      {half.id(), ItemType::float16},      {swapped.id(), ItemType::float16},
      {H5T_STD_I8LE, ItemType::int8},      {H5T_STD_U8BE, ItemType::uint8},
      {H5T_STD_I16BE, ItemType::int16},    {H5T_STD_U16LE, ItemType::uint16},
      {H5T_STD_I32BE, ItemType::int32},    {H5T_STD_I32LE, ItemType::int32},
      {H5T_STD_U32LE, ItemType::uint32},   {H5T_STD_I64BE, ItemType::int64},
      {H5T_STD_U64LE, ItemType::uint64},   {H5T_IEEE_F32BE, ItemType::float32},
      {H5T_IEEE_F32LE, ItemType::float32}, {H5T_IEEE_F64BE, ItemType::float64},
      {H5T_IEEE_F64LE, ItemType::float64}, {H5T_NATIVE_LDOUBLE, ItemType::float64}};
  make([&](const ForeignFile& file) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      file.fill(file.make(fmt::format("t{}", i), types[i].first, {3, 4, 7}), 5);
    }
  });
  for (const auto& options : ways()) {
    const Input input(comm, path("a.h5"), options);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto name = fmt::format("t{}", i);
      EXPECT_EQ(input.type(name), types[i].second) << name;
      expect_counting<double>(input, name, ItemType::float64, 5);
      expect_counting<float>(input, name, ItemType::float32, 5);
      if (type_name(types[i].second).starts_with("float")) {
        const auto text = error_of(Errc::invalid_input, [&] {
          expect_counting<std::int32_t>(input, name, ItemType::int32, 5);
        });
        EXPECT_NE(text.find(name + " holds float"), std::string::npos) << text;
        continue;
      }
      expect_counting<std::int32_t>(input, name, ItemType::int32, 5);
      expect_counting<std::int64_t>(input, name, ItemType::int64, 5);
    }
  }
}

TEST_F(ReadingTest, EveryStorage) {
  make([&](const ForeignFile& file) {
    file.fill(file.make("deep/er/chunked", H5T_NATIVE_DOUBLE, {17, 19, 23}, packed({4, 5, 6})));
    file.fill(file.make("rows", H5T_STD_I32BE, {300, 1000}, packed({1, 1000})));
    file.fill(file.make("one_chunk", H5T_NATIVE_FLOAT, {9, 8, 7}, packed({9, 8, 7})));
    file.fill(file.make("compact", H5T_NATIVE_DOUBLE, {5},
                        [](hid_t create) { H5Pset_layout(create, H5D_COMPACT); }));
    file.fill(file.make("five", H5T_NATIVE_INT64, {2, 3, 2, 3, 5}, packed({1, 2, 2, 2, 5})));
    file.fill(file.make("long", H5T_NATIVE_DOUBLE, {700001}));
    file.fill(file.make("scalar", H5T_STD_U8LE, {}), 42);
    file.fill(file.make("external", H5T_NATIVE_DOUBLE, {50, 3}, [&](hid_t create) {
      H5Pset_external(create, path("part1.bin").c_str(), 8, 400);
      H5Pset_external(create, path("part2.bin").c_str(), 0, H5F_UNLIMITED);
    }));
    H5Lcreate_soft("/deep/er/chunked", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.id(), "/", file.id(), "deep/cycle", H5P_DEFAULT, H5P_DEFAULT);
    const ForeignFile other(path("other.h5"));
    other.fill(other.make("v", H5T_NATIVE_DOUBLE, {6, 6}));
    H5Lcreate_external("other.h5", "/v", file.id(), "linked", H5P_DEFAULT, H5P_DEFAULT);
  });
  for (const auto& options : ways()) {
    const Input input(comm, path("a.h5"), options);
    for (const auto* name : {"deep/er/chunked", "rows", "one_chunk", "compact", "five", "long",
                             "external", "soft", "linked"}) {
      expect_counting<double>(input, name, ItemType::float64, 0);
    }
    EXPECT_EQ(input.extents("scalar"), std::vector<std::ptrdiff_t>{1});
    expect_counting<double>(input, "scalar", ItemType::float64, 42);
    const auto names = input.names();
    EXPECT_EQ(std::ranges::count(names, "dangling"), 0);
    EXPECT_EQ(std::ranges::count(names, "deep/er/chunked"), 1);
  }
}

// Chunks that this library unpacks itself and chunks that it leaves to HDF5: all chains of filters,
// in every order, of items of every size, of chunks that divide the array and that do not.
TEST_F(ReadingTest, EveryChainOfFilters) {
  const auto apply = [](char filter, hid_t create) {
    if (filter == 's') H5Pset_shuffle(create);
    if (filter == 'd') H5Pset_deflate(create, 1);
    if (filter == 'f') H5Pset_fletcher32(create);
    if (filter == 'n') H5Pset_nbit(create);
  };
  std::vector<std::string> chains{"", "nd", "dd", "sdsd"};
  for (const char* all : {"s", "d", "f", "sd", "sf", "df", "sdf"}) {
    std::string chain = all;
    std::ranges::sort(chain);
    do {
      chains.push_back(chain);
    } while (std::ranges::next_permutation(chain).found);
  }
  struct Form {
    hid_t type;
    ItemType read;
    std::vector<hsize_t> extents, chunk;
  };
  const std::vector<Form> forms{{H5T_NATIVE_DOUBLE, ItemType::float64, {17, 19, 23}, {4, 5, 6}},
                                {H5T_NATIVE_FLOAT, ItemType::float32, {16, 40}, {8, 10}},
                                {H5T_NATIVE_INT16, ItemType::int16, {30, 31}, {7, 31}},
                                {H5T_NATIVE_INT8, ItemType::int8, {100}, {33}},
                                {H5T_IEEE_F64BE, ItemType::float64, {17, 19}, {4, 5}}};
  const auto name_of = [](const std::string& chain, std::size_t form) {
    return fmt::format("d{}_{}", chain, form);
  };
  make([&](const ForeignFile& file) {
    for (const auto& chain : chains) {
      for (std::size_t f = 0; f < forms.size(); ++f) {
        const auto& form = forms[f];
        file.fill(file.make(name_of(chain, f), form.type, form.extents, [&](hid_t create) {
          H5Pset_chunk(create, static_cast<int>(form.chunk.size()), form.chunk.data());
          for (const char filter : chain) apply(filter, create);
        }));
      }
    }
  });
  for (const auto& options : {InputOptions{}, ways().back()}) {
    const Input input(comm, path("a.h5"), options);
    for (const auto& chain : chains) {
      if (options.buffer_bytes == 1 && chain != "sdf") continue;  // many rounds
      for (std::size_t f = 0; f < forms.size(); ++f) {
        const auto name = name_of(chain, f);
        switch (forms[f].read) {
          case ItemType::float32:
            expect_counting<float>(input, name, ItemType::float32, 0);
            break;
          case ItemType::int16:
            expect_counting<std::int16_t>(input, name, ItemType::int16, 0);
            break;
          case ItemType::int8:
            expect_counting<std::int8_t>(input, name, ItemType::int8, 0);
            break;
          default:
            expect_counting<double>(input, name, ItemType::float64, 0);
        }
      }
    }
  }
}

// Filters that made a chunk no smaller were not applied to it; others were never written.
TEST_F(ReadingTest, ChunksWithoutAFilterAndWithoutData) {
  constexpr hsize_t rows = 40, columns = 64;
  std::vector<std::uint64_t> expected(rows * columns, 77);
  const std::uint64_t fill = 77;
  std::uint64_t seed = 1;
  for (std::size_t i = 0; i < 24 * columns; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    expected[i] = i < 12 * columns ? seed ^ (seed >> 31) : i / 100;  // noise, then what is smooth
  }
  make([&](const ForeignFile& file) {
    for (const bool checked : {false, true}) {
      const auto dataset = file.make(checked ? "checked" : "plain", H5T_NATIVE_UINT64,
                                     {rows, columns}, [&](hid_t create) {
                                       packed({6, 64})(create);
                                       if (checked) H5Pset_fletcher32(create);
                                       H5Pset_fill_value(create, H5T_NATIVE_UINT64, &fill);
                                     });
      const hsize_t start[2] = {}, count[2] = {24, columns};
      const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, "space");
      const Hdf5Handle memory(H5Screate_simple(2, count, nullptr), H5Sclose, "memory");
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start, nullptr, count, nullptr);
      H5Dwrite(dataset.id(), H5T_NATIVE_UINT64, memory.id(), space.id(), H5P_DEFAULT,
               expected.data());
    }
  });
  const Input input(comm, path("a.h5"));
  for (const char* name : {"plain", "checked"}) {
    std::vector<std::uint64_t> all(expected.size());
    input.read_all(name, ItemType::uint64, all.data());
    EXPECT_EQ(all, expected) << name;
  }
}

// Every kind of link to a group, below another link or not: as h5py follows them.
TEST_F(ReadingTest, EveryLinkToAGroup) {
  const std::vector<std::string> links{"same", "soft", "external", "of_soft", "soft_of_same"};
  make([&](const ForeignFile& file) {
    file.fill(file.make("run/u", H5T_NATIVE_DOUBLE, {5}));
    file.fill(file.make("run/deep/er/v", H5T_STD_I32BE, {2, 3}), 7);
    file.fill(file.make("a/first", H5T_NATIVE_DOUBLE, {2}));
    const auto soft = [&](const char* target, const char* name) {
      H5Lcreate_soft(target, file.id(), name, H5P_DEFAULT, H5P_DEFAULT);
    };
    H5Lcreate_hard(file.id(), "run", file.id(), "same", H5P_DEFAULT, H5P_DEFAULT);
    soft("/run", "soft");
    soft("soft", "of_soft");
    soft("same", "soft_of_same");
    // Loops: to the root, to a group above, to each other, to themselves, and through another file.
    soft("/", "loop");
    soft("/run", "run/deep/up");
    H5Lcreate_hard(file.id(), "run", file.id(), "run/deep/hard_up", H5P_DEFAULT, H5P_DEFAULT);
    soft("mutual_b", "mutual_a");
    soft("mutual_a", "mutual_b");
    soft("nowhere/at/all", "dangling");
    // Many ways to one group, of which none is to be walked twice.
    for (int level = 0; level < 40; ++level) {
      const auto from = fmt::format("ways{}", level), to = fmt::format("/ways{}", level + 1);
      const Hdf5Handle group(
          H5Gcreate2(file.id(), from.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          from);
      for (const auto* name : {"left", "right"}) {
        H5Lcreate_soft(to.c_str(), group.id(), name, H5P_DEFAULT, H5P_DEFAULT);
      }
    }
    file.fill(file.make("ways40/end", H5T_NATIVE_DOUBLE, {3}));
    const ForeignFile other(path("other.h5"));
    other.fill(other.make("run/u", H5T_NATIVE_DOUBLE, {5}));
    other.fill(other.make("run/deep/er/v", H5T_STD_I32BE, {2, 3}), 7);
    H5Lcreate_external("a.h5", "/", other.id(), "back", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/", other.id(), "self", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/run", file.id(), "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/", file.id(), "whole", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("gone.h5", "/run", file.id(), "gone", H5P_DEFAULT, H5P_DEFAULT);
  });
  const Input input(comm, path("a.h5"));
  for (const auto& link : links) {
    expect_counting<double>(input, link + "/u", ItemType::float64, 0);
    expect_counting<double>(input, link + "/deep/er/v", ItemType::float64, 7);
  }
  for (const auto* name : {"loop/run/u", "loop/loop/loop/soft/u", "run/deep/up/deep/up/u", "/run/u",
                           "run/deep/hard_up/u", "whole/run/u", "whole/back/run/u",
                           "whole/self/self/run/u", "./run//u"}) {
    expect_counting<double>(input, name, ItemType::float64, 0);
  }
  std::string far = "ways0";
  for (int level = 0; level < 40; ++level) far += level % 2 == 0 ? "/left" : "/right";
  expect_counting<double>(input, far + "/end", ItemType::float64, 0);
  // Each array is listed once, but for those of the other file, which have names through it only.
  const auto names = input.names();
  EXPECT_EQ(std::ranges::count(names, "run/u"), 1);
  EXPECT_EQ(std::ranges::count_if(names, [](auto& name) { return name.ends_with("/u"); }), 2);
  for (const auto* name : {"dangling", "dangling/u", "gone/u", "mutual_a/u"}) {
    const auto text = error_of(Errc::invalid_input, [&] { (void)input.extents(name); });
    EXPECT_NE(text.find("is a link that leads nowhere"), std::string::npos) << text;
  }
  error_of(Errc::invalid_input, [&] { (void)input.extents("soft/none"); });
}

TEST_F(ReadingTest, EnumerationsAndBitFieldsAreTheirNumbers) {
  make([&](const ForeignFile& file) {
    for (const auto& [name, numbers] :
         {std::pair{"truth", H5T_STD_I8LE}, {"big", H5T_STD_U16BE}, {"native", H5T_NATIVE_INT}}) {
      const Hdf5Handle type(H5Tenum_create(numbers), H5Tclose, "type");
      for (const auto& [word, value] : {std::pair{"FALSE", 0}, {"TRUE", 1}}) {
        int number = value;
        H5Tconvert(H5T_NATIVE_INT, numbers, 1, &number, nullptr, H5P_DEFAULT);
        H5Tenum_insert(type.id(), word, &number);
      }
      const auto dataset = file.make(name, type.id(), {2});
      char bytes[2 * sizeof(int)] = {};
      const int values[2] = {0, 1};
      for (int i = 0; i < 2; ++i) {
        int number = values[i];
        H5Tconvert(H5T_NATIVE_INT, numbers, 1, &number, nullptr, H5P_DEFAULT);
        std::memcpy(bytes + static_cast<std::size_t>(i) * H5Tget_size(numbers), &number,
                    H5Tget_size(numbers));
      }
      H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes);
    }
    const auto bits = file.make("bits", H5T_STD_B32BE, {2});
    const std::uint32_t values[2] = {0, 1};
    H5Dwrite(bits.id(), H5T_NATIVE_B32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  });
  const Input input(comm, path("a.h5"));
  for (const auto& [name, type] : {std::pair{"truth", ItemType::int8},
                                   {"big", ItemType::uint16},
                                   {"native", ItemType::int32},
                                   {"bits", ItemType::uint32}}) {
    EXPECT_EQ(input.type(name), type) << name;
    expect_counting<double>(input, name, ItemType::float64, 0);
  }
}

// The largest memory that this process has had [MiB].
std::ptrdiff_t peak_mib() {
  std::ifstream lines("/proc/self/status");
  for (std::string word; lines >> word;) {
    if (word != "VmHWM:") continue;
    std::ptrdiff_t kib = 0;
    lines >> kib;
    return kib / 1024;
  }
  return 0;
}

// Dimensions of 2^31 items, with a coordinate that was never written and without one.
TEST_F(ReadingTest, OpeningTakesNoMemoryOfLongDimensions) {
  constexpr hsize_t extent = std::size_t{1} << 31;
  make([&](const ForeignFile& file) {
    const auto scale = file.make("x", H5T_NATIVE_DOUBLE, {extent});
    H5DSset_scale(scale.id(), "x");
    const auto bare = file.make("bare", H5T_IEEE_F32BE, {extent});
    H5DSset_scale(bare.id(), "This is a netCDF dimension but not a netCDF variable.         9");
    const auto short_one = file.make("y", H5T_STD_I16BE, {3});
    file.fill(short_one, 5);
    H5DSset_scale(short_one.id(), "y");
    const auto grid = file.make("grid", H5T_NATIVE_DOUBLE, {2, 2});
    H5DSset_scale(grid.id(), "grid");
    file.make("u", H5T_NATIVE_INT8, {extent});
  });
  const auto before = peak_mib();
  const Input input(comm, path("a.h5"));
  EXPECT_LT(peak_mib() - before, 60);
  EXPECT_EQ(input.extents("x"), std::vector<std::ptrdiff_t>{extent});
  EXPECT_EQ(input.coordinate("y"), (std::vector<double>{5, 6, 7}));
  const auto refused = [&](const char* name, const std::string& words) {
    const auto text = error_of(Errc::invalid_input, [&] { (void)input.coordinate(name); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  refused("bare", "\"bare\" is a dimension without a coordinate: it has no values");
  refused("u", "\"u\" is not a coordinate");
  refused("grid", "\"grid\" is a coordinate of several dimensions");
  if (comm.rank() == 0) {  // any rank may ask alone
    EXPECT_EQ(input.coordinate("y").size(), 3U);
  }
}

TEST_F(ReadingTest, WhatWasNeverWrittenIsTheFillValue) {
  const double fill = -7.5;
  make([&](const ForeignFile& file) {
    const auto with_fill = [&](hid_t create) {
      H5Pset_fill_value(create, H5T_NATIVE_DOUBLE, &fill);
    };
    file.make("contiguous", H5T_NATIVE_DOUBLE, {7, 5}, with_fill);
    file.make("chunked", H5T_NATIVE_DOUBLE, {7, 5}, [&](hid_t create) {
      const hsize_t chunk[2] = {2, 2};
      H5Pset_chunk(create, 2, chunk);
      with_fill(create);
    });
    file.make("zero", H5T_NATIVE_DOUBLE, {3});
  });
  const Input input(comm, path("a.h5"));
  for (const auto& [name, items, value] :
       {std::tuple{"contiguous", 35, fill}, {"chunked", 35, fill}, {"zero", 3, 0.0}}) {
    std::vector<double> all(static_cast<std::size_t>(items), 1);
    input.read_all(name, ItemType::float64, all.data());
    EXPECT_EQ(all, std::vector<double>(static_cast<std::size_t>(items), value)) << name;
  }
}

TEST_F(ReadingTest, VirtualDatasetsAndTheirMissingParts) {
  make([&](const ForeignFile& file) {
    const hsize_t half[2] = {4, 6}, whole[2] = {8, 6};
    const Hdf5Handle source(H5Screate_simple(2, half, nullptr), H5Sclose, "space");
    const Hdf5Handle target(H5Screate_simple(2, whole, nullptr), H5Sclose, "space");
    file.make("v", H5T_NATIVE_DOUBLE, {8, 6}, [&](hid_t create) {
      for (int part = 0; part < 2; ++part) {
        const auto name = fmt::format("part{}.h5", part);
        const ForeignFile piece(path(name));
        piece.fill(piece.make("p", H5T_NATIVE_FLOAT, {4, 6}), 24 * part);
        const hsize_t start[2] = {static_cast<hsize_t>(4 * part), 0};
        H5Sselect_hyperslab(target.id(), H5S_SELECT_SET, start, nullptr, half, nullptr);
        H5Pset_virtual(create, target.id(), name.c_str(), "p", source.id());
      }
    });
  });
  expect_counting<double>(Input(comm, path("a.h5")), "v", ItemType::float64, 0);
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) fs::remove(path("part1.h5"));
  MPI_Barrier(comm.raw());
  const Input input(comm, path("a.h5"));
  const auto text =
      error_of(Errc::io, [&] { expect_counting<double>(input, "v", ItemType::float64, 0); });
  EXPECT_NE(text.find("variable v lies in other files, of which part1.h5 is missing"),
            std::string::npos)
      << text;
}

TEST_F(ReadingTest, OnlyWhatFitsIsConverted) {
  make([&](const ForeignFile& file) {
    const auto put = [&](const char* name, hid_t type, auto value, hid_t memory) {
      const auto dataset = file.make(name, type, {2});
      const decltype(value) both[2] = {1, value};
      H5Dwrite(dataset.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, both);
    };
    put("large", H5T_STD_I64LE, std::int64_t{1} << 31, H5T_NATIVE_INT64);
    put("odd", H5T_STD_I64LE, (std::int64_t{1} << 53) + 1, H5T_NATIVE_INT64);
    put("lowest", H5T_STD_I64LE, std::numeric_limits<std::int64_t>::min(), H5T_NATIVE_INT64);
    put("unsigned", H5T_STD_U64LE, std::uint64_t{1} << 63, H5T_NATIVE_UINT64);
    put("huge", H5T_IEEE_F64LE, 1e300, H5T_NATIVE_DOUBLE);
    put("infinite", H5T_IEEE_F64LE, std::numeric_limits<double>::infinity(), H5T_NATIVE_DOUBLE);
  });
  const Input input(comm, path("a.h5"));
  const auto read = [&](const char* name, ItemType type) {
    std::int64_t room[2] = {};
    input.read_all(name, type, room);
  };
  const auto refused = [&](const char* name, ItemType type, const std::string& words) {
    const auto text = error_of(Errc::invalid_input, [&] { read(name, type); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  refused("large", ItemType::int32, "large holds 2147483648 (int64), which does not fit int32");
  read("large", ItemType::float32);
  refused("odd", ItemType::float64, "odd holds 9007199254740993 (int64)");
  refused("unsigned", ItemType::int64,
          "unsigned holds 9223372036854775808 (uint64), which does not fit int64");
  read("unsigned", ItemType::uint64);
  refused("unsigned", ItemType::uint8, "does not fit uint8");
  refused("huge", ItemType::float32, "huge holds 1e+300 (float64), which does not fit float32");
  read("infinite", ItemType::float32);
  read("lowest", ItemType::float64);
  refused("lowest", ItemType::int32, "does not fit int32");
}

TEST_F(ReadingTest, WhatCannotBeReadIsRefusedClearly) {
  make([&](const ForeignFile& file) {
    file.make("six", H5T_NATIVE_DOUBLE, {1, 2, 1, 2, 1, 2});
    const Hdf5Handle text(H5Tcopy(H5T_C_S1), H5Tclose, "type");
    file.make("text", text.id(), {3});
    file.fill(file.make("good", H5T_NATIVE_DOUBLE, {3, 4}));
    file.make("empty", H5T_NATIVE_DOUBLE, {0, 4});
  });
  const Input input(comm, path("a.h5"));
  const auto refused = [&](const char* name, const std::string& words) {
    const auto text = error_of(Errc::invalid_input, [&] { (void)input.extents(name); });
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  refused("six", "a.h5: dataset six has 6 dimensions; at most 5 are supported");
  refused("text", "dataset text holds text; only integers, floating-point and complex");
  refused("none", "has no variable \"none\"; it has empty, good");
  expect_counting<double>(input, "good", ItemType::float64, 0);
  input.read_all("empty", ItemType::float64, nullptr);
  const auto wrong = blocks({4, 3}, {1, comm.num_ranks()});
  const auto memory = Memory::dense(wrong.boxes(comm.rank()));
  double room[12] = {};
  const auto text = error_of(Errc::invalid_input,
                             [&] { input.read("good", ItemType::float64, wrong, memory, room); });
  EXPECT_NE(text.find("variable good has extents 3 x 4, the layout 4 x 3 of"), std::string::npos)
      << text;
}

// Writes an attribute with HDF5's own calls; `count` < 0: a single value.
void put_attribute(const ForeignFile& file, const std::string& name, hid_t type, hid_t memory,
                   const void* values, std::ptrdiff_t count = -1) {
  const auto items = static_cast<hsize_t>(std::max<std::ptrdiff_t>(count, 0));
  const Hdf5Handle space(count < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &items, nullptr),
                         H5Sclose, "space");
  const Hdf5Handle attribute(
      H5Acreate2(file.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      name);
  if (count != 0) store::check_hdf5(H5Awrite(attribute.id(), memory, values), name);
}

// The limits of a type and a number between, alone and as lists of 0, 1 and 3, in both byte orders.
template <class Item>
struct NumberAttributes {
  std::string name;
  hid_t little, big, memory;
  std::vector<Item> values() const {
    using Limits = std::numeric_limits<Item>;
    if constexpr (ComplexItem<Item>) {
      return {{1, -2}, {0, 3}, {-4, 0}};
    } else {
      return {Limits::lowest(), Limits::max(), Item(3)};
    }
  }
  void put(const ForeignFile& file) const {
    const auto all = values();
    for (const auto& [order, type] : {std::pair{"little", little}, {"big", big}}) {
      for (const std::ptrdiff_t count : {-1, 0, 1, 3}) {
        put_attribute(file, fmt::format("{} {} {}", name, order, count), type, memory, all.data(),
                      count);
      }
    }
  }
  void expect(const Input& input) const {
    const auto all = values();
    for (const auto* order : {"little", "big"}) {
      EXPECT_EQ(input.attribute(fmt::format("{} {} -1", name, order)), AttributeValue(all[0]));
      for (const std::ptrdiff_t count : {0, 1, 3}) {
        const AttributeValue wanted = std::vector<Item>(all.begin(), all.begin() + count);
        EXPECT_EQ(input.attribute(fmt::format("{} {} {}", name, order, count)), wanted) << name;
      }
    }
  }
};

template <class Action>
void for_all_number_attributes(Action&& action) {
  action(NumberAttributes<std::int8_t>{"i1", H5T_STD_I8LE, H5T_STD_I8BE, H5T_NATIVE_INT8});
  action(NumberAttributes<std::int16_t>{"i2", H5T_STD_I16LE, H5T_STD_I16BE, H5T_NATIVE_INT16});
  action(NumberAttributes<std::int32_t>{"i4", H5T_STD_I32LE, H5T_STD_I32BE, H5T_NATIVE_INT32});
  action(NumberAttributes<std::int64_t>{"i8", H5T_STD_I64LE, H5T_STD_I64BE, H5T_NATIVE_INT64});
  action(NumberAttributes<std::uint8_t>{"u1", H5T_STD_U8LE, H5T_STD_U8BE, H5T_NATIVE_UINT8});
  action(NumberAttributes<std::uint16_t>{"u2", H5T_STD_U16LE, H5T_STD_U16BE, H5T_NATIVE_UINT16});
  action(NumberAttributes<std::uint32_t>{"u4", H5T_STD_U32LE, H5T_STD_U32BE, H5T_NATIVE_UINT32});
  action(NumberAttributes<std::uint64_t>{"u8", H5T_STD_U64LE, H5T_STD_U64BE, H5T_NATIVE_UINT64});
  action(NumberAttributes<float>{"f4", H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_NATIVE_FLOAT});
  action(NumberAttributes<double>{"f8", H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE});
  const auto c8 = store::native_type(ItemType::complex64);
  const auto c16 = store::native_type(ItemType::complex128);
  action(NumberAttributes<std::complex<float>>{"c8", c8.id(), c8.id(), c8.id()});
  action(NumberAttributes<std::complex<double>>{"c16", c16.id(), c16.id(), c16.id()});
}

TEST_F(ReadingTest, NumberAttributesKeepTypeAndValue) {
  make([&](const ForeignFile& file) {
    for_all_number_attributes([&](const auto& numbers) { numbers.put(file); });
  });
  const Input input(comm, path("a.h5"));
  for_all_number_attributes([&](const auto& numbers) { numbers.expect(input); });
  // As other types: by the rules of arrays.
  EXPECT_EQ(input.attribute_int("i2 big 1"), -32768);
  EXPECT_EQ(input.attribute_int("u4 little -1"), 0);
  EXPECT_EQ(input.attribute_double("i1 big -1"), -128);
  EXPECT_EQ(input.attribute_doubles("i1 little 3"), (std::vector<double>{-128, 127, 3}));
  EXPECT_EQ(input.attribute_numbers("i1 little 3", ItemType::int16).size(), 6U);
  const auto refused = [&](const std::string& words, const std::function<void()>& action) {
    const auto text = error_of(Errc::invalid_input, action);
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  refused("holds 18446744073709551615 (uint64), which does not fit int64",
          [&] { (void)input.attribute_numbers("u8 big 3", ItemType::int64); });
  refused("is float64, which is not read as int64",
          [&] { (void)input.attribute_int("f8 big -1"); });
  refused("is a list of 3 items, not one", [&] { (void)input.attribute_int("i4 big 3"); });
  refused("holds numbers, not text", [&] { (void)input.attribute_string("i4 big 3"); });
  refused("has no attribute \"none\"", [&] { (void)input.attribute("none"); });
  EXPECT_FALSE(input.has_attribute("none"));
}

TEST_F(ReadingTest, OtherAttributesAreReadOrRefusedByName) {
  const auto truth = [] {
    Hdf5Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose, "type");
    for (const auto value : {std::int8_t{0}, std::int8_t{1}}) {
      H5Tenum_insert(type.id(), value == 0 ? "FALSE" : "TRUE", &value);
    }
    return type;
  };
  const auto text_type = [](std::size_t bytes, H5T_str_t padding, H5T_cset_t letters) {
    Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "type");
    H5Tset_size(type.id(), bytes);
    if (bytes != H5T_VARIABLE) H5Tset_strpad(type.id(), padding);
    H5Tset_cset(type.id(), letters);
    return type;
  };
  make([&](const ForeignFile& file) {
    const auto same = [&](const std::string& name, const Hdf5Handle& type, const void* values,
                          std::ptrdiff_t count = -1) {
      put_attribute(file, name, type.id(), type.id(), values, count);
    };
    const std::int8_t values[] = {1, 0, 1};
    same("true", truth(), values);
    same("truths", truth(), values, 3);
    const Hdf5Handle colours(H5Tenum_create(H5T_STD_U16BE), H5Tclose, "type");
    const std::uint16_t blue = 0x2c01;  // 300, as the type has it
    H5Tenum_insert(colours.id(), "BLUE", &blue);
    same("colour", colours, &blue);
    const char* varying[] = {"one", "", "\xc3\xa5", nullptr};
    for (const auto letters : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
      const auto set = letters == H5T_CSET_ASCII ? "ascii" : "utf8";
      const auto type = text_type(H5T_VARIABLE, H5T_STR_NULLTERM, letters);
      same(fmt::format("{} varying", set), type, varying);
      same(fmt::format("{} varyings", set), type, varying, 4);
      same(fmt::format("{} none", set), type, nullptr, 0);
      same(fmt::format("{} ended", set), text_type(6, H5T_STR_NULLTERM, letters), "ab\0xyz");
      same(fmt::format("{} filled", set), text_type(6, H5T_STR_NULLPAD, letters), "a\0b\0\0");
      same(fmt::format("{} spaced", set), text_type(6, H5T_STR_SPACEPAD, letters), " a b  ");
      same(fmt::format("{} fixed", set), text_type(3, H5T_STR_NULLPAD, letters), "ab\0cde", 2);
    }
    const Hdf5Handle null(H5Screate(H5S_NULL), H5Sclose, "space");
    for (const auto& [name, type] :
         {std::pair{"null number", H5T_NATIVE_FLOAT}, {"null text", H5T_C_S1}}) {
      const Hdf5Handle made(H5Acreate2(file.id(), name, type, null.id(), H5P_DEFAULT, H5P_DEFAULT),
                            H5Aclose, name);
    }
    const long double fine = 0.25L, odd = 1 + std::numeric_limits<long double>::epsilon();
    put_attribute(file, "long fine", H5T_NATIVE_LDOUBLE, H5T_NATIVE_LDOUBLE, &fine);
    put_attribute(file, "long odd", H5T_NATIVE_LDOUBLE, H5T_NATIVE_LDOUBLE, &odd);
    const Hdf5Handle compound(H5Tcreate(H5T_COMPOUND, 8), H5Tclose, "type");
    H5Tinsert(compound.id(), "a", 0, H5T_NATIVE_INT32);
    H5Tinsert(compound.id(), "b", 4, H5T_NATIVE_INT32);
    const std::int64_t room[4] = {};
    same("compound", compound, room);
    same("opaque", {H5Tcreate(H5T_OPAQUE, 3), H5Tclose, "type"}, room);
    same("lists", {H5Tvlen_create(H5T_NATIVE_INT32), H5Tclose, "type"}, room);
    put_attribute(file, "reference", H5T_STD_REF_OBJ, H5T_STD_REF_OBJ, room);
    const hsize_t three = 3, grid[] = {2, 2};
    same("array", {H5Tarray_create2(H5T_NATIVE_INT32, 1, &three), H5Tclose, "type"}, room);
    const Hdf5Handle space(H5Screate_simple(2, grid, nullptr), H5Sclose, "space");
    const Hdf5Handle matrix(
        H5Acreate2(file.id(), "matrix", H5T_NATIVE_INT32, space.id(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose, "matrix");
  });
  const Input input(comm, path("a.h5"));
  const auto expect = [&](const std::string& name, const AttributeValue& wanted) {
    EXPECT_EQ(input.attribute(name), wanted) << name;
  };
  expect("true", true);
  expect("truths", std::vector<bool>{true, false, true});
  EXPECT_EQ(input.attribute_int("true"), 1);
  expect("colour", std::uint16_t{300});
  for (const std::string set : {"ascii", "utf8"}) {
    expect(set + " varying", std::string("one"));
    expect(set + " varyings", std::vector<std::string>{"one", "", "\xc3\xa5", ""});
    expect(set + " none", std::vector<std::string>{});
    expect(set + " ended", std::string("ab"));
    expect(set + " filled", std::string("a\0b", 3));
    expect(set + " spaced", std::string(" a b"));
    expect(set + " fixed", std::vector<std::string>{"ab", "cde"});
    EXPECT_EQ(input.attribute_strings(set + " ended"), std::vector<std::string>{"ab"});
  }
  expect("null number", std::vector<float>{});
  expect("null text", std::string());
  expect("long fine", 0.25);
  for (const auto& [name, words] :
       {std::pair{"long odd", "which float64 does not hold"},
        {"compound", "compound items"},
        {"opaque", "opaque items"},
        {"lists", "lists of variable length"},
        {"reference", "references"},
        {"array", "items that are arrays"},
        {"matrix", "has 2 dimensions; single values and lists are read"}}) {
    EXPECT_TRUE(input.has_attribute(name)) << name;
    const auto text = error_of(Errc::invalid_input, [&] { (void)input.attribute(name); });
    EXPECT_NE(text.find(fmt::format("attribute \"{}\" ", name)), std::string::npos) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
}

// A layout that holds a part of the array makes readers read that part.
TEST_F(ReadingTest, WhatNobodyWantsIsNotRead) {
  make([&](const ForeignFile& file) {
    file.fill(file.make("u", H5T_NATIVE_DOUBLE, {16, 128, 1024}));  // 16 MiB
    file.fill(file.make("c", H5T_NATIVE_DOUBLE, {16, 128, 1024}, packed({1, 128, 1024})));
  });
  const std::vector<std::ptrdiff_t> extents{16, 128, 1024};
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
  boxes.back() = {{3, {3, 5, 7}, {2, 3, 4}}};
  const auto layout = from_boxes(extents, boxes);
  const auto memory = Memory::dense(layout.boxes(comm.rank()));
  for (const auto* name : {"u", "c"}) {
    const Input input(comm, path("a.h5"));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    input.read(name, ItemType::float64, layout, memory, data.data());
    EXPECT_EQ(num_wrong(data, layout, memory, comm.rank(), 0), 0);
    EXPECT_EQ(input.total_statistics().bytes_read, 2 << 20) << name;
  }
}

TEST_F(ReadingTest, HintsChooseTheGroups) {
  make([&](const ForeignFile& file) {
    file.fill(file.make("u", H5T_NATIVE_FLOAT, {8, 128, 1024}));  // 4 MiB
  });
  const auto opens = [&](const InputOptions& options) {
    const Input input(comm, path("a.h5"), options);
    expect_counting<float>(input, "u", ItemType::float32, 0);
    return input.total_statistics().opens;
  };
  InputOptions options;
  options.group_size = 1;
  EXPECT_EQ(opens(options), std::min(comm.num_ranks(), 4));
  options.hints = {{"group_size", "3"}};
  EXPECT_EQ(opens(options), (comm.num_ranks() + 2) / 3);
  setenv("TAILRACE_HINTS", "*.nc:group_size=1,*/a.h5:group_size=2", 1);
  EXPECT_EQ(opens(options), (comm.num_ranks() + 1) / 2);
  setenv("TAILRACE_HINTS", "*.h5:group_size=two", 1);
  const auto text = error_of(Errc::invalid_input, [&] { opens({}); });
  EXPECT_NE(text.find("group_size"), std::string::npos) << text;
  unsetenv("TAILRACE_HINTS");
}

TEST_F(ReadingTest, WrongOptionsAreRefused) {
  make([](const ForeignFile&) {});
  InputOptions options;
  options.group_size = -1;
  error_of(Errc::invalid_input, [&] { Input(comm, path("a.h5"), options); });
  options = {};
  options.buffer_bytes = 0;
  error_of(Errc::invalid_input, [&] { Input(comm, path("a.h5"), options); });
}

}  // namespace
}  // namespace tailrace
