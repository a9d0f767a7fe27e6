// SPDX-License-Identifier: BSD-3-Clause
// How files get their names, what failures say, and how arrays are cut; what they hold is read by
// check_formats.py.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "format_case.hpp"
#include "server/formats/chunk_codec.hpp"
#include "server/formats/chunk_grid.hpp"
#include "server/formats/rounding.hpp"
#include "server/formats/zfp_codec.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

namespace fs = std::filesystem;

class FormatsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (fs::temp_directory_path() / "tailrace_formats_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  static Error error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return {Errc::internal, ""};
  }
  // All files of a store, by their paths in it.
  static std::map<std::string, std::string> files_of(const fs::path& store) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(store)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[fs::relative(entry.path(), store)] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder))
      found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }

  FormatCase small{
      "a.zarr", {33, 20}, ItemType::float64,
      3,        "slabs",  {{"chunk_bytes", "1024"}, {"shard_bytes", "4096"}, {"codec", "none"}}};
  FormatCase other{"a.zarr", {30, 30}, ItemType::float32, 2, "rows"};
  fs::path folder;
};

TEST_F(FormatsTest, FormatsAreFoundByNameOrSuffix) {
  EXPECT_STREQ(find_format("auto", "a/b.zarr").name, "zarr");
  EXPECT_STREQ(find_format("auto", "a/b.nc").name, "netcdf");
  EXPECT_STREQ(find_format("auto", "a/b").name, "hdf5");
  EXPECT_STREQ(find_format("zarr", "a/b.h5").name, "zarr");
  const auto error = error_of([] { find_format("adios", "b.bp"); });
  EXPECT_EQ(error.code(), Errc::invalid_input);
  EXPECT_STREQ(error.what(), "b.bp: format = \"adios\" must be one of auto, hdf5, netcdf, zarr");
}

TEST_F(FormatsTest, TheNameComesLastAndTheEarlierStoreStaysUntilThen) {
  auto files = write_case(small, folder);
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr.partial"});
  files[0]->commit({});
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr"});
  const auto earlier = files_of(folder / "a.zarr");
  files = write_case(other, folder);
  EXPECT_EQ(files_of(folder / "a.zarr"), earlier);
  files[0]->commit({});
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr"});
  EXPECT_NE(files_of(folder / "a.zarr"), earlier);
  files = write_case(small, folder);
  files[0]->discard();
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr"});
  files[0]->discard();
}

TEST_F(FormatsTest, ThreadsChangeNoByte) {
  for (const int threads : {1, 2, 5}) {
    small.threads = threads;
    write_case(small, folder)[0]->commit({});
    const auto found = files_of(folder / "a.zarr");
    fs::rename(folder / "a.zarr", folder / std::to_string(threads));
    EXPECT_EQ(found, files_of(folder / "1")) << threads;
  }
}

TEST_F(FormatsTest, WhatAKilledRunLeftIsReplacedAndWhatAnotherRunWritesIsNot) {
  auto files = write_case(small, folder);
  const auto error = error_of([&] { write_case(other, folder); });
  EXPECT_EQ(error.code(), Errc::io);
  EXPECT_EQ(error.sys_errno(), EBUSY);
  EXPECT_NE(std::string(error.what()).find("a.zarr (step 7): it is being written by another run"),
            std::string::npos)
      << error.what();
  files.clear();  // as if killed: the folder stays
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr.partial"});
  write_case(other, folder)[0]->commit({});
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr"});
}

TEST_F(FormatsTest, AMoveAsideThatWasInterruptedIsUndone) {
  write_case(small, folder)[0]->commit({});
  const auto earlier = files_of(folder / "a.zarr");
  fs::rename(folder / "a.zarr", folder / "a.zarr.replaced.partial");
  auto files = write_case(other, folder);
  EXPECT_EQ(files_of(folder / "a.zarr"), earlier);
  files[0]->discard();
}

TEST_F(FormatsTest, ACopyOfTheUserIsNotTakenForOurs) {
  fs::create_directory(folder / "a.zarr.old");
  std::ofstream(folder / "a.zarr.old" / "zarr.json") << "precious";
  write_case(small, folder)[0]->commit({});
  write_case(other, folder)[0]->commit({});
  EXPECT_EQ(names(), (std::vector<std::string>{"a.zarr", "a.zarr.old"}));
}

TEST_F(FormatsTest, FoldersOfOthersAreNotReplaced) {
  fs::create_directory(folder / "a.zarr");
  std::ofstream(folder / "a.zarr" / "thesis.tex") << "precious";
  const auto error = error_of([&] { write_case(small, folder); });
  EXPECT_EQ(error.sys_errno(), EEXIST);
  EXPECT_TRUE(fs::exists(folder / "a.zarr" / "thesis.tex"));
  EXPECT_EQ(names(), std::vector<std::string>{"a.zarr"});
}

