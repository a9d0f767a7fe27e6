// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "common/case_text.hpp"
#include "run.hpp"

namespace app = tailrace::app;
namespace helium = tailrace::helium;

int main(int argc, char** argv) {
  auto program = app::program_of<helium::Case>(helium::program_name, helium::run_case);
  program.functions = helium::functions_of;
  return app::program_main(argc, argv, program);
}
