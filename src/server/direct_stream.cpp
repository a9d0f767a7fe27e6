// SPDX-License-Identifier: BSD-3-Clause
#include "server/stream_state.hpp"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "server/group.hpp"
#include "server/packet.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/write_step.hpp"
#include "store/contents_check.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/output.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

// Each rank is a server of its own boxes.
Step step_of(const std::string& path, std::int64_t number, const FileContents& contents, int rank) {
  auto step = bare_step(path, number, contents);
  for (std::size_t v = 0; v < step.fields.size(); ++v) {
    const auto& variable = contents.variables[v];
    const auto boxes = variable.layout->boxes(rank);
    const auto item = item_bytes(variable.type);
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const auto bytes = static_cast<std::size_t>(boxes[b].num_items() * item);
      auto memory = std::make_shared<std::vector<std::byte>>(bytes);
      StridedCopy(boxes[b], side_of(boxes[b], boxes[b], variable.memory.boxes[b]),
                  packed_side(boxes[b]), item)
          .run(static_cast<const std::byte*>(variable.data), memory->data());
      step.fields[v].parts.push_back({boxes[b], memory->data()});
      step.memory.push_back(std::move(memory));
    }
  }
  return step;
}

/// The first option that a stream of an `Output` cannot heed, or "".
std::string needs_servers(const StreamOptions& options) {
  if (!options.products.empty()) return "products";
  if (!options.variables) return "variables = false";
  if (options.when_full != WhenFull::wait) return "when_full";
  if (options.on_failure != OnFailure::stop) return "on_failure";
  if (options.retry_s > 0) return "retry_s";
  return options.fallback_path.empty() ? "" : "fallback_path";
}

/// A stream without servers.
class LocalStream : public Stream::State {
 protected:
  LocalStream(std::string name, StreamOptions options, Meeting& meeting, const Comm& comm)
      : State(std::move(name), std::move(options), meeting), comm_(comm) {}

  /// Throws on all ranks alike what is wrong with a write on one of them, or differs.
  void agree_on(const std::string& path, const FileContents& contents) {
    const auto who = "stream " + name_;
    auto problem = store::check_contents(contents, comm_.rank(), comm_.num_ranks());
    if (!problem && path.empty()) problem = Error(Errc::invalid_input, "stream: the path is empty");
    const auto given = add_to_digest(store::digest_of(path, contents), start_of_path(path));
    const auto own = static_cast<std::int64_t>(given >> 1);
    const bool same = !problem && store::same_shapes(shapes_, contents, comm_.rank());
    std::array<std::int64_t, num_votes> votes{problem ? 0 : 1, own, -own, same ? 1 : 0};
    meet("write", votes);
    if (votes[right] == 0) agree(comm_.raw(), problem ? &*problem : nullptr);
    if (votes[digest] != -votes[minus_digest]) store::require_alike(comm_, who, path, contents);
    if (votes[unchanged] == 1) return;
    store::require_same_layouts(comm_, who, contents);
    shapes_ = store::shapes_of(contents, comm_.rank());
  }

  const Comm& comm_;  // of the session; not used once that is closed

 private:
  /// What the ranks say of a write in its meeting.
  enum Vote : std::size_t {
    right,  ///< 0 if this rank's arguments are wrong
    digest,
    minus_digest,
    unchanged,  ///< 0 if this rank's shapes are others than those of its last write
    num_votes
  };

  std::vector<store::Shape> shapes_;  // of the last write
};

class DirectStream : public LocalStream {
 public:
  DirectStream(std::string stream_name, StreamOptions options, Meeting& meeting, const Team& team,
               const SessionOptions& session)
      : LocalStream(std::move(stream_name), std::move(options), meeting, *team.compute),
        team_(team),
        threads_(session.threads),
        trace_(session.trace),
        group_(*team.compute, "rank"),
        pipeline_(options_.products, session.functions) {
    options_.output.mode = OutputMode::synchronous;
    options_.output.trace = trace_;
    const bool plain = std::string(find_format(options_.format, "x.h5").name) == "hdf5";
    if (options_.variables && plain) output_.emplace(*team.compute, options_.output);
  }

  WriteResult write(const std::string& path, const FileContents& given) override {
    const double start_s = now_s();
    const auto& contents = with_defaults_.of(given, team_.client, team_.num_clients());
    agree_on(path, contents);
    const double agreed_s = now_s();
    const auto whole_path = absolute_path(path);
    ++statistics_.steps;
    statistics_.bytes += store::given_bytes(contents, team_.client);
    ++number_;
    Outcome outcome;
    if (options_.variables) {
      outcome.add(write_or_fall_back(whole_path, options_, group_, [&](const std::string& to) {
        return write_variables(to, contents);
      }));
    }
    if (!pipeline_.empty()) outcome.add(write_products(whole_path, contents));
    const double seconds = now_s() - agreed_s;
    statistics_.agree_s += agreed_s - start_s;
    statistics_.call_s += now_s() - start_s;
    statistics_.end_s += seconds;
    statistics_.write_s += seconds;
    if (team_.client == 0) statistics_.written_bytes += outcome.bytes;
    if (seconds > statistics_.slowest_s) {
      statistics_.slowest_s = seconds;
      statistics_.slowest_step = contents.step;
    }
    settle(path, outcome);
    return outcome.failure ? WriteResult::dropped : WriteResult::written;
  }

