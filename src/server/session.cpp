// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/session.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/at_finalize.hpp"
#include "core/last_resort.hpp"
#include "core/meeting.hpp"
#include "core/refuse_input.hpp"
#include "core/round_up.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"
#include "core/worker.hpp"
#include "server/absolute_options.hpp"
#include "server/client.hpp"
#include "server/formats/compressors.hpp"
#include "server/group.hpp"
#include "server/output_state.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/policy/overflow.hpp"
#include "server/policy/roles.hpp"
#include "server/policy/whose_settings.hpp"
#include "server/process/launcher.hpp"
#include "server/put_output.hpp"
#include "server/served_output.hpp"
#include "server/server.hpp"
#include "server/step_file.hpp"
#include "server/transport.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

using namespace server;

namespace {

/// Throws for numbers that are out of range, and names that are not known, whatever serves.
void check_options(const OutputOptions& options, const std::string& who) {
  constexpr int most_threads = 4096;
  const auto require = [&](bool ok, const std::string& what) {
    if (!ok) throw Error(Errc::invalid_input, who + ": " + what);
  };
  require(options.memory_bytes > 0,
          fmt::format("memory_bytes = {}: must be greater than 0", options.memory_bytes));
  require(options.threads > 0 && options.threads <= most_threads,
          fmt::format("threads = {}: must be 1 to {}", options.threads, most_threads));
  require(options.senders_at_once > 0,
          fmt::format("senders_at_once = {}: must be greater than 0", options.senders_at_once));
  require(options.chunk_bytes > 0,
          fmt::format("chunk_bytes = {}: must be greater than 0", options.chunk_bytes));
  require(!std::isnan(options.watchdog_s), "watchdog_s = nan: must be a time in seconds");
  require(options.progress == "calls" || options.progress == "thread",
          fmt::format("progress = \"{}\": must be \"calls\" or \"thread\"", options.progress));
  if (options.transport != "auto") find_transport(options.transport);
}

constexpr double end_limit_s = 600;
constexpr double usual_limit_s = 600;  // of silence, and of waits
constexpr double no_limit_s = 1e9;     // 30 years

// Each client hears of steps from one server.
std::vector<int> clients_told_by(const Team& team, int server_number) {
  if (!team.by_node && server_number != 0) return {};
  return team.clients_of_server(server_number);
}

int most_clients_of_a_node(const Team& team) {
  std::vector<int> clients;
  for (const int rank : team.rank_of_client) {
    const auto node = static_cast<std::size_t>(team.node_of(rank));
    clients.resize(std::max(clients.size(), node + 1));
    ++clients[node];
  }
  return std::ranges::max(clients);
}

}  // namespace

class Session::State {
 public:
  /// `alone`: of one output, which has no session.
  State(Comm world, OutputOptions options, bool alone);
  ~State();
  int serve();
  std::shared_ptr<Output::State> open(const std::string& name, OutputOptions options);
  void close();

  OutputOptions options;
  Decision decision;
  std::string transport, description;

 private:
  const Team& team() const { return decision.team; }
  TransportSettings transport_settings() const;
  void choose_transport();
  void make_participants();
  void make_server();
  void start_thread();
  void join_thread();
  double watchdog_s() const { return options.watchdog_s > 0 ? options.watchdog_s : no_limit_s; }
  double wait_limit_s(double asked_s) const;
  void check_name(const std::string& name) const;
  void finish_last(Output::State& output, std::optional<Error>& failure);
  void leave_servers(std::optional<Error>& failure);
  void end_at_finalize();
  void end(Leaving how) noexcept;

  std::unique_ptr<MpiRelay> relay_;
  MpiRelay* moved_here_ = nullptr;      // by the streams' calls
  std::unique_ptr<Receiver> receiver_;  // of a rank or thread that serves
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::atomic<bool> thread_ended_ = false;
  bool thread_kept_all_ = true;
  std::unique_ptr<ServerProcess> process_;
  std::unique_ptr<Client> client_;
  std::optional<Meeting> meeting_;  // of the ranks that compute
  std::vector<std::shared_ptr<Output::State>> outputs_;
  const bool alone_;
  bool open_ = true;
  bool ended_ = false;
  std::optional<AtFinalize> at_finalize_;
};

