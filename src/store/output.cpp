// SPDX-License-Identifier: BSD-3-Clause
// write(): agree on earlier files and on what comes -> lay the metadata out (rank 0, in memory) ->
// move the data into the staging buffers of the writers -> hand them to the writers' threads.
// No disk is touched by the main thread of a hidden output.
#include "tailrace/output.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/at_finalize.hpp"
#include "core/meeting.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "layout/holes.hpp"
#include "store/attribute_values.hpp"
#include "store/completion.hpp"
#include "store/contents_check.hpp"
#include "store/file_image.hpp"
#include "store/hdf5_handle.hpp"
#include "store/route.hpp"
#include "store/staging.hpp"
#include "store/write_plan.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

namespace {

using namespace store;

constexpr std::size_t max_routes = 8;

}  // namespace

class Output::State {
 public:
  State(const Comm& comm, OutputOptions options);
  ~State();
  void write(const std::string& path, const FileContents& given);
  void finish();
  void end_files();
  void end_files_or_say() noexcept;
  void end_at_finalize() noexcept;
  void progress() { completion_.progress(); }
  OutputStatistics statistics() const {
    auto now = statistics_;
    now.run_s = now_s() - made_s_;
    return now;
  }
  std::string last_complete;

 private:
  struct Agreed {
    std::int64_t ended;  // files that have ended, known on all ranks
    std::int64_t plan;   // number of the plan of the path, or -1
    int route;           // place in routes_ of one that fits on all ranks and has this plan, or -1
  };
  Agreed agree_on(const std::string& path, const FileContents& contents);
  void settle(std::int64_t ended);
  void wait_for(std::int64_t count, double& waited_s);
  std::size_t slot_of(std::int64_t number) const {
    return static_cast<std::size_t>(number % options_.buffered_files);
  }
  std::int64_t make_plan(const std::string& path);
  void tell_holes(const FileContents& contents);
  Route& make_route(const FileContents& contents, std::int64_t plan);
  void lay_out(const std::string& path, const FileContents& contents, const Route& route,
               FileTask& task);
  void make_file(const std::string& path, const FileContents& contents, const Route& route,
                 FileTask& task);
  void stage(const FileContents& contents, Route& route, int slot);
  void post(const Route& route, FileTask& task, int slot);

  Comm comm_;
  OutputOptions options_;
  WritePlans plans_;
  Staging staging_;
  Completion completion_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::ptrdiff_t> offsets_;  // see Place
  std::vector<double> handed_s_;         // when the files under way were given to `write`
  std::int64_t num_settled_ = 0;
  OutputStatistics statistics_;
  WithDefaults with_defaults_;
  std::set<std::string> told_holes_;  // names of variables
  double made_s_ = now_s();
  Meeting meeting_;
  std::optional<AtFinalize> at_finalize_;
};

namespace {

/// What rank 0 tells the others about a file: places in `offsets_`.
enum Place : std::size_t { status, total, table, box_table, generation, linked, first_variable };

}  // namespace

Output::State::State(const Comm& comm, OutputOptions options)
    : comm_(comm.duplicate()),
      options_(std::move(options)),
      plans_(comm_, options_),
      staging_(comm_, options_.mode == OutputMode::hidden ? options_.buffered_files : 1,
               options_.method == "auto" || options_.method == "push"),
      completion_(comm_, options_.mode == OutputMode::hidden,
                  options_.mode == OutputMode::hidden ? options_.buffered_files : 1),
      meeting_(comm_, {.who = "output", .all_safe = [this] {
                         try {
                           completion_.progress();
                         } catch (const std::exception&) {
                           return true;  // the job ends anyhow
                         }
                         return completion_.num_ended() == completion_.num_begun();
                       }}) {
  require_all(comm_.raw(), options_.method != "push" || staging_.shared(),
              "output: method \"push\" needs all ranks on one node");
  plans_.set_shared_memory(staging_.shared());
  if (options_.mode == OutputMode::synchronous) options_.buffered_files = 1;
  handed_s_.resize(static_cast<std::size_t>(options_.buffered_files));
  start_hdf5();  // which ends in MPI_Finalize, too: after this output, if it has begun before
  at_finalize_.emplace([this] { end_at_finalize(); });
}

