// SPDX-License-Identifier: BSD-3-Clause
// A step goes: the leader lays the file out, in memory -> every rank puts its items into the slots
// of those who write -> these have products made and files written, in threads of theirs.
#include "server/put_output.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/agreed_error.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "layout/holes.hpp"
#include "move/strided_copy.hpp"
#include "server/formats/compressors.hpp"
#include "server/node_group.hpp"
#include "server/packet.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"
#include "store/contents_check.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace::server {

using namespace store;

namespace {

constexpr std::size_t max_routes = 8;
constexpr double relay_nap_s = 1e-3;  // messages between writers wake nobody

/// Packs the boxes that `rank` has of `variable` one after another; returns where they end. The
/// caller finishes `copies`.
std::byte* pack(const Variable& variable, int rank, std::byte* to, DeviceCopies& copies) {
  const auto item = item_bytes(variable.type);
  const auto boxes = variable.layout->boxes(rank);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    copies.run(StridedCopy(boxes[b], side_of(boxes[b], boxes[b], variable.memory.boxes[b]),
                           packed_side(boxes[b]), item),
               variable.data, to);
    to += boxes[b].num_items() * item;
  }
  return to;
}

/// Makes float64 of `contents`, which are on the host, float32, in `memory`.
void lower(FileContents& contents, int rank, std::vector<std::vector<std::byte>>& memory) {
  for (auto& variable : contents.variables) {
    if (variable.type != ItemType::float64) continue;
    const auto items = static_cast<std::size_t>(variable.layout->num_items(rank));
    auto& bytes = memory.emplace_back(items * sizeof(double));
    DeviceCopies none;
    pack(variable, rank, bytes.data(), none);
    for (std::size_t i = 0; i < items; ++i) {
      double given = 0;
      std::memcpy(&given, bytes.data() + i * sizeof(double), sizeof given);
      const auto single = static_cast<float>(given);
      std::memcpy(bytes.data() + i * sizeof(float), &single, sizeof single);
    }
    variable.type = ItemType::float32;
    variable.memory = tailrace::Memory::dense(variable.layout->boxes(rank));
    variable.data = bytes.data();
  }
}

}  // namespace

struct PutOutput::Job : StepJob {
  std::int64_t number = 0;
  Slot* slot = nullptr;
  double handed_s = 0, ended_s = 0;
};

PutOutput::PutOutput(std::string its_name, OutputOptions options, Meeting& meeting,
                     const Comm& comm, Setting setting)
    : State(std::move(its_name), std::move(options), meeting, comm),
      setting_(std::move(setting)),
      staging_(comm, num_slots(options_.when_full == WhenFull::lower),
               options_.method == "auto" || options_.method == "push"),
      plans_(comm, options_, staging_.shared()),
      slots_(static_cast<std::size_t>(num_slots(options_.when_full == WhenFull::lower))),
      spill_(options_.spill_folder),
      loop_({setting_.functions, setting_.threads, trace_, setting_.in_background}) {
  require_all(comm.raw(), options_.method != "push" || staging_.shared(),
              "output: method \"push\" needs all ranks on one node");
}

// Its threads wait for those of other ranks.
PutOutput::~PutOutput() {
  while (std::ranges::any_of(slots_, &Slot::busy)) {
    wait(relay_nap_s);
    advance();
  }
}

int PutOutput::num_slots(bool lowered) const {
  if (!setting_.in_background) return 1;
  return options_.buffered_files + (lowered ? 1 : 0);
}

bool PutOutput::is_plain(const std::string& path, const FileContents& contents) const {
  return std::string_view(find_format(options_.format, path).name) == "hdf5" &&
         !makes_chunks(options_, path, contents);
}

// Products and chunks are made of whole rows.
bool PutOutput::wants_rows(const std::string& path, const FileContents& contents) const {
  return !options_.products.empty() || !is_plain(path, contents);
}

// What goes wrong before a step has been taken is thrown by the call, unless more is to be tried,
// or the step may be one that an earlier call has taken.
bool PutOutput::throws_at_once() const {
  return options_.on_failure == OnFailure::stop && options_.products.empty() &&
         options_.retry_s == 0 && options_.fallback_path.empty() &&
         options_.when_full != WhenFull::spill;
}

