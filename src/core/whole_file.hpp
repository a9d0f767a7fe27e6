// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/replaced.hpp"
#include "core/system_call.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace {

/// A small file that gets its name when it is whole: until then it is `PATH.partial`, and what had
/// the name before stays. Symbolic links are followed, and the new file has the mode, group and
/// access control list of the old one. What is no regular file is not replaced. Local.
class WholeFile {
 public:
  /// `suffix` makes the temporary name, in the same folder.
  explicit WholeFile(const std::string& path, std::string_view suffix = ".partial");
  ~WholeFile() { remove_partial(); }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// The first failure is remembered, and nothing is written any more.
  void append(std::string_view text);
  /// Gives the file its name; `flush`: when it is on the disk. Throws `Errc::io` if this or
  /// anything before it has failed, and nothing is left then.
  void commit(bool flush = false);

 private:
  void open(std::string_view suffix);
  void remove_partial();
  /// Runs `action` unless something has failed; keeps its failure.
  template <class Action>
  void attempt(Action&& action);

  std::string path_, target_, partial_;
  Access access_;
  Descriptor file_;
  bool made_ = false;
  std::optional<Error> failure_;
};

/// A small file, or one that grows at its end, open for writing. Throws as `fail_errno` does.
/// (`file::BackEnd` writes the large ones.) Local.
class SmallFile {
 public:
  SmallFile(const std::string& path, int flags);
  void write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);
  void resize(std::ptrdiff_t bytes) const;
  void flush() const;
  void close();

 private:
  Descriptor file_;
};

/// These throw as `fail_errno` does. Local.
void rename_file(const std::string& from, const std::string& to);
/// Makes names in a folder last. Some file systems refuse it (EINVAL) and need no flush of folders.
void flush_folder(const std::string& folder);
/// "." for a path without a folder; else it ends in a slash.
std::string folder_of(const std::string& path);
/// The file of that name in another folder.
std::string in_folder(const std::string& folder, const std::string& path);

}  // namespace tailrace
