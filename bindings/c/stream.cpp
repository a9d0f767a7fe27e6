// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/stream.hpp"

#include "contents.hpp"
#include "output_options.hpp"
#include "session.hpp"

using namespace tailrace;
using namespace tailrace::c;

int tailrace_stream_write(tailrace_stream* stream, const char* path,
                          const tailrace_contents* contents, int* result) {
  return guarded(__func__, [&] {
    const auto made = get(stream);
    const auto became =
        write_given(path, contents, [&](const std::string& to, const FileContents& given) {
          return made->stream.write(to, given);
        });
    if (result != nullptr) *result = static_cast<int>(became);
  });
}

int tailrace_stream_progress(tailrace_stream* stream) {
  return guarded(__func__, [&] { get(stream)->stream.progress(); });
}

int tailrace_stream_finish(tailrace_stream* stream) {
  return guarded(__func__, [&] { get(stream)->stream.finish(); });
}

int tailrace_stream_get_statistics(const tailrace_stream* stream,
                                   tailrace_output_statistics* statistics) {
  return guarded(__func__, [&] {
    require_address(statistics, "statistics");
    *statistics = to_c(get(stream)->stream.statistics());
  });
}

int tailrace_stream_describe(const tailrace_stream* stream, const char** text) {
  return guarded(__func__, [&] {
    require_address(text, "text");
    *text = text_of(stream, get(stream)->stream.statistics().describe());
  });
}

int tailrace_stream_last_complete(const tailrace_stream* stream, const char** path) {
  return guarded(__func__, [&] {
    require_address(path, "path");
    *path = text_of(stream, get(stream)->stream.last_complete());
  });
}

int tailrace_stream_destroy(tailrace_stream** stream) {
  return guarded(__func__, [&] {
    require_address(stream, "stream");
    end(stream);
  });
}
