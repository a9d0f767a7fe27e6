// SPDX-License-Identifier: BSD-3-Clause
#include "server/pipeline/python_worker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/system_call.hpp"
#include "server/process/launcher.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr int child_socket = 3;
constexpr double start_limit_s = 60;  // modules of a busy file system load slowly

}  // namespace

PythonWorker::PythonWorker(const Settings& settings) : PythonWorker(settings, Started{}) {
  const auto reply = receive(std::max(settings_.limit_s, start_limit_s));
  if (reply != "ok") {
    throw Error(Errc::invalid_input, reply.substr(std::min<std::size_t>(6, reply.size())));
  }
}

void PythonWorker::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_errno(errno);
  socket_ = ends[0];
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(settings_.limit_s) + 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const std::vector<std::string> words{settings_.python,  "-u",           "-m",
                                       "tailrace.worker", settings_.file, settings_.function};
  const auto variables = environment_of_programs();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], child_socket);
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, child_socket + 1);
#endif
  const int failed = ::posix_spawnp(&pid_, words[0].c_str(), &files, nullptr,
                                    pointers_to(words).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (failed == 0) return;
  pid_ = -1;
  ::close(socket_);
  throw Error(Errc::io, fmt::format("cannot start {}: {}", words[0], std::strerror(failed)),
              failed);
}

PythonWorker::~PythonWorker() {
  if (socket_ >= 0) ::close(socket_);
  if (pid_ > 0) await_end();
}

std::string PythonWorker::call(const std::string& request, int memory) {
  send(request, memory);
  const auto reply = receive(settings_.limit_s);
  if (reply.starts_with("ok")) return reply.substr(std::min<std::size_t>(3, reply.size()));
  throw Error(Errc::invalid_input, reply.substr(std::min<std::size_t>(6, reply.size())));
}

void PythonWorker::send(const std::string& text, int memory) {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  std::array<iovec, 1> first{iovec{&length, sizeof length}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = first.data();
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &memory, sizeof(int));
  const auto sent_head = uninterrupted([&] { return ::sendmsg(socket_, &message, MSG_NOSIGNAL); });
  if (sent_head != sizeof length) fail_dead();
  for (std::size_t sent = 0; sent < text.size();) {
    const auto count = uninterrupted(
        [&] { return ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL); });
    if (count <= 0) fail_dead();
    sent += static_cast<std::size_t>(count);
  }
}

std::string PythonWorker::receive(double limit_s) {
  const double until_s = now_s() + limit_s;
  std::int64_t length = 0;
  bool whole = read(reinterpret_cast<char*>(&length), sizeof length, until_s);
  if (length < 0 || length > (std::int64_t{1} << 30)) fail_dead();
  std::string text(static_cast<std::size_t>(length), '\0');
  whole = whole && read(text.data(), text.size(), until_s);
  if (whole) return text;
  ::kill(pid_, SIGKILL);
  throw Error(Errc::io, fmt::format("took longer than {} s (limit_s) and was ended", limit_s));
}

bool PythonWorker::read(char* data, std::size_t bytes, double until_s) {
  while (bytes > 0) {
    const double left_s = until_s - now_s();
    if (left_s <= 0) return false;
    pollfd event{socket_, POLLIN, 0};
    const int ready = ::poll(&event, 1, static_cast<int>(std::min(left_s * 1e3 + 1, 1e6)));
    if (ready < 0 && errno != EINTR) fail_errno(errno);  // interrupted: less time is left
    if (ready <= 0) continue;
    const auto count = uninterrupted([&] { return ::recv(socket_, data, bytes, 0); });
    if (count <= 0) fail_dead();
    data += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<int> PythonWorker::await_end() {
  const double until_s = now_s() + 1;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid_, &status, WNOHANG)) == 0) {
    if (now_s() > until_s) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ended == pid_ ? std::optional(status) : std::nullopt;
}

std::string PythonWorker::how_it_ended() {
  const auto status = await_end();
  pid_ = -1;
  if (!status) return "ended";
  if (WIFSIGNALED(*status)) return fmt::format("was ended by signal {}", WTERMSIG(*status));
  return fmt::format("ended with status {}", WEXITSTATUS(*status));
}

void PythonWorker::fail_dead() {
  throw Error(Errc::io,
              fmt::format("the process {} -m tailrace.worker {} (its messages are on stderr; "
                          "packages tailrace and numpy must be installed for it)",
                          settings_.python, how_it_ended()));
}

}  // namespace tailrace::server