Session::State::State(Comm world, OutputOptions given, bool alone)
    : options(std::move(given)),
      decision(make_team(std::move(world), options, alone)),
      alone_(alone) {
  const auto& made = team();
  run_agreed(made.all.raw(), [&] {
    check_options(options, alone ? "output" : "session");
    check_functions(options.functions);
  });
  if (options.watchdog_s < 0) {
    options.watchdog_s = alone && made.num_servers() == 0 ? 0 : usual_limit_s;
  }
  description = decision.reason;
  store::start_hdf5();  // a parallel one ends in MPI_Finalize, too: after this session
  if (made.compute) {
    const auto progress = [this] {
      if (client_) client_->progress();
      for (const auto& output : outputs_) output->progress();
    };
    const auto all_safe = [this, progress] {
      progress();
      return (!client_ || client_->all_released()) &&
             std::ranges::all_of(outputs_, [](const auto& output) { return output->all_ended(); });
    };
    meeting_.emplace(*made.compute, Meeting::Settings{.who = alone ? "output" : "session",
                                                      .limit_s = options.watchdog_s,
                                                      .meanwhile = progress,
                                                      .all_safe = all_safe});
  }
  if (made.num_servers() > 0) {
    choose_transport();
    make_participants();
  }
  end_at_finalize();
}

// MPI_Finalize ends the newest first, and what an output has made may not end before its session.
void Session::State::end_at_finalize() {
  at_finalize_.emplace([this] {
    std::size_t left = 0;
    for (const auto& output : outputs_) left += output->num_under_way();
    const bool speaks = open_ && team().client == 0;
    if (speaks && !alone_) {
      say(LogLevel::warning,
          "session: MPI_Finalize closes it; call close() before, which also throws errors");
    }
    end(Leaving::finalized);
    if (!speaks || !alone_ || left == 0) return;
    say(LogLevel::warning,
        fmt::format("output: MPI_Finalize waited for {} file(s); call `finish` before, which "
                    "also throws their errors",
                    left));
  });
}

void Session::State::choose_transport() {
  std::string why = "asked for";
  transport = decision.transport;
  if (transport == "auto") {
    transport = server::choose_transport(team(), transport_settings(), why).name;
  } else {
    const auto& chosen = find_transport(transport);
    const auto refusal = chosen.refuses(team());
    if (!refusal.empty()) {
      refuse_input("session: transport {} cannot be used here: {}", transport, refusal);
    }
  }
  const int num = team().num_servers();
  const bool processes = team().kind == Team::Kind::process;
  const char* kind = processes ? "process" : team().kind == Team::Kind::thread ? "thread" : "rank";
  const char* plural = num == 1 ? "" : processes ? "es" : "s";
  description = fmt::format("{} server {}{} ({}); transport {} ({})", num, kind, plural,
                            decision.reason, transport, why);
}

TransportSettings Session::State::transport_settings() const {
  TransportSettings settings;
  const auto share = options.memory_bytes / most_clients_of_a_node(team());
  settings.client_bytes = std::max(share / page_bytes * page_bytes, page_bytes);
  settings.server_bytes = options.memory_bytes;
  settings.senders_at_once = options.senders_at_once;
  settings.chunk_bytes = options.chunk_bytes;
  settings.helper_thread = options.progress == "thread";
  settings.watchdog_s = watchdog_s();
  return settings;
}

/// What `make` throws alike on all ranks for want of memory names the setting that asks for it.
template <class Make>
void naming_memory(Make&& make) {
  try {
    make();
  } catch (const AgreedError& error) {
    const bool lacks_memory = error.sys_errno() == ENOMEM || error.sys_errno() == ENOSPC ||
                              error.code() == Errc::internal;
    if (!lacks_memory) throw;
    throw AgreedError(error.code(),
                      fmt::format("{}; give less staging memory (OutputOptions::memory_bytes, "
                                  "output.memory of a case)",
                                  error.what()),
                      error.sys_errno(), error.place());
  }
}

void Session::State::make_participants() {
  const auto settings = transport_settings();
  std::unique_ptr<Sender> sender;
  if (team().kind == Team::Kind::process) {
    process_ =
        std::make_unique<ServerProcess>(team(), settings, options.threads, options.server_program);
    sender = process_->take_sender();
  } else {
    const auto& chosen = find_transport(transport);
    naming_memory([&] {
      if (team().client >= 0) sender = chosen.make_sender(team(), settings);
      if (team().server >= 0) receiver_ = chosen.make_receiver(team(), settings);
    });
  }
  make_server();
  if (sender) client_ = std::make_unique<Client>(team(), std::move(sender), moved_here_);
  if (team().kind == Team::Kind::thread && team().server >= 0) start_thread();
}

