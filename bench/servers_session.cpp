// SPDX-License-Identifier: BSD-3-Clause
// Variants of ours: the same calls of Session and Output, with whom they serve by as an option.

#include <algorithm>
#include <optional>

#include "server/transport.hpp"
#include "servers_variant.hpp"
#include "tailrace/input.hpp"
#include "tailrace/session.hpp"

namespace bench {

namespace {

using tailrace::Comm;
using tailrace::OutputOptions;

/// Compute, and nothing else.
class NoOutput : public StepWriter {
 public:
  const Comm* compute() const override { return &comm_; }
  void open(const StepField&) override {}
  void write(int, const double*) override {}
  void read(int, double*) override {}
  std::optional<bool> under_way() override { return false; }

 private:
  Comm comm_{MPI_COMM_WORLD};
};

class Ours : public StepWriter {
 public:
  Ours(const OutputOptions& options, const Arguments& args)
      : session_(MPI_COMM_WORLD, options), description_(session_.describe()) {
    stream_options_.checksums = args.text("checksums", "yes") == "yes";
    if (options.transport == "auto" || session_.transport() == options.transport) return;
    // It took another one, and said why: not what is to be measured.
    if (session_.computes()) {
      session_.close();
    } else {
      session_.serve();
    }
    throw tailrace::Error(tailrace::Errc::invalid_input, description_);
  }
  const Comm* compute() const override {
    return session_.computes() ? &session_.compute() : nullptr;
  }
  void serve() override {
    if (session_.serve() != 0) {
      throw tailrace::Error(tailrace::Errc::io, "the server says that output was lost");
    }
  }
  void open(const StepField& field) override {
    field_ = &field;
    memory_ = tailrace::Memory::dense({field.box});
    stream_.emplace(session_.open("steps", stream_options_));
  }
  void begin() override { before_ = stream_->statistics(); }
  void write(int step, const double* data) override {
    tailrace::Variable variable;
    variable.name = "u";
    variable.dims = {"z", "y", "x"};
    variable.layout = &field_->layout;
    variable.memory = memory_;
    variable.data = data;
    tailrace::FileContents contents;
    contents.variables.push_back(variable);
    contents.step = step;
    stream_->write(field_->path(step) + ".h5", contents);
  }
  void progress() override { stream_->progress(); }
  void finish() override {
    stream_->finish();
    after_ = stream_->statistics();
  }
  void read(int step, double* data) override {
    const tailrace::Input input(session_.compute(), field_->path(step) + ".h5");
    input.read("u", tailrace::ItemType::float64, field_->layout, memory_, data);
  }
  std::optional<bool> under_way() override {
    const auto now = stream_->statistics();
    return now.complete + now.failed < now.steps;
  }
  void report(JsonLine& line) override {
    const double steps = std::max(1.0, static_cast<double>(after_.steps - before_.steps));
    const auto per_step = [&](double tailrace::OutputStatistics::*time) {
      return (after_.*time - before_.*time) / steps;
    };
    using Statistics = tailrace::OutputStatistics;
    line.text("servers", plain(description_))
        .number("call_s", per_step(&Statistics::call_s))
        .number("agree_s", per_step(&Statistics::agree_s))
        .number("copy_s", per_step(&Statistics::copy_s))
        .number("room_s", per_step(&Statistics::room_s))
        .number("server_write_s", per_step(&Statistics::write_s))
        .number("safe_after_s", after_.slowest_s)
        .number("hidden_fraction", after_.hidden_fraction());
  }
  void close() override {
    stream_.reset();
    session_.close();
  }

 private:
  tailrace::Session session_;
  std::string description_;
  tailrace::OutputOptions stream_options_;
  std::optional<tailrace::Output> stream_;
  const StepField* field_ = nullptr;
  tailrace::Memory memory_;
  tailrace::OutputStatistics before_, after_;
};

ServerVariant make_variant(const std::string& name, const OutputOptions& given, bool own_ranks) {
  const bool many_threads = given.progress == "thread";
  return {"tailrace, " + name, "ours", own_ranks, many_threads, [=](const Arguments& args) {
            OutputOptions options = given;
            if (own_ranks) options.servers = args.text("servers", "1");
            options.folder = args.text("folder", ".");
            options.memory_bytes =
                static_cast<std::ptrdiff_t>(args.real("memory-bytes", double{1 << 30}));
            return std::make_unique<Ours>(options, args);
          }};
}

}  // namespace

std::vector<ServerVariant> session_variants() {
  std::vector<ServerVariant> variants{{"no output", "ours", false, false, [](const Arguments&) {
                                         return std::make_unique<NoOutput>();
                                       }}};
  variants.push_back(make_variant("synchronous", {.servers = "none"}, false));
  variants.push_back(make_variant("hidden", {.servers = "hidden"}, false));
  variants.push_back(make_variant("thread", {.servers = "thread"}, false));
  variants.push_back(make_variant("process", {.servers = "process"}, false));
  for (const auto& transport : tailrace::server::transport_table()) {
    const std::string name = transport.name;
    variants.push_back(make_variant(name, {.transport = name}, true));
    if (name == "push_any" || name == "credit") {
      variants.push_back(
          make_variant(name + ", helper thread", {.transport = name, .progress = "thread"}, true));
    }
    if (name != "credit") continue;
    for (const int senders : {1, 2}) {
      variants.push_back(make_variant(name + ", " + std::to_string(senders) + " at once",
                                      {.transport = name, .senders_at_once = senders}, true));
    }
  }
  return variants;
}

}  // namespace bench
