// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "run.hpp"

namespace turbulence = tailrace::turbulence;

int main(int argc, char** argv) {
  const auto check = [](const tailrace::app::RunRequest& request) {
    return turbulence::format_case(
        turbulence::check_case(request.case_path, request.settings, request.check_ranks));
  };
  return tailrace::app::program_main(
      argc, argv,
      {turbulence::program_name, turbulence::run_case, check, turbulence::describe_keys});
}