// Servers on several nodes talk by MPI; threads of them by way of the main thread, if they may not
// call MPI.
void Session::State::make_server() {
  const bool here = receiver_ != nullptr;
  if (team().kind == Team::Kind::process) return;
  const bool moves_relay = team().kind == Team::Kind::ranks || decision.threads_may_call_mpi;
  if (team().num_servers() > 1) {
    const Comm servers = team().all.split(here ? 0 : 1, here ? team().server : 0);
    if (here) {
      relay_ = std::make_unique<MpiRelay>(servers, fmt::format("server {}", team().server),
                                          moves_relay ? receiver_.get() : nullptr);
      if (!moves_relay) moved_here_ = relay_.get();
    }
  }
  if (!here) return;
  server_ = std::make_unique<Server>(
      *receiver_, ServerSettings{.clients = clients_told_by(team(), team().server),
                                 .threads = options.threads,
                                 .functions = options.functions,
                                 .trace = options.trace,
                                 .relay = relay_.get(),
                                 .moves_relay = relay_ && moves_relay});
}

void Session::State::start_thread() {
  thread_ = start_background_thread([this] {
    try {
      thread_kept_all_ = server_->run();
    } catch (const std::exception& error) {
      // Compute ranks would wait for ever.
      end_job(team().all, fmt::format("the server thread fails: {}", error.what()));
    }
    thread_ended_.store(true);
  });
}

void Session::State::join_thread() {
  if (!thread_.joinable()) return;
  wait_until({}, [&] {
    if (moved_here_ != nullptr) moved_here_->progress();
    return moved_here_ == nullptr || thread_ended_.load();
  });
  thread_.join();
}

int Session::State::serve() {
  if (!server_ || team().kind != Team::Kind::ranks) {
    throw Error(Errc::invalid_input, "session: serve() is for ranks that do not compute");
  }
  try {
    const bool kept_all = server_->run();
    open_ = false;
    return kept_all ? 0 : 1;
  } catch (const std::exception& error) {
    end_job(team().all, fmt::format("server {} fails: {}", team().server, error.what()));
  }
}

void Session::State::check_name(const std::string& name) const {
  const bool taken =
      std::ranges::any_of(outputs_, [&](const auto& s) { return s->name() == name; });
  require_all(team().compute->raw(), !taken && !name.empty(),
              fmt::format("session: an output \"{}\" cannot be opened: the name is {}", name,
                          taken ? "taken" : "empty"));
}

double Session::State::wait_limit_s(double asked_s) const {
  if (asked_s < 0 && !alone_) return usual_limit_s;
  return asked_s > 0 ? asked_s : no_limit_s;
}

std::shared_ptr<Output::State> Session::State::open(const std::string& name,
                                                    OutputOptions its_options) {
  if (!team().compute) throw Error(Errc::invalid_input, "session: servers open no outputs");
  if (!open_) {
    refuse_input("session: output \"{}\" cannot be opened: the session has been closed", name);
  }
  const auto& comm = *team().compute;
  if (!alone_) {
    meeting_->begin("open of output " + name);
    check_name(name);
    run_agreed(comm.raw(), [&] { refuse_settings_of_sessions(name, its_options); });
  }
  its_options = with_absolute_paths(comm, std::move(its_options));
  if (its_options.trace == nullptr) its_options.trace = options.trace;
  run_agreed(comm.raw(), [&] {
    if (std::isnan(its_options.wait_limit_s)) {
      refuse_input("wait_limit_s = nan: must be a time in seconds");
    }
    // Errors now rather than on the servers; tailrace-server has no functions.
    const Overflow check(its_options);
    find_format(its_options.format, "x.h5");
    parse_compress(its_options.compress);
    const bool has_functions =
        team().kind != Team::Kind::process || !options.server_program.empty();
    const Pipeline products(its_options.products,
                            has_functions ? options.functions : StageFunctions{});
  });
  its_options.wait_limit_s = wait_limit_s(its_options.wait_limit_s);
  std::shared_ptr<Output::State> output;
  if (team().num_servers() == 0) {
    output = std::make_shared<PutOutput>(
        name, std::move(its_options), *meeting_, comm,
        PutOutput::Setting{team().kind == Team::Kind::hidden, options.threads, options.functions});
  } else {
    run_agreed(comm.raw(), [&] {
      output = std::make_shared<ServedOutput>(name, std::move(its_options), *meeting_, *client_);
    });
  }
  output->set_description(description);
  outputs_.push_back(output);
  end_at_finalize();
  return output;
}

