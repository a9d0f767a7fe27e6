// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/stream.hpp"

#include "server/stream_state.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

Stream::Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;

WriteResult Stream::write(const std::string& path, const FileContents& contents) {
  if (state_->closed()) {
    throw Error(Errc::invalid_input, "stream " + state_->name() + ": its session has been closed");
  }
  return state_->write(path, contents);
}
void Stream::progress() { state_->progress(); }
void Stream::finish() { state_->finish(); }
OutputStatistics Stream::statistics() const { return state_->statistics(); }
const std::string& Stream::last_complete() const { return state_->last_complete(); }

}  // namespace tailrace
