// SPDX-License-Identifier: BSD-3-Clause
#include "common/command_line.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/run_main.hpp"
#include "tailrace/session.hpp"

namespace tailrace::app {

namespace {

constexpr const char* usage =
    "usage: %s CASE.toml [--run-dir DIR] [--set section.key=value]... "
    "[--overwrite] [--progress]\n"
    "\n"
    "  --run-dir DIR            folder of the results; default: the name of the case\n"
    "  --set section.key=value  overrides a key of the case; may be repeated\n"
    "  --overwrite              removes the results in the folder, and starts from the beginning\n"
    "  --progress               prints one line of JSON per step instead of a table\n"
    "  --check RANKS            checks the case for this number of ranks and prints all its keys; "
    "no MPI\n"
    "  --keys                   prints the table of all keys of a case in Markdown\n";

/// "" if the arguments make a request, else what is wrong with them.
std::string parse(int argc, char** argv, RunRequest& request) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool wants_value =
        argument == "--run-dir" || argument == "--set" || argument == "--check";
    if (wants_value && i + 1 >= argc) return argument + " needs a value";
    if (argument == "--run-dir") {
      request.folder = argv[++i];
    } else if (argument == "--set") {
      request.settings.emplace_back(argv[++i]);
    } else if (argument == "--check") {
      request.check_ranks = std::atoi(argv[++i]);
      if (request.check_ranks < 1) return std::string("--check ") + argv[i] + ": how many ranks?";
    } else if (argument == "--overwrite") {
      request.overwrite = true;
    } else if (argument == "--progress") {
      request.progress = true;
    } else if (argument.starts_with("-")) {
      return "unknown option " + argument;
    } else if (!request.case_path.empty()) {
      return "give only one case file: " + request.case_path + ", " + argument;
    } else {
      request.case_path = argument;
    }
  }
  return request.case_path.empty() ? "which case file?" : "";
}

int complain(const char* name, const std::string& wrong) {
  std::fprintf(stderr, "%s: error: %s\n", name, wrong.c_str());
  std::fprintf(stderr, usage, name);
  return 2;
}

int print(const char* name, const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::perror((std::string(name) + ": error: standard output").c_str());
  return 1;
}

/// Before ranks are started: what is wrong with the case is seen at once.
int check(const Program& program, const RunRequest& request) {
  try {
    return print(program.name, program.check(request));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: error: %s\n", program.name, error.what());
    return 1;
  }
}

/// --serve CASE [--set section.key=value]... -- WORDS
int serve(const Program& program, int argc, char** argv) {
  int own = 1;
  while (own < argc && std::string(argv[own]) != "--") ++own;
  RunRequest request;
  const std::string wrong = parse(own - 1, argv + 1, request);
  if (!wrong.empty() || own == argc) return complain(program.name, "--serve is for servers");
  StageFunctions functions;
  try {
    if (program.functions) functions = program.functions(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: error: %s\n", program.name, error.what());
    return 1;
  }
  const auto rest = static_cast<std::size_t>(argc - own - 1);
  return serve_as_process({argv + own + 1, rest}, std::move(functions));
}

int run(const Program& program, const Comm& comm, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    if (comm.rank() == 0) std::printf(usage, program.name);
    return 0;
  }
  RunRequest request;
  const std::string wrong = parse(argc, argv, request);
  if (wrong.empty()) return program.run(comm, request);
  return comm.rank() == 0 ? complain(program.name, wrong) : 2;
}

}  // namespace

int program_main(int argc, char** argv, const Program& program) {
  if (argc == 2 && std::string(argv[1]) == "--keys") return print(program.name, program.keys());
  if (argc > 1 && std::string(argv[1]) == "--serve") return serve(program, argc, argv);
  RunRequest request;
  if (parse(argc, argv, request).empty() && request.check_ranks > 0) return check(program, request);
  return run_main(argc, argv, program.name,
                  [&](const Comm& comm) { return run(program, comm, argc, argv); });
}

std::vector<std::string> words_of_server(const RunRequest& request) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(),
                                 "--serve", request.case_path};
  for (const auto& setting : request.settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  words.emplace_back("--");
  return words;
}

}  // namespace tailrace::app
