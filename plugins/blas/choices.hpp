// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "chooser/winners.hpp"

// What a class of calls was found to be computed by fastest, from run to run.
namespace tailrace::blas {

/// Processor, number of processors, `threads`, and the libraries that were asked for.
std::string machine_of_choices(int threads);

/// Empty where nothing is known of `machine`. Local.
chooser::Winners recall_choices(const std::string& machine);

/// Adds to what is remembered. Local.
void remember_choices(const std::string& machine, const chooser::Winners& choices);

}  // namespace tailrace::blas