void PutOutput::prepare(const std::string&, const FileContents& contents) {
  given_bytes_ = given_bytes(contents, comm_.rank());
}

// As this rank knows; what has been spilled goes first.
bool PutOutput::reserve(bool lowered) {
  const auto busy = std::ranges::count_if(slots_, &Slot::busy);
  return busy + std::ssize(spilled_) < num_slots(lowered);
}

void PutOutput::vote_more(const std::string& path, const FileContents& contents, Votes& votes) {
  if (comm_.rank() == 0)
    votes[Vote::plan] = plans_.find(absolute_path(path), wants_rows(path, contents));
  unchanged_ = true;
  votes[Vote::unchanged] = last_route_ && last_route_->fits(contents, comm_.rank()) ? 1 : 0;
}

void PutOutput::hear_votes(const Votes& votes) {
  const auto plan = votes[Vote::plan] != none ? votes[Vote::plan] : plan_;
  shapes_known_ = false;
  bring_back();
  plan_ = plan < plans_.oldest() ? -1 : plan;  // of the step at hand
}

// Which of the routes fit on all ranks.
void PutOutput::agree_on_routes(const FileContents& contents) {
  std::array<std::int64_t, max_routes> fit{};
  for (std::size_t r = 0; r < routes_.size(); ++r) {
    fit[r] = routes_[r]->fits(contents, comm_.rank()) ? 1 : 0;
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, fit.data(), max_routes, MPI_INT64_T, MPI_MIN, comm_.raw()));
  fit_.assign(fit.begin(), fit.begin() + std::ssize(routes_));
}

void PutOutput::take_shapes(const FileContents& contents) {
  unchanged_ = false;
  agree_on_routes(contents);
  shapes_known_ = true;
  if (std::ranges::find(fit_, true) != fit_.end()) return;
  require_same_layouts(comm_, who(), contents);
  tell_holes(contents);
}

// A box that was forgotten looks like one that was left out on purpose.
void PutOutput::tell_holes(const FileContents& contents) {
  if (comm_.rank() != 0) return;
  for (const auto& variable : contents.variables) {
    const Layout& layout = *variable.layout;
    const auto held = num_held(layout);
    const auto all = Box{layout.num_dims(), {}, layout.global_extents()}.num_items();
    if (held >= all || !told_holes_.insert(variable.name).second) continue;
    say(LogLevel::warning,
        fmt::format(
            "{}: the ranks hold {} of {} items of variable {}; the others will read as {}", who(),
            held, all, variable.name,
            fill_item(variable.name, variable.attributes, variable.type) ? "_FillValue" : "0"));
  }
}

std::int64_t PutOutput::make_plan(const std::string& path, bool rows) {
  const auto number = plans_.make(absolute_path(path), rows);
  std::erase_if(routes_, [&](const auto& route) { return route->plan_number() < plans_.oldest(); });
  if (last_route_ && last_route_->plan_number() < plans_.oldest()) last_route_.reset();
  shapes_known_ = false;
  return number;
}

PutOutput::Writers& PutOutput::writers_of(const WritePlan& plan) {
  auto members = plan.writers;
  if (members.empty() || members.front() != 0) members.insert(members.begin(), 0);
  const auto [at, is_new] = writers_.try_emplace(members);
  auto& writers = at->second;
  if (!is_new) return writers;
  writers.has_me = std::ranges::binary_search(members, comm_.rank());
  if (members.size() == 1) {
    writers.products = std::make_unique<LoneGroup>();
    writers.files = std::make_unique<LoneGroup>();
    return writers;
  }
  const Comm part = comm_.split(writers.has_me ? 0 : 1, comm_.rank());
  if (!writers.has_me) return writers;
  const auto name = fmt::format("rank {}", comm_.rank());
  if (!setting_.in_background) {
    writers.products = std::make_unique<MpiGroup>(part, name);
    writers.files = std::make_unique<MpiGroup>(part, name);
    return writers;
  }
  try {
    if (NodeMap(part).num_nodes() == 1) {
      writers.products = std::make_unique<NodeGroup>(part, name);
      writers.files = std::make_unique<NodeGroup>(part, name);
    }
  } catch (const AgreedError& error) {
    writers.products.reset();
    if (part.rank() == 0) {
      say(LogLevel::warning,
          fmt::format("{}: the writers exchange messages, without shared memory ({})", who(),
                      error.what()));
    }
  }
  if (!writers.products) {
    writers.relay = std::make_unique<MpiRelay>(part, name, nullptr);
    writers.products = writers.relay->make_group(0);
    writers.files = writers.relay->make_group(1);
  }
  return writers;
}

