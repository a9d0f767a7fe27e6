// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "common/case_text.hpp"
#include "run.hpp"

namespace helium = tailrace::helium;

int main(int argc, char** argv) {
  const auto check = [](const tailrace::app::RunRequest& request) {
    const auto& path = request.case_path;
    const auto text = tailrace::app::read_case_text(path);
    return helium::format_case(helium::parse_case(text, path, request.settings));
  };
  return tailrace::app::program_main(
      argc, argv,
      {helium::program_name, helium::run_case, check, helium::describe_keys, helium::functions_of});
}
