// SPDX-License-Identifier: BSD-3-Clause
// One system call fails, is interrupted or does a part only: any call, in every variant of writing.
// What must hold: an error on every compute rank that names path, step and errno; a right file or
// none under the final name; nothing unfinished left; the next write works. Nothing hangs.
#include "failing/sweep.hpp"

#include <sys/time.h>
#include <csignal>
#include <tuple>

#include "server/kinds_here.hpp"
#include "tailrace/session.hpp"

namespace tailrace::failing_test {
namespace {

constexpr std::size_t most_kinds = 6;  ///< of servers, on three ranks and more

class SweepTest : public FolderTest {
 protected:
  void say(const Sweep& sweep, const std::string& variant) const {
    if (comm.rank() == 0) {
      fmt::print("{}: {} calls failed, {} were errors\n", variant, sweep.num_fired(),
                 sweep.num_failed());
    }
    EXPECT_GT(sweep.num_fired(), 0) << variant;
  }

  void sweep_output(const FailurePlan& plan, const std::string& strategy,
                    const std::string& servers, const Hints& hints = {}) {
    OutputOptions options;
    options.hints = hints;
    options.servers = servers;
    options.strategy = strategy;
    options.stripe_bytes = 4096;
    Output output(comm, options);
    const auto variant = strategy + (servers == "hidden" ? ", hidden" : ", synchronous");
    Sweep sweep(comm, plan, variant, ".h5",
                [&](const std::string& path, const FileContents& contents) {
                  output.write(path, contents);
                  output.finish();
                });
    sweep.run();
    say(sweep, variant);
  }

  void sweep_session(const FailurePlan& plan, const std::string& servers,
                     const std::string& suffix) {
    OutputOptions options;
    options.servers = servers;
    options.memory_bytes = 16 << 20;
    options.watchdog_s = 60;
    Session session(comm.raw(), options);
    if (session.computes()) {
      OutputOptions fields;
      if (suffix.starts_with("_deflate")) fields.compress = "deflate:1";
      Output stream = session.open("fields", fields);
      const auto variant = "servers = " + servers + ", " + suffix;
      Sweep sweep(session.compute(), plan, variant, suffix,
                  [&](const std::string& path, const FileContents& contents) {
                    stream.write(path, contents);
                    stream.finish();
                  });
      sweep.run();
      say(sweep, variant);
      session.close();
    } else {
      session.serve();
    }
    MPI_Barrier(comm.raw());
  }

  std::vector<std::string> kinds() const {
    auto kinds = testing::kinds_here(comm);
    if (comm.num_ranks() > 1) kinds.emplace_back("1");
    if (comm.num_ranks() > 2) kinds.emplace_back("2");
    EXPECT_LE(kinds.size(), most_kinds);
    return kinds;
  }
};

constexpr const char* strategies[] = {"spokesperson", "collective", "shared_independent", "grouped",
                                      "file_per_rank"};

class StrategySweep : public SweepTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(StrategySweep, EveryCallOfOutput) {
  const FailurePlan plan(comm, folder);
  for (const std::string servers : {"none", "hidden"}) {
    sweep_output(plan, GetParam(), servers);
  }
}
INSTANTIATE_TEST_SUITE_P(All, StrategySweep, ::testing::ValuesIn(strategies));

TEST_F(SweepTest, EveryCallOfUring) {
  const FailurePlan plan(comm, folder);
  sweep_output(plan, "collective", "hidden", {{"back_end", "uring"}});
}

/// Kinds of servers by their place in `kinds`, and formats.
class ServerSweep : public SweepTest,
                    public ::testing::WithParamInterface<std::tuple<std::size_t, const char*>> {};

TEST_P(ServerSweep, EveryCallOfASession) {
  const auto [kind, suffix] = GetParam();
  if (kind >= kinds().size()) return;  // so many ranks make fewer kinds
  const FailurePlan plan(comm, folder);
  sweep_session(plan, kinds()[kind], suffix);
}
INSTANTIATE_TEST_SUITE_P(All, ServerSweep,
                         ::testing::Combine(::testing::Range<std::size_t>(0, most_kinds),
                                            ::testing::Values(".h5", ".nc", ".zarr",
                                                              "_deflate.h5")));

std::atomic<long> ticks{0};

/// Interrupts this process a thousand times a second, wherever it is; calls are not restarted.
class Ticking {
 public:
  Ticking() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++ticks; };
    sigaction(SIGALRM, &action, &before_);
    set(1000);
  }
  ~Ticking() {
    set(0);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void set(suseconds_t us) {
    const itimerval timer{{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_ {};
};

TEST_F(SweepTest, AProgramWithATimerWritesEverything) {
  const long before = ticks;
  const Ticking ticking;
  OutputCase large(comm, {16, 64, 66}, 1);
  for (const auto* strategy : strategies) {
    for (const std::string servers : {"none", "hidden"}) {
      SCOPED_TRACE(strategy);
      OutputOptions options;
      options.servers = servers;
      options.strategy = strategy;
      Output output(comm, options);
      output.write(path("a.h5"), large.contents);
      output.finish();
      EXPECT_EQ(OutputCase::wrong_items(comm, path("a.h5"), 0), 0);
      MPI_Barrier(comm.raw());
    }
  }
  for (const auto& kind : kinds()) {
    SCOPED_TRACE(kind);
    OutputOptions options;
    options.servers = kind;
    options.memory_bytes = 256 << 20;  // takes longer than a tick to be had
    Session session(comm.raw(), options);
    if (session.computes()) {
      OutputCase test(session.compute(), {16, 64, 66}, 1);
      Output stream = session.open("fields");
      for (int step = 0; step < 3; ++step) stream.write(path("s.h5"), test.contents);
      stream.finish();
      EXPECT_EQ(OutputCase::wrong_items(session.compute(), path("s.h5"), 0), 0);
      session.close();
    } else {
      session.serve();
    }
    MPI_Barrier(comm.raw());
  }
  EXPECT_GT(ticks, before + 100);
}

}  // namespace
}  // namespace tailrace::failing_test
