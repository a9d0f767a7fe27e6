// SPDX-License-Identifier: BSD-3-Clause
// How good the tuner's choices are: problems drawn at random, of which it has never heard. In phase
// "choose" each is made with method "auto", so that the tuner measures and remembers. In phase
// "time", another process, "auto" (which now remembers) and every method by name are timed again,
// longer, with a timing loop of its own and in another order. "auto" and the method that it stands
// for are two equal entries: what they differ by is noise.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "move/block_exchange.hpp"
#include "move/method.hpp"
#include "mpi_driver.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/tune.hpp"
#include "tailrace/reduction.hpp"

namespace {

using namespace tailrace;

/// Something made by a method, ready to be run.
struct Made {
  std::string name;    ///< that was asked for
  std::string method;  ///< what it stands for
  std::function<void()> run;
  std::vector<double> seconds = {};
};

struct Problem {
  std::string text;
  /// Throws `Errc::invalid_input` on all ranks if the method does not apply.
  std::function<Made(const Comm& comm, const std::string& method)> make;
  std::vector<std::string> methods;
};

/// Numbers that are the same on all ranks and machines.
class Dice {
 public:
  explicit Dice(unsigned seed) : generator_(seed) {}
  std::ptrdiff_t roll(std::ptrdiff_t least, std::ptrdiff_t most) {
    return least +
           static_cast<std::ptrdiff_t>(generator_() % static_cast<unsigned>(most - least + 1));
  }
  /// Evenly spread in the logarithm.
  std::ptrdiff_t roll_size(int least_power, int most_power) {
    const auto power = std::ptrdiff_t{1} << roll(least_power, most_power);
    return power + roll(0, power / 2);
  }

