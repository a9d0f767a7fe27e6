// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "environment.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

/// Random numbers of one problem: the same from the same seed, with every library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15U + 1) {}
  /// 0 to `count` - 1.
  std::ptrdiff_t below(std::ptrdiff_t count) {
    return static_cast<std::ptrdiff_t>(random_() % static_cast<std::uint64_t>(count));
  }
  std::ptrdiff_t between(std::ptrdiff_t least, std::ptrdiff_t greatest) {
    return least + below(greatest - least + 1);
  }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  const auto& one_of(const List& list) {
    return list[static_cast<std::size_t>(below(std::ssize(list)))];
  }
  template <class List>
  void shuffle(List& list) {
    for (auto n = std::ssize(list); n > 1; --n) {
      std::swap(list[static_cast<std::size_t>(n - 1)], list[static_cast<std::size_t>(below(n))]);
    }
  }
  std::uint64_t bits() { return random_(); }

 private:
  std::mt19937_64 random_;
};

/// One rank of a problem, or none, is late now and then, by up to `most_us`.
class LateRank {
 public:
  LateRank(const Comm& comm, std::uint64_t seed)
      : dice_(seed), is_late_(dice_.below(comm.num_ranks() + 1) == comm.rank()) {}
  void nap() {
    if (!is_late_ || !dice_.chance(40)) return;
    std::this_thread::sleep_for(std::chrono::microseconds(dice_.below(most_us)));
  }

 private:
  static constexpr std::ptrdiff_t most_us = 3000;
  Dice dice_;
  bool is_late_;
};

/// Runs random problems, and says of each that failed the one line that repeats it; also of one
/// that crashes or hangs. In the default set `count` problems from seed 1; with `TAILRACE_SOAK_S`
/// as many as fit into so many seconds, from `TAILRACE_SEED` on or a random seed; with
/// `TAILRACE_SEED` alone that problem only. `TAILRACE_HANG_S`: where a problem may take longer than
/// two minutes, as beside many others. Collective.
class RandomProblems {
 public:
  /// What went wrong on this rank, or "". An exception is a failure, too.
  using Problem = std::function<std::string(std::uint64_t seed)>;
  RandomProblems(const Comm& comm, int count)
      : comm_(comm), launcher_(describe_launcher(comm)), count_(count) {
    const char* seed = std::getenv("TAILRACE_SEED");
    const char* limit = std::getenv("TAILRACE_SOAK_S");
    if (seed != nullptr) {
      first_seed_ = std::strtoull(seed, nullptr, 10);
      count_ = 1;
    }
    if (limit == nullptr) return;
    soak_s_ = std::atof(limit);
    if (seed == nullptr) first_seed_ = std::random_device()() % 1000000000 + 1;
    check_mpi(MPI_Bcast(&first_seed_, 1, MPI_UINT64_T, 0, comm_.raw()));
  }

  /// Returns how many ran.
  std::int64_t run(const Problem& problem) {
    const double start_s = now_s();
    constexpr std::size_t most_failures = 20;
    std::vector<std::string> failures;
    std::int64_t ran = 0;
    for (auto seed = first_seed_; more(ran, start_s) && failures.size() < most_failures; ++seed) {
      watch(seed);
      auto failure = agreed(attempt(problem, seed));
      ++ran;
      if (!failure.empty()) failures.push_back(line(seed) + "\n    " + failure);
    }
    alarm(0);
    if (comm_.rank() == 0) {
      std::printf("%td random problems on %d ranks, from seed %llu, %zu failed\n",
                  static_cast<std::ptrdiff_t>(ran), comm_.num_ranks(),
                  static_cast<unsigned long long>(first_seed_), failures.size());
      for (const auto& failure : failures) ADD_FAILURE() << "repeat with: " << failure;
    }
    EXPECT_GT(ran, 0) << "no problem ran";
    return ran;
  }

 private:
  static std::string attempt(const Problem& problem, std::uint64_t seed) {
    try {
      return problem(seed);
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  bool more(std::int64_t ran, double start_s) const {
    int go_on = soak_s_ > 0 ? (now_s() - start_s < soak_s_ ? 1 : 0) : (ran < count_ ? 1 : 0);
    check_mpi(MPI_Bcast(&go_on, 1, MPI_INT, 0, comm_.raw()));
    return go_on == 1;
  }

  // The failure of the lowest rank that has one.
  std::string agreed(const std::string& own) const {
    int root = own.empty() ? comm_.num_ranks() : comm_.rank();
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &root, 1, MPI_INT, MPI_MIN, comm_.raw()));
    if (root == comm_.num_ranks()) return "";
    std::string text = fmt::format("rank {}: {}", root, own);
    text.resize(2000, '\0');
    check_mpi(MPI_Bcast(text.data(), 2000, MPI_CHAR, root, comm_.raw()));
    return text.c_str();
  }

  std::string line(std::uint64_t seed) const {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return fmt::format("TAILRACE_SEED={} {} {} --gtest_filter={}.{}", seed, launcher_,
                       program_invocation_name, test->test_suite_name(), test->name());
  }

  // "mpirun -n 4", or with the nodes that there are.
  static std::string describe_launcher(const Comm& comm) {
    const char* made_up = std::getenv("TAILRACE_RANKS_PER_NODE");
    const NodeMap nodes(comm);
    if (made_up != nullptr || nodes.num_nodes() == 1) {
      const auto nodes_text =
          made_up != nullptr ? fmt::format("TAILRACE_RANKS_PER_NODE={} ", made_up) : "";
      return fmt::format("{}mpirun -n {}", nodes_text, comm.num_ranks());
    }
    std::string list;
    for (int node = 0; node < nodes.num_nodes(); ++node) {
      list += fmt::format("{}node{}:{}", node > 0 ? "," : "", static_cast<char>('a' + node),
                          nodes.ranks_on(node).size());
    }
    return "bench/fake_cluster.sh --nodes " + list;
  }

  // A crash or a hang says the line, too.
  void watch(std::uint64_t seed) const {
    const auto text = "crashed or hung: " + line(seed) + "\n";
    last_words_length() = std::min(text.size(), last_words().size());
    std::memcpy(last_words().data(), text.data(), last_words_length());
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM}) {
      struct sigaction action {};
      action.sa_handler = say_last_words;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      sigaction(number, &action, nullptr);
    }
    alarm(hang_s_);
  }
  static void say_last_words(int number) {
    (void)!write(STDERR_FILENO, last_words().data(), last_words_length());
    signal(SIGABRT, SIG_DFL);
    if (number == SIGALRM) abort();
    raise(number);
  }
  static std::array<char, 1000>& last_words() {
    static std::array<char, 1000> text{};
    return text;
  }
  static std::size_t& last_words_length() {
    static std::size_t length = 0;
    return length;
  }

  const Comm& comm_;
  std::string launcher_;
  std::int64_t count_;
  std::uint64_t first_seed_ = 1;
  double soak_s_ = 0;
  unsigned hang_s_ = hang_seconds(120);
};

}  // namespace tailrace
