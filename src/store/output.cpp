// SPDX-License-Identifier: BSD-3-Clause
// write(): agree on earlier files and on what comes -> lay the metadata out (rank 0, in memory) ->
// move the data into the staging buffers of the writers -> hand them to the writers' threads.
// No disk is touched by the main thread of a hidden output.
#include "tailrace/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/completion.hpp"
#include "store/contents_check.hpp"
#include "store/file_image.hpp"
#include "store/route.hpp"
#include "store/staging.hpp"
#include "store/writer_thread.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

std::ptrdiff_t item_bytes(ItemType type) {
  return type == ItemType::float32 || type == ItemType::int32 ? 4 : 8;
}

namespace {

using namespace store;

constexpr int writers_per_node = 4;
constexpr std::size_t max_routes = 8;

std::vector<int> every_nth(int num_ranks, int num_writers) {
  std::vector<int> writers;
  for (int w = 0; w < num_writers; ++w) {
    writers.push_back(static_cast<int>(split_evenly(num_ranks, num_writers, w).start));
  }
  return writers;
}

// Up to 4 ranks of each node: more streams do not write faster, fewer leave copying to few cores.
std::vector<int> choose_writers(const Comm& comm, int wanted) {
  if (wanted > 0) return every_nth(comm.num_ranks(), wanted);
  const Comm node = comm.node();
  const auto local = every_nth(node.num_ranks(), std::min(writers_per_node, node.num_ranks()));
  const int mine = std::ranges::binary_search(local, node.rank()) ? 1 : 0;
  std::vector<int> chosen(static_cast<std::size_t>(comm.num_ranks()));
  check_mpi(MPI_Allgather(&mine, 1, MPI_INT, chosen.data(), 1, MPI_INT, comm.raw()));
  std::vector<int> writers;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) {
    // Rank 0 keeps the metadata and always writes.
    if (rank == 0 || chosen[static_cast<std::size_t>(rank)] == 1) writers.push_back(rank);
  }
  return writers;
}

void check_options(const Comm& comm, const OutputOptions& options) {
  require_all(
      comm.raw(), options.writers >= 0 && options.writers <= comm.num_ranks(),
      fmt::format("output: writers = {} must be between 0 (choose) and the number of ranks, {}",
                  options.writers, comm.num_ranks()));
  require_all(comm.raw(), options.stripe_bytes >= 0 && options.stripe_bytes % 8 == 0,
              fmt::format("output: stripe_bytes = {} must be 0 (even shares) or a multiple of 8",
                          options.stripe_bytes));
  require_all(
      comm.raw(), options.buffered_files >= 1 && options.buffered_files <= 64,
      fmt::format("output: buffered_files = {} must be between 1 and 64", options.buffered_files));
  bool known = options.method == "auto" || options.method == "push";
  std::string names = "auto, push";
  for (const auto& method : move_methods()) {
    known = known || method.name == options.method;
    names += fmt::format(", {}", method.name);
  }
  require_all(comm.raw(), known,
              fmt::format("output: method \"{}\" is unknown; there are {}", options.method, names));
}

std::int64_t hash_text(const std::string& text) {
  return static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
}

}  // namespace

class Output::State {
 public:
  State(const Comm& comm, OutputOptions options);
  ~State();
  void write(const std::string& path, const FileContents& contents);
  void finish();
  void progress() { completion_.progress(); }
  OutputStatistics statistics;
  std::string last_complete;

 private:
  struct Agreed {
    std::int64_t ended;  // files that have ended, known on all ranks
    int route;           // place in routes_ that fits on all ranks, or -1
  };
  Agreed agree_on(const std::string& path, const FileContents& contents);
  void settle(std::int64_t ended);
  void wait_for(std::int64_t count);
  Route& make_route(const FileContents& contents);
  void lay_out(const std::string& path, const FileContents& contents, const Route& route,
               FileJob& job);
  void stage(const FileContents& contents, Route& route, int slot);

  Comm comm_;
  OutputOptions options_;
  std::vector<int> writers_;
  std::string method_;
  Staging staging_;
  WriterThread thread_;
  Completion completion_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::ptrdiff_t> offsets_;  // status, total bytes, table, each variable
  std::int64_t num_settled_ = 0;
};

Output::State::State(const Comm& comm, OutputOptions options)
    : comm_(comm.raw()),
      options_(std::move(options)),
      writers_((check_options(comm_, options_), choose_writers(comm_, options_.writers))),
      staging_(comm_, options_.mode == OutputMode::hidden ? options_.buffered_files : 1,
               options_.method == "auto" || options_.method == "push"),
      thread_(options_.mode == OutputMode::hidden &&
              std::ranges::binary_search(writers_, comm_.rank())),
      completion_(comm_, thread_,
                  options_.mode == OutputMode::hidden ? options_.buffered_files : 1) {
  require_all(comm_.raw(), options_.method != "push" || staging_.shared(),
              "output: method \"push\" needs all ranks on one node");
  method_ = options_.method;
  if (method_ == "auto") method_ = staging_.shared() ? "push" : "alltoallv";
  if (options_.mode == OutputMode::synchronous) options_.buffered_files = 1;
}

Output::State::~State() {
  constexpr double limit_s = 30;
  if (std::uncaught_exceptions() > 0) completion_.leave_together(limit_s);
  while (num_settled_ < completion_.num_begun()) {
    try {
      finish();
    } catch (const std::exception& error) {
      // The only print of this room: lost data must not go unseen.
      if (comm_.rank() == 0) std::fprintf(stderr, "tailrace: output lost: %s\n", error.what());
    }
  }
}

