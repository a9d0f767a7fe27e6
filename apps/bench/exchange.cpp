// SPDX-License-Identifier: BSD-3-Clause
// Every method of the table of exchanges compared with MPI's own calls, for all-to-alls of many
// sizes or for the transposes of a parallel FFT. One line of JSON a way and problem.
//   --pattern uniform|fat|zipf --sizes 8,512,32768      all-to-alls, bytes a pair
//   --pattern pencils|kept|slabs --sizes 256            transposes, points along an edge
//   --methods "pull:chunk=4k;..."  more methods         --memory BYTES  larger problems are left
//   out
//   --entries "word;word"  only entries with such words in their names (the reference always)

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "exchange_mpi.hpp"
#include "exchange_problem.hpp"
#include "programs.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/more/node_map.hpp"
#include "words.hpp"

namespace {

using bench::Contender;
using bench::ExchangeProblem;
using tailrace::Comm;
using tailrace::Exchange;

/// What all problems of a run share.
struct Setting {
  const Comm& comm;
  std::vector<std::string> methods;
  std::vector<std::string> ways;
  bench::Effort effort;
  std::string waiting;
  int num_nodes;
  bench::MakeOtherExchanges others;
};

/// The arrays of one problem, and everything that moves them.
class Match {
 public:
  Match(const Setting& setting, const ExchangeProblem& problem)
      : setting_(setting),
        problem_(problem),
        source_(words_of(problem.source_bytes())),
        target_(words_of(problem.target_bytes())),
        mpi_(problem, source_.data(), target_.data()),
        comparison_([this](int round) { prepare(round); },
                    [this] { return problem_.wrong_items(target_.data(), round_); }) {
    add_all(mpi_.contenders());
    if (setting.others != nullptr && !problem.is_transpose()) {
      others_ = setting.others();
      add_all(others_->contenders(problem, source_.data(), target_.data()));
    }
    for (const auto& method : setting.methods) add_ours(method);
    if (setting.num_nodes == 1) add_exposed();
    if (!problem.is_transpose()) return;
    Contender copy{"memcpy of as many bytes", "limit", [this] { copy_bytes(); }};
    copy.checked = false;
    comparison_.add(std::move(copy));
  }

  void run() {
    comparison_.measure(setting_.effort);
    comparison_.print([this](bench::JsonLine& line) { describe(line); });
  }

 private:
  static std::size_t words_of(std::ptrdiff_t bytes) {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(bytes / 8, 1));
  }
  std::string problem_name() const {
    return problem_.name() + ", " + std::to_string(setting_.comm.num_ranks()) + " ranks" +
           bench::nodes_text(setting_.num_nodes);
  }
  void describe(bench::JsonLine& line) const {
    line.text("problem", problem_name())
        .text("pattern", problem_.pattern())
        .number("size", static_cast<double>(problem_.size()))
        .number("bytes", static_cast<double>(problem_.total_bytes()))
        .number("ranks", setting_.comm.num_ranks())
        .number("nodes", setting_.num_nodes)
        .text("waiting", setting_.waiting);
  }

  void add_all(std::vector<Contender> contenders) {
    bool reference = contenders.front().family == "mpi";
    for (auto& contender : contenders) {
      const bool wanted = reference || bench::is_wanted(contender.name, setting_.ways);
      reference = false;
      if (wanted) comparison_.add(std::move(contender));
    }
  }

  void add_ours(const std::string& method, const tailrace::NodeArray* exposed = nullptr) {
    const std::string name = method + (exposed ? ", exposed arrays" : "");
    if (!bench::is_wanted(name, setting_.ways)) return;
    try {
      exchanges_.emplace_back(
          setting_.comm, problem_.plan(), problem_.from_memory(), problem_.to_memory(),
          tailrace::ExchangeShape{problem_.item_bytes(), 1, exposed != nullptr}, method);
    } catch (const tailrace::Error& error) {  // the same on all ranks: it does not apply here
      if (error.code() != tailrace::Errc::invalid_input) throw;
      if (setting_.comm.rank() == 0) {
        bench::JsonLine()
            .text("entry", name)
            .text("problem", problem_name())
            .text("does_not_apply", bench::plain(error.what()))
            .print();
      }
      return;
    }
    Exchange& exchange = exchanges_.back();
    if (exposed) exchange.expose(*exposed);
    const void* source = exposed ? exposed->data() : static_cast<const void*>(source_.data());
    auto& contender = comparison_.add({name, "ours", [this, &exchange, source] {
                                         void* target = target_.data();
                                         exchange.run(std::span(&source, 1), std::span(&target, 1));
                                       }});
    contender.buffer_bytes = exchange.buffer_bytes();
    if (method == "auto") contender.chosen = exchange.method();
  }

  /// node_direct once more, with the source where the other ranks can read it in place.
  void add_exposed() {
    exposed_.emplace(setting_.comm, problem_.source_bytes());
    add_ours("node_direct", &*exposed_);
  }

  void prepare(int round) {
    round_ = round;
    problem_.fill(source_.data(), round);
    if (exposed_ && exposed_->num_bytes() > 0) {
      std::memcpy(exposed_->data(), source_.data(),
                  static_cast<std::size_t>(exposed_->num_bytes()));
    }
    std::fill(target_.begin(), target_.end(), ~std::uint64_t{0});
  }

  void copy_bytes() {
    std::memcpy(target_.data(), source_.data(), std::min(source_.size(), target_.size()) * 8);
  }

  const Setting& setting_;
  const ExchangeProblem& problem_;
  std::vector<std::uint64_t> source_, target_;
  int round_ = 0;
  bench::MpiExchanges mpi_;
  std::unique_ptr<bench::OtherExchanges> others_;
  std::optional<tailrace::NodeArray> exposed_;
  std::deque<Exchange> exchanges_;
  bench::Comparison comparison_;
};

void run_all(const Comm& comm, const bench::Arguments& args, bench::MakeOtherExchanges others) {
  const tailrace::NodeMap nodes(comm);
  const Setting setting{comm,
                        bench::methods_of(tailrace::move_methods(), args),
                        bench::split(args.text("entries", ""), ';'),
                        bench::Effort::from(args),
                        tailrace::describe_waiting(comm),
                        nodes.num_nodes(),
                        others};
  const std::string pattern = args.text("pattern", "uniform");
  const bool transposes = pattern == "pencils" || pattern == "kept" || pattern == "slabs";
  const auto memory = static_cast<std::ptrdiff_t>(args.real("memory", 256.0 * 1024 * 1024));
  for (const auto& word : bench::split(args.text("sizes", transposes ? "64" : "8"), ',')) {
    const std::ptrdiff_t size = std::atoll(word.c_str());
    const auto problem =
        transposes ? ExchangeProblem::transpose(pattern, size, comm.rank(), comm.num_ranks())
                   : ExchangeProblem::all_to_all(pattern, size, comm.rank(), comm.num_ranks());
    if (!transposes && problem.total_bytes() > memory) continue;
    Match(setting, problem).run();
  }
}

}  // namespace

int bench::run_exchange(int argc, char** argv, MakeOtherExchanges others) {
  return bench::run_program(
      "tailrace-bench exchange", argc, argv,
      [&](const auto&, const auto& args) { run_all(Comm(MPI_COMM_WORLD), args, others); });
}
