// SPDX-License-Identifier: BSD-3-Clause
// Two-phase I/O: `spokesperson`, `collective` and `grouped` differ in who writes.
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "file/strategies/two_phase.hpp"
#include "file/strategy.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t default_stripe_bytes = std::ptrdiff_t{1} << 20;

// A buffer that stays in the processor's cache until it is written costs no memory traffic; the
// background writes of io_uring are as fast with half as much.
void choose_buffer(Settings& settings, std::string_view back_end) {
  constexpr std::ptrdiff_t kib = 1024;
  if (settings.file_system.kind == FileSystem::Kind::network) {
    settings.cb_buffer_size = 4096 * kib;
    settings.choose("cb_buffer_size", std::to_string(settings.cb_buffer_size),
                    "large requests for a network file system");
    return;
  }
  settings.cb_buffer_size = back_end == "uring" ? 512 * kib : 1024 * kib;
  settings.choose("cb_buffer_size", std::to_string(settings.cb_buffer_size),
                  "a buffer stays in the processor's cache until it is written");
}

const Error* pointer(const std::optional<Error>& failure) { return failure ? &*failure : nullptr; }

/// Only writers open the file.
class TwoPhaseStrategy : public Strategy {
 public:
  /// Collective, blocking. Throws on all ranks if the file cannot be made.
  TwoPhaseStrategy(const StrategyRequest& request, TwoPhase& engine)
      : comm_(request.comm), engine_(engine) {
    const Comm* openers = engine.openers();
    const bool makes_own = request.back_end.name == "hdf5";
    if (request.access != FileAccess::read && !makes_own) {
      make_file(request, openers != nullptr && openers->rank() == 0);
    }
    if (openers == nullptr) return;
    open_failure_ = failure_of([&] {
      file_ = request.back_end.open(
          {openers, request.path, request.access, request.settings, request.statistics});
    });
  }

  void write(const FilePart& part, const std::byte* data) override {
    const auto failure = first_of(engine_.write(part, data, file_.get()));
    agree(comm_.raw(), pointer(failure));
  }

  void read(const FilePart& part, std::byte* data) override {
    const auto failure = first_of(engine_.read(part, data, file_.get()));
    agree(comm_.raw(), pointer(failure));
  }

  void close(bool flush) override {
    std::optional<Error> failure = std::exchange(open_failure_, std::nullopt);
    if (file_) {
      try_also(failure, [&] {
        if (flush) file_->flush();
      });
      try_also(failure, [&] { file_->close(); });
      file_.reset();
    }
    agree(comm_.raw(), pointer(failure));
  }

 private:
  std::optional<Error> first_of(std::optional<Error> failure) {
    return open_failure_ ? open_failure_ : failure;
  }

  const Comm& comm_;
  TwoPhase& engine_;
  std::unique_ptr<BackEnd> file_;
  std::optional<Error> open_failure_;  // on this rank, told at the next call
};

/// The stripe, buffer and movement for these writers, as the settings say; notes what it chose.
TwoPhaseShape two_phase_shape(const StrategyRequest& request, std::vector<int> writers) {
  auto& settings = request.settings;
  TwoPhaseShape shape;
  shape.writers = std::move(writers);
  shape.alignment = settings.cb_align;
  shape.stripe_bytes = settings.striping_unit;
  if (shape.stripe_bytes == 0) {
    shape.stripe_bytes = default_stripe_bytes;
    settings.choose("striping_unit", std::to_string(default_stripe_bytes),
                    "the file system reports no stripe size");
  }
  if (settings.cb_buffer_size == 0) choose_buffer(settings, request.back_end.name);
  shape.buffer_bytes = buffer_for(settings.cb_buffer_size, shape.alignment, shape.stripe_bytes);
  if (settings.cb_exchange == "node") shape.movement = Movement::node;
  if (settings.cb_exchange == "messages") shape.movement = Movement::messages;
  return shape;
}

// A file in memory takes one write at a time: more writers only wait for each other. A local disk
// takes a few at once. On a network file system a second writer of the same node shares its client,
// and clients that write one file together give up buffering.
int writers_per_node(FileSystem::Kind kind) { return kind == FileSystem::Kind::local ? 2 : 1; }

}  // namespace

// Rank 0 does everything: two-phase I/O with one writer.
std::unique_ptr<Strategy> make_spokesperson(const StrategyRequest& request) {
  auto shape = two_phase_shape(request, {0});
  shape.alignment = Alignment::even;
  return std::make_unique<TwoPhaseStrategy>(request, request.pool.two_phase(shape));
}

// Two-phase I/O through several writers: `cb_nodes` of them, or some ranks of each node.
std::unique_ptr<Strategy> make_collective(const StrategyRequest& request) {
  auto& settings = request.settings;
  const auto& system = settings.file_system;
  const int per_node = writers_per_node(system.kind);
  const auto reason = per_node == 1
                          ? fmt::format("one rank of each node on {}", system.name)
                          : fmt::format("up to {} ranks of each node on {}", per_node, system.name);
  const auto writers = choose_writers(settings, request.pool.nodes(), per_node, reason);
  return std::make_unique<TwoPhaseStrategy>(
      request, request.pool.two_phase(two_phase_shape(request, writers)));
}

// Ranks in groups; the first of each reads or writes for all of it. The number of opens and of
// requests to the file system does not depend on the ranks in a group.
std::unique_ptr<Strategy> make_grouped(const StrategyRequest& request) {
  auto& settings = request.settings;
  std::vector<int> roots;
  if (settings.group_size > 0) {
    for (int rank = 0; rank < request.comm.num_ranks(); rank += settings.group_size) {
      roots.push_back(rank);
    }
  } else {
    roots = spread_over_nodes(request.pool.nodes(), 1);
    settings.choose("group_size", std::to_string(request.pool.node().num_ranks()),
                    "the ranks of a node");
  }
  auto shape = two_phase_shape(request, roots);
  shape.group_size = settings.group_size > 0 ? settings.group_size : TwoPhaseShape::node_ranks;
  shape.alignment = Alignment::even;  // a group has one writer: nothing to share out
  return std::make_unique<TwoPhaseStrategy>(request, request.pool.two_phase(shape));
}

}  // namespace tailrace::file
