// SPDX-License-Identifier: BSD-3-Clause
// Every type of item: written, read back as itself and as others, by every strategy.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "foreign_file.hpp"
#include "store/item_convert.hpp"
#include "store_fixture.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/xdmf.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using store::all_types;
using store::convert_items;

class ItemTypesTest : public FolderTest {
 protected:
  const std::vector<std::ptrdiff_t> extents{11, 13, 17};
  const Layout layout = pencils(extents, 0, grid_of(comm.num_ranks()));
  const Memory memory = Memory::dense(layout.boxes(comm.rank()));

  // Bytes that differ from item to item, for numbers of any type (no NaN, whose bits may change).
  std::vector<std::byte> bytes_of(ItemType type, const Layout& part, const Memory& items) {
    std::vector<double> numbers(static_cast<std::size_t>(items.num_items));
    for_each_item(part, items, comm.rank(), [&](const Index& place, std::ptrdiff_t item) {
      numbers[static_cast<std::size_t>(item)] = std::fmod(value_at(place, {11, 13, 17}, 3, 0), 127);
    });
    std::vector<std::byte> bytes(numbers.size() * static_cast<std::size_t>(item_bytes(type)));
    const auto unfit =
        convert_items(ItemType::float64, type, reinterpret_cast<const std::byte*>(numbers.data()),
                      items.num_items, bytes.data());
    EXPECT_FALSE(unfit) << *unfit;
    return bytes;
  }
};

TEST_F(ItemTypesTest, EveryTypeComesBackAsItselfFromEveryStrategy) {
  std::vector<std::vector<std::byte>> data;
  FileContents contents;
  for (const auto type : all_types) data.push_back(bytes_of(type, layout, memory));
  for (std::size_t i = 0; i < data.size(); ++i) {
    contents.variables.push_back({std::string(type_name(all_types[i])),
                                  all_types[i],
                                  {"z", "y", "x"},
                                  &layout,
                                  memory,
                                  data[i].data(),
                                  {}});
  }
  const auto other = slabs(extents, 2, comm.num_ranks());
  const auto its_memory = Memory::dense(other.boxes(comm.rank()));
  for (const std::string strategy :
       {"spokesperson", "collective", "shared_independent", "grouped", "file_per_rank"}) {
    OutputOptions options;
    options.strategy = strategy;
    options.stripe_bytes = 1032;  // cuts items of 16 bytes
    Output output(comm, options);
    output.write(path("a.h5"), contents);
    output.finish();
    const Input input(comm, path("a.h5"));
    for (const auto type : all_types) {
      const std::string name(type_name(type));
      EXPECT_EQ(input.type(name), type) << name;
      const auto expected = bytes_of(type, other, its_memory);
      std::vector<std::byte> read(expected.size());
      input.read(name, type, other, its_memory, read.data());
      EXPECT_TRUE(read == expected) << name << ", " << strategy;
    }
    const auto expected = bytes_of(ItemType::complex128, other, its_memory);
    std::vector<std::byte> read(expected.size());
    for (const auto* name : {"uint8", "int64", "float32", "complex64"}) {
      input.read(name, ItemType::complex128, other, its_memory, read.data());
      EXPECT_TRUE(read == expected) << name << " as complex128, " << strategy;
    }
    for (const auto type : {ItemType::float64, ItemType::int16}) {
      EXPECT_THROW(input.read("complex64", type, other, its_memory, read.data()), Error);
    }
    MPI_Barrier(comm.raw());
  }
}

