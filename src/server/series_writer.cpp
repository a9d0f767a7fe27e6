// SPDX-License-Identifier: BSD-3-Clause
#include "server/series_writer.hpp"

#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/say.hpp"
#include "server/packet.hpp"
#include "server/put_file.hpp"
#include "store/series_index.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace::server {
namespace {

std::string contents_path(const std::string& path) {
  return fmt::format("{}/contents", store::series_folder(path));
}

}  // namespace

void save_series_contents(const std::string& path, const FileContents& contents) {
  const auto bytes = to_bytes("", OutputOptions{}, path, 0, contents, false);
  write_whole_file(contents_path(path),
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void SeriesWriter::shorten() {
  if (has_failed_ || !links_.are_many()) return;
  const auto failure = failure_of([&] {
    const auto text = read_whole_file(contents_path(path_));
    const auto description = to_description(std::as_bytes(std::span(text)));
    std::vector<Layout> layouts;
    links_.move_to_list(contents_of(description.step, layouts));
  });
  if (!failure) return;
  has_failed_ = true;
  say(LogLevel::warning,
      fmt::format("series {}: it will take longer to open: {}", path_, failure->what()));
}

}  // namespace tailrace::server