 private:
  std::mt19937 generator_;
};

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Names and variants, as the tuner has them.
std::vector<std::string> exchange_names() {
  std::vector<std::string> names;
  for (const auto& method : move_method_table()) {
    if (method.name != "caf") names.emplace_back(method.name);  // the tuner starts no runtimes
  }
  for (const auto& method : block_method_table()) {
    const auto more = words_of(method.variants);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

std::vector<std::string> block_names() {
  std::vector<std::string> names;
  for (const auto& method : block_method_table()) {
    if (method.name != "caf") names.emplace_back(method.name);
    const auto more = words_of(method.variants);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

struct ExchangeRun {
  Exchange exchange;
  std::vector<std::vector<std::byte>> arrays;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
};

Problem exchange_problem(const std::string& text, Layout from, Layout to, ExchangeShape shape) {
  auto make = [=](const Comm& comm, const std::string& method) {
    const auto in = Memory::dense(from.boxes(comm.rank()));
    const auto out = Memory::dense(to.boxes(comm.rank()));
    auto state = std::make_shared<ExchangeRun>(ExchangeRun{
        Exchange(comm, Plan(from, to, comm.rank()), in, out, shape, method), {}, {}, {}});
    for (int field = 0; field < shape.num_fields; ++field) {
      state->arrays.emplace_back(static_cast<std::size_t>(in.num_items * shape.item_bytes),
                                 std::byte{1});
      state->sources.push_back(state->arrays.back().data());
      state->arrays.emplace_back(static_cast<std::size_t>(out.num_items * shape.item_bytes));
      state->destinations.push_back(state->arrays.back().data());
    }
    return Made{method, std::string(state->exchange.method()),
                [state] { state->exchange.run(state->sources, state->destinations); }};
  };
  return {text + ", " + std::to_string(shape.num_fields) + " x " +
              std::to_string(shape.item_bytes) + " bytes",
          make, exchange_names()};
}

std::string text_of(const std::vector<std::ptrdiff_t>& extents) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
         std::to_string(extents[2]);
}

/// Uneven shares of an axis: some ranks may hold nothing.
Layout ragged_slabs(Dice& dice, const std::vector<std::ptrdiff_t>& extents, std::size_t axis,
                    int num_ranks) {
  std::vector<std::ptrdiff_t> cuts{0, extents[axis]};
  for (int cut = 1; cut < num_ranks; ++cut) cuts.push_back(dice.roll(0, extents[axis]));
  std::ranges::sort(cuts);
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
  for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
    Box box{3, {}, {extents[0], extents[1], extents[2]}};
    box.start[axis] = cuts[rank];
    box.extents[axis] = cuts[rank + 1] - cuts[rank];
    if (box.extents[axis] > 0) boxes[rank].push_back(box);
  }
  return from_boxes(extents, std::move(boxes));
}

Problem draw_exchange(Dice& dice, int kind, int num_ranks) {
  const std::vector<std::ptrdiff_t> extents{dice.roll_size(2, 6), dice.roll_size(2, 6),
                                            dice.roll_size(2, 6)};
  const std::ptrdiff_t items[] = {4, 8, 16, 24};
  const ExchangeShape shape{items[dice.roll(0, 3)], static_cast<int>(dice.roll(1, 3)), false};
  const std::string size = text_of(extents);
  int grid[2] = {0, 0};
  MPI_Dims_create(num_ranks, 2, grid);
  const std::vector<int> rows{grid[1] == 1 ? 1 : grid[0], grid[1] == 1 ? grid[0] : grid[1]};
  if (kind == 0) {
    return exchange_problem(size + " pencils", pencils(extents, 2, rows), pencils(extents, 1, rows),
                            shape);
  }
  if (kind == 1) {
    return exchange_problem(size + " slabs", slabs(extents, 0, num_ranks),
                            slabs(extents, 1, num_ranks), shape);
  }
  if (kind == 2) {
    std::vector<int> writers(static_cast<std::size_t>(dice.roll(1, num_ranks)));
    std::iota(writers.begin(), writers.end(), 0);
    const std::vector<int> grid3{1, rows[1], rows[0]};
    return exchange_problem(size + " blocks to " + std::to_string(writers.size()) + " file domains",
                            blocks(extents, grid3),
                            file_domains(extents, shape.item_bytes, writers, num_ranks, 4096, 2048),
                            shape);
  }
  Layout from = ragged_slabs(dice, extents, 0, num_ranks);
  return exchange_problem(size + " ragged slabs", std::move(from),
                          ragged_slabs(dice, extents, 2, num_ranks), shape);
}

/// Packed blocks, equal or skewed: rank a sends b so many bytes.
Problem draw_blocks(Dice& dice, int num_ranks) {
  const bool skewed = dice.roll(0, 1) == 1;
  const auto bytes = dice.roll_size(3, 19);
  std::vector<std::vector<std::ptrdiff_t>> matrix(static_cast<std::size_t>(num_ranks));
  for (auto& row : matrix) {
    for (int peer = 0; peer < num_ranks; ++peer) {
      row.push_back(skewed ? dice.roll(0, 2 * bytes) : bytes);
    }
  }
  auto make = [=](const Comm& comm, const std::string& method) {
    BlockShape shape;
    shape.send.push_back(matrix[static_cast<std::size_t>(comm.rank())]);
    shape.receive.emplace_back();
    for (const auto& row : matrix) {
      shape.receive[0].push_back(row[static_cast<std::size_t>(comm.rank())]);
    }
    auto exchange = std::make_shared<BlockExchange>(comm, shape, method);
    auto into = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(2 * bytes + 1));
    return Made{method, std::string(exchange->method()), [=] {
                  exchange->acquire();
                  const auto& sizes = exchange->shape();
                  for (int peer = 0; peer < num_ranks; ++peer) {
                    std::fill_n(exchange->send_block(0, peer),
                                sizes.send[0][static_cast<std::size_t>(peer)], std::byte{3});
                  }
                  exchange->start(0);
                  exchange->wait(0);
                  for (int peer = 0; peer < num_ranks; ++peer) {
                    std::copy_n(exchange->receive_block(0, peer),
                                sizes.receive[0][static_cast<std::size_t>(peer)], into->data());
                  }
                  exchange->release();
                }};
  };
  return {
      std::string(skewed ? "skewed" : "equal") + " blocks of " + std::to_string(bytes) + " bytes",
      make, block_names()};
}

Problem draw_allreduce(Dice& dice) {
  const auto items = std::max<std::ptrdiff_t>(1, dice.roll_size(0, 17));
  auto make = [=](const Comm& comm, const std::string& method) {
    auto reduction =
        std::make_shared<Reduction>(comm, ReductionShape{NumberType::float64, items}, method);
    auto values = std::make_shared<std::vector<double>>(static_cast<std::size_t>(items));
    return Made{method, std::string(reduction->method()),
                [=] { reduction->allreduce(std::span<double>(*values)); }};
  };
  std::vector<std::string> names;
  for (const auto& method : reduction_methods()) names.emplace_back(method.name);
  return {"allreduce of " + std::to_string(items) + " float64", make, names};
}

std::vector<Problem> draw(unsigned seed, int count, int num_ranks) {
  Dice dice(seed);
  std::vector<Problem> problems;
  for (int i = 0; i < count; ++i) {
    const int kind = i % 6;
    problems.push_back(kind < 4    ? draw_exchange(dice, kind, num_ranks)
                       : kind == 4 ? draw_blocks(dice, num_ranks)
                                   : draw_allreduce(dice));
    problems.back().text = std::to_string(i + 1) + ": " + problems.back().text;
  }
  return problems;
}

/// "auto" and every method that applies.
std::vector<Made> make_all(const Comm& comm, const Problem& problem) {
  std::vector<Made> all{problem.make(comm, "auto")};
  for (const auto& name : problem.methods) {
    try {
      all.push_back(problem.make(comm, name));
    } catch (const Error& error) {
      if (error.code() != Errc::invalid_input) throw;
    }
  }
  return all;
}

double time_sample(const Made& entry, int runs) {
  entry.run();
  return bench::time_together(0, 1,
                              [&] {
                                for (int run = 0; run < runs; ++run) entry.run();
                              })
             .front() /
         runs;
}

double shortest_median(const std::vector<Made>& all) {
  double shortest = 1e9;
  for (const auto& entry : all) shortest = std::min(shortest, bench::median(entry.seconds));
  return shortest;
}

void time_all(std::vector<Made>& all, double budget_s) {
  double shortest = 1e9;
  for (const auto& entry : all) shortest = std::min(shortest, time_sample(entry, 1));
  const int runs = static_cast<int>(std::clamp(std::ceil(1e-3 / shortest), 1.0, 2000.0));
  std::mt19937 order(4711);
  std::vector<std::size_t> turns(all.size());
  std::iota(turns.begin(), turns.end(), 0);
  const double start = bench::now_s();
  for (int round = 0; round < 400; ++round) {
    const double spent = bench::all_max(bench::now_s() - start);
    if (round >= 5 && spent > budget_s) return;
    shortest = round == 5 ? shortest_median(all) : shortest;
    for (std::size_t i = turns.size() - 1; i > 0; --i)
      std::swap(turns[i], turns[order() % (i + 1)]);
    for (const auto turn : turns) {
      // A method far behind need not be timed as often as those that the question is about.
      const auto& seconds = all[turn].seconds;
      const bool behind = round > 5 && turn > 0 && bench::median(seconds) > 4 * shortest;
      if (!behind) all[turn].seconds.push_back(time_sample(all[turn], runs));
    }
  }
}

/// How many times as long an entry takes as "auto": the median of the ratios of the same rounds.
double relative(const Made& entry, const Made& automatic) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(entry.seconds.size(), automatic.seconds.size()); ++i) {
    ratios.push_back(entry.seconds[i] / automatic.seconds[i]);
  }
  return bench::median(ratios);
}