Output::State::~State() {
  meeting_.leave(meeting_.in_destructor());
  end_files_or_say();
}

void Output::State::end_at_finalize() noexcept {
  meeting_.leave(Leaving::finalized);
  const auto left = completion_.num_begun() - num_settled_;
  end_files_or_say();
  if (left == 0 || comm_.rank() != 0) return;
  say(LogLevel::warning,
      fmt::format("output: MPI_Finalize waited for {} file(s): call finish() before, which throws "
                  "what went wrong with them",
                  left));
}

// Lost data must not go unseen.
void Output::State::end_files_or_say() noexcept {
  while (num_settled_ < completion_.num_begun()) {
    try {
      end_files();
    } catch (const std::exception& error) {
      if (comm_.rank() == 0) say(LogLevel::error, fmt::format("output lost: {}", error.what()));
    }
  }
}

// One meeting: what all ranks know to have ended, whether the arguments are right and alike, and
// which plan and known route fit.
Output::State::Agreed Output::State::agree_on(const std::string& path,
                                              const FileContents& contents) {
  constexpr std::size_t fixed = 5;
  auto problem = check_contents(contents, comm_.rank(), comm_.num_ranks());
  if (!problem && path.ends_with(".zarr")) {
    problem = Error(Errc::invalid_input,
                    fmt::format("output: {}: Output writes HDF5 files only; a Stream of a Session "
                                "with servers = \"thread\" writes Zarr",
                                path));
  }
  const auto digest = add_to_digest(digest_of(path, contents), start_of_path(path));
  const auto given = static_cast<std::int64_t>(digest >> 1);
  std::array<std::int64_t, fixed + max_routes> values{};
  values = {completion_.num_ended(), problem || path.empty() ? 0 : 1, given, -given,
            comm_.rank() == 0 ? plans_.find(absolute_path(path))
                              : std::numeric_limits<std::int64_t>::max()};
  for (std::size_t r = 0; !problem && r < routes_.size(); ++r) {
    values[fixed + r] = routes_[r]->fits(contents, comm_.rank()) ? 1 : 0;
  }
  meeting_.begin("write", values);
  if (values[1] == 0) {
    agree(comm_.raw(), problem ? &*problem : nullptr);
    throw Error(Errc::invalid_input, "output: the path is empty");
  }
  if (values[2] != -values[3]) require_alike(comm_, "output", path, contents);
  Agreed agreed{values[0], values[4], -1};
  for (std::size_t r = 0; r < routes_.size(); ++r) {
    if (values[fixed + r] == 1 && routes_[r]->plan_number() == agreed.plan) {
      agreed.route = static_cast<int>(r);
    }
  }
  return agreed;
}

// Takes note of the files that have ended on all ranks; throws the first failure on all of them.
void Output::State::settle(std::int64_t ended) {
  while (num_settled_ < ended) {
    const auto number = num_settled_++;
    const auto& task = completion_.task(number);
    statistics_.written_bytes += task.bytes();
    statistics_.writes += task.writes();
    statistics_.opens += task.opens();
    statistics_.write_s += task.seconds();
    try {
      completion_.check(number);
    } catch (const Error&) {
      ++statistics_.failed;
      throw;
    }
    last_complete = task.path();
    ++statistics_.complete;
    const double safe_s = task.ended_s() - handed_s_[slot_of(number)];
    if (safe_s > statistics_.slowest_s) {
      statistics_.slowest_s = safe_s;
      statistics_.slowest_step = task.step();
    }
  }
}

