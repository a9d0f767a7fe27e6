// SPDX-License-Identifier: BSD-3-Clause
// The table of hints, what values it takes, and how TAILRACE_HINTS is taken apart.
#include "tailrace/more/hints.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "file/hints/hint_table.hpp"
#include "file/settings.hpp"
#include "tailrace/error.hpp"

namespace tailrace {
namespace {

/// The message of the error that `action` throws; its code must be that of a wrong input.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_holds(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is not in: " << text;
  }
}

TEST(HintTable, EveryDefaultIsAllowedAndEveryNameIsThereOnce) {
  std::set<std::string_view> names;
  for (const HintInfo& info : hint_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.allowed.empty()) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    if (info.default_value.empty()) continue;
    Hints hints;
    EXPECT_NO_THROW(hints.set(std::string(info.name), std::string(info.default_value)));
    EXPECT_EQ(hints.pairs().at(0).second, info.default_value);
  }
}

TEST(Hints, ValuesAreKeptInTheirNormalForm) {
  const Hints hints{{"cb_buffer_size", "4M"}, {"romio_cb_write", "ENABLE"}, {"made_up", "As Is"}};
  const std::vector<std::pair<std::string, std::string>> expected{
      {"cb_buffer_size", "4194304"}, {"romio_cb_write", "enable"}, {"made_up", "As Is"}};
  EXPECT_EQ(hints.pairs(), expected);
}

TEST(Hints, TheLastValueCounts) {
  Hints hints{{"cb_nodes", "2"}, {"sync", "false"}};
  hints.set("cb_nodes", "3");
  const std::vector<std::pair<std::string, std::string>> expected{{"sync", "false"},
                                                                  {"cb_nodes", "3"}};
  EXPECT_EQ(hints.pairs(), expected);
}

TEST(Hints, AWrongValueIsNamedWithWhatWouldBeRight) {
  Hints hints;
  expect_holds(message_of([&] { hints.set("cb_nodes", "many"); }),
               {"cb_nodes", "\"many\"", "program", "0 (choose) or a number of ranks"});
  expect_holds(message_of([&] { hints.set("strategy", "fast"); }),
               {"strategy", "\"fast\"", "shared_independent"});
  expect_holds(message_of([&] { hints.set("cb_buffer_size", "17"); }), {"at least 4096"});
  expect_holds(message_of([&] { hints.set("back_end", "limited:fast"); }),
               {"back_end", "\"limited:fast\"", "program", "RATE: \"fast\"", "limited:200M,2ms"});
  expect_holds(message_of([&] { hints.set("back_end", "limited:1M,2"); }),
               {"\"2\" is not a latency", "500us"});
  expect_holds(message_of([&] { hints.set("back_end", "limited:200"); }),
               {"200 bytes per second", "200M is 200 MiB per second"});
  EXPECT_TRUE(hints.pairs().empty());
}

TEST(Hints, WrongValuesOfEveryKindAreRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"cb_nodes", "-1"},
      {"cb_nodes", "2x"},
      {"cb_nodes", ""},
      {"cb_nodes", "1e3"},
      {"cb_nodes", "99999999999"},
      {"cb_align", "3"},
      {"cb_align", "01"},
      {"queue_depth", "0"},
      {"ds_density", "1.5"},
      {"ds_density", "nan"},
      {"ds_density", "a lot"},
      {"ds_density", ""},
      {"sync", "yes"},
      {"direct_io", "enable"},
      {"back_end", "auto | posix"},
      {"back_end", "limited"},
      {"back_end", "limited:"},
      {"back_end", "limited:0"},
      {"back_end", "limited:fast"},
      {"back_end", "limited:1M,2"},
      {"back_end", "limited:1M,"},
      {"back_end", "limited:1M,2ms,3"},
      {"back_end", "limited:200"},
      {"back_end", "limited:1M,1h"},
      {"striping_unit", "1X"},
      {"striping_unit", "M"},
      {"romio_ds_write", ""},
  };
  for (const auto& [name, value] : wrong) {
    Hints hints;
    EXPECT_THROW(hints.set(name, value), Error) << name << "=" << value;
  }
  EXPECT_THROW(Hints().set("", "1"), Error);
}

