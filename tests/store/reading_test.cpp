// SPDX-License-Identifier: BSD-3-Clause
// Files that other programs wrote, read in any layout, by any readers.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>

#include <fmt/format.h>

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
  const std::vector<std::pair<hid_t, ItemType>> types{
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
      if (types[i].second == ItemType::float32 || types[i].second == ItemType::float64) {
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

TEST_F(ReadingTest, AttributesOfEveryKind) {
  make([&](const ForeignFile& file) {
    const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "space");
    const auto put = [&](const char* name, hid_t type, const void* value) {
      const Hdf5Handle attribute(
          H5Acreate2(file.id(), name, type, scalar.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
      H5Awrite(attribute.id(), type, value);
    };
    const Hdf5Handle varying(H5Tcopy(H5T_C_S1), H5Tclose, "type");
    H5Tset_size(varying.id(), H5T_VARIABLE);
    const Hdf5Handle padded(H5Tcopy(H5T_FORTRAN_S1), H5Tclose, "type");
    H5Tset_size(padded.id(), 6);
    const char* text = "varying";
    put("varying", varying.id(), &text);
    put("padded", padded.id(), "fixed ");
    const std::int16_t number = -3;
    put("number", H5T_NATIVE_INT16, &number);
  });
  const Input input(comm, path("a.h5"));
  EXPECT_EQ(input.attribute_string("varying"), "varying");
  EXPECT_EQ(input.attribute_string("padded"), "fixed");
  EXPECT_EQ(input.attribute_int("number"), -3);
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
