// SPDX-License-Identifier: BSD-3-Clause
#include "core/nearest_word.hpp"

#include <gtest/gtest.h>

namespace tailrace {
namespace {

TEST(NearestWord, CountsEdits) {
  const std::vector<std::string> words{"energy", "step", "spans"};
  EXPECT_EQ(nearest_word("stp", words), "step");
  EXPECT_EQ(nearest_word("enegry", words), "energy");
  EXPECT_EQ(nearest_word("STEP", words), "step");
  EXPECT_EQ(nearest_word("x", std::vector<std::string>{}), "");
}

TEST(NearestWord, AWordFarFromAllHasNone) {
  const std::vector<std::string_view> words{"mean", "histogram"};
  EXPECT_EQ(nearest_word("maen", words, slip_limit("maen")), "");
  EXPECT_EQ(nearest_word("mena", words, 3), "mean");
  EXPECT_EQ(nearest_word("histogran", words, slip_limit("histogran")), "histogram");
}

TEST(NearestWord, AnErrorListsTheWordsAndTheOneThatWasMeant) {
  const std::vector<std::string_view> words{"mean", "histogram"};
  EXPECT_EQ(words_instead("maen", words), "mean, histogram; did you mean mean?");
  EXPECT_EQ(words_instead("spectrum", words), "mean, histogram");
}

}  // namespace
}  // namespace tailrace
