// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>

// What a class of calls was found to be computed by fastest, from run to run: a text file for each
// kind of machine and number of threads, in the folder blas of the cache folder.
namespace tailrace::dense {

/// Class of calls and library of the program -> the name of its fastest variant.
using Choices = std::map<std::string, std::string>;

/// Processor, number of processors, `threads`, and the libraries that were asked for.
std::string machine_of_choices(int threads);

/// Empty where nothing is known of `machine`, or TAILRACE_BLAS_REMEMBERS=0. Local.
Choices recall_choices(const std::string& machine);

/// Adds to what is there, and to what other processes add meanwhile; a file gets its name when it
/// is whole. Nothing happens where there is no folder to write to. Local.
void remember_choices(const std::string& machine, const Choices& choices);

}  // namespace tailrace::dense
