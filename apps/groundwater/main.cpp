// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "run.hpp"

namespace groundwater = tailrace::groundwater;

int main(int argc, char** argv) {
  const auto check = [](const tailrace::app::RunRequest& request) {
    return groundwater::format_case(
        groundwater::check_case(request.case_path, request.settings, request.check_ranks));
  };
  return tailrace::app::program_main(
      argc, argv,
      {groundwater::program_name, groundwater::run_case, check, groundwater::describe_keys});
}