// `unchanged`: the shapes are those of `last_route_` on all ranks.
std::shared_ptr<Route> PutOutput::route_for(const std::string& path, const FileContents& contents,
                                            bool unchanged) {
  const auto number = plan_ >= 0 ? plan_ : make_plan(path, wants_rows(path, contents));
  if (unchanged && last_route_ && last_route_->plan_number() == number) return last_route_;
  if (!shapes_known_) agree_on_routes(contents);
  shapes_known_ = false;
  for (std::size_t r = 0; r < routes_.size(); ++r) {
    if (fit_[r] && routes_[r]->plan_number() == number) return routes_[r];
  }
  return make_route(contents, number);
}

std::shared_ptr<Route> PutOutput::make_route(const FileContents& contents, std::int64_t number) {
  if (routes_.size() == max_routes) routes_.erase(routes_.begin());
  auto route = std::make_shared<Route>(comm_, contents, *plans_.plan(number), number);
  run_agreed(comm_.raw(), [&] { route->lay_out_piece(options_.checksums); });
  const auto bytes = route->part()->staging_bytes;
  if (staging_.outgrown(bytes)) {
    wait_until_all_know([&] { return num_busy() == 0; });  // of the old buffers
    routes_.clear();                                       // if there is no memory
    last_route_.reset();
    staging_.grow(bytes);
  }
  routes_.push_back(route);
  return route;
}

// Slots in use, as all ranks know.
std::ptrdiff_t PutOutput::num_busy() const {
  return std::ranges::count_if(slots_,
                               [&](const Slot& slot) { return slot.number >= all_ended_to_; });
}

// Until steps have ended, as all ranks know: `ready` is the same on all of them.
template <class Ready>
void PutOutput::wait_until_all_know(Ready&& ready) {
  const double start_s = now_s();
  while (!ready()) {
    exchange_news();
    if (ready()) break;
    wait(relay_nap_s);
    advance();
  }
  statistics_.room_s += now_s() - start_s;
}

void PutOutput::hand_over(const std::string& path, const FileContents& contents, bool lowered) {
  std::vector<std::vector<std::byte>> memory;
  FileContents in_single;
  if (lowered) {
    in_single = on_host(path, contents);
    lower(in_single, comm_.rank(), memory);
    shapes_known_ = false;
  }
  const auto& given = lowered ? in_single : contents;
  const auto route = route_for(path, given, unchanged_ && !lowered);
  if (!lowered) last_route_ = route;
  put(path, given, num_handed(), lowered, route);
}

/// Rank 0 makes the file and lays it out; all learn where the data goes. False, alike on all, if it
/// failed and more is to be tried.
bool PutOutput::lay_out(PutFile& file, const std::string& whole_path,
                        const FileContents& contents) {
  FilePlaces places;
  std::optional<Error> failure;
  if (comm_.rank() == 0) failure = failure_of([&] { places = file.lay_out_as(contents); });
  if (failure) file.discard();
  // All know the size of this message; if the path leads elsewhere, another one says where.
  std::vector<std::ptrdiff_t> numbers{failure ? 1 : 0,         places.target != whole_path ? 1 : 0,
                                      places.generation,       places.table_offset,
                                      places.box_table_offset, places.total_bytes};
  const auto first_variable = std::ssize(numbers);
  numbers.insert(numbers.end(), places.data_offsets.begin(), places.data_offsets.end());
  numbers.resize(static_cast<std::size_t>(first_variable) + contents.variables.size());
  check_mpi(MPI_Bcast(numbers.data(), to_int(std::ssize(numbers)), MPI_AINT, 0, comm_.raw()));
  if (numbers[0] != 0) {
    if (!throws_at_once()) return false;
    ++statistics_.failed;
    agree(comm_.raw(), failure ? &*failure : nullptr);
  }
  file.place({numbers[1] != 0 ? broadcast_text(comm_.raw(), places.target) : whole_path,
              static_cast<int>(numbers[2]),
              numbers[3],
              numbers[4],
              numbers[5],
              {numbers.begin() + first_variable, numbers.end()}});
  return true;
}

