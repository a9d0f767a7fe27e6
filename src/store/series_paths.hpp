// SPDX-License-Identifier: BSD-3-Clause
// The names of the steps of a series, which may be moved with all its files. Failures are
// `Errc::io`. Local.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tailrace::store {

/// `folder` without symbolic links, from where relative links count.
std::filesystem::path real_path(const std::filesystem::path& folder);

/// `file` as a link in `folder` names it.
std::string relative_to(const std::string& folder, const std::string& file);

/// Where a link in `folder` with this text leads.
std::string target_of(const std::string& folder, const std::string& text);

/// Whether there is a file or folder `path`, after links.
bool leads_to_file(const std::string& path);

/// A folder that has no file of this name yet, made: superseded, superseded/2, superseded/3, ...
std::string free_folder(const std::string& superseded, const std::string& name);

/// Moves the file of a step that the series has left, or its store, to a free folder.
void move_away(const std::string& file, const std::string& superseded);

/// Makes the folder unless it is there.
void make_folder(const std::string& folder);

/// Makes the symbolic link `link`.
void make_link(const std::string& text, const std::string& link);
/// Removes it, if it is there.
void remove_link(const std::string& link);
/// The texts of the links in `folder` whose names are a number and `suffix`, by the number; none if
/// there is no folder.
std::map<std::int64_t, std::string> numbered_links(const std::string& folder,
                                                   std::string_view suffix);
/// Flushes the new `link` and calls `commit`, which gives its file the name that it leads to. If
/// that throws, the link is removed.
void commit_with_link(const std::string& link, const std::function<void()>& commit);
}  // namespace tailrace::store
