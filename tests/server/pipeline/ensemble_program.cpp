// SPDX-License-Identifier: BSD-3-Clause
// ensemble_program FOLDER JOB STEPS: a job without MPI that adds its field to common files, step by
// step. Item i of job j at step s is (7 i + 13 j + 5 s) mod 23. Prints each step that it has added.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/group.hpp"
#include "server/pipeline/pipeline.hpp"

using namespace tailrace;

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string folder = argv[1];
  const int job = std::atoi(argv[2]), steps = std::atoi(argv[3]);
  server::Pipeline pipeline(std::vector<Product>{
      {.name = "each",
       .stages = {"ensemble what=mean,variance,min,max folder=" + folder +
                  "/common job=" + argv[2]}},
      {.name = "all",
       .stages = {"ensemble steps=all folder=" + folder + "/common job=" + argv[2]}}});
  server::LoneGroup group;
  std::vector<double> values(20000);
  for (int s = 0; s < steps; ++s) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>((7 * static_cast<int>(i) + 13 * job + 5 * s) % 23);
    }
    server::Step step;
    step.path = folder + "/job" + argv[2] + "/fields.h5";
    step.step = step.number = s;
    server::Field field;
    field.name = "u";
    field.dims = {"y", "x"};
    field.extents = {100, 200};
    field.parts = {{Box{2, {}, field.extents}, reinterpret_cast<const std::byte*>(values.data())}};
    step.fields = {field};
    std::vector<server::Pipeline::Result> results;
    std::vector<server::Pipeline::Failure> failures;
    pipeline.run(step, group, 1, results, failures);
    for (const auto& failure : failures) std::fprintf(stderr, "%s\n", failure.error.what());
    if (!failures.empty() || !results.empty()) return 1;
    std::printf("%d\n", s);
    std::fflush(stdout);
  }
  return 0;
}
