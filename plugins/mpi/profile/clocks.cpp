// SPDX-License-Identifier: BSD-3-Clause
#include "profile/clocks.hpp"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>

#include "profile/peers.hpp"
#include "profile/recorder.hpp"

namespace tailrace::plugins {

namespace {

constexpr int most_questions = 40;
constexpr int least_questions = 8;
constexpr std::uint64_t patience_ns = 50'000'000;  // then the least number is enough
constexpr std::int64_t good_ns = 300'000;          // uncertainty that is worth no more questions
constexpr std::uint64_t most_patience_ns = 200'000'000;  // drift is small in that time
constexpr int tag = 1;

// The parent's clock was at `parent_ns` when ours was at `own_ns`, to half of `round_ns`.
struct Point {
  std::uint64_t own_ns = 0;
  std::uint64_t parent_ns = 0;
  std::uint64_t round_ns = 0;  // between the bounds of the difference; 0: was not asked
};

int leader = -1;  // first rank of this node, in the world
int parent = -1;  // of the leader in the tree, in the world
Point at_start;
MPI_Comm leaders = MPI_COMM_NULL;  // between first ranks, where there are several

// The parent reads its clock between question and answer. So each answer bounds the difference of
// the clocks, and the closest bounds may come from two of them: on a busy machine each answer is
// late, but not each question.
Point ask(int whom) {
  std::int64_t least = INT64_MIN, most = INT64_MAX;
  const std::uint64_t start = monotonic_ns();
  std::uint64_t end = start;
  int more = 1;
  for (int i = 1; more != 0; ++i) {
    std::uint64_t theirs = 0;
    const std::uint64_t begin = monotonic_ns();
    PMPI_Send(&more, 1, MPI_INT, whom, tag, leaders);
    PMPI_Recv(&theirs, 1, MPI_UINT64_T, whom, tag, leaders, MPI_STATUS_IGNORE);
    end = monotonic_ns();
    least = std::max(least, static_cast<std::int64_t>(theirs - end));
    most = std::min(most, static_cast<std::int64_t>(theirs - begin));
    const bool is_late = i >= least_questions && end - start > patience_ns;
    const bool enough = most - least < good_ns || end - start > most_patience_ns;
    if (enough && (i >= most_questions || is_late)) more = 0;
  }
  PMPI_Send(&more, 1, MPI_INT, whom, tag, leaders);
  const std::uint64_t own = start + (end - start) / 2;
  const auto apart = static_cast<std::uint64_t>(least + (most - least) / 2);
  // Where the clocks drift apart meanwhile, the bounds may cross.
  return {own, own + apart, static_cast<std::uint64_t>(std::max<std::int64_t>(most - least, 1))};
}

void answer(int whom) {
  for (;;) {
    int more = 0;
    PMPI_Recv(&more, 1, MPI_INT, whom, tag, leaders, MPI_STATUS_IGNORE);
    if (more == 0) return;
    const std::uint64_t time = monotonic_ns();
    PMPI_Send(&time, 1, MPI_UINT64_T, whom, tag, leaders);
  }
}

// Collective over `leaders`; 2 log2(nodes) steps at most. Rank i's parent is i without its lowest
// bit.
Point ask_in_tree() {
  int me = 0;
  int nodes = 0;
  PMPI_Comm_rank(leaders, &me);
  PMPI_Comm_size(leaders, &nodes);
  for (int step = 1; step < nodes; step *= 2) {
    if ((me & step) != 0) return ask(me - step);
    if (me + step < nodes) answer(me + step);
  }
  return {};
}

int in_world(MPI_Comm comm, int rank) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int found = -1;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, 1, &rank, world, &found);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return found;
}

void print_point(Writer& out, const Point& point) {
  out.print("[%llu, %llu, %llu]", static_cast<unsigned long long>(point.own_ns),
            static_cast<unsigned long long>(point.parent_ns),
            static_cast<unsigned long long>(point.round_ns));
}

}  // namespace

void compare_clocks_at_start() {
  MPI_Comm node = MPI_COMM_NULL;
  int ranks = 0;
  int rank = 0;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  PMPI_Comm_size(node, &ranks);
  PMPI_Comm_rank(node, &rank);
  leader = in_world(node, 0);
  know_peers(node);
  PMPI_Comm_free(&node);
  if (ranks == state.num_ranks) return;
  PMPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, state.rank, &leaders);
  if (leaders == MPI_COMM_NULL) return;
  int me = 0;
  PMPI_Comm_rank(leaders, &me);
  if (me > 0) parent = in_world(leaders, me & (me - 1));
  at_start = ask_in_tree();
}

void compare_clocks_at_end(const char* folder) {
  if (leaders == MPI_COMM_NULL) return;
  const Point at_end = ask_in_tree();
  PMPI_Comm_free(&leaders);
  if (parent < 0) return;
  char path[PATH_MAX];
  std::snprintf(path, sizeof path, "%s/rank-%06d.clock", folder, state.rank);
  Writer out(path);
  print_point(out, at_end);
  out.finish();  // without it drift is not known, which the profile says
}

void print_clock(Writer& out) {
  out.print("\"clock\": {\"rank\": %d, \"parent\": %d, \"start\": ", leader, parent);
  print_point(out, at_start);
  out.print("},\n");
}

}  // namespace tailrace::plugins
