// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong is one clear error on every rank, by every strategy.
#include <signal.h>
#include <sys/resource.h>

#include "file/strategies/strategies_fixture.hpp"

namespace tailrace::strategies_test {
namespace {

// Runs `action` on all ranks, which must all throw; the message of this rank.
template <class Action>
std::string failure(Errc code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// Lets no file of this process grow beyond `bytes` while it lives; writes then fail with EFBIG.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

// A device that fails on some ranks: the others learn the errno, nobody waits for ever, and the
// pool is good for the next file.
TEST_F(Strategies, FailedWritesAreOneErrorOnEveryRank) {
  const auto pattern = dealt("", comm.num_ranks(), 0, 10000, 0, 61);
  const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
  const auto data = contents_of(runs);
  int number = 0;
  for (const auto& variant : variants()) {
    if (variant.name.find("hdf5") != std::string::npos) continue;  // waits for ever
    const bool by_mpi =
        variant.name.find("mpiio") != std::string::npos;  // which seldom knows the errno
    SCOPED_TRACE(variant.name);
    ASSERT_NO_THROW(write(folder / "before", variant.hints, pattern));  // makes the pool's memory
    std::string message;
    {
      const std::string path = folder / fmt::format("failing{}", number++);
      const bool limited = comm.rank() == 0 || comm.rank() == comm.num_ranks() - 1;
      const SizeLimit limit(limited ? 9000 : RLIM_INFINITY);
      message = failure(Errc::io, [&] {
        File file(pool, path, FileAccess::write, variant.hints);
        file.write(FilePart::runs(runs), data.data());
        file.close();
      });
    }
    const auto* reason = by_mpi ? "cannot write" : "File too large (errno 27)";
    EXPECT_NE(message.find(reason), std::string::npos) << message;
    EXPECT_NE(message.find("failing"), std::string::npos) << message;
    ASSERT_NO_THROW(write(folder / "after", variant.hints, pattern));
    ASSERT_NO_THROW(check_read(folder / "after", variant.hints, pattern, 1));
  }
}

TEST_F(Strategies, BadInputIsOneClearErrorOnEveryRank) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto open = [&](const Hints& hints) {
    File file(pool, folder / "bad", FileAccess::write, hints);
  };
  has(failure(Errc::invalid_input, [&] { open({{"strategy", "collectively"}}); }), "collective");
  has(failure(Errc::invalid_input,
              [&] {
                open({{"strategy", "library_collective"}, {"back_end", "posix"}});
              }),
      "mpiio");
  has(failure(Errc::invalid_input,
              [&] {
                open({{"strategy", "collective"}, {"cb_ranks", "0+99"}});
              }),
      "rank 99");
  has(failure(Errc::invalid_input, [&] { Hints{{"cb_ranks", "3+1"}}; }), "ascending");
  has(failure(Errc::io, [&] { File file(pool, folder / "none", FileAccess::read); }),
      "No such file");
  has(failure(Errc::io,
              [&] {
                File file(pool, folder / "no_folder" / "file", FileAccess::write,
                          {{"strategy", "collective"}});
              }),
      "no_folder");
  const std::string path = folder / "short";
  write(path, {}, dealt("", comm.num_ranks(), 0, 1000, 0, comm.num_ranks()));
  for (const char* strategy : {"spokesperson", "collective", "grouped", "shared_independent"}) {
    has(failure(Errc::corrupt,
                [&] {
                  Bytes data(2000);
                  const std::vector<FileRun> runs{{comm.num_ranks() * 1000 - 1000, 2000}};
                  File file(pool, path, FileAccess::read, {{"strategy", strategy}});
                  file.read(FilePart::runs(runs), data.data());
                }),
        "short");
  }
  if (comm.num_ranks() == 1) return;
  // Twice the whole window, an overlap as large as the hole beside it, and a small one.
  const std::vector<std::vector<FileRun>> second{{{0, 300}}, {{50, 100}}, {{90, 20}}};
  for (const char* strategy : {"collective", "grouped", "spokesperson"}) {
    for (const char* movement : {"node", "messages"}) {
      for (const auto& runs : second) {
        const std::vector<FileRun> first{{0, 100}, {200, 100}};
        const auto part = FilePart::runs(comm.rank() == 0   ? first
                                         : comm.rank() == 1 ? runs
                                                            : std::vector<FileRun>{});
        const Bytes data(300);
        has(failure(Errc::invalid_input,
                    [&] {
                      File file(pool, folder / "overlap", FileAccess::write,
                                {{"strategy", strategy}, {"cb_exchange", movement}});
                      file.write(part, data.data());
                    }),
            "overlap");
      }
    }
  }
}

}  // namespace
}  // namespace tailrace::strategies_test