  void progress() override {}
  void finish() override { meet("finish"); }

 private:
  FileSettings settings() {
    return {options_.output, threads_, team_.client == 0 && !std::exchange(said_, true)};
  }

  Outcome write_variables(const std::string& path, const FileContents& contents) {
    if (!output_ || std::string(find_format(options_.format, path).name) == "zarr") {
      return write_file(step_of(path, number_ - 1, contents, team_.client), options_.format,
                        settings(), group_);
    }
    const auto before = output_->statistics();
    output_->write(path, contents);
    const auto after = output_->statistics();
    auto bytes = static_cast<double>(after.written_bytes - before.written_bytes);
    group_.sum({&bytes, 1});
    return {.bytes = static_cast<std::int64_t>(bytes), .seconds = after.write_s - before.write_s};
  }

  Outcome write_products(const std::string& path, const FileContents& contents) {
    std::vector<Pipeline::Result> results;
    std::vector<Pipeline::Failure> failures;
    {
      const Span span(trace_, Activity::compute, "products");
      pipeline_.run(step_of(path, number_ - 1, contents, team_.client), group_, threads_, results,
                    failures);
    }
    auto outcome = write_files(results, options_, settings(), group_);
    for (const auto& failure : failures) outcome.add_failure(failure.error);
    return outcome;
  }

  void settle(const std::string& path, const Outcome& outcome) {
    const bool speaks = team_.client == 0;
    if (!outcome.instead.empty() && speaks) say(LogLevel::warning, outcome.instead);
    if (!outcome.failure) {
      ++statistics_.complete;
      last_complete_ = path;
      return;
    }
    ++statistics_.failed;
    if (options_.on_failure == OnFailure::stop || outcome.failure->code() == Errc::invalid_input) {
      throw Error(*outcome.failure);
    }
    if (speaks) say(LogLevel::error, outcome.failure->what());
  }

  const Team& team_;
  int threads_;
  Trace* trace_;
  MpiGroup group_;
  Pipeline pipeline_;
  store::WithDefaults with_defaults_;
  std::optional<Output> output_;
  std::int64_t number_ = 0;
  bool said_ = false;  // what there is to say about the hints
};

class HiddenStream : public LocalStream {
 public:
  HiddenStream(std::string stream_name, StreamOptions options, Meeting& meeting, const Team& team,
               Trace* trace)
      : LocalStream(std::move(stream_name), std::move(options), meeting, *team.compute) {
    const auto wrong = needs_servers(options_);
    require_all(team.compute->raw(), wrong.empty(),
                fmt::format("stream {}: {} needs a server, and servers = \"hidden\" has none; use "
                            "\"thread\", or \"none\"",
                            name_, wrong));
    options_.output.mode = OutputMode::hidden;
    options_.output.trace = trace;
    output_.emplace(*team.compute, options_.output);
  }

  WriteResult write(const std::string& path, const FileContents& given) override {
    const auto& contents = with_defaults_.of(given, comm_.rank(), comm_.num_ranks());
    agree_on(path, contents);
    if (std::string(find_format(options_.format, path).name) == "zarr") {
      refuse_input("stream {}: {}: servers = \"hidden\" writes HDF5 files only; use \"thread\"",
                   name_, path);
    }
    output_->write(path, contents);
    return WriteResult::staged;
  }

  void progress() override { output_->progress(); }
  void finish() override {
    meet("finish");
    output_->finish();
  }
  OutputStatistics statistics() const override { return output_->statistics(); }
  const std::string& last_complete() const override { return output_->last_complete(); }

 private:
  store::WithDefaults with_defaults_;
  std::optional<Output> output_;
};

}  // namespace

std::shared_ptr<Stream::State> open_direct_stream(std::string name, StreamOptions options,
                                                  Meeting& meeting, const Team& team,
                                                  const SessionOptions& session) {
  return std::make_shared<DirectStream>(std::move(name), std::move(options), meeting, team,
                                        session);
}

std::shared_ptr<Stream::State> open_hidden_stream(std::string name, StreamOptions options,
                                                  Meeting& meeting, const Team& team,
                                                  Trace* trace) {
  return std::make_shared<HiddenStream>(std::move(name), std::move(options), meeting, team, trace);
}

}  // namespace tailrace::server
