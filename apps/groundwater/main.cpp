// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"
#include "common/case_text.hpp"
#include "run.hpp"

namespace app = tailrace::app;
namespace groundwater = tailrace::groundwater;

int main(int argc, char** argv) {
  return app::program_main(
      argc, argv,
      app::program_of<groundwater::Case>(groundwater::program_name, groundwater::run_case));
}
