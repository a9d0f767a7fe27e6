// SPDX-License-Identifier: BSD-3-Clause
// bench_groundwater_reactions CASE CELLS REPEATS: a step of the reactions of the groundwater
// application by each kernel in turn, as lines of JSON: the median and the range of so many times
// for CELLS cells whose waters differ.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "common/case_text.hpp"
#include "reactive.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace {

using namespace tailrace;
using namespace tailrace::groundwater;

struct Problem {
  Chemistry chemistry;
  CellStates states;
  std::vector<double> totals, contents, areas;
};

/// The first water of a case, its totals from cell to cell up to 20 % more or less.
Problem make_problem(const std::string& path, std::size_t num_cells) {
  const Case values = app::check_case<Case>(path, {}, 1);
  Problem out;
  out.chemistry = chemistry_of(values);
  const auto& chemistry = out.chemistry;
  const std::size_t n = chemistry.num_primary();
  const Solution water = make_waters(values, chemistry)[0];
  Speciation speciation(chemistry);
  out.areas.assign(chemistry.minerals.size(), 100.0);
  Reactions reactions(chemistry, out.areas);
  out.states = reactions.states_of(water, std::vector(chemistry.minerals.size(), 1e3), num_cells);
  std::vector<double> totals(n);
  speciation.totals(water, totals, {});
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < num_cells; ++i) {
      out.totals.push_back(totals[j] * (1 + 0.2 * std::sin(static_cast<double>(i + 3 * j))));
    }
  }
  out.contents.assign(num_cells, 0.25);
  return out;
}

double time_of(const Problem& problem, const ReactionKernel& kernel) {
  Reactions reactions(problem.chemistry, problem.areas, kernel);
  reactions.set_step(1e5);
  auto totals = problem.totals;
  auto states = problem.states;
  const double start = now_s();
  const auto failed = reactions.step(problem.contents, totals, states);
  const double spent = now_s() - start;
  if (failed > 0) throw Error(Errc::internal, "cells have not converged");
  return spent;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "bench_groundwater_reactions CASE CELLS REPEATS\n");
    return 2;
  }
  const auto num_cells = static_cast<std::size_t>(std::max(1, std::atoi(argv[2])));
  const auto problem = make_problem(argv[1], num_cells);
  const auto kernels = reaction_kernels();
  std::vector<std::vector<double>> times(kernels.size());
  for (int r = 0; r < std::max(1, std::atoi(argv[3])); ++r) {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      times[k].push_back(time_of(problem, *kernels[k]));
    }
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    auto& of = times[k];
    std::sort(of.begin(), of.end());
    const double us = 1e6 / static_cast<double>(num_cells);
    std::printf(
        "{\"kernel\": \"%s\", \"cells\": %zu, \"us_a_cell\": %.4g, \"lowest\": %.4g, "
        "\"highest\": %.4g}\n",
        std::string(kernels[k]->name).c_str(), num_cells, of[of.size() / 2] * us, of.front() * us,
        of.back() * us);
  }
}