// A writer killed again and again: the name always stands for a whole store.
TEST_F(FormatsTest, KilledAtAnyMomentTheNameStandsForAWholeStore) {
  write_case(small, folder)[0]->commit({});
  const auto first = files_of(folder / "a.zarr");
  other.name = "b.zarr";
  write_case(other, folder)[0]->commit({});
  const auto second = files_of(folder / "b.zarr");
  other.name = "a.zarr";
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        while (true) {
          write_case(small, folder)[0]->commit({});
          write_case(other, folder)[0]->commit({});
        }
      } catch (...) {
        _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(1000 + 3571 * round % 120000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_TRUE(fs::exists(folder / "a.zarr")) << round;
    const auto found = files_of(folder / "a.zarr");
    ASSERT_TRUE(found == first || found == second) << round;
  }
}

TEST_F(FormatsTest, AFullDiskIsAnErrorThatSaysSoAndRoomLaterIsUsed) {
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "needs the right to mount a tmpfs";
  }
  struct Unmount {
    fs::path path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } unmount{folder};
  FormatCase large = small;
  large.extents = {200, 100};
  const auto error = error_of([&] { write_case(large, folder); });
  EXPECT_EQ(error.code(), Errc::io);
  EXPECT_EQ(error.sys_errno(), ENOSPC);
  const std::string text = error.what();
  EXPECT_NE(text.find("cannot write " + (folder / "a.zarr").string() + " (step 7): No space left"),
            std::string::npos)
      << text;
  EXPECT_FALSE(fs::exists(folder / "a.zarr"));
  write_case(small, folder)[0]->commit({});
  EXPECT_TRUE(fs::exists(folder / "a.zarr"));
}

TEST_F(FormatsTest, WrongInputIsRefused) {
  small.encoding.emplace_back("speed", "9");
  EXPECT_EQ(error_of([&] { write_case(small, folder); }).code(), Errc::invalid_input);
  for (const char* name : {"", "..", "a/b", "zarr.json", "__x"}) {
    auto step = other.step(folder, 0);
    step.fields[0].name = name;
    const auto error = error_of([&] { make_zarr(std::move(step), {}, 0, 1); });
    EXPECT_EQ(error.code(), Errc::invalid_input) << name;
  }
  other.name = "a.h5";
  other.encoding = {{"codec", "bz2"}};
  EXPECT_EQ(error_of([&] { write_case(other, folder); }).code(), Errc::invalid_input);
  EXPECT_TRUE(names().empty());
}

TEST(ChunkGridTest, ShardsAreNotSharedWherePartsAllowIt) {
  struct Try {
    FormatCase test;
    bool shared;
  };
  const std::vector<std::pair<std::string, std::string>> small{{"chunk_bytes", "64K"},
                                                               {"shard_bytes", "1M"}};
  const std::vector<Try> tries{
      {{"", {256, 256, 256}, ItemType::float64, 4, "slabs", small}, false},
      {{"", {255, 256, 256}, ItemType::float64, 4, "slabs", small}, false},
      {{"", {100, 300, 301}, ItemType::float32, 3, "slabs", small}, false},
      {{"", {16, 128, 256}, ItemType::float64, 4, "blocks", small}, false},
      {{"", {8, 301, 303}, ItemType::float64, 4, "blocks", small}, false},
      {{"", {100003}, ItemType::float64, 3, "slabs", small}, true},
      {{"", {64, 256, 256}, ItemType::float64, 3, "rows", small}, false},
  };
  for (const auto& [test, shared] : tries) {
    std::vector<Boxes> boxes;
    for (int server = 0; server < test.servers; ++server) boxes.push_back(test.boxes(server));
    const auto encoding = parse_encoding(test.encoding);
    const auto item = item_bytes(test.type);
    const auto grid = choose_grid(test.extents, item, encoding, boxes);
    const auto found = shared_shards(grid, boxes);
    EXPECT_EQ(!found.empty(), shared) << test.parts << test.extents[0];
    EXPECT_LT(std::ssize(found), std::max<std::ptrdiff_t>(grid.shards().num_items() / 2, 1));
    std::ptrdiff_t chunk = item, shard = item;
    for (std::size_t d = 0; d < test.extents.size(); ++d) {
      EXPECT_EQ(grid.shard[d] % grid.chunk[d], 0);
      chunk *= grid.chunk[d];
      shard *= grid.shard[d];
    }
    EXPECT_LE(chunk, encoding.chunk_bytes);
    EXPECT_LE(shard, encoding.shard_bytes);
  }
}

TEST(CodecTest, Crc32cIsTheOneOfRfc3720) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32c(reinterpret_cast<const std::byte*>(text.data()), 9), 0xe3069283U);
  const std::vector<std::byte> zeros(32);
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8a9136aaU);
}

