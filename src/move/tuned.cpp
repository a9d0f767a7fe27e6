// SPDX-License-Identifier: BSD-3-Clause
#include "move/tuned.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <xxhash.h>

#include "chooser/environment.hpp"
#include "core/last_resort.hpp"
#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "move/messages.hpp"
#include "tailrace/more/node_array.hpp"
#include "tune/sample.hpp"

namespace tailrace {

namespace {

/// Words between blanks.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Numbers that the same key must mean on all ranks: sums and maxima over `comm`.
struct Totals {
  std::int64_t sum = 0, most = 0;
};
Totals totals(const Comm& comm, std::int64_t own) {
  Totals all{own, own};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all.sum, 1, MPI_INT64_T, MPI_SUM, comm.raw()));
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all.most, 1, MPI_INT64_T, MPI_MAX, comm.raw()));
  return all;
}

/// How many communicators like `part` make up `everybody`, and how they lie, for a key.
std::string groups_text(const Comm& everybody, const Comm& part, const Surroundings& machine) {
  const auto count = totals(everybody, part.rank() == 0 ? 1 : 0).sum;
  if (count == 1) return "";
  const auto within = totals(everybody, part.rank() == 0 && machine.one_node() ? 1 : 0).sum;
  return fmt::format(", in {} groups at a time, {} of them within a node", count, within);
}

/// Where nothing has been measured: the reader's loads on one node, else MPI's own.
void set_fallback(tune::Problem& problem, const Comm& everybody, const Surroundings& machine) {
  const bool direct = true_on_all(everybody, machine.one_node());
  problem.fallback = direct ? "node_direct" : "alltoallv";
  problem.fallback_why = direct ? "all ranks that exchange share a node" : "ranks on several nodes";
}

/// The bytes of a rank's items in its arrays, in and out. These are plain memory, as those of most
/// callers: in huge pages, MPI's copies between processes would be faster than they are for them.
struct TrialArrays {
  TrialArrays(const MoveProblem& problem, const NodeArray& exposed) {
    const auto num_fields = static_cast<std::size_t>(problem.shape.num_fields);
    from_bytes = problem.from.num_items * problem.shape.item_bytes;
    const auto to_bytes = problem.to.num_items * problem.shape.item_bytes;
    for (std::size_t f = 0; f < num_fields; ++f) {
      if (problem.shape.sources_in_node_arrays) {
        sources.push_back(exposed.data() + static_cast<std::ptrdiff_t>(f) * from_bytes);
      } else {
        buffers.emplace_back(static_cast<std::size_t>(from_bytes));
        sources.push_back(buffers.back().data());
      }
      buffers.emplace_back(static_cast<std::size_t>(to_bytes));
      destinations.push_back(buffers.back().data());
    }
    for (std::size_t f = 0; f < num_fields; ++f) fill(f, problem.comm.rank());
    num_destination_bytes = to_bytes;
    forget();  // what no method writes, such as ghost cells, looks the same after every run
  }
  void fill(std::size_t field, int rank) {
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(sources[field]));
    tune::fill_sample({bytes, static_cast<std::size_t>(from_bytes)},
                      (static_cast<std::uint64_t>(rank) << 32) + field + 1);
  }
  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (const void* field : destinations) {
      sum = XXH3_64bits_withSeed(field, static_cast<std::size_t>(num_destination_bytes), sum);
    }
    return sum;
  }
  /// So that a method that moves nothing is found out.
  void forget() const {
    for (void* field : destinations) {
      std::fill_n(static_cast<std::byte*>(field), num_destination_bytes, std::byte{0x5a});
    }
  }

  std::ptrdiff_t from_bytes = 0, num_destination_bytes = 0;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
};

/// Arrays that all candidates of one choice share; made with the first one.
struct SharedArrays {
  NodeArray exposed;
  std::unique_ptr<TrialArrays> arrays;

