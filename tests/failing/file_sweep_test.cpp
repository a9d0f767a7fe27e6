// SPDX-License-Identifier: BSD-3-Clause
// One call of a File fails, is interrupted or does a part only: any call, by every strategy through
// every back end, while a file is written, changed or read. What must hold: the same error on every
// rank, or the right bytes on all; the next file with the same pool is right. Nothing hangs.
#include <csignal>

#include "environment.hpp"
#include "failing/failure_plan.hpp"
#include "file/strategies/strategies_fixture.hpp"

namespace tailrace::failing_test {
namespace {

using strategies_test::Bytes;
using strategies_test::Variant;

/// Ends a program that hangs, and says in which case it was.
class HangWatch {
 public:
  explicit HangWatch(const std::string& text) {
    std::snprintf(text_, sizeof text_, "hangs: %s\n", text.c_str());
    std::signal(SIGALRM, [](int) {
      if (write(STDERR_FILENO, text_, std::strlen(text_)) >= 0) _exit(3);
    });
    alarm(hang_seconds(60));
  }
  ~HangWatch() { alarm(0); }
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

 private:
  static inline char text_[1000];
};

bool by_mpi(const Variant& variant) {
  return variant.name.find("mpiio") != std::string::npos ||
         variant.name.find("hdf5") != std::string::npos;
}

/// What of a file is done while a call fails.
struct Deed {
  const char* name;
  FileAccess access;
};
constexpr Deed deeds[] = {
    {"write", FileAccess::write}, {"change", FileAccess::update}, {"read", FileAccess::read}};

class FileSweep : public strategies_test::Strategies {
 protected:
  /// Ranks in turn have two stretches of the file each, with holes between; the first one is
  /// written once more with other bytes by "change".
  std::vector<FileRun> runs(int half) const {
    std::vector<FileRun> found;
    for (int i = 0; i < 4; ++i) {
      found.push_back({100 + 60000 * half + 4600 * (i * comm.num_ranks() + comm.rank()), 4096});
    }
    return found;
  }
  Bytes bytes(int half, int salt) const {
    auto data = strategies_test::contents_of(runs(half));
    for (auto& byte : data) byte ^= static_cast<std::byte>(salt);
    return data;
  }

  void act(const Deed& deed, const std::string& path, const Hints& hints) {
    File file(pool, path, deed.access, hints);
    if (deed.access == FileAccess::read) {
      read_halves(file, {0, 0});
    } else {
      for (const int half : {0, 1}) write_half(file, half, deed.access == FileAccess::update);
      if (deed.access == FileAccess::update) read_halves(file, {1, 1});
    }
    file.close();
  }
  void write_half(File& file, int half, int salt) {
    const auto data = bytes(half, salt);
    file.write(FilePart::runs(runs(half)), data.data());
  }
  void read_halves(File& file, std::array<int, 2> salts) {
    for (const int half : {0, 1}) {
      const auto expected = bytes(half, salts[static_cast<std::size_t>(half)]);
      Bytes data(expected.size());
      file.read(FilePart::runs(runs(half)), data.data());
      wrong_reads_ += data != expected ? 1 : 0;
    }
  }

  /// A file as `deed` finds it. Nothing fails meanwhile.
  void prepare(const Deed& deed, const std::string& path, const Hints& hints) {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) fs::remove_all(path), fs::remove_all(path + ".pieces");
    MPI_Barrier(comm.raw());
    if (deed.access != FileAccess::write) act(deeds[0], path, hints);
  }
  bool is_right(const Deed& deed, const std::string& path, const Hints& hints) {
    const int salt = deed.access == FileAccess::update ? 1 : 0;
    wrong_reads_ = 0;
    File file(pool, path, FileAccess::read, hints);
    read_halves(file, {salt, salt});
    file.close();
    return wrong_reads_ == 0;
  }

  void sweep(const FailurePlan& plan, const Variant& variant) {
    long fired = 0, errors = 0;
    const auto path = (plan.out() / "file").string();
    for (const auto& deed : deeds) {
      // Parallel HDF5 cannot end a file of whose own records one is not written: ranks wait for
      // each other, or it crashes at MPI_Finalize.
      const bool writes = deed.access != FileAccess::read;
      if (writes && variant.name.find("hdf5") != std::string::npos) continue;
      for (const auto& failure : failures) {
        prepare(deed, path, variant.hints);
        const long total = plan.count(comm, failure, [&] { act(deed, path, variant.hints); });
        EXPECT_GT(total, 0) << variant.name;
        for (const long at : calls_of(failure, total, 1)) {
          const auto text = one(plan, variant, deed, failure, at);
          if (!text) continue;
          ++fired;
          errors += text->empty() ? 0 : 1;
        }
      }
    }
    EXPECT_GT(fired, 0) << variant.name;
    if (comm.rank() == 0)
      fmt::print("{}: {} calls failed, {} errors\n", variant.name, fired, errors);
  }

