// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "common/case_text.hpp"
#include "common/output_case.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "tailrace/error.hpp"
#include "tailrace/session.hpp"

namespace tailrace::turbulence {
namespace {

const std::string small = "[grid]\nn = 8\n[flow]\nviscosity = 0.1\n[time]\nstep = 0.01\n";

/// The message that parsing `text` with `settings` gives, or "" if it is accepted.
std::string refusal(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    app::parse_case<Case>(text, "x.toml", settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    return error.what();
  }
  return "";
}

TEST(Case, ReadsValuesAndFillsDefaults) {
  const Case c = app::parse_case<Case>(
      "[grid]\nn = 8\nny = 12\nlz = 3.0\n[flow]\nreynolds = 100\n[time]\n"
      "courant = 0.5\n",
      "folder/some.toml", {});
  EXPECT_EQ(c.about.name, "some");
  EXPECT_EQ(c.grid.nx, 8);
  EXPECT_EQ(c.grid.ny, 12);
  EXPECT_DOUBLE_EQ(c.grid.lx, 2 * M_PI);
  EXPECT_DOUBLE_EQ(c.grid.lz, 3.0);
  EXPECT_DOUBLE_EQ(c.flow.viscosity, 0.01);
  EXPECT_EQ(c.time.step, 0);
  EXPECT_DOUBLE_EQ(c.time.courant, 0.5);
  const auto options = solver_options(c, 3);
  EXPECT_EQ(options.extents, (std::array<std::ptrdiff_t, 3>{8, 12, 8}));
}

TEST(Case, NamesLineAndNearestKey) {
  EXPECT_EQ(refusal("[grid]\nn = 8\n\n[flow]\nviscosty = 0.1\n"),
            "unknown key `flow.viscosty` in x.toml line 5: did you mean `flow.viscosity`?");
  EXPECT_EQ(refusal("[gird]\nn = 8\n"),
            "unknown section `gird` in x.toml line 1: did you mean `grid`?");
  EXPECT_EQ(refusal(small, {"time.curant=1"}),
            "unknown key `time.curant` in --set time.curant=1: did you mean `time.courant`?");
}

TEST(Case, NamesWhatIsWrongWithAValue) {
  EXPECT_EQ(refusal("[grid]\nn = \"many\"\n"),
            "`grid.n` in x.toml line 2 is a string: it must be a whole number");
  EXPECT_EQ(refusal("[grid]\nn = 8.5\n"),
            "`grid.n` in x.toml line 2 is a floating-point: it must be a whole number");
  EXPECT_EQ(refusal("[grid]\nn = [8]\n"),
            "`grid.n` in x.toml line 2 is an array: it must be a whole number");
  EXPECT_EQ(refusal("[flow]\nviscosity = -1\n"),
            "`flow.viscosity` in x.toml line 2 is -1: it must be at least 0");
  EXPECT_EQ(refusal("[flow]\nreynolds = 0\n"),
            "`flow.reynolds` in x.toml line 2 is 0: it must be greater than 0");
  EXPECT_EQ(refusal("[flow]\nviscosity = nan\n"),
            "`flow.viscosity` in x.toml line 2 is nan: it must be at least 0");
  EXPECT_EQ(refusal("[time]\nscheme = \"rk3\"\n"),
            "`time.scheme` in x.toml line 2 is \"rk3\": it must be one of rk4, rk2; did you mean "
            "\"rk4\"?");
  EXPECT_EQ(refusal("[output]\nfields = [\"u\", \"z\"]\n").substr(0, 36),
            "`output.fields` in x.toml line 2 is ");
  EXPECT_NE(refusal("[grid]\nn = \n"), "");
  EXPECT_NE(refusal("n = 4\n").find("outside of a section"), std::string::npos);
}

TEST(Case, WantsExactlyOneOfAPair) {
  EXPECT_NE(refusal("[grid]\nn = 8\n[flow]\nviscosity = 1\nreynolds = 1\n[time]\nstep = 1\n")
                .find("not both"),
            std::string::npos);
  EXPECT_NE(refusal("[grid]\nn = 8\n[time]\nstep = 1\n").find("not neither"), std::string::npos);
  // A setting of the command line takes the place of the other key.
  const Case c =
      app::parse_case<Case>(small, "x.toml", std::vector<std::string>{"time.courant=0.5"});
  EXPECT_EQ(c.time.step, 0);
  EXPECT_DOUBLE_EQ(c.time.courant, 0.5);
}

TEST(Case, TakesSettingsInTomlAndBareWords) {
  const std::vector<std::string> settings{"time.scheme=rk2",
                                          "output.fields=[\"u\"]",
                                          "grid.ranks=[1, 2]",
                                          "time.end=3",
                                          "restart.file=runs/a/checkpoint_000010.h5",
                                          "checkpoint.at_end=true",
                                          "case.name=12"};
  const Case c = app::parse_case<Case>(small, "x.toml", settings);
  EXPECT_EQ(c.time.scheme, "rk2");
  EXPECT_EQ(c.output.fields, std::vector<std::string>{"u"});
  EXPECT_EQ(c.grid.ranks, (std::vector<double>{1, 2}));
  EXPECT_DOUBLE_EQ(c.time.end, 3);
  EXPECT_EQ(c.restart.file, "runs/a/checkpoint_000010.h5");
  EXPECT_TRUE(c.checkpoint.at_end);
  EXPECT_EQ(c.about.name, "12");
  EXPECT_NE(refusal(small, {"grid.n"}).find("section.key=value"), std::string::npos);
  EXPECT_NE(refusal(small, {"grid.n=five"}).find("whole number"), std::string::npos);
}

TEST(Case, RefusesGridsThatDoNotFit) {
  EXPECT_NE(refusal("[flow]\nviscosity = 1\n[time]\nstep = 1\n").find("0 x 0 x 0"),
            std::string::npos);
  const Case c =
      app::parse_case<Case>(small, "x.toml", std::vector<std::string>{"grid.ranks=[2, 2]"});
  EXPECT_NO_THROW(solver_options(c, 4));
  EXPECT_THROW(solver_options(c, 3), Error);
  EXPECT_NE(refusal(small, {"grid.ranks=[2, 0]"}).find("grid.ranks"), std::string::npos);
}

TEST(Case, ScalarsTakeOneGradientOrOneEach) {
  const auto options = [](const std::vector<std::string>& settings) {
    return solver_options(app::parse_case<Case>(small, "x.toml", settings), 1);
  };
  const auto one = options({"scalars.schmidt=[1, 2]", "scalars.mean_gradient=[0, 0, 3]"});
  ASSERT_EQ(one.scalars.size(), 2u);
  EXPECT_EQ(one.scalars[1].mean_gradient, (std::array<double, 3>{0, 0, 3}));
  const auto each = options({"scalars.schmidt=[1, 2]", "scalars.mean_gradient=[1,2,3,4,5,6]"});
  EXPECT_EQ(each.scalars[1].mean_gradient, (std::array<double, 3>{4, 5, 6}));
  EXPECT_DOUBLE_EQ(each.scalars[1].schmidt, 2);
  EXPECT_NE(refusal(small, {"scalars.schmidt=[1]", "scalars.mean_gradient=[1]"}), "");
}

TEST(Case, EffectiveCaseGivesTheSameCaseBack) {
  const std::vector<std::string> settings{"flow.energy=0.1", "scalars.schmidt=[0.7]",
                                          "case.name=a \"b\"", "time.end=0.30000000000000004"};
  const Case first = app::parse_case<Case>(small, "x.toml", settings);
  const std::string text = format_case(first);
  const Case second = app::parse_case<Case>(text, "x.toml", {});
  EXPECT_EQ(format_case(second), text);
  EXPECT_EQ(second.time.end, 0.30000000000000004);
  EXPECT_EQ(second.about.name, "a \"b\"");
  Case third;
  for (const auto& key : keys_of(third)) {
    EXPECT_TRUE(!key.instead_of.empty() || second.given.contains(key.name)) << key.name;
  }
}

TEST(Case, TableOfKeysSaysAllAboutAKey) {
  const std::string text = app::describe_keys<Case>();
  for (const char* line :
       {"| key | default | allowed | unit | meaning |\n",
        "| `grid.nx` | `0` | whole, at least 0, at most 1048576 | points | points along x; 0 = n "
        "|\n",
        "| `time.scheme` | `\"rk4\"` | rk4, rk2 |  | Runge-Kutta scheme; the viscous part is exact "
        "|\n",
        "| `time.courant` |  | greater than 0, at most 10 |  | Courant number that sets each step; "
        "give this or `time.step` |\n",
        "(constant_energy) or \\|k\\| (stochastic)", "| `output.products.every` | `1` |"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  // Names are unique, and the other key of a pair exists.
  Case values;
  Product product;
  Keys keys = keys_of(values);
  for (const auto& key : app::product_keys(product)) keys.push_back(key);
  std::set<std::string> names{""};
  for (const auto& key : keys) EXPECT_TRUE(names.insert(key.name).second) << key.name;
  for (const auto& key : keys) {
    EXPECT_TRUE(names.contains(key.instead_of)) << key.name;
    EXPECT_FALSE(key.doc.empty()) << key.name;
  }
}

const std::string served = small + R"([output]
servers = "2 per node"
memory = "64M"
when_full = "thin"
stall_budget = 0.02
on_failure = "continue"
[[output.products]]
name = "spectrum"
variables = ["u", "v", "w"]
stages = ["spectrum energy=yes"]
path = "spectra/{name}.csv"
[[output.products]]
name = "coarse"
stages = ["coarsen factor=2", "convert type=float32"]
every = 2
)";

TEST(Case, WhatFollowsAFailedFile) {
  const auto of = [](const std::string& word) {
    const std::vector<std::string> settings{"output.on_failure=" + word};
    const Case c = app::parse_case<Case>(served, "x.toml", settings);
    return app::field_options(c.output, c.source, "RUN").on_failure;
  };
  EXPECT_EQ(of("stop"), OnFailure::stop);
  EXPECT_EQ(of("proceed"), OnFailure::proceed);  // as in all languages
  EXPECT_EQ(of("continue"), OnFailure::proceed);
  EXPECT_THROW(of("go_on"), Error);
  for (const auto& [word, meaning] : on_failure_words) EXPECT_EQ(of(word), meaning);
}

TEST(Case, ServersAndTheirProducts) {
  const Case c = app::parse_case<Case>(served, "x.toml", {});
  EXPECT_EQ(c.output.servers, "2 per node");
  ASSERT_EQ(c.output.products.size(), 2u);
  EXPECT_EQ(c.output.products[0].variables, (std::vector<std::string>{"u", "v", "w"}));
  EXPECT_EQ(c.output.products[1].path, Product{}.path);
  EXPECT_EQ(c.output.products[1].every, 2);
  const Case again = app::parse_case<Case>(format_case(c), "x.toml", {});
  EXPECT_EQ(format_case(again), format_case(c));
  EXPECT_EQ(again.output.products[1].stages, c.output.products[1].stages);
  // As the stream and the session get them.
  const auto stream = app::field_options(c.output, c.source, "RUN");
  EXPECT_EQ(stream.when_full, WhenFull::thin);
  EXPECT_DOUBLE_EQ(stream.stall_budget, 0.02);
  EXPECT_EQ(stream.on_failure, OnFailure::proceed);
  EXPECT_EQ(stream.products[0].path, "RUN/spectra/{name}.csv");
  EXPECT_EQ(stream.products[1].path, "{path}_{name}.h5");
  EXPECT_EQ(app::checkpoint_options(c.output, c.source).when_full, WhenFull::wait);
  EXPECT_EQ(app::checkpoint_options(c.output, c.source).on_failure, OnFailure::stop);
  EXPECT_EQ(app::session_options(c.output, "RUN", nullptr).memory_bytes, 64 << 20);
  // A number of servers is a text, also as a setting.
  const Case one =
      app::parse_case<Case>(small, "x.toml", std::vector<std::string>{"output.servers=1"});
  EXPECT_EQ(one.output.servers, "1");
}

TEST(Case, RefusesWhatServersCannotDo) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal(small + "[output]\ntransport = \"pull\"\n"),
      "`output.transport` has no effect with output.servers = \"hidden\"; give another value");
  has(refusal(small, {"output.mode=none"}), "output.every = 0 (was none)");
  has(refusal(small + "[output]\nmode = \"hidden\"\n"), "use output.servers = \"hidden\"");
  has(refusal(served, {"output.memory=lots"}), "output.memory: \"lots\"");
  has(refusal(served, {"output.when_full=discard"}), "wait, drop, thin, lower, spill");
  has(refusal(served, {"output.fields=[\"u\"]"}),
      "product \"spectrum\" needs \"v\", which is not written; the fields are u");
  has(refusal(served + "[[output.products]]\nname = \"coarse\"\n"), "two are named \"coarse\"");
  has(refusal(served + "[[output.products]]\npath = \"x.h5\"\n"), "each needs a name");
  has(refusal(served + "[[output.products]]\nname = \"a\"\nstage = [\"mean\"]\n"),
      "unknown key `output.products.stage` in x.toml line 24: did you mean "
      "`output.products.stages`?");
  has(refusal(served + "[[output.products]]\nname = \"a\"\nevery = 0\n"),
      "`output.products.every` in x.toml line 24 is 0: it must be at least 1");
  has(refusal(served + "[[output.products]]\nname = \"a\"\nstages = \"mean\"\n"),
      "`output.products.stages` in x.toml line 24 is a string: it must be a list of texts");
  has(refusal(small, {"output.servers=1", "output.products=[{naem = \"a\"}]"}),
      "unknown key `output.products.naem` in --set output.products=[{naem = \"a\"}]: did you mean");
  has(refusal(small + "[output]\nservers = \"thread\"\nproducts = [\"mean\"]\n"),
      "must be tables, each under [[output.products]]");
}

TEST(Case, EveryShippedCaseIsRight) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CASES_DIR)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const Case c = app::read_case<Case>(MPI_COMM_WORLD, entry.path().string(), {});
    EXPECT_EQ(c.about.name, entry.path().stem().string());
    EXPECT_NO_THROW(solver_options(c, 3));
  }
  EXPECT_GE(count, 6);
}

TEST(Case, MissingFileIsToldOnAllRanks) {
  try {
    app::read_case<Case>(MPI_COMM_WORLD, "/nowhere/x.toml", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_EQ(error.sys_errno(), ENOENT);
    EXPECT_STREQ(error.what(), "cannot read case file /nowhere/x.toml: No such file or directory");
  }
}

}  // namespace
}  // namespace tailrace::turbulence
