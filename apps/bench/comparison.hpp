// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Several ways of doing the same, timed in one process: rounds in which each way has its turn, in
// an order that changes from round to round, and whose results are checked after every turn.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mpi_driver.hpp"
#include "words.hpp"

namespace bench {

/// One way, with what it gave.
struct Contender {
  std::string name;
  std::string family;  ///< "ours", "mpi", "null" (MPI's own once more), "peer", "limit"
  std::function<void()> run;
  bool checked = true;  ///< its results can be right or wrong
  std::ptrdiff_t buffer_bytes = 0;
  std::string chosen = {};  ///< what an automatic way chose
  std::vector<double> seconds = {};
  double wrong = 0;  ///< items that came out wrong, in all rounds
  int calls = 1;     ///< timed together
};

/// The names of a table of methods, those of argument `methods` (between semicolons), and "auto".
template <class Table>
std::vector<std::string> methods_of(const Table& table, const Arguments& args) {
  std::vector<std::string> methods;
  for (const auto& method : table) methods.emplace_back(method.name);
  for (auto& more : split(args.text("methods", ""), ';')) {
    const auto name = more.substr(0, more.find(':'));
    if (std::find(methods.begin(), methods.end(), name) == methods.end()) {
      throw std::runtime_error("method " + more + ": unknown; see `tailrace list`");
    }
    methods.push_back(std::move(more));
  }
  methods.emplace_back("auto");
  return methods;
}

/// How long and how often is measured.
struct Effort {
  int rounds = 5;
  double turn_s = 3e-3;  ///< of one way in one round, about; a turn is one call at least
  int most_calls = 500;

  static Effort from(const Arguments& args) {
    return {args.number("repeats", 5), args.real("turn-s", 3e-3), args.number("most-calls", 500)};
  }
};

/// The order in which `count` ways have their turn in a round: the same on all ranks.
inline std::vector<std::size_t> order_of_round(std::size_t count, int round) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = 0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(round + 1);
  for (std::size_t i = count; i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  return order;
}

class Comparison {
 public:
  /// `prepare(round)` makes new input and spoils the output; `wrong()` counts this rank's items
  /// that came out wrong.
  Comparison(std::function<void(int)> prepare, std::function<double()> wrong)
      : prepare_(std::move(prepare)), wrong_(std::move(wrong)) {}

  Contender& add(Contender contender) {
    contenders_.push_back(std::move(contender));
    return contenders_.back();
  }

  void measure(const Effort& effort) {
    for (auto& contender : contenders_) warm_up(contender, effort);
    for (int round = 0; round < effort.rounds; ++round) {
      for (const std::size_t next : order_of_round(contenders_.size(), round)) {
        contenders_[next].seconds.push_back(take_turn(contenders_[next], round));
      }
    }
  }

  /// `turns` turns of `calls` calls each; the time of all of them together counts.
  void measure_calls(int turns, int calls) {
    for (auto& contender : contenders_) {
      contender.calls = std::max(1, calls / 100);
      take_turn(contender, -1);
      contender.calls = calls;
      contender.seconds = {0};
    }
    for (int round = 0; round < turns; ++round) {
      for (const std::size_t next : order_of_round(contenders_.size(), round)) {
        contenders_[next].seconds[0] += take_turn(contenders_[next], round) * calls;
      }
    }
    for (auto& contender : contenders_) contender.calls = turns * calls;
  }

  /// One line a contender, from rank 0; `describe` adds the fields of the problem. The first one,
  /// if it is MPI's own, is the reference of ratios.
  void print(const std::function<void(JsonLine&)>& describe) const {
    for (const auto& contender : contenders_) {
      const double wrong = all_reduce(contender.wrong, MPI_SUM);
      const double buffer = all_max(static_cast<double>(contender.buffer_bytes));
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (rank != 0) continue;
      JsonLine line;
      line.text("entry", contender.name)
          .text("family", contender.family)
          .flag("ours", contender.family == "ours")
          .flag("reference", &contender == contenders_.data() && contender.family == "mpi")
          .numbers("seconds", contender.seconds)
          .number("quartile_low_s", quantile(contender.seconds, 0.25))
          .number("quartile_high_s", quantile(contender.seconds, 0.75))
          .number("calls", contender.calls);
      if (contender.checked) line.number("error", wrong);
      if (contender.buffer_bytes > 0) line.number("buffer_bytes", buffer);
      if (!contender.chosen.empty()) line.text("chosen", contender.chosen);
      describe(line);
      line.print();
    }
  }

  static double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    const double place = part * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
  }

 private:
  /// Two turns of one call: the first touches memory and opens connections, the second says how
  /// many calls a turn should have.
  void warm_up(Contender& contender, const Effort& effort) {
    contender.calls = 1;
    take_turn(contender, -2);
    const double once = take_turn(contender, -1);
    const double calls = effort.turn_s / std::max(once, 1e-9);
    contender.calls = static_cast<int>(std::clamp(calls, 1.0, double(effort.most_calls)));
  }

  double take_turn(Contender& contender, int round) {
    prepare_(round);
    const auto action = [&] {
      for (int i = 0; i < contender.calls; ++i) contender.run();
    };
    const double taken = time_together(0, 1, action).front() / contender.calls;
    if (contender.checked) contender.wrong += wrong_();
    return taken;
  }

  std::function<void(int)> prepare_;
  std::function<double()> wrong_;
  std::vector<Contender> contenders_;
};

}  // namespace bench
