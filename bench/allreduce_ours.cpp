// SPDX-License-Identifier: BSD-3-Clause
// Every method of the table of reductions beside MPI's own call. One line of JSON a way and size.
//   --operations allreduce,reduce,barrier,many --sizes 8,64,... (bytes)  --methods "more;methods"
//   --entries "word;word"  only entries with such words in their names (the reference always)

#include <deque>
#include <string>

#include "allreduce_problem.hpp"
#include "core/wait.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/reduction.hpp"
#include "words.hpp"

namespace {

using bench::ReductionProblem;
using tailrace::Comm;
using tailrace::Reduction;

/// What all problems of a run share.
struct Setting {
  const Comm& comm;
  std::vector<std::string> methods, ways;
  bench::Effort effort;
  std::string waiting, nodes_text;
  int num_nodes;
};

class Match {
 public:
  Match(const Setting& setting, const std::string& operation, std::ptrdiff_t bytes)
      : setting_(setting),
        problem_(operation, bytes),
        comparison_([this](int round) { problem_.prepare(round); },
                    [this] { return problem_.wrong(); }) {
    const std::string call = operation == "barrier"  ? "MPI_Barrier"
                             : operation == "reduce" ? "MPI_Reduce"
                                                     : "MPI_Allreduce";
    comparison_.add(problem_.mpi(call, "mpi"));
    if (bench::is_wanted(call + ", again", setting.ways)) {
      comparison_.add(problem_.mpi(call + ", again", "null"));
    }
    for (const auto& method : setting.methods) add_ours(method);
  }

  void run() {
    bench::measure(comparison_, problem_, setting_.effort);
    comparison_.print([this](bench::JsonLine& line) {
      problem_.describe(line, setting_.nodes_text);
      line.number("nodes", setting_.num_nodes).text("waiting", setting_.waiting);
    });
  }

 private:
  void add_ours(const std::string& method) {
    if (!bench::is_wanted(method, setting_.ways)) return;
    const tailrace::ReductionShape shape{tailrace::NumberType::float64,
                                         std::ssize(problem_.source())};
    try {
      reductions_.emplace_back(setting_.comm, shape, method);
    } catch (const tailrace::Error& error) {  // the same on all ranks: it does not apply here
      if (error.code() != tailrace::Errc::invalid_input) throw;
      if (setting_.comm.rank() != 0) return;
      bench::JsonLine line;
      line.text("entry", method).text("does_not_apply", bench::plain(error.what()));
      problem_.describe(line, setting_.nodes_text);
      line.print();
      return;
    }
    Reduction& reduction = reductions_.back();
    auto& contender = comparison_.add({method, "ours", [this, &reduction] { reduce(reduction); }});
    contender.checked = problem_.operation() != "barrier";
    contender.buffer_bytes = reduction.buffer_bytes();
    if (method == "auto") contender.chosen = reduction.method();
  }

  void reduce(Reduction& reduction) {
    if (problem_.operation() == "barrier") {
      reduction.barrier();
    } else if (problem_.operation() == "reduce") {
      problem_.count();
      reduction.reduce(std::span(problem_.target()), tailrace::ReduceOp::sum, 0);
    } else {
      reduction.allreduce<double>(problem_.source(), std::span(problem_.target()));
    }
  }

  const Setting& setting_;
  ReductionProblem problem_;
  std::deque<Reduction> reductions_;
  bench::Comparison comparison_;
};

void run_all(const Comm& comm, const bench::Arguments& args) {
  const int nodes = tailrace::NodeMap(comm).num_nodes();
  const auto facts = tailrace::find_wait_facts(comm);
  const Setting setting{comm,
                        bench::methods_of(tailrace::reduction_methods(), args),
                        bench::split(args.text("entries", ""), ';'),
                        bench::Effort::from(args),
                        describe(facts, choose_wait_policy(facts)),
                        bench::nodes_text(nodes),
                        nodes};
  for (const auto& operation : bench::split(args.text("operations", "allreduce"), ',')) {
    const bool one_size = operation == "barrier" || operation == "many";
    for (const auto& size : bench::split(one_size ? "8" : args.text("sizes", "8"), ',')) {
      Match(setting, operation, std::atoll(size.c_str())).run();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_allreduce_ours", argc, argv, [](const auto&, const auto& args) {
    run_all(Comm(MPI_COMM_WORLD), args);
  });
}