  void make(const MoveProblem& problem) {
    if (arrays != nullptr) return;
    if (problem.shape.sources_in_node_arrays) {
      exposed = NodeArray(problem.comm, problem.from.num_items * problem.shape.item_bytes *
                                            problem.shape.num_fields);
    }
    std::unique_ptr<TrialArrays> made;  // kept by all or by none, who then ask again
    const auto failure =
        failure_of([&] { made = std::make_unique<TrialArrays>(problem, exposed); });
    agree(problem.comm.raw(), failure ? &*failure : nullptr);
    arrays = std::move(made);
  }
};

class MoveTrial : public tune::Trial {
 public:
  MoveTrial(const MoveProblem& problem, const std::string& method,
            std::shared_ptr<SharedArrays> shared)
      : problem_{problem.comm.duplicate(),
                 problem.plan,
                 problem.from,
                 problem.to,
                 problem.shape,
                 problem.machine,
                 problem.outer_ranks,
                 MethodSpec::parse(method)},
        shared_(std::move(shared)) {
    const auto& line = *find_line(move_method_table(), problem_.method.name);
    if (!line.arrays.applies(problem_)) {
      refuse_input("needs: {}", line.applies_text);
    }
    shared_->make(problem);
    runner_ = make_together(problem_.comm, "a method on trial",
                            [&] { return line.arrays.make(problem_); });
    if (problem.shape.sources_in_node_arrays) runner_->expose(shared_->exposed);
    // Places in the shared array are those of the group's ranks.
    for (std::size_t i = 0; i < problem_.outer_ranks.size(); ++i) {
      problem_.outer_ranks[i] = static_cast<int>(i);
    }
  }
  void run() override { runner_->run(shared_->arrays->sources, shared_->arrays->destinations); }
  std::uint64_t checksum() override {
    const auto sum = shared_->arrays->checksum();
    shared_->arrays->forget();
    return sum;
  }

 private:
  MoveProblem problem_;
  std::shared_ptr<SharedArrays> shared_;
  std::unique_ptr<Exchange::Runner> runner_;
};

class BlockTrial : public tune::Trial {
 public:
  BlockTrial(const Comm& comm, const BlockShape& shape, const Surroundings& machine,
             const MoveMethod& method, const MethodSettings& settings)
      : comm_(comm.duplicate()), shape_(shape) {
    const BlockProblem problem{comm_, shape_, machine, settings};
    if (!method.blocks.applies(problem)) {
      refuse_input("needs: {}", method.applies_text);
    }
    runner_ =
        make_together(comm_, "a method on trial", [&] { return method.blocks.make(problem); });
  }

  void run() override {
    runner_->acquire();
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) {
      for (int peer = 0; peer < comm_.num_ranks(); ++peer) write(p, peer);
      runner_->start(p);
    }
    sum_ = 0;
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) {
      runner_->wait(p);
      for (int peer = 0; peer < comm_.num_ranks(); ++peer) read(p, peer);
    }
    runner_->release();
  }
  std::uint64_t checksum() override { return sum_; }

 private:
  /// What a caller does: each byte of a send block is written, each of a receive block read.
  void write(std::ptrdiff_t piece, int peer) const {
    std::fill_n(runner_->send_block(piece, peer),
                block_items(shape_.send, piece, peer) * shape_.item_bytes,
                static_cast<std::byte>(comm_.rank() * 7 + peer + piece));
  }
  void read(std::ptrdiff_t piece, int peer) {
    sum_ = XXH3_64bits_withSeed(
        runner_->receive_block(piece, peer),
        static_cast<std::size_t>(block_items(shape_.receive, piece, peer) * shape_.item_bytes),
        sum_);
  }

  Comm comm_;
  BlockShape shape_;
  std::unique_ptr<BlockRunner> runner_;
  std::uint64_t sum_ = 0;
};

std::int64_t sum_of(const BlockTable& table) {
  std::int64_t sum = 0;
  for (const auto& piece : table) {
    for (const auto items : piece) sum += items;
  }
  return sum;
}

std::int64_t most_of(const BlockTable& table) {
  std::int64_t most = 0;
  for (const auto& piece : table) {
    for (const auto items : piece) most = std::max<std::int64_t>(most, items);
  }
  return most;
}