/// The largest null spread of the winners that were remembered after the first `before`.
double null_spread_since(std::size_t& before) {
  const auto winners = tune::list_remembered(tune::Settings::from_environment().file);
  double largest = 0;
  for (; before < winners.size(); ++before) {
    largest = std::max(largest, winners[before].null_spread);
  }
  return largest;
}

void print(const Problem& problem, const std::vector<Made>& all, int num_ranks) {
  for (const auto& entry : all) {
    bench::JsonLine()
        .text("entry", entry.name)
        .text("problem", std::to_string(num_ranks) + " ranks, " + problem.text)
        .flag("reference", &entry == all.data())
        .text("method", entry.method)
        .number("relative", relative(entry, all.front()))
        .numbers("seconds", entry.seconds)
        .print();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(
      "bench_tune_problems", argc, argv, [](const auto& program, const auto& args) {
        const Comm comm(MPI_COMM_WORLD);
        const bool choose = args.text("phase", "time") == "choose";
        std::size_t num_remembered = 0;
        const auto seed = static_cast<unsigned>(args.number("seed", 1));
        for (const auto& problem : draw(seed, args.number("count", 30), program.num_ranks)) {
          if (choose) {
            const Made made = problem.make(comm, "auto");
            MPI_Barrier(MPI_COMM_WORLD);
            if (program.rank == 0) {
              bench::JsonLine()
                  .text("problem", std::to_string(program.num_ranks) + " ranks, " + problem.text)
                  .number("null_spread", null_spread_since(num_remembered))
                  .print();
            }
            MPI_Barrier(MPI_COMM_WORLD);
            continue;
          }
          auto all = make_all(comm, problem);
          time_all(all, args.real("budget", 3));
          if (program.rank == 0) print(problem, all, program.num_ranks);
        }
      });
}
