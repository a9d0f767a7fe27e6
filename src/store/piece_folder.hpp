// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "core/replaced.hpp"

namespace tailrace::store {

/// The pieces of `PATH` lie in `PATH.pieces/`: 00012.h5 is that of rank 12. A file that replaces
/// one whose pieces are still needed takes other names, 00012.1.h5: another generation. Whoever
/// calls these holds `PATH.partial`.

/// Their folder.
std::string pieces_folder(const std::string& path);
/// The file of `writer`'s piece.
std::string piece_path(const std::string& path, int generation, int writer);
/// The same as `path` names it: relative to its own folder.
std::string piece_reference(const std::string& path, int generation, int writer);
/// Makes the folder, for those whom `access` of the file that `path` replaces lets in, and returns
/// a generation that has no files in it. Throws `Errc::io`.
int prepare_pieces(const std::string& path, const Access& access);
/// Gives the pieces of a generation, which are complete, the access of the file that `path`
/// replaces. Throws `Errc::io`.
void give_access(const std::string& path, int generation, const Access& access);
/// Makes the names of new pieces durable. Throws `Errc::io`.
void flush_pieces(const std::string& path);
/// The piece files of all generations but `generation` (-1: of all). Local.
std::vector<std::string> other_pieces(const std::string& path, int generation);
/// Removes such files, and the folder if it is empty then.
void remove_pieces(const std::string& path, const std::vector<std::string>& files) noexcept;
/// Removes the pieces of one generation, and the folder if it is empty then.
void remove_pieces(const std::string& path, int generation) noexcept;

}  // namespace tailrace::store