/// A method of moving blocks, with the settings worth timing.
struct TimedBlocks {
  const MoveMethod* method;
  std::vector<std::string> specs;
};

/// Of a method's settings those that do something else here than others, and do not read the
/// largest block in thousands of chunks.
std::vector<std::string> settings_worth_timing(const MoveMethod& method, std::int64_t most_bytes,
                                               int most_peers) {
  constexpr std::int64_t most_chunks = 1024;
  std::vector<std::string> specs;
  std::vector<std::array<std::int64_t, 3>> seen;
  auto words = words_of(method.variants);
  words.insert(words.begin(), std::string(method.name));
  for (auto& word : words) {
    const auto settings = MethodSpec::parse(word).settings;
    const std::array<std::int64_t, 3> numbers{settings.chunk_bytes, settings.depth,
                                              std::min(settings.in_flight, most_peers)};
    const bool slow = !specs.empty() && most_bytes / settings.chunk_bytes > most_chunks;
    if (slow || std::ranges::find(seen, numbers) != seen.end()) continue;
    seen.push_back(numbers);
    specs.push_back(std::move(word));
  }
  return specs;
}

/// Those that any rank would time: all groups time the same ones, at the same time.
std::vector<TimedBlocks> worth_timing(const Comm& everybody, const BlockProblem& problem) {
  std::vector<int> worth;
  for (const auto& method : block_method_table()) {
    worth.push_back(method.blocks.worth_timing(problem) ? 1 : 0);
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, worth.data(), to_int(std::ssize(worth)), MPI_INT, MPI_MAX,
                          everybody.raw()));
  const auto most =
      largest_on_all(everybody, most_of(problem.shape.send) * problem.shape.item_bytes);
  const auto peers = static_cast<int>(largest_on_all(everybody, problem.comm.num_ranks() - 1));
  std::vector<TimedBlocks> timed;
  for (std::size_t i = 0; i < worth.size(); ++i) {
    if (worth[i] == 0) continue;
    const auto& method = block_method_table()[i];
    timed.push_back({&method, settings_worth_timing(method, most, peers)});
  }
  return timed;
}

/// The methods, and settings worth timing, with arrays of their own to try them on; reference
/// first. Making one that does not apply to `problem` throws. `problem` must outlive them.
std::vector<tune::Candidate> move_candidates(const Comm& everybody, const MoveProblem& problem) {
  std::vector<std::ptrdiff_t> bytes(static_cast<std::size_t>(problem.comm.num_ranks()));
  for (const auto& piece : problem.plan.sends()) {
    if (piece.peer == problem.comm.rank()) continue;
    bytes[static_cast<std::size_t>(piece.peer)] +=
        piece.box.num_items() * problem.shape.item_bytes * problem.shape.num_fields;
  }
  const BlockShape shape{1, {bytes}, {}};
  const auto timed = worth_timing(everybody, {problem.comm, shape, problem.machine});
  auto shared = std::make_shared<SharedArrays>();
  std::vector<tune::Candidate> candidates;
  const auto add = [&](const std::string& name) {
    candidates.push_back({name, [&problem, name, shared] {
                            return std::make_unique<MoveTrial>(problem, name, shared);
                          }});
  };
  for (const auto& method : move_method_table()) {
    const auto is_it = [&](const auto& one) { return one.method->name == method.name; };
    const auto found = std::ranges::find_if(timed, is_it);
    if (found != timed.end()) {
      for (const auto& spec : found->specs) add(spec);
    } else if (method.blocks.make == nullptr) {
      add(std::string(method.name));  // one that packs nothing
    }
  }
  return candidates;
}

/// The same for blocks.
std::vector<tune::Candidate> block_candidates(const Comm& everybody, const Comm& comm,
                                              const BlockShape& shape,
                                              const Surroundings& machine) {
  std::vector<tune::Candidate> candidates;
  for (const auto& [method, specs] : worth_timing(everybody, {comm, shape, machine})) {
    for (const auto& name : specs) {
      candidates.push_back({name, [&, method = method, name] {
                              return std::make_unique<BlockTrial>(comm, shape, machine, *method,
                                                                  MethodSpec::parse(name).settings);
                            }});
    }
  }
  return candidates;
}

}  // namespace