  /// The text of the error, or of none; nothing if no call has failed.
  std::optional<std::string> one(const FailurePlan& plan, const Variant& variant, const Deed& deed,
                                 const Failure& failure, long at) {
    const auto path = (plan.out() / "file").string();
    const HangWatch watch(
        fmt::format("{} {}: {} call {}", variant.name, deed.name, describe(failure), at));
    prepare(deed, path, variant.hints);
    wrong_reads_ = 0;
    plan.arm(comm, failure, at);
    std::string text;
    try {
      act(deed, path, variant.hints);
    } catch (const Error& error) {
      text = error.what();
    }
    if (!plan.disarm(comm)) return std::nullopt;
    const std::string name = plan.get().name;
    const auto what = fmt::format("{} {}: {} call {} ({} of {}) -> \"{}\"", variant.name, deed.name,
                                  describe(failure), at, name, plan.get().path, text);
    check_error(variant, failure, path, name, text, what);
    if (text.empty()) {
      EXPECT_EQ(wrong_reads_, 0) << what;
      EXPECT_TRUE(is_right(deed, path, variant.hints)) << what;
    }
    EXPECT_FALSE(fs::exists(path + ".partial")) << what;
    // The next file is as if nothing had been.
    prepare(deed, path, variant.hints);
    wrong_reads_ = 0;
    try {
      act(deed, path, variant.hints);
      EXPECT_TRUE(wrong_reads_ == 0 && is_right(deed, path, variant.hints))
          << "afterwards: " << what;
    } catch (const Error& error) {
      ADD_FAILURE() << "afterwards " << error.what() << ": " << what;
    }
    return text;
  }

  void check_error(const Variant& variant, const Failure& failure, const std::string& path,
                   const std::string& name, const std::string& text, const std::string& what) {
    std::string first = text;
    first.resize(1000);
    check_mpi(MPI_Bcast(first.data(), 1000, MPI_CHAR, 0, comm.raw()));
    EXPECT_EQ(text, first.c_str()) << "not the same on all ranks: " << what;
    if (!text.empty()) {
      EXPECT_NE(text.find(path), std::string::npos) << what;
    }
    if (by_mpi(variant)) return;  // which seldom knows why, and may give up when it is interrupted
    if (failure.is_harmless()) {
      EXPECT_EQ(text, "") << what;
    } else if (name.find("open") == std::string::npos && name.find("close") == std::string::npos &&
               !name.starts_with("stat") && name != "io_uring_enter") {
      // Else there is another method, it is tried again, or it asked what hints are best.
      EXPECT_NE(text, "") << "silent: " << what;
    }
    if (!text.empty()) {
      EXPECT_NE(text.find(fmt::format("errno {}", failure.error)), std::string::npos) << what;
    }
  }

  int wrong_reads_ = 0;
};

/// Every strategy on every back end; two-phase I/O with small buffers; locks; direct calls.
std::vector<Variant> variants_to_sweep() {
  std::vector<Variant> all;
  const auto add = [&](Hints hints) { strategies_test::add_variant(all, std::move(hints)); };
  for (const auto& back_end : file::back_end_table()) {
    if (!back_end.available()) continue;
    const std::string name(back_end.hint());
    for (const auto& strategy : file::strategy_table()) {
      if (!strategy.applies(back_end)) continue;
      add({{"back_end", name}, {"strategy", std::string(strategy.name)}});
    }
    if (name != "posix" && name != "uring") continue;
    for (const char* exchange : {"node", "messages"}) {
      add({{"back_end", name},
           {"strategy", "collective"},
           {"cb_exchange", exchange},
           {"cb_nodes", "2"},
           {"cb_buffer_size", "16384"},
           {"striping_unit", "8192"}});
    }
    add({{"back_end", name},
         {"strategy", "shared_independent"},
         {"romio_ds_write", "enable"},
         {"romio_ds_read", "enable"}});
    add({{"back_end", name},
         {"strategy", "collective"},
         {"direct_io", "true"},
         {"cb_buffer_size", "65536"}});
  }
  return all;
}

TEST_F(FileSweep, EveryStrategyThroughEveryBackEnd) {
  const FailurePlan plan(comm, folder);
  for (const auto& variant : variants_to_sweep()) {
    SCOPED_TRACE(variant.name);
    sweep(plan, variant);
  }
}

}  // namespace
}  // namespace tailrace::failing_test
