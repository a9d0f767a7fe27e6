// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/stream.hpp"

#include "calls/statistics.hpp"
#include "contents.hpp"
#include "output_options.hpp"
#include "session.hpp"

namespace tailrace::c {

namespace {

int stream_write(Ref<tailrace_stream> made, const char* path, const tailrace_contents* contents) {
  const auto outcome =
      write_given(path, contents, [&](const std::string& to, const FileContents& given) {
        return made->stream.write(to, given);
      });
  return static_cast<int>(outcome);
}

void stream_progress(Ref<tailrace_stream> stream) { stream->stream.progress(); }

void stream_finish(Ref<tailrace_stream> stream) { stream->stream.finish(); }

tailrace_output_statistics stream_get_statistics(Ref<tailrace_stream> stream) {
  return output_statistics_of(stream->stream.statistics());
}

std::string stream_describe(Ref<tailrace_stream> stream) {
  return stream->stream.statistics().describe();
}

std::string stream_last_complete(Ref<tailrace_stream> stream) {
  return stream->stream.last_complete();
}

}  // namespace

}  // namespace tailrace::c

#include "calls/stream.inc"