MethodSpec parse_agreed(const Comm& comm, std::string_view text) {
  MethodSpec spec;
  run_agreed(comm.raw(), [&] { spec = MethodSpec::parse(text); });
  return spec;
}

tune::Choice choose_move_method(const Comm& everybody, const MoveProblem& problem) {
  const auto work = work_of(problem);
  const auto moved = totals(everybody, work.sent_bytes);
  const auto peers = totals(everybody, work.num_peers);
  const auto kept = totals(everybody, work.kept_bytes);
  const auto out = totals(everybody, -shortest_run(problem, Direction::send));
  const auto in = totals(everybody, -shortest_run(problem, Direction::receive));
  tune::Problem asked;
  asked.operation = "exchange";
  asked.key = fmt::format(
      "{} bytes moved, at most {} a rank to {} peers, {} kept, runs of {} and {} bytes, items of "
      "{} bytes, {} fields{}{}",
      moved.sum, moved.most, peers.most, kept.sum, -out.most, -in.most, problem.shape.item_bytes,
      problem.shape.num_fields,
      problem.shape.sources_in_node_arrays ? ", exposed"
      : problem.shape.in_place             ? ", in place"
                                           : "",
      groups_text(everybody, problem.comm, problem.machine));
  set_fallback(asked, everybody, problem.machine);
  // All candidates hold their buffers at the same time, beside the arrays.
  const auto candidates = move_candidates(everybody, problem);
  asked.memory_bytes = (problem.from.num_items + problem.to.num_items) * problem.shape.item_bytes *
                           problem.shape.num_fields +
                       std::ssize(candidates) * (work.sent_bytes + work.received_bytes);
  return tune::choose(everybody, asked, candidates);
}

tune::Choice untimed_move_method(const Comm& everybody, const Surroundings& machine) {
  tune::Problem problem;
  set_fallback(problem, everybody, machine);
  tune::Choice choice;
  choice.name = problem.fallback;
  choice.why = problem.fallback_why + " (untimed)";
  return choice;
}

tune::Choice choose_block_method(const Comm& everybody, const Comm& comm, const BlockShape& shape,
                                 const Surroundings& machine) {
  const auto sum = totals(everybody, sum_of(shape.send) * shape.item_bytes);
  const auto most = totals(everybody, most_of(shape.send) * shape.item_bytes);
  tune::Problem asked;
  asked.operation = "blocks";
  asked.key =
      fmt::format("{} bytes, at most {} a rank, largest block {}, {} pieces{}", sum.sum, sum.most,
                  most.most, shape.num_pieces(), groups_text(everybody, comm, machine));
  set_fallback(asked, everybody, machine);
  const auto candidates = block_candidates(everybody, comm, shape, machine);
  asked.memory_bytes =
      std::ssize(candidates) * (sum_of(shape.send) + sum_of(shape.receive)) * shape.item_bytes;
  tune::Settings settings;
  run_agreed(everybody.raw(), [&] { settings = tune::Settings::from_environment(); });
  // Touching more takes seconds, and what can be gained over `node_direct` is little. Who names a
  // limit gets it.
  if (asked.fallback == "node_direct" && environment("TAILRACE_TUNE_MEMORY") == nullptr) {
    settings.memory_bytes = 512 << 20;
  }
  auto choice = tune::choose(everybody, asked, candidates, settings);
  // What is remembered may stand for a problem that differs in what a key does not tell.
  const auto spec = MethodSpec::parse(choice.name);
  const auto* method = find_line(block_method_table(), spec.name);
  if (!true_on_all(everybody, method->blocks.applies({comm, shape, machine, spec.settings}))) {
    choice.why =
        fmt::format("{} was chosen ({}), but does not apply here", choice.name, choice.why);
    choice.name = block_method_table().front().name;
  }
  return choice;
}

}  // namespace tailrace
