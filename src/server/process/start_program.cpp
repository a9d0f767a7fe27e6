// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chooser/environment.hpp"
#include "server/process/launcher.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

constexpr const char* program_name = "tailrace-server";
constexpr int lower_by = 5;  // "nice": about a quarter of a core that a rank wants, too

// Launchers tell ranks who they are by these; and cores by the last ones.
constexpr std::string_view launcher_variables[] = {
    "OMPI_",       "PMIX_",         "PMI_",       "PRTE_",
    "ORTE_",       "HYDRA_",        "HYDI_",      "MPIR_",
    "MPI_",        "MV2_",          "I_MPI_",     "MPICH_",
    "SHMEM_",      "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY"};

bool is_of_launcher(std::string_view variable) {
  return std::ranges::any_of(launcher_variables,
                             [&](std::string_view name) { return variable.starts_with(name); });
}

std::string folder_of_running_program() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).parent_path().string();
}

// The file that this code is in: the program, a shared library, or the module of Python.
std::string folder_of_this_code() {
  Dl_info info{};
  if (dladdr(program_name, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code none;
  return std::filesystem::canonical(info.dli_fname, none).parent_path().string();
}

}  // namespace

std::string find_server_program() {
  std::vector<std::string> folders;
  if (const char* chosen = environment("TAILRACE_BIN_DIR")) {
    folders.push_back(chosen);
    folders.push_back(std::string(chosen) + "/apps/server");
  }
  folders.push_back(folder_of_running_program());
  const std::string here = folder_of_this_code();
  folders.push_back(fmt::format("{}/bin", here));     // the Python package
  folders.push_back(fmt::format("{}/../bin", here));  // lib/ of an installation that was moved
  folders.emplace_back(TAILRACE_BUILD_BIN_DIR);
  folders.emplace_back(TAILRACE_INSTALL_BIN_DIR);
  std::string looked;
  for (const std::string& folder : folders) {
    auto path = folder + "/" + program_name;
    if (access(path.c_str(), X_OK) == 0) return path;
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  throw Error(
      Errc::io,
      fmt::format("the program {} of servers = process was not found in {}; name its folder "
                  "in TAILRACE_BIN_DIR",
                  program_name, looked),
      ENOENT);
}

std::vector<std::string> environment_of_programs() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_of_launcher(*variable)) variables.emplace_back(*variable);
  }
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int start_program(const std::string& path, const std::vector<std::string>& words) {
  std::vector<std::string> arguments{path};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const auto variables = environment_of_programs();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                            static_cast<short>(POSIX_SPAWN_SETSID));
  pid_t child = 0;
  const int status = posix_spawn(&child, path.c_str(), &files, &attributes,
                                 pointers_to(arguments).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (status == 0) return child;
  throw Error(Errc::io, fmt::format("{} cannot be started: {}", path, std::strerror(status)),
              status);
}

void settle_in_background() {
  std::vector<int> open_files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    open_files.push_back(std::atoi(entry.path().filename().c_str()));
  }
  for (const int file : open_files) {
    if (file > STDERR_FILENO) close(file);
  }
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);  // as many as this process may have
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + lower_by);  // the job may be nice
}

}  // namespace tailrace::server
