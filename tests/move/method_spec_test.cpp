// SPDX-License-Identifier: BSD-3-Clause
#include "move/method_spec.hpp"

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace {
namespace {

TEST(MethodSpec, ReadsNamesAndSettings) {
  EXPECT_EQ(MethodSpec::parse("pairwise").name, "pairwise");
  const auto spec = MethodSpec::parse("pull:chunk=4k,depth=16");
  EXPECT_EQ(spec.name, "pull");
  EXPECT_EQ(spec.settings.chunk_bytes, 4096);
  EXPECT_EQ(spec.settings.depth, 16);
  EXPECT_EQ(MethodSpec::parse("pull:chunk=512").settings.depth, MethodSettings{}.depth);
  EXPECT_EQ(MethodSpec::parse("node_direct:copies=streaming2").settings.copies, "streaming2");
  EXPECT_EQ(MethodSpec::parse("node_direct:copies=auto").settings.copies, "auto");
}

TEST(MethodSpec, NamesTheWordThatIsWrong) {
  for (const auto& [text, word] : {std::pair{"pull:chunks=4", "chunks=4"},
                                   {"pull:chunk", "chunk"},
                                   {"pull:depth=x", "'x'"},
                                   {"pull:depth=4q", "4q"},
                                   {"pull:depth=-1", "-1"},
                                   {"pairwise:in_flight=0", "in_flight"},
                                   {"pull:depth=2G", "depth"},
                                   {"node_direct:copies=streaming9", "did you mean streaming"},
                                   {"pull:", "''"}}) {
    try {
      MethodSpec::parse(text);
      FAIL() << text << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tailrace
