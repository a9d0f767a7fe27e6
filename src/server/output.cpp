// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/output.hpp"

#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/at_finalize.hpp"
#include "core/meeting.hpp"
#include "core/say.hpp"
#include "server/put_stream.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace {
namespace {

constexpr double no_limit_s = 1e9;  // 30 years

StreamOptions stream_options(OutputOptions options) {
  StreamOptions made;
  made.wait_limit_s = no_limit_s;
  made.output = std::move(options);
  return made;
}

}  // namespace

class Output::State {
 public:
  State(const Comm& comm, OutputOptions options)
      : comm_(comm.duplicate()),
        meeting_(comm_, {.who = "output",
                         .meanwhile = [this] { progress(); },
                         .all_safe =
                             [this] {
                               progress();
                               return !stream_ || stream_->all_ended();
                             }}) {
    const bool hides = options.mode == OutputMode::hidden;
    auto* trace = options.trace;
    stream_.emplace("", stream_options(std::move(options)), meeting_, comm_,
                    server::PutStream::Setting{.in_background = hides, .trace = trace});
    store::start_hdf5();  // which ends in MPI_Finalize, too: after this output, if begun before
    at_finalize_.emplace([this] { end_at_finalize(); });
  }
  ~State() {
    meeting_.leave(meeting_.in_destructor());
    stream_->finish_or_say();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  server::PutStream& stream() { return *stream_; }

 private:
  void progress() {
    if (stream_) stream_->progress();
  }
  void end_at_finalize() noexcept {
    meeting_.leave(Leaving::finalized);
    const auto left = stream_->num_under_way();
    stream_->finish_or_say();
    stream_->close();
    if (left == 0 || comm_.rank() != 0) return;
    say(LogLevel::warning,
        fmt::format("output: MPI_Finalize waited for {} file(s): call finish() before, which "
                    "throws what went wrong with them",
                    left));
  }

  Comm comm_;
  Meeting meeting_;
  std::optional<server::PutStream> stream_;
  std::optional<AtFinalize> at_finalize_;
};

Output::Output(const Comm& comm, OutputOptions options)
    : state_(std::make_unique<State>(comm, std::move(options))) {}
Output::~Output() = default;
Output::Output(Output&&) noexcept = default;

void Output::write(const std::string& path, const FileContents& contents) {
  with_place(path, contents.step, [&] { state_->stream().write(path, contents); });
}
void Output::finish() { state_->stream().finish(); }
void Output::progress() { state_->stream().progress(); }
OutputStatistics Output::statistics() const { return state_->stream().statistics(); }
const std::string& Output::last_complete() const { return state_->stream().last_complete(); }

}  // namespace tailrace