TEST(Bytes, SizesWithAndWithoutUnit) {
  const auto bytes = [](const char* text) { return parse_bytes(text, "size"); };
  EXPECT_EQ(bytes("0"), 0);
  EXPECT_EQ(bytes("4194304"), 4194304);
  EXPECT_EQ(bytes("4M"), 4194304);
  EXPECT_EQ(bytes("4m"), 4194304);
  EXPECT_EQ(bytes("4MiB"), 4194304);
  EXPECT_EQ(bytes("64KiB"), 65536);
  EXPECT_EQ(bytes("5G"), std::ptrdiff_t{5} << 30);
  EXPECT_EQ(bytes("2T"), std::ptrdiff_t{2} << 40);
  for (const char* wrong : {"", "M", "-1", "4MB", "4 M", "1.5M", "4Mi", "0x10", "9999999999G",
                            "99999999999999999999"}) {
    EXPECT_THROW(bytes(wrong), Error) << wrong;
  }
  expect_holds(message_of([&] { bytes("4MB"); }), {"size", "\"4MB\"", "4MiB"});
}

TEST(NearestHint, FindsASlipOfThePenAndNothingElse) {
  EXPECT_EQ(file::nearest_hint("cb_node"), "cb_nodes");
  EXPECT_EQ(file::nearest_hint("CB_NODES"), "cb_nodes");
  EXPECT_EQ(file::nearest_hint("striping_units"), "striping_unit");
  EXPECT_EQ(file::nearest_hint("romio_cb_wirte"), "romio_cb_write");
  EXPECT_EQ(file::nearest_hint("colour_of_the_sky"), "");
}

TEST(Environment, EntriesPatternsAndPairs) {
  const auto hints = file::parse_environment(
      "*.h5:cb_nodes=2:cb_buffer_size=1M , /scratch/*:strategy=grouped,\n"
      "a.dat:cb_config_list=#host1:2,host2:*#:made_up=x=y,");
  ASSERT_EQ(hints.size(), 5U);
  EXPECT_EQ(hints[0].pattern, "*.h5");
  EXPECT_EQ(hints[0].name, "cb_nodes");
  EXPECT_EQ(hints[1].value, "1048576");
  EXPECT_EQ(hints[2].pattern, "/scratch/*");
  EXPECT_EQ(hints[2].value, "grouped");
  EXPECT_EQ(hints[3].value, "host1:2,host2:*");
  EXPECT_EQ(hints[4].value, "x=y");
  EXPECT_TRUE(file::parse_environment("").empty());
  EXPECT_TRUE(file::parse_environment(" , \n").empty());
}

TEST(Environment, AMalformedEntryIsShown) {
  const auto parse = [](const char* text) { return [text] { file::parse_environment(text); }; };
  expect_holds(message_of(parse("*:sync=true,*.h5")), {"TAILRACE_HINTS", "\"*.h5\"", "key=value"});
  expect_holds(message_of(parse("*.h5:cb_nodes")), {"\"*.h5:cb_nodes\"", "no '='"});
  expect_holds(message_of(parse("cb_nodes=2")), {"\"cb_nodes=2\"", "after the pattern"});
  expect_holds(message_of(parse(":cb_nodes=2")), {"\":cb_nodes=2\"", "no pattern"});
  expect_holds(message_of(parse("*:=2")), {"\"*:=2\"", "no name"});
  expect_holds(message_of(parse("*:cb_nodes=")), {"\"*:cb_nodes=\"", "no value"});
  expect_holds(message_of(parse("*.h5:cb_nodes=two")),
               {"cb_nodes", "\"two\"", "TAILRACE_HINTS *.h5", "number of ranks"});
}

TEST(Environment, PatternsMatchTheWholePathOrItsLastPart) {
  EXPECT_TRUE(file::matches("*", "/a/b/c.h5"));
  EXPECT_TRUE(file::matches("*.h5", "/a/b/c.h5"));
  EXPECT_TRUE(file::matches("c.h?", "/a/b/c.h5"));
  EXPECT_TRUE(file::matches("/a/*", "/a/b/c.h5"));
  EXPECT_TRUE(file::matches("*/b/*", "/a/b/c.h5"));
  EXPECT_TRUE(file::matches("c.h5", "c.h5"));
  EXPECT_TRUE(file::matches("[ab]_*.dat", "runs/b_7.dat"));
  EXPECT_FALSE(file::matches("b", "/a/b/c.h5"));
  EXPECT_FALSE(file::matches("/b/*", "/a/b/c.h5"));
  EXPECT_FALSE(file::matches("*.dat", "/a/b.dat/c.h5"));
}

}  // namespace
}  // namespace tailrace