// One reduction: what all ranks know to have ended, whether the arguments are right and alike, and
// which known route fits.
Output::State::Agreed Output::State::agree_on(const std::string& path,
                                              const FileContents& contents) {
  const auto problem = check_contents(contents, comm_.rank(), comm_.num_ranks());
  std::int64_t route = -1;
  for (std::size_t r = 0; !problem && r < routes_.size(); ++r) {
    if (routes_[r]->fits(contents, comm_.rank())) route = static_cast<std::int64_t>(r);
  }
  const auto name = hash_text(path);
  std::array<std::int64_t, 6> values{
      completion_.num_ended(), problem || path.empty() ? 0 : 1, route, -route, name, -name};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                          MPI_MIN, comm_.raw()));
  if (values[1] == 0) {
    agree(comm_.raw(), problem ? &*problem : nullptr);
    throw Error(Errc::invalid_input, "output: the path is empty");
  }
  if (values[4] != -values[5]) {
    throw Error(Errc::invalid_input,
                fmt::format("output: the ranks gave different paths, this one \"{}\"", path));
  }
  return {values[0], values[2] == -values[3] ? static_cast<int>(values[2]) : -1};
}

// Takes note of the files that have ended on all ranks; throws the first failure on all of them.
void Output::State::settle(std::int64_t ended) {
  while (num_settled_ < ended) {
    const auto number = num_settled_++;
    const auto& task = completion_.task(number);
    statistics.bytes += task.bytes();
    statistics.write_s += task.seconds();
    completion_.check(number);
    last_complete = task.path();
    ++statistics.files;
  }
}

void Output::State::wait_for(std::int64_t count) {
  if (completion_.num_ended() < count) {
    const double start_s = now_s();
    const Span span(options_.trace, Activity::wait, "wait for output");
    completion_.wait(count);
    statistics.stall_s += now_s() - start_s;
  }
  settle(std::min(count, completion_.num_begun()));
}

Route& Output::State::make_route(const FileContents& contents) {
  if (routes_.size() == max_routes) routes_.erase(routes_.begin());
  const Route::Setting setting{writers_, options_.stripe_bytes, method_};
  auto route = std::make_unique<Route>(comm_, contents, setting);
  int grows = staging_.grows(route->staging_bytes()) ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &grows, 1, MPI_INT, MPI_MAX, comm_.raw()));
  if (grows == 1) wait_for(completion_.num_begun());  // the old buffers are in use until then
  staging_.reserve(route->staging_bytes());
  routes_.push_back(std::move(route));
  return *routes_.back();
}

// Rank 0 lays out the metadata; all learn where the data goes.
void Output::State::lay_out(const std::string& path, const FileContents& contents,
                            const Route& route, FileJob& job) {
  const auto num_variables = contents.variables.size();
  offsets_.assign(num_variables + 3, 0);
  std::optional<Error> failure;
  FileImage& image = job.task.image();
  if (comm_.rank() == 0) {
    unlink((path + ".partial").c_str());  // left by a killed run; before any writer opens it
    try {
      build_image(contents, options_.stripe_bytes, options_.checksums ? route.table_rows() : -1,
                  image);
      offsets_[1] = image.total_bytes;
      offsets_[2] = image.table_offset;
      std::ranges::copy(image.data_offsets, offsets_.begin() + 3);
    } catch (const Error& error) {
      failure = error;
      offsets_[0] = 1;
    }
  }
  check_mpi(MPI_Bcast(offsets_.data(), to_int(static_cast<std::ptrdiff_t>(offsets_.size())),
                      MPI_AINT, 0, comm_.raw()));
  if (offsets_[0] != 0) agree(comm_.raw(), failure ? &*failure : nullptr);
}

void Output::State::stage(const FileContents& contents, Route& route, int slot) {
  const Span span(options_.trace, Activity::transfer, "stage output");
  route.move(contents, staging_, slot);
  if (method_ == "push") check_mpi(MPI_Barrier(comm_.raw()));
}

void Output::State::write(const std::string& path, const FileContents& contents) {
  const double start_s = now_s();
  completion_.progress();
  const auto agreed = agree_on(path, contents);
  settle(agreed.ended);
  wait_for(completion_.num_begun() + 1 - options_.buffered_files);
  const auto same_path = completion_.find(path, num_settled_);
  if (same_path >= 0) wait_for(same_path + 1);
  Route& route =
      agreed.route >= 0 ? *routes_[static_cast<std::size_t>(agreed.route)] : make_route(contents);
  FileJob& job = completion_.next_job();
  lay_out(path, contents, route, job);
  const int slot = static_cast<int>(completion_.num_begun() % options_.buffered_files);
  stage(contents, route, slot);
  job.task.set({.path = path,
                .step = contents.step,
                .staging = staging_.slot(comm_.rank(), slot),
                .runs = route.runs(),
                .data_offsets = std::span(offsets_).subspan(3),
                .table_offset = offsets_[2],
                .total_bytes = offsets_[1],
                .metadata = comm_.rank() == 0,
                .trace = options_.trace});
  completion_.begin(comm_.rank() == 0 || !route.runs().empty());
  statistics.call_s += now_s() - start_s;
  if (options_.mode == OutputMode::synchronous) finish();
}

void Output::State::finish() {
  const double start_s = now_s();
  wait_for(completion_.num_begun());
  statistics.call_s += now_s() - start_s;
}

Output::Output(const Comm& comm, OutputOptions options)
    : state_(std::make_unique<State>(comm, std::move(options))) {}
Output::~Output() = default;
Output::Output(Output&&) noexcept = default;

void Output::write(const std::string& path, const FileContents& contents) {
  state_->write(path, contents);
}
void Output::finish() { state_->finish(); }
void Output::progress() { state_->progress(); }
const OutputStatistics& Output::statistics() const { return state_->statistics; }
const std::string& Output::last_complete() const { return state_->last_complete; }

}  // namespace tailrace