void Output::State::wait_for(std::int64_t count, double& waited_s) {
  if (completion_.num_ended() < count) {
    const double start_s = now_s();
    const Span span(options_.trace, Activity::wait, "wait for output");
    completion_.wait(count);
    waited_s += now_s() - start_s;
  }
  settle(std::min(count, completion_.num_begun()));
}

std::int64_t Output::State::make_plan(const std::string& path) {
  const auto number = plans_.make(absolute_path(path));
  std::erase_if(routes_, [&](const auto& route) { return route->plan_number() < plans_.oldest(); });
  return number;
}

// A box that was forgotten looks like one that was left out on purpose.
void Output::State::tell_holes(const FileContents& contents) {
  if (comm_.rank() != 0) return;
  for (const auto& variable : contents.variables) {
    const Layout& layout = *variable.layout;
    const auto held = num_held(layout);
    const auto all = Box{layout.num_dims(), {}, layout.global_extents()}.num_items();
    if (held >= all || !told_holes_.insert(variable.name).second) continue;
    say(LogLevel::warning,
        fmt::format(
            "output: the ranks hold {} of {} items of variable {}; the others will read as {}",
            held, all, variable.name,
            fill_item(variable.name, variable.attributes, variable.type) ? "_FillValue" : "0"));
  }
}

Route& Output::State::make_route(const FileContents& contents, std::int64_t plan) {
  require_same_layouts(comm_, "output", contents);
  tell_holes(contents);
  if (routes_.size() == max_routes) routes_.erase(routes_.begin());
  auto route = std::make_unique<Route>(comm_, contents, plans_.plan(plan), plan);
  run_agreed(comm_.raw(), [&] { route->lay_out_piece(options_.checksums); });
  const auto bytes = route->part()->staging_bytes;
  if (staging_.outgrown(bytes)) {
    wait_for(completion_.num_begun(), statistics_.room_s);  // the old buffers are in use until then
    routes_.clear();                                        // of old buffers, if there is no memory
    staging_.grow(bytes);
  }
  routes_.push_back(std::move(route));
  return *routes_.back();
}

// Rank 0 makes the file that no other run may hold, and lays it out in memory.
void Output::State::make_file(const std::string& path, const FileContents& contents,
                              const Route& route, FileTask& task) {
  const auto& plan = plans_.plan(route.plan_number());
  plans_.show(absolute_path(path), route.plan_number());
  task.create(plan.settings, plan.pieces);
  FileImage& image = task.image();
  ImageSetting setting{.alignment = plan.alignment(),
                       .stripe_bytes = plan.stripe_bytes,
                       .path = task.target(),
                       .generation = task.generation()};
  if (plan.pieces) setting.sources = &route.sources();
  // The table has a row about the headers even if the data's checksums are elsewhere.
  if (options_.checksums) setting.table_rows = plan.pieces ? 0 : route.table_rows();
  if (options_.checksums && route.box_rows() > 0) setting.box_rows = route.box_rows();
  build_image(contents, setting, image);
  offsets_[total] = image.total_bytes;
  offsets_[table] = image.table_offset;
  offsets_[box_table] = image.box_table_offset;
  offsets_[generation] = task.generation();
  offsets_[linked] = task.leads_elsewhere() ? 1 : 0;
  std::ranges::copy(image.data_offsets, offsets_.begin() + first_variable);
}

// All ranks learn where the data goes.
void Output::State::lay_out(const std::string& path, const FileContents& contents,
                            const Route& route, FileTask& task) {
  offsets_.assign(contents.variables.size() + first_variable, 0);
  task.name(path, contents.step);
  std::optional<Error> failure;
  if (comm_.rank() == 0) {
    failure = failure_of([&] { make_file(path, contents, route, task); });
    if (failure) {
      task.discard();
      offsets_[status] = 1;
    }
  }
  check_mpi(MPI_Bcast(offsets_.data(), to_int(static_cast<std::ptrdiff_t>(offsets_.size())),
                      MPI_AINT, 0, comm_.raw()));
  if (offsets_[status] != 0) agree(comm_.raw(), failure ? &*failure : nullptr);
  if (offsets_[linked] != 0) task.set_target(broadcast_text(comm_.raw(), task.target()));
}

