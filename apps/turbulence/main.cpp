// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "common/case_text.hpp"
#include "run.hpp"

namespace app = tailrace::app;
namespace turbulence = tailrace::turbulence;

int main(int argc, char** argv) {
  return app::program_main(
      argc, argv,
      app::program_of<turbulence::Case>(turbulence::program_name, turbulence::run_case));
}