void Session::State::close() {
  if (!open_) return;
  if (meeting_) meeting_->begin_last("close");
  open_ = false;
  std::optional<Error> failure;
  for (const auto& output : outputs_) finish_last(*output, failure);
  leave_servers(failure);
  if (failure) throw *failure;
}

// The same calls in `close` as in `end`: some ranks may do the one, and some the other.
void Session::State::finish_last(Output::State& output, std::optional<Error>& failure) {
  try_also(failure, [&] { output.finish(); });
  output.leave();  // what comes after a failure
  output.close();
}

void Session::State::leave_servers(std::optional<Error>& failure) {
  if (!client_) return;
  try_also(failure, [&] {
    client_->leave(std::min(end_limit_s, 2 * watchdog_s()));
    join_thread();
    if (process_) process_->finish(end_limit_s);
  });
}

// Closes it, and lets go of servers that cannot be reached.
void Session::State::end(Leaving how) noexcept {
  if (std::exchange(ended_, true)) return;
  if (!team().compute && open_) {
    end_job(team().all, fmt::format("server {} leaves the session without serve(); the compute "
                                    "ranks would wait for it",
                                    team().server));
  }
  if (team().compute) {
    const bool was_open = std::exchange(open_, false);
    if (was_open) meeting_->leave(how);
    const bool ends_servers = was_open && how != Leaving::failed;
    const auto say_failure = [&](const std::string& what, const std::optional<Error>& failure) {
      if (failure && team().client == 0) say(LogLevel::error, what + failure->what());
    };
    for (const auto& output : outputs_) {
      std::optional<Error> failure;
      if (ends_servers) finish_last(*output, failure);
      say_failure(output->who() + " lost: ", failure);
      if (!output->closed()) output->leave();
      output->close();
    }
    std::optional<Error> failure;
    if (ends_servers) leave_servers(failure);
    say_failure("", failure);
    // Also after a `close` that failed: servers would wait for ever.
    if (client_ && !client_->has_left()) client_->abandon(watchdog_s());
    if (thread_.joinable() && client_->gone()) server_->stop();
  }
  join_thread();
}

Session::State::~State() { end(meeting_ ? meeting_->in_destructor() : Leaving::destroyed); }

Session::Session(MPI_Comm world, OutputOptions options) {
  Comm all(world);
  run_agreed(all.raw(), [&] { refuse_settings_of_outputs(options); });
  state_ = std::make_unique<State>(std::move(all), std::move(options), false);
}
Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

bool Session::computes() const { return state_->decision.team.compute.has_value(); }
const Comm& Session::compute() const {
  if (!computes())
    throw Error(Errc::invalid_input, "session: this rank serves, it does not compute");
  return *state_->decision.team.compute;
}
int Session::serve() { return state_->serve(); }
const std::string& Session::describe() const { return state_->description; }
bool Session::hides() const { return state_->decision.team.kind != Team::Kind::none; }
int Session::num_servers() const { return state_->decision.team.num_servers(); }
const std::string& Session::transport() const { return state_->transport; }
Output Session::open(const std::string& name, OutputOptions options) {
  return Output(state_->open(name, std::move(options)));
}
void Session::close() { state_->close(); }

// Settings of who writes are not looked at where an output is opened, and the other way round.
Output::Output(const Comm& comm, OutputOptions options)
    : own_(new Session(std::make_unique<Session::State>(comm.duplicate(), options, true))) {
  state_ = own_->state_->open("", std::move(options));
}
Output::Output(std::shared_ptr<State> state) : state_(std::move(state)) {}
Output::~Output() = default;
Output::Output(Output&&) noexcept = default;

WriteResult Output::write(const std::string& path, const FileContents& contents) {
  if (state_->closed()) {
    throw Error(Errc::invalid_input, state_->who() + ": its session has been closed");
  }
  auto result = WriteResult::dropped;
  with_place(path, contents.step, [&] { result = state_->write(path, contents); });
  return result;
}
void Output::progress() { state_->progress(); }
void Output::finish() {
  if (!state_->closed()) state_->finish();
}
OutputStatistics Output::statistics() const { return state_->statistics(); }
const std::string& Output::last_complete() const { return state_->last_complete(); }
const std::string& Output::describe() const { return state_->description(); }

}  // namespace tailrace
