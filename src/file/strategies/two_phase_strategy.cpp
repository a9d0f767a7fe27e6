// SPDX-License-Identifier: BSD-3-Clause
#include "file/strategies/two_phase_strategy.hpp"

#include <unistd.h>

#include <utility>

#include "core/agreed_error.hpp"

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

}  // namespace

TwoPhaseShape two_phase_shape(const StrategyRequest& request, std::vector<int> writers) {
  auto& settings = request.settings;
  TwoPhaseShape shape;
  shape.writers = std::move(writers);
  shape.alignment = settings.cb_align;
  shape.stripe_bytes = settings.striping_unit;
  if (shape.stripe_bytes == 0) {
    shape.stripe_bytes = default_stripe_bytes;
    settings.choose("striping_unit", std::to_string(default_stripe_bytes),
                    "the file system names no stripe");
  }
  if (settings.cb_buffer_size == 0) choose_buffer(settings, request.back_end.name);
  shape.buffer_bytes = buffer_for(settings.cb_buffer_size, shape.alignment, shape.stripe_bytes);
  if (settings.cb_exchange == "node") shape.movement = Movement::node;
  if (settings.cb_exchange == "messages") shape.movement = Movement::messages;
  return shape;
}

TwoPhaseStrategy::TwoPhaseStrategy(const StrategyRequest& request, TwoPhase& engine)
    : comm_(request.comm), statistics_(request.statistics), engine_(engine) {
  const Comm* openers = engine.openers();
  const bool makes_own = request.back_end.name == "hdf5";
  if (request.access != FileAccess::read && !makes_own) {
    run_agreed(comm_.raw(), [&] {
      if (openers == nullptr || openers->rank() != 0) return;
      const bool keep =
          request.access == FileAccess::update && ::access(request.path.c_str(), F_OK) == 0;
      if (!keep) create_file(request.path, request.settings);
    });
  }
  if (openers == nullptr) return;
  open_failure_ = failure_of([&] {
    file_ = request.back_end.open(
        {openers, request.path, request.access, request.settings, request.statistics});
  });
}

std::optional<Error> TwoPhaseStrategy::first_of(std::optional<Error> failure) {
  return open_failure_ ? open_failure_ : failure;
}

void TwoPhaseStrategy::write(const FilePart& part, const std::byte* data) {
  const double start_s = now_s() - statistics_.io_s;
  const auto failure = first_of(engine_.write(part, data, file_.get()));
  agree(comm_.raw(), pointer(failure));
  statistics_.move_s += now_s() - statistics_.io_s - start_s;
}

void TwoPhaseStrategy::read(const FilePart& part, std::byte* data) {
  const double start_s = now_s() - statistics_.io_s;
  const auto failure = first_of(engine_.read(part, data, file_.get()));
  agree(comm_.raw(), pointer(failure));
  statistics_.move_s += now_s() - statistics_.io_s - start_s;
}

void TwoPhaseStrategy::close(bool flush) {
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

}  // namespace tailrace::file
