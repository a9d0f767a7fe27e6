// SPDX-License-Identifier: BSD-3-Clause
// `run HOW STEM`: a session whose server process is this program, which is killed while steps wait.
// It must be started again, whatever the program has made of SIGCHLD (HOW): keep (nothing), ignore,
// no_wait (a handler with SA_NOCLDWAIT), taken (another thread waits for all children).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "tailrace/session.hpp"

namespace {

using namespace tailrace;
namespace fs = std::filesystem;

constexpr int num_steps = 12;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

void set_up(const std::string& how) {
  if (how == "ignore") signal(SIGCHLD, SIG_IGN);
  if (how == "no_wait") {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_NOCLDWAIT;
    sigaction(SIGCHLD, &action, nullptr);
  }
  if (how == "taken") {
    std::thread([] {
      for (;; nap()) waitpid(-1, nullptr, 0);
    }).detach();
  }
}

std::vector<int> children_of(int parent) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    char state = 0;
    int its_parent = 0;
    const auto rest = line.substr(line.rfind(')') + 1);
    if (std::sscanf(rest.c_str(), " %c %d", &state, &its_parent) != 2) continue;
    if (its_parent == parent) found.push_back(std::stoi(entry.path().filename().string()));
  }
  return found;
}

int run(const std::string& how, const std::string& stem) {
  const auto path = [&](int step) { return stem + "_" + std::to_string(step) + ".h5"; };
  for (int step = 0; step < num_steps; ++step) fs::remove(path(step));
  Session session(
      MPI_COMM_WORLD,
      {.servers = "process", .watchdog_s = 20, .server_program = {"/proc/self/exe", "serve", how}});
  auto stream = session.open("fields");
  const auto layout = slabs({100, 100, 40}, 0, 1);
  const std::vector<double> u(static_cast<std::size_t>(layout.num_items(0)), 1);
  int killed = 0;
  for (int step = 0; step < num_steps; ++step) {
    stream.write(path(step), {.variables = {{"u", layout, std::span(u)}}, .step = step});
    if (step != 3) continue;
    for (const int supervisor : children_of(getpid())) {
      for (const int worker : children_of(supervisor)) killed += kill(worker, SIGKILL) == 0;
    }
  }
  stream.finish();
  session.close();
  int whole = 0;
  for (int step = 0; step < num_steps; ++step) whole += fs::remove(path(step)) ? 1 : 0;
  std::printf("%s: %d killed, %d of %d files\n", how.c_str(), killed, whole, num_steps);
  return killed > 0 && whole == num_steps ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "serve") {
    set_up(argv[2]);
    return serve_as_process(std::span<const char* const>(argv + 3, argv + argc), {});
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 2;
  try {
    if (command == "run" && argc == 4) status = run(argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
