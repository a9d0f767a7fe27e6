// SPDX-License-Identifier: BSD-3-Clause
// The stripes of files, for `tailrace stripe`. Calls no MPI function.
//   tailrace-stripe show PATH               prints them as JSON
//   tailrace-stripe set PATH COUNT BYTES    sets them; 0: leave
//   tailrace-stripe ceph PATH COUNT BYTES   prints the layout attribute of CephFS that sets them
// Exit status 1 and a line on standard error if they cannot be set, 2 for wrong arguments.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "tailrace/more/file_stripes.hpp"

namespace {

using Json = nlohmann::ordered_json;

int print(const std::string& text) {
  if (std::printf("%s\n", text.c_str()) >= 0 && std::fflush(stdout) == 0) return 0;
  std::perror("tailrace-stripe: standard output");
  return 1;
}

int show(const char* path) {
  const auto stripes = tailrace::file_stripes(path);
  const Json answer{{"file_system", stripes.file_system},
                    {"stripe_bytes", stripes.stripe_bytes},
                    {"stripe_count", stripes.stripe_count},
                    {"object_bytes", stripes.object_bytes},
                    {"pool", stripes.pool},
                    {"source", stripes.source}};
  // Paths need not be UTF-8.
  return print(answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

int set(const char* path, std::ptrdiff_t bytes, int count) {
  const std::string problem = tailrace::set_file_stripes(path, bytes, count);
  if (problem.empty()) return 0;
  std::fprintf(stderr, "tailrace-stripe: %s\n", problem.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc > 1 ? argv[1] : "";
  if (action == "show" && argc == 3) return show(argv[2]);
  if ((action == "set" || action == "ceph") && argc == 5) {
    const int count = std::atoi(argv[3]);
    const std::ptrdiff_t bytes = std::atoll(argv[4]);
    return action == "set" ? set(argv[2], bytes, count)
                           : print(tailrace::ceph_layout(argv[2], bytes, count));
  }
  std::fprintf(stderr,
               "usage: tailrace-stripe show PATH | set PATH COUNT BYTES | "
               "ceph PATH COUNT BYTES\n");
  return 2;
}