// Complex numbers as h5py writes them, members in any order and of any byte order.
TEST_F(ItemTypesTest, ForeignComplexNumbers) {
  const std::vector<std::complex<double>> numbers{{1, 2}, {-3, 0.5}, {0, -7}};
  if (comm.rank() == 0) {
    const ForeignFile file(path("a.h5"));
    const auto memory_type = store::native_type(ItemType::complex128);
    const auto make = [&](const char* name, hid_t part, bool swapped) {
      const auto bytes = H5Tget_size(part);
      const store::Hdf5Handle type(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose, "type");
      H5Tinsert(type.id(), swapped ? "i" : "r", 0, part);
      H5Tinsert(type.id(), swapped ? "r" : "i", bytes, part);
      const auto dataset = file.make(name, type.id(), {3});
      H5Dwrite(dataset.id(), memory_type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    };
    make("native", H5T_NATIVE_DOUBLE, false);
    make("big", H5T_IEEE_F32BE, false);
    make("swapped", H5T_IEEE_F64LE, true);
    const store::Hdf5Handle pair(H5Tcreate(H5T_COMPOUND, 8), H5Tclose, "type");
    H5Tinsert(pair.id(), "r", 0, H5T_NATIVE_INT32);
    H5Tinsert(pair.id(), "i", 4, H5T_NATIVE_INT32);
    file.make("integers", pair.id(), {3});
  }
  MPI_Barrier(comm.raw());
  const Input input(comm, path("a.h5"));
  EXPECT_EQ(input.type("native"), ItemType::complex128);
  EXPECT_EQ(input.type("big"), ItemType::complex64);
  EXPECT_THROW(input.type("integers"), Error);
  for (const auto* name : {"native", "big", "swapped"}) {
    std::vector<std::complex<double>> read(3);
    input.read_all(name, ItemType::complex128, read.data());
    EXPECT_EQ(read, numbers) << name;
  }
}

template <class From, class To>
std::string converted(ItemType from, From value, ItemType to, To expected) {
  To result{};
  const auto unfit = convert_items(from, to, reinterpret_cast<const std::byte*>(&value), 1,
                                   reinterpret_cast<std::byte*>(&result));
  if (!unfit) {
    EXPECT_EQ(result, expected);
  }
  return unfit.value_or("");
}

TEST(ItemConvertTest, WhatFitsAndWhatDoesNot) {
  using enum ItemType;
  using limits64 = std::numeric_limits<std::int64_t>;
  const auto largest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(converted(float64, 3.0, int8, std::int8_t{3}), "");
  EXPECT_EQ(converted(float64, -128.0, int8, std::int8_t{-128}), "");
  EXPECT_EQ(converted(float64, 3.5, int8, std::int8_t{}), "3.5");
  EXPECT_EQ(converted(float64, 128.0, int8, std::int8_t{}), "128");
  EXPECT_EQ(converted(float32, -1.0F, uint64, largest), "-1");
  EXPECT_EQ(converted(float64, 18446744073709551616.0, uint64, largest), "1.8446744073709552e+19");
  EXPECT_NE(converted(float64, std::nan(""), int32, 0), "");
  EXPECT_EQ(converted(uint64, largest, int64, std::int64_t{}), "18446744073709551615");
  EXPECT_NE(converted(uint64, largest, float64, 0.0), "");
  EXPECT_EQ(converted(uint64, largest << 12, float64, std::ldexp(1.0, 64) - 4096), "");
  EXPECT_EQ(converted(int64, limits64::min(), float32, -std::ldexp(1.0F, 63)), "");
  EXPECT_EQ(converted(int16, std::int16_t{-5}, uint8, std::uint8_t{}), "-5");
  EXPECT_EQ(converted(float64, 0.1, float32, 0.1F), "");
  EXPECT_EQ(converted(float64, 1e300, float32, 0.0F), "1e+300");
  const std::complex<double> number{2, -3};
  EXPECT_EQ(converted(complex128, number, complex64, std::complex<float>{2, -3}), "");
  EXPECT_EQ(converted(complex128, number, float64, 0.0), "2-3i");
  EXPECT_EQ(converted(complex128, std::complex<double>{2, 0}, uint8, std::uint8_t{2}), "");
  EXPECT_EQ(converted(int64, std::int64_t{9}, complex64, std::complex<float>{9}), "");
  EXPECT_EQ(converted(float64, 65519.0, float16, Half(65504)), "");
  EXPECT_EQ(converted(float64, 65520.0, float16, Half(0)), "65520");
  EXPECT_EQ(converted(int32, 2049, float16, Half(0)), "2049");
  EXPECT_EQ(converted(int32, -2048, float16, Half(-2048)), "");
  EXPECT_EQ(converted(uint64, std::uint64_t{65504}, float16, Half(65504)), "");
  EXPECT_EQ(converted(uint64, std::uint64_t{65536}, float16, Half(0)), "65536");
  EXPECT_EQ(converted(float16, Half(0.5), complex64, std::complex<float>{0.5F}), "");
  EXPECT_EQ(converted(float16, Half(0.5), int8, std::int8_t{}), "0.5");
  for (const auto type : all_types) EXPECT_EQ(find_type(type_name(type)), type);
  EXPECT_FALSE(find_type("double"));
}

// HDF5's own conversion is the reference: every half, and every place where rounding changes.
TEST(ItemConvertTest, HalvesAreThoseOfHdf5) {
  const auto half_type = store::native_type(ItemType::float16);
  std::vector<std::uint16_t> bits(1 << 16);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> expected(bits.size());
  std::memcpy(expected.data(), bits.data(), 2 * bits.size());
  ASSERT_GE(H5Tconvert(half_type.id(), H5T_NATIVE_FLOAT, bits.size(), expected.data(), nullptr,
                       H5P_DEFAULT),
            0);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    Half half;
    half.bits = bits[i];
    const float value = half;
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(expected[i])) << i;
      continue;
    }
    ASSERT_EQ(value, expected[i]) << i;
    ASSERT_EQ(Half(value).bits, bits[i]);
    const float next = std::nextafter(value, std::numeric_limits<float>::infinity());
    if (std::isinf(value) || i + 1 >= 0x7c00) continue;
    Half above;
    above.bits = static_cast<std::uint16_t>(i + 1);
    const double middle = (static_cast<double>(value) + static_cast<double>(above)) / 2;
    ASSERT_EQ(Half(next).bits, bits[i]);
    ASSERT_EQ(Half(middle).bits, i % 2 == 0 ? bits[i] : above.bits);  // ties to even
    ASSERT_EQ(Half(std::nextafter(middle, 1e300)).bits, above.bits);
    ASSERT_EQ(Half(std::nextafter(middle, -1e300)).bits, bits[i]);
  }
  EXPECT_EQ(Half(65519.9).bits, 0x7bff);
  EXPECT_EQ(Half(-65520).bits, 0xfc00);
}

TEST_F(ItemTypesTest, SidecarsNameNumbersAndRefuseComplexOnes) {
  const std::vector<std::string> files{path("a.h5")}, names{"u"};
  const std::vector<double> times{0}, spacing{1, 1, 1};
  const auto sidecar = [&](ItemType type) {
    write_xdmf(comm, path("a.xdmf"), files, times, names, extents, spacing, type);
    return slurp(path("a.xdmf"));
  };
  EXPECT_NE(sidecar(ItemType::uint8).find("\"UChar\" Precision=\"1\""), std::string::npos);
  MPI_Barrier(comm.raw());
  EXPECT_NE(sidecar(ItemType::uint16).find("\"UInt\" Precision=\"2\""), std::string::npos);
  MPI_Barrier(comm.raw());
  EXPECT_NE(sidecar(ItemType::int8).find("\"Char\" Precision=\"1\""), std::string::npos);
  EXPECT_THROW(sidecar(ItemType::complex64), Error);
}

}  // namespace
}  // namespace tailrace