// zfp cannot hold infinities and NaN: such a chunk is kept without loss.
TEST(CodecTest, SpecialValuesSurviveATolerance) {
  std::vector<double> values(64, 0.123456789);
  values[5] = std::numeric_limits<double>::infinity();
  values[9] = std::numeric_limits<double>::quiet_NaN();
  const auto bytes = std::as_bytes(std::span(values));
  for (const char* codec : {"none", "zfp"}) {
    if (std::string(codec) == "zfp" && !have_zfp()) continue;
    RawBytes items(bytes.begin(), bytes.end()), out;
    const auto encoding = parse_encoding({{"codec", codec}, {"tolerance", "0.01"}});
    const ChunkCodec chunk(encoding, {ItemType::float64, 1, {64}, false});
    EXPECT_EQ(chunk.rounding().tolerance, 0.01);
    chunk.encode(items, out);
    if (std::string(codec) == "none") {
      EXPECT_LE(largest_error(ItemType::float64, bytes, out), 0.01);
      EXPECT_NE(std::memcmp(bytes.data(), out.data(), out.size()), 0);
    }
  }
}

template <class T>
std::vector<T> many_numbers() {
  std::mt19937_64 bits(7);
  std::vector<T> numbers{0,
                         -0.0,
                         1,
                         10,
                         100,
                         999.5,
                         0.001,
                         std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::max(),
                         -std::numeric_limits<T>::infinity()};
  while (numbers.size() < 20000) {
    const auto some = bits();
    T number{};
    std::memcpy(&number, &some, sizeof number);
    if (std::isfinite(number)) numbers.push_back(number);
    numbers.push_back(static_cast<T>(std::ldexp(static_cast<double>(some % 100000), -10)));
  }
  return numbers;
}

template <class T>
std::vector<T> rounded(const Rounding& rounding, std::vector<T> numbers,
                       std::optional<store::ItemBytes> fill = {}) {
  Rounder(rounding, item_type<T>(), fill).run(std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

template <class T>
void expect_digits_right() {
  const auto numbers = many_numbers<T>();
  for (const int digits : {1, 3, 6}) {
    const auto found = rounded<T>({.digits = digits}, numbers);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto right = static_cast<long double>(numbers[i]);
      if (!std::isnormal(numbers[i])) {
        EXPECT_EQ(found[i], numbers[i]);
        continue;
      }
      const auto before_point = std::floor(std::log10(std::abs(right))) + 1;
      const auto most = 0.5L * std::pow(10.0L, before_point - digits);
      EXPECT_LE(std::abs(static_cast<long double>(found[i]) - right), most * (1 + 1e-12L))
          << numbers[i] << " to " << digits << " digits became " << found[i];
      changed += found[i] != numbers[i] ? 1 : 0;
    }
    EXPECT_GT(changed, numbers.size() / 4);
  }
}

TEST(RoundingTest, DigitsThatWereAskedForAreRight) {
  expect_digits_right<float>();
  expect_digits_right<double>();
}

TEST(RoundingTest, BitsThatWereAskedForAreRight) {
  const auto numbers = many_numbers<double>();
  for (const int bits : {1, 7, 30}) {
    const auto found = rounded<double>({.bits = bits}, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!std::isnormal(numbers[i]) || std::isinf(numbers[i])) continue;
      EXPECT_LE(std::abs(found[i] - numbers[i]), std::ldexp(std::abs(numbers[i]), -bits - 1));
    }
  }
}

TEST(RoundingTest, FillValuesStay) {
  store::ItemBytes fill{};
  const double missing = 1.2345678901234567;
  std::memcpy(fill.data(), &missing, sizeof missing);
  const auto found = rounded<double>({.digits = 2}, {missing, 1.23456789}, fill);
  EXPECT_EQ(found[0], missing);
  EXPECT_NE(found[1], 1.23456789);
}

TEST_F(FormatsTest, TextsStandForSettings) {
  EXPECT_TRUE(parse_compress("").empty());
  EXPECT_TRUE(parse_compress("none").empty());
  const auto encoding = parse_encoding(parse_compress("deflate:3 digits=4 chunk=2x30"));
  EXPECT_EQ(encoding.codec, "deflate");
  EXPECT_EQ(encoding.level, 3);
  EXPECT_EQ(encoding.rounding.digits, 4);
  EXPECT_EQ(encoding.chunk, (std::vector<std::ptrdiff_t>{2, 30}));
  EXPECT_TRUE(encoding.shuffle);
  for (const char* wrong :
       {"deflate:0", "deflate:10", "deflat:1", "deflate:x", "level=1", "deflate chunk=0x2",
        "deflate chunk=2x", "deflate chunk=x", "deflate speed=1", "deflate digits=3 bits=3",
        "deflate digits=-1", ":1"}) {
    EXPECT_EQ(error_of([&] { parse_compress(wrong); }).code(), Errc::invalid_input) << wrong;
  }
}

}  // namespace
}  // namespace tailrace::server
