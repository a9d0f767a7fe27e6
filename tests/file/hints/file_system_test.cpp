// SPDX-License-Identifier: BSD-3-Clause
// What is known of the file system of a path. Lustre, as there is none to ask: a recorded layout,
// and others put together field by field as its header lustre_user.h says.
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "file/hints/lustre.hpp"
#include "file/settings.hpp"

namespace tailrace::file {
namespace {

/// A folder of one test on one rank.
class TempFolder {
 public:
  explicit TempFolder(const std::string& above) : path_(above + "/tailrace_hints_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot make " << path_;
  }
  ~TempFolder() { rmdir(path_.c_str()); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(FileSystemOf, MemoryAndLocal) {
  EXPECT_EQ(file_system_of("/dev/shm").kind, FileSystem::Kind::memory);
  EXPECT_EQ(file_system_of("/dev/shm").name, "tmpfs");
  EXPECT_EQ(file_system_of("/dev/shm").stripe_bytes, 0);
  EXPECT_EQ(file_system_of("/dev/shm/does_not_exist_yet.h5").name, "tmpfs");
  EXPECT_EQ(file_system_of("/nowhere/at/all.h5").name, "unknown");
  EXPECT_FALSE(file_system_of("name_in_this_folder.h5").name.empty());
  EXPECT_EQ(file_system_of("/name_in_the_root.h5").name, file_system_of("/").name);
}

TEST(SetStripes, SaysWhyItCannot) {
  const TempFolder folder("/dev/shm");
  const std::string path = folder.path() + "/file";
  EXPECT_NE(set_stripes(path, 1 << 20, 4).find("No such file"), std::string::npos);
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(set_stripes(path, 0, 0), "");  // nothing was asked for
  const std::string problem = set_stripes(path, 1 << 20, 4);
  EXPECT_NE(problem.find(path), std::string::npos) << problem;
  EXPECT_NE(problem.find("tmpfs has no stripes"), std::string::npos) << problem;
  std::fputs("data", file);
  std::fclose(file);
  EXPECT_NE(set_stripes(path, 1 << 20, 4).find("only a new, empty file"), std::string::npos);
  EXPECT_NE(set_stripes(folder.path(), 1 << 20, 4).find("only a new, empty file"),
            std::string::npos);
  std::remove(path.c_str());
}

using Bytes = std::vector<std::byte>;

template <class Number>
void put(Bytes& bytes, std::size_t place, Number number) {
  if (bytes.size() < place + sizeof number) bytes.resize(place + sizeof number);
  std::memcpy(bytes.data() + place, &number, sizeof number);
}

Bytes plain_layout(std::uint32_t magic, std::uint32_t stripe_size, std::uint16_t count) {
  Bytes bytes;
  put(bytes, 0, magic);
  put(bytes, 4, std::uint32_t{1});
  put(bytes, 24, stripe_size);
  put(bytes, 28, count);
  put(bytes, 30, std::uint16_t{0});
  return bytes;
}

/// Components as (end, stripe size, count), each 32 bytes after all entries.
Bytes composite_layout(const std::vector<std::array<std::uint64_t, 3>>& components) {
  Bytes bytes;
  const std::size_t first = 32 + 48 * components.size();
  put(bytes, 0, std::uint32_t{0x0BD60BD0});
  put(bytes, 14, static_cast<std::uint16_t>(components.size()));
  bytes.resize(first);
  for (std::size_t i = 0; i < components.size(); ++i) {
    const std::size_t offset = first + 32 * i;
    put(bytes, 32 + 48 * i + 16, components[i][0]);
    put(bytes, 32 + 48 * i + 24, static_cast<std::uint32_t>(offset));
    put(bytes, 32 + 48 * i + 28, std::uint32_t{32});
    const Bytes plain = plain_layout(0x0BD30BD0, static_cast<std::uint32_t>(components[i][1]),
                                     static_cast<std::uint16_t>(components[i][2]));
    bytes.insert(bytes.end(), plain.begin(), plain.end());
  }
  return bytes;
}

TEST(LustreLayout, PlainVersions) {
  for (const std::uint32_t magic : {0x0BD10BD0U, 0x0BD30BD0U, 0x0BD50BD0U}) {
    const auto stripes = parse_lustre_layout(plain_layout(magic, 4 << 20, 8));
    ASSERT_TRUE(stripes.has_value());
    EXPECT_EQ(stripes->stripe_bytes, 4 << 20);
    EXPECT_EQ(stripes->stripe_count, 8);
  }
  const auto all = parse_lustre_layout(plain_layout(0x0BD10BD0, 1 << 20, 0xffff));
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->stripe_count, -1);
}

// What `getfattr -n lustre.lov` gave on a real Lustre for a file made by `lfs setstripe
// --pool=pooltest --stripe-size 128k --stripe-count=2`; published in the tests of fzago-cray's
// liblustre. The first 48 bytes; its two objects follow.
TEST(LustreLayout, RecordedOnARealOne) {
  constexpr std::array<unsigned char, 48> recorded{
      0xd0, 0x0b, 0xd3, 0x0b, 0x01, 0x00, 0x00, 0x00, 0x32, 0x2b, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x00, 0x00, 0x70, 0x6f, 0x6f, 0x6c,
      0x74, 0x65, 0x73, 0x74, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  const auto stripes = parse_lustre_layout(std::as_bytes(std::span(recorded)));
  ASSERT_TRUE(stripes.has_value());
  EXPECT_EQ(stripes->stripe_bytes, 131072);
  EXPECT_EQ(stripes->stripe_count, 2);
}

TEST(LustreLayout, OfACompositeTheComponentThatReachesFarthest) {
  const auto stripes =
      parse_lustre_layout(composite_layout({{1 << 20, 1 << 20, 1},
                                            {std::uint64_t{64} << 20, 1 << 20, 4},
                                            {~std::uint64_t{0}, 4 << 20, 0xffff}}));
  ASSERT_TRUE(stripes.has_value());
  EXPECT_EQ(stripes->stripe_bytes, 4 << 20);
  EXPECT_EQ(stripes->stripe_count, -1);
}

TEST(LustreLayout, OtherBytesAreNoLayout) {
  EXPECT_FALSE(parse_lustre_layout({}).has_value());
  EXPECT_FALSE(parse_lustre_layout(plain_layout(0x0BD70BD0, 1 << 20, 1)).has_value());
  Bytes cut = plain_layout(0x0BD10BD0, 1 << 20, 1);
  cut.resize(20);
  EXPECT_FALSE(parse_lustre_layout(cut).has_value());
  Bytes composite = composite_layout({{1 << 20, 1 << 20, 1}});
  composite.resize(60);
  EXPECT_FALSE(parse_lustre_layout(composite).has_value());
}

TEST(LustreLayout, ARequestNeverNamesAFirstTarget) {
  const LustreRequest request = lustre_request(4 << 20, -1);
  EXPECT_EQ(request.stripe_size, 4U << 20);
  EXPECT_EQ(request.stripe_count, 0xffff);
  EXPECT_EQ(request.first_target, 0xffff);
  EXPECT_EQ(lustre_request(0, 3).stripe_count, 3);
}

}  // namespace
}  // namespace tailrace::file