/// The step of `contents` with the parts that this rank has of it in slot `place`.
Step PutOutput::step_in_slot(const std::string& path, const FileContents& contents,
                             std::int64_t number, const Route& route, int place) const {
  Step step = bare_step(options_, path, number, contents);
  const auto* memory = staging_.slot(comm_.rank(), place);
  for (std::size_t v = 0; v < step.fields.size(); ++v) {
    for (const auto& part : route.parts()[v]) {
      step.fields[v].parts.push_back({part.box, memory + part.staging_bytes});
    }
  }
  return step;
}

void PutOutput::put(const std::string& path, const FileContents& given, std::int64_t number,
                    bool lowered, const std::shared_ptr<Route>& route) {
  const auto whole_path = absolute_path(path);
  wait_until_all_know([&] {
    return num_busy() < num_slots(lowered) && std::ranges::none_of(slots_, [&](const Slot& one) {
             return one.number >= all_ended_to_ && one.path == whole_path;
           });
  });
  const double start_s = now_s();
  auto& slot =
      *std::ranges::find_if(slots_, [&](const Slot& one) { return one.number < all_ended_to_; });
  const auto place = static_cast<int>(&slot - slots_.data());
  const auto plan = plans_.plan(route->plan_number());
  auto& writers = writers_of(*plan);
  PutFile::Setting setting{.task = slot.task,
                           .route = route,
                           .plan = plan,
                           .rank = comm_.rank(),
                           .checksums = options_.checksums,
                           .trace = trace_};
  if (writers.has_me) {
    setting.slot = staging_.slot(comm_.rank(), place);
    if (wants_rows(path, given) || !throws_at_once()) {
      setting.step =
          std::make_shared<const Step>(step_in_slot(whole_path, given, number, *route, place));
    }
  }
  // Exchanges read from the host. What comes back from disk is there.
  const bool is_new = number == num_handed();
  const bool pushes = plan->method == "push";
  const auto& contents = is_new && !pushes ? on_host(path, given) : given;
  const bool from_devices = is_new && any_on_device();
  if (from_devices) {  // before any rank makes a file
    const Span span(trace_, Activity::transfer, "stage output");
    auto failure = failure_of([&] {
      route->move(contents, staging_, place, device_);
      device_.finish();
    });
    agree_on_copies(path, contents.step, std::move(failure));
  }
  std::unique_ptr<PutFile> file;
  const bool plain = is_plain(path, contents);
  if (options_.variables && plain) {
    if (comm_.rank() == 0) plans_.show(whole_path, route->plan_number());
    file = std::make_unique<PutFile>(setting, path, contents.step);
    if (!lay_out(*file, whole_path, contents)) file.reset();
  }
  if (!from_devices) {
    const Span span(trace_, Activity::transfer, "stage output");
    route->move(contents, staging_, place, device_);
    if (pushes) check_mpi(MPI_Barrier(comm_.raw()));
  }
  slot.number = number;
  slot.path = whole_path;
  slot.busy = writers.has_me;
  if (number == num_handed()) {
    note_handed(path, contents.step, writers.has_me);
    statistics_.bytes += given_bytes_;
  } else {
    set_hears(number, writers.has_me);
  }
  const double copied_s = now_s();
  statistics_.copy_s += copied_s - start_s;
  if (!writers.has_me) return;
  start_job(slot, writers, setting, plain, std::move(file), contents.step, start_s);
  if (!setting_.in_background) statistics_.end_s += now_s() - copied_s;
}

