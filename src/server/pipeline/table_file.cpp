// SPDX-License-Identifier: BSD-3-Clause
#include "server/pipeline/table_file.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/refuse_input.hpp"
#include "core/whole_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

/// The whole lines of a file; nothing if there is no such file.
std::optional<std::string> whole_lines(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return std::nullopt;
  if (S_ISDIR(status.st_mode)) fail_errno(EISDIR);
  if (!S_ISREG(status.st_mode)) fail_errno(EINVAL);  // a device may have no end
  auto text = read_whole_file(path);
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  return text;
}

/// The step that a line begins with; nothing for lines of another kind.
std::optional<std::int64_t> step_of(std::string_view line) {
  std::int64_t step = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), step);
  if (parsed.ec != std::errc()) return std::nullopt;
  return step;
}

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

template <class Action>
void for_each_line(std::string_view text, Action&& action) {
  for (std::size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start) + 1;
    action(text.substr(start, end - start));
    start = end;
  }
}

}  // namespace

void TableFile::put(const std::string& path, const std::string& header, std::int64_t step,
                    const std::string& lines) {
  try {
    if (path != path_ || size_ < 0 || file_size(path) != size_) look(path, header + "\n");
    if (size_ > 0 && step > last_step_) {
      append(lines);
    } else {
      rewrite(header + "\n", step, lines);
    }
    last_step_ = std::max(last_step_, step);
  } catch (const Error& error) {
    size_ = -1;  // look again next time
    if (error.code() != Errc::io) throw;
    fail_io("write table", path, error.sys_errno());
  }
}

void TableFile::look(const std::string& path, const std::string& header) {
  path_ = path;
  size_ = 0;
  last_step_ = INT64_MIN;
  const auto text = whole_lines(path);
  if (!text || text->empty()) return;
  if (!text->starts_with(header)) {
    refuse_input("table {} has the columns {}, but now they would be {}: move the table away", path,
                 text->substr(0, text->find('\n')), header.substr(0, header.size() - 1));
  }
  for_each_line(*text, [&](std::string_view line) {
    if (const auto step = step_of(line)) last_step_ = std::max(last_step_, *step);
  });
  size_ = static_cast<std::int64_t>(text->size());
  if (file_size(path) == size_) return;
  SmallFile file(path, O_WRONLY);
  file.resize(static_cast<std::ptrdiff_t>(size_));
  file.close();
}

void TableFile::append(const std::string& text) {
  SmallFile file(path_, O_WRONLY);
  try {
    file.write(text.data(), static_cast<std::ptrdiff_t>(text.size()),
               static_cast<std::ptrdiff_t>(size_));
    file.close();
  } catch (const Error&) {
    std::error_code ignored;  // what was cut off is taken away at the next look at the latest
    std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(size_), ignored);
    throw;
  }
  size_ += static_cast<std::int64_t>(text.size());
}

void TableFile::rewrite(const std::string& header, std::int64_t step, const std::string& lines) {
  std::string text = header;
  bool placed = false;
  for_each_line(whole_lines(path_).value_or(""), [&](std::string_view line) {
    const auto other = step_of(line);
    if (!other || *other == step) return;
    if (*other > step && !std::exchange(placed, true)) text += lines;
    text += line;
  });
  if (!placed) text += lines;
  write_whole_file(path_, text, true);
  size_ = static_cast<std::int64_t>(text.size());
}

}  // namespace tailrace::server
