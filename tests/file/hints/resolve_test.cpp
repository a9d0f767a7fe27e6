// SPDX-License-Identifier: BSD-3-Clause
// Who has the last word on a setting, and that all ranks hear the same.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "file/settings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

constexpr const char* hints_name = "TAILRACE_HINTS";
constexpr const char* display_name = "TAILRACE_REPORT";

/// Sets the variables on rank 0 alone, as only that rank may look; on others a trap.
class Resolve : public ::testing::Test {
 protected:
  void SetUp() override {
    // An environment that the tests are run in must not decide their outcome.
    unsetenv(hints_name);
    unsetenv(display_name);
  }
  void TearDown() override { SetUp(); }
  void set_environment(const std::string& text) const {
    setenv(hints_name, comm_.rank() == 0 ? text.c_str() : "not:looked at", 1);
  }
  /// Every rank's error message, which must be the same on all.
  std::string message_of(const std::string& path, const Hints& hints) const {
    try {
      resolve(comm_, path, hints);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
  const Comm comm_{MPI_COMM_WORLD};
};

std::optional<HintValue> shown(const Settings& settings, const std::string& name) {
  for (const HintValue& line : settings.shown) {
    if (line.name == name) return line;
  }
  return {};
}

std::string source_of(const Settings& settings, const std::string& name) {
  const auto line = shown(settings, name);
  return line ? line->source : "not shown";
}

std::string mpi_value(const Settings& settings, const std::string& name) {
  const auto& hints = settings.mpi_hints;
  const auto found = std::find_if(hints.begin(), hints.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  const auto same = std::count_if(hints.begin(), hints.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  EXPECT_LE(same, 1) << name;
  return found == hints.end() ? "not passed on" : found->second;
}

TEST_F(Resolve, DefaultsFillEveryField) {
  const Settings settings = resolve(comm_, "/tmp/any.dat", {});
  EXPECT_EQ(settings.strategy, "auto");
  EXPECT_EQ(settings.back_end, "auto");
  EXPECT_EQ(settings.cb_nodes, 0);
  EXPECT_EQ(settings.cb_buffer_size, 0);
  EXPECT_EQ(settings.cb_align, Alignment::stripe);
  EXPECT_EQ(settings.cb_exchange, "auto");
  EXPECT_EQ(settings.group_size, 0);
  EXPECT_EQ(settings.striping_factor, 0);
  EXPECT_FALSE(settings.set_striping);
  EXPECT_EQ(settings.ds_write, Switch::off);
  EXPECT_EQ(settings.ds_read, Switch::automatic);
  EXPECT_DOUBLE_EQ(settings.ds_density, 0.1);
  EXPECT_EQ(settings.ind_rd_buffer_size, 4 << 20);
  EXPECT_EQ(settings.ind_wr_buffer_size, 512 << 10);
  EXPECT_EQ(settings.direct_io, Switch::automatic);
  EXPECT_EQ(settings.queue_depth, 8);
  EXPECT_TRUE(settings.sync);
  EXPECT_EQ(source_of(settings, "cb_nodes"), "default");
  EXPECT_EQ(mpi_value(settings, "romio_ds_write"), "disable");
  EXPECT_EQ(settings.mpi_hints.size(), 1U);
  EXPECT_TRUE(settings.unknown.empty());
  EXPECT_TRUE(settings.warnings.empty());
}

TEST_F(Resolve, TheEnvironmentOverridesTheProgram) {
  set_environment("*.h5:cb_nodes=5:sync=false,*.dat:cb_nodes=6");
  const Hints hints{{"cb_nodes", "2"}, {"cb_buffer_size", "1M"}};
  const Settings settings = resolve(comm_, "/tmp/a.h5", hints);
  EXPECT_EQ(settings.cb_nodes, 5);
  EXPECT_EQ(source_of(settings, "cb_nodes"), "TAILRACE_HINTS *.h5");
  EXPECT_FALSE(settings.sync);
  EXPECT_EQ(settings.cb_buffer_size, 1 << 20);
  EXPECT_EQ(source_of(settings, "cb_buffer_size"), "program");
  const Settings other = resolve(comm_, "/tmp/a.txt", hints);
  EXPECT_EQ(other.cb_nodes, 2);
  EXPECT_TRUE(other.sync);
}

TEST_F(Resolve, LaterPatternsOverrideEarlierOnes) {
  set_environment("*:cb_nodes=1:group_size=3,*.h5:cb_nodes=2,/tmp/*:cb_nodes=3");
  const Settings settings = resolve(comm_, "/tmp/a.h5", {});
  EXPECT_EQ(settings.cb_nodes, 3);
  EXPECT_EQ(source_of(settings, "cb_nodes"), "TAILRACE_HINTS /tmp/*");
  EXPECT_EQ(settings.group_size, 3);
}

TEST_F(Resolve, RomioSwitchesChooseAnOpenStrategy) {
  EXPECT_EQ(resolve(comm_, "a", {{"romio_cb_write", "enable"}}).strategy, "collective");
  EXPECT_EQ(resolve(comm_, "a", {{"romio_cb_read", "enable"}}).strategy, "collective");
  EXPECT_EQ(resolve(comm_, "a", {{"romio_cb_write", "automatic"}}).strategy, "auto");
  const Settings off = resolve(comm_, "a", {{"romio_cb_write", "disable"}});
  EXPECT_EQ(off.strategy, "shared_independent");
  EXPECT_EQ(source_of(off, "strategy"), "program (romio_cb_write=disable)");
  const Hints both{{"romio_cb_read", "enable"}, {"romio_cb_write", "disable"}};
  EXPECT_EQ(resolve(comm_, "a", both).strategy, "shared_independent");
  const Hints chosen{{"romio_cb_write", "enable"}, {"strategy", "grouped"}};
  EXPECT_EQ(resolve(comm_, "a", chosen).strategy, "grouped");
}

TEST_F(Resolve, RomiosNamesOfDirectAreSynonyms) {
  const Settings settings = resolve(comm_, "a", {{"direct_write", "true"}});
  EXPECT_EQ(settings.direct_io, Switch::on);
  EXPECT_EQ(source_of(settings, "direct_io"), "program (direct_write)");
  EXPECT_EQ(mpi_value(settings, "direct_write"), "true");
  set_environment("a:direct_io=false");
  const Settings off = resolve(comm_, "a", {{"direct_write", "true"}});
  EXPECT_EQ(off.direct_io, Switch::off);
  EXPECT_EQ(mpi_value(off, "direct_read"), "false");
}

TEST_F(Resolve, MpiIoGetsWhatItKnowsAndWhatNobodyKnows) {
  const Hints hints{
      {"cb_nodes", "2"},       {"cb_config_list", "*:2"}, {"romio_ds_write", "automatic"},
      {"striping_unit", "1M"}, {"striping_factor", "0"},  {"cb_align", "2"},
      {"strategy", "grouped"}, {"bluegene_hint", "7"},    {"cb_buffer_size", "16M"}};
  const Settings settings = resolve(comm_, "a", hints);
  EXPECT_EQ(mpi_value(settings, "cb_nodes"), "2");
  EXPECT_EQ(mpi_value(settings, "cb_config_list"), "*:2");
  EXPECT_EQ(mpi_value(settings, "romio_ds_write"), "automatic");
  EXPECT_EQ(mpi_value(settings, "striping_unit"), "1048576");
  EXPECT_EQ(mpi_value(settings, "cb_buffer_size"), "16777216");
  EXPECT_EQ(mpi_value(settings, "bluegene_hint"), "7");
  for (const char* ours : {"striping_factor", "cb_align", "strategy"}) {
    EXPECT_EQ(mpi_value(settings, ours), "not passed on");
  }
  EXPECT_TRUE(settings.set_striping);
  EXPECT_EQ(settings.striping_unit, 1 << 20);
  EXPECT_EQ(settings.cb_align, Alignment::owner);
}

TEST_F(Resolve, StripesThatCannotBeSetAreNotedAsSuch) {
  const Settings settings = resolve(comm_, "/dev/shm/a", {{"striping_factor", "4"}});
  EXPECT_EQ(source_of(settings, "striping_factor"),
            "program (no effect: tmpfs has no stripes to set)");
  EXPECT_TRUE(settings.warnings.empty());
}

TEST_F(Resolve, UnknownNamesAreReportedOnceWithTheNearestKnownOne) {
  const Hints hints{{"cb_node", "2"}, {"colour_of_the_sky", "blue"}, {"start_iodevice", "3"}};
  const Settings settings = resolve(comm_, "a", hints);
  ASSERT_EQ(settings.unknown.size(), 2U);
  EXPECT_NE(settings.unknown[0].find("cb_node (program; did you mean cb_nodes?)"),
            std::string::npos)
      << settings.unknown[0];
  EXPECT_NE(settings.unknown[1].find("colour_of_the_sky"), std::string::npos);
  ASSERT_EQ(settings.warnings.size(), 1U);
  EXPECT_NE(settings.warnings[0].find("start_iodevice=3"), std::string::npos);
  EXPECT_EQ(mpi_value(settings, "start_iodevice"), "3");
  EXPECT_TRUE(shown(settings, "colour_of_the_sky").has_value());

  testing::internal::CaptureStderr();
  if (comm_.rank() == 0) show("a", settings);
  const std::string printed = testing::internal::GetCapturedStderr();
  if (comm_.rank() != 0) {
    EXPECT_EQ(printed, "");
    return;
  }
  EXPECT_NE(printed.find("did you mean cb_nodes?"), std::string::npos) << printed;
  EXPECT_NE(printed.find("start_iodevice"), std::string::npos) << printed;
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 3) << printed;
}

TEST_F(Resolve, ShownOnRequestByRankZero) {
  Settings settings = resolve(comm_, "/tmp/a.h5", {{"cb_nodes", "2"}});
  settings.choose("strategy", "collective", "pieces of 10000 bytes");
  settings.choose("writers", "rank 0", "one node");
  EXPECT_EQ(shown(settings, "strategy")->value, "collective");
  testing::internal::CaptureStderr();
  if (comm_.rank() == 0) show("/tmp/a.h5", settings);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  setenv(display_name, "1", 1);
  testing::internal::CaptureStderr();
  if (comm_.rank() == 0) show("/tmp/a.h5", settings);
  const std::string printed = testing::internal::GetCapturedStderr();
  if (comm_.rank() != 0) {
    EXPECT_EQ(printed, "");
    return;
  }
  const auto lines = static_cast<std::size_t>(std::count(printed.begin(), printed.end(), '\n'));
  EXPECT_EQ(lines, settings.shown.size() + 2) << printed;
  for (const char* part : {"/tmp/a.h5", "chosen: pieces of 10000 bytes", "writers", "program"}) {
    EXPECT_NE(printed.find(part), std::string::npos) << printed;
  }
}

// Of 8 ranks on nodes of 4, each node gets as many writers as another, or one more.
TEST_F(Resolve, WritersAreSpreadEvenly) {
  const NodeMap nodes({0, 0, 0, 0, 1, 1, 1, 1});
  const auto writers_of = [&](const char* cb_nodes) {
    Settings settings = resolve(comm_, "/tmp/a.h5", {{"cb_nodes", cb_nodes}});
    return choose_writers(settings, nodes, 1, "");
  };
  EXPECT_EQ(writers_of("2"), (std::vector<int>{0, 4}));
  EXPECT_EQ(writers_of("3"), (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(writers_of("5"), (std::vector<int>{0, 1, 3, 4, 6}));
  EXPECT_EQ(writers_of("6"), (std::vector<int>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(writers_of("9").size(), 8U);
}

TEST_F(Resolve, AWrongEnvironmentIsTheSameErrorOnEveryRank) {
  set_environment("*.h5:cb_nodes=two");
  for (const char* path : {"/tmp/a.h5", "/tmp/matches_no_pattern.dat"}) {
    const std::string message = message_of(path, {});
    for (const char* part : {"cb_nodes", "\"two\"", "TAILRACE_HINTS *.h5"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  set_environment("*.h5;cb_nodes=2");
  EXPECT_NE(message_of("/tmp/a.h5", {}).find("\"*.h5;cb_nodes=2\""), std::string::npos);
}

TEST_F(Resolve, HintsThatDifferBetweenRanksAreRefused) {
  const Hints hints{{"cb_nodes", comm_.rank() == 1 ? "2" : "1"}};
  if (comm_.num_ranks() == 1) {
    EXPECT_NO_THROW(resolve(comm_, "a", hints));
    return;
  }
  const std::string message = message_of("a", hints);
  EXPECT_NE(message.find("rank 1 differ"), std::string::npos) << message;
}

}  // namespace
}  // namespace tailrace::file