// What is in `slot` is written, at once or by threads of this rank.
void PutOutput::start_job(Slot& slot, Writers& writers, const PutFile::Setting& setting, bool plain,
                          std::unique_ptr<PutFile> file, std::int64_t step, double handed_s) {
  const auto job = std::make_shared<Job>();
  job->options = &options_;
  job->products = writers.products.get();
  job->files = writers.files.get();
  job->slot = &slot;
  job->number = slot.number;
  job->handed_s = handed_s;
  if (!options_.products.empty()) job->step = *setting.step;
  if (options_.variables && plain) {
    const auto make = [setting, step](const std::string& to) {
      return std::make_unique<PutFile>(setting, to, step);
    };
    job->outputs.push_back({slot.path, make, std::move(file)});
  } else if (options_.variables) {
    job->outputs.push_back(
        output_of({*setting.step, options_.format}, loop_.file_settings(*job), *job->files));
  }
  loop_.start(job, [this, job] {
    job->ended_s = now_s();
    {
      const std::lock_guard lock(mutex_);
      ended_.push_back(job);
    }
    news_.notify_all();
  });
}

void PutOutput::advance() {
  for (auto& [ranks, writers] : writers_) {
    if (writers.relay) writers.relay->progress();
  }
  std::vector<std::shared_ptr<Job>> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(ended_);
  }
  for (const auto& job : jobs) {
    job->slot->busy = false;
    statistics_.writes += job->slot->task.writes();
    statistics_.opens += job->slot->task.opens();
    end_step({.number = job->number,
              .failure = job->outcome.failure,
              .write_s = job->outcome.own_seconds,
              .cpu_s = job->cpu_s,
              .seconds = job->ended_s - job->handed_s,
              .written_bytes = job->outcome.own_bytes});
  }
}

void PutOutput::wait(double limit_s) {
  const bool relays = std::ranges::any_of(
      writers_, [](const auto& entry) { return entry.second.relay != nullptr; });
  std::unique_lock lock(mutex_);
  if (!ended_.empty()) return;
  news_.wait_for(lock,
                 std::chrono::duration<double>(relays ? std::min(limit_s, relay_nap_s) : limit_s));
}

void PutOutput::spill(const std::string& path, const FileContents& contents) {
  const double start_s = now_s();
  packed_.resize(static_cast<std::size_t>(given_bytes_));
  run_agreed(comm_.raw(), [&] {
    auto* to = packed_.data();
    for (const auto& variable : contents.variables) {
      to = pack(variable, comm_.rank(), to, device_);
    }
    device_.finish();
    if (given_bytes_ > 0) spill_.put(packed_, 0, options_.priority);
  });
  auto& spilled = spilled_.emplace_back();
  spilled.number = num_handed();
  spilled.path = absolute_path(path);
  spilled.contents = contents;
  for (auto& variable : spilled.contents.variables) {
    variable.layout = &spilled.layouts.emplace_back(*variable.layout);
    variable.memory = tailrace::Memory::dense(variable.layout->boxes(comm_.rank()));
    variable.data = nullptr;
  }
  note_handed(path, contents.step, true);
  statistics_.bytes += given_bytes_;
  statistics_.copy_s += now_s() - start_s;
}

// Steps that wait on disk go before those to come, as soon as there is a slot.
void PutOutput::bring_back() {
  while (!spilled_.empty()) {
    if (num_busy() >= num_slots(false)) return;
    const auto spilled = std::move(spilled_.front());
    spilled_.pop_front();
    auto contents = spilled.contents;
    const auto bytes = given_bytes(contents, comm_.rank());
    packed_.resize(static_cast<std::size_t>(bytes));
    try {
      run_agreed(comm_.raw(), [&] {
        if (bytes > 0) spill_.take(packed_);
      });
    } catch (const Error& error) {  // alike on all ranks
      end_step({.number = spilled.number, .failure = error});
      continue;
    }
    auto* from = packed_.data();
    for (auto& variable : contents.variables) {
      variable.data = from;
      from += variable.layout->num_items(comm_.rank()) * item_bytes(variable.type);
    }
    plan_ = largest_on_all(
        comm_,
        comm_.rank() == 0 ? plans_.find(spilled.path, wants_rows(spilled.path, contents)) : -1);
    shapes_known_ = false;
    put(spilled.path, contents, spilled.number, false, route_for(spilled.path, contents, false));
  }
}

}  // namespace tailrace::server
