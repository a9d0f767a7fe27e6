// SPDX-License-Identifier: BSD-3-Clause
#include "core/bytes.hpp"

#include <gtest/gtest.h>

namespace tailrace::bytes_test {

struct Part {
  std::string name;
  std::variant<std::int64_t, std::string, std::vector<double>> value;
  bool operator==(const Part&) const = default;
};

struct Whole {
  int number = 0;
  std::vector<Part> parts;
  std::vector<std::pair<std::string, double>> pairs;
  bool operator==(const Whole&) const = default;
};

template <class Bytes>
static void travel(Bytes& bytes, Part& part) {
  bytes(part.name, part.value);
}

template <class Bytes>
static void travel(Bytes& bytes, Whole& whole) {
  bytes(whole.number, whole.parts, whole.pairs);
}

namespace {

const Whole whole{7,
                  {{"a", std::int64_t{-3}}, {"", "text"}, {"c", std::vector<double>{1, 2.5}}},
                  {{"x", 0.5}, {"y", -1}}};

TEST(BytesTest, WhatIsWrittenIsReadBack) {
  ByteWriter to;
  to.put(whole);
  to.put(Error(Errc::io, "full", 28));
  const auto bytes = to.take();
  ByteReader from(bytes);
  EXPECT_EQ(from.get<Whole>(), whole);
  const auto error = from.get_error();
  EXPECT_STREQ(error.what(), "full");
  EXPECT_EQ(error.sys_errno(), 28);
  EXPECT_TRUE(from.at_end());
}

TEST(BytesTest, WhatIsCutShortIsRefused) {
  ByteWriter to;
  to.put(whole);
  const auto bytes = to.take();
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    ByteReader from(std::span(bytes.data(), count));
    EXPECT_THROW(from.get<Whole>(), Error) << count;
  }
}

TEST(BytesTest, ACountThatCannotBeIsRefused) {
  ByteWriter to;
  to.put(std::size_t{1} << 60);
  const auto bytes = to.take();
  ByteReader from(bytes);
  EXPECT_THROW(from.get<std::vector<double>>(), Error);
}

}  // namespace
}  // namespace tailrace::bytes_test