void Output::State::stage(const FileContents& contents, Route& route, int slot) {
  const Span span(options_.trace, Activity::transfer, "stage output");
  route.move(contents, staging_, slot);
  if (plans_.plan(route.plan_number()).method == "push") check_mpi(MPI_Barrier(comm_.raw()));
}

void Output::State::post(const Route& route, FileTask& task, int slot) {
  const auto& plan = plans_.plan(route.plan_number());
  const bool gathered = plan.cyclic() && offsets_[table] >= 0;
  task.set({.staging = staging_.slot(comm_.rank(), slot),
            .part = route.part(),
            .data_offsets = std::span(offsets_).subspan(first_variable),
            .table_offset = offsets_[table],
            .box_table_offset = offsets_[box_table],
            .total_bytes = offsets_[total],
            .piece_image = route.piece_image(),
            .generation = static_cast<int>(offsets_[generation]),
            .gathered_rows = gathered ? route.row_counts() : std::span<const int>(),
            .rank = comm_.rank(),
            .settings = plan.settings,
            .trace = options_.trace});
  completion_.begin(comm_.rank() == 0 || !route.part()->empty());
}

void Output::State::write(const std::string& path, const FileContents& given) {
  const double start_s = now_s();
  const auto& contents = with_defaults_.of(given, comm_.rank(), comm_.num_ranks());
  completion_.progress();
  const auto agreed = agree_on(path, contents);
  statistics_.agree_s += now_s() - start_s;
  settle(agreed.ended);
  wait_for(completion_.num_begun() + 1 - options_.buffered_files, statistics_.room_s);
  const auto same_path = completion_.find(absolute_path(path), num_settled_);
  if (same_path >= 0) wait_for(same_path + 1, statistics_.room_s);
  const auto plan = agreed.plan >= 0 ? agreed.plan : make_plan(path);
  Route& route = agreed.route >= 0 ? *routes_[static_cast<std::size_t>(agreed.route)]
                                   : make_route(contents, plan);
  FileTask& task = completion_.next_job().task;
  const double copy_start_s = now_s();
  lay_out(path, contents, route, task);
  const auto slot = slot_of(completion_.num_begun());
  handed_s_[slot] = start_s;
  stage(contents, route, static_cast<int>(slot));
  const double copied_s = now_s();
  statistics_.copy_s += copied_s - copy_start_s;
  post(route, task, static_cast<int>(slot));
  if (options_.mode == OutputMode::synchronous) statistics_.end_s += now_s() - copied_s;
  ++statistics_.steps;
  statistics_.bytes += given_bytes(contents, comm_.rank());
  statistics_.call_s += now_s() - start_s;
  if (options_.mode == OutputMode::synchronous) end_files();
}

void Output::State::finish() {
  const double start_s = now_s();
  meeting_.begin("finish");
  statistics_.agree_s += now_s() - start_s;
  statistics_.call_s += now_s() - start_s;
  end_files();
}

void Output::State::end_files() {
  const double start_s = now_s();
  wait_for(completion_.num_begun(), statistics_.end_s);
  statistics_.call_s += now_s() - start_s;
}

Output::Output(const Comm& comm, OutputOptions options)
    : state_(std::make_unique<State>(comm, std::move(options))) {}
Output::~Output() = default;
Output::Output(Output&&) noexcept = default;

void Output::write(const std::string& path, const FileContents& contents) {
  with_place(path, contents.step, [&] { state_->write(path, contents); });
}
void Output::finish() { state_->finish(); }
void Output::progress() { state_->progress(); }
OutputStatistics Output::statistics() const { return state_->statistics(); }
const std::string& Output::last_complete() const { return state_->last_complete; }

}  // namespace tailrace
