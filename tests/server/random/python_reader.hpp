// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <complex>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "random_steps.hpp"

namespace tailrace {

/// What a reader must find, as JSON for check_files.py; the arrays themselves lie in files.
class JsonText {
 public:
  static std::string of(const std::string& text) {
    std::string out = "\"";
    for (const char letter : text) {
      if (letter == '"' || letter == '\\') out += '\\';
      out += letter == '\n' ? "\\n" : std::string(1, letter);
    }
    return out + "\"";
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  static std::string of(Number number) {
    if constexpr (std::is_floating_point_v<Number>) {
      return fmt::format("{:.17g}", number);
    } else {
      return fmt::format("{}", number);
    }
  }
  static std::string of(Half number) { return of(static_cast<double>(number)); }
  template <class Part>
  static std::string of(const std::complex<Part>& number) {
    return fmt::format("[{:.17g},{:.17g}]", number.real(), number.imag());
  }
  static std::string of(const Attributes& attributes) {
    std::string out;
    for (const auto& [name, value] : attributes) {
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", of(name),
                         std::visit([](const auto& any) { return of(any); }, value));
    }
    return "{" + out + "}";
  }
  template <class Item>
  static std::string of(const std::vector<Item>& list) {
    std::string out;
    for (auto&& item : list) out += (out.empty() ? "" : ",") + of(item);
    return "[" + out + "]";
  }
};

/// A Python program that reads files with the packages of others. Of one rank.
class PythonReader {
 public:
  PythonReader() = default;
  ~PythonReader() {
    if (to_ != nullptr) std::fclose(to_);
    if (from_ != nullptr) std::fclose(from_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  /// "" if the packages are there, else why not.
  std::string start() {
    std::array<int, 2> down{}, up{};
    if (pipe2(down.data(), O_CLOEXEC) != 0 || pipe2(up.data(), O_CLOEXEC) != 0) return "no pipes";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, down[0], 0);
    posix_spawn_file_actions_adddup2(&actions, up[1], 1);
    const bool own = access(TAILRACE_TEST_VENV_PYTHON, X_OK) == 0;
    std::string python = own ? TAILRACE_TEST_VENV_PYTHON : TAILRACE_TEST_PYTHON;
    std::string script = TAILRACE_TEST_CHECK_FILES;
    std::array<char*, 3> words{python.data(), script.data(), nullptr};
    const int failed =
        posix_spawn(&child_, python.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(down[0]);
    close(up[1]);
    to_ = fdopen(down[1], "w");
    from_ = fdopen(up[0], "r");
    if (failed != 0) return fmt::format("{} cannot be started: {}", python, strerror(failed));
    const auto text = answer();
    return text == "ready" ? "" : text;
  }

  /// Compares the file at `path` with `step`; "" or what is wrong. `folder` is for what is right.
  std::string check(const std::string& path, const RandomStep& step, const std::string& folder) {
    std::string arrays, coordinates;
    for (const auto& variable : step.variables) {
      const auto raw = folder + "/right_" + variable.name;
      const auto bytes = variable.whole();
      std::FILE* file = std::fopen(raw.c_str(), "wb");
      if (file == nullptr) return "cannot write " + raw;
      const auto written = std::fwrite(bytes.data(), 1, bytes.size(), file);
      if (std::fclose(file) != 0 || written != bytes.size()) return "cannot write " + raw;
      std::vector<std::int64_t> shape(variable.extents.begin(), variable.extents.end());
      arrays += fmt::format(
          R"({}{{"name":{},"dtype":{},"shape":{},"dims":{},"raw":{},"attributes":{}}})",
          arrays.empty() ? "" : ",", JsonText::of(variable.name),
          JsonText::of(std::string(type_name(variable.type))), JsonText::of(shape),
          JsonText::of(variable.dims), JsonText::of(raw), JsonText::of(variable.attributes));
    }
    for (const auto& coordinate : step.coordinates) {
      coordinates +=
          fmt::format(R"({}{{"name":{},"values":{},"attributes":{}}})",
                      coordinates.empty() ? "" : ",", JsonText::of(coordinate.name),
                      JsonText::of(coordinate.values), JsonText::of(coordinate.attributes));
    }
    std::fprintf(to_, R"({"path":%s,"attributes":%s,"arrays":[%s],"coordinates":[%s]})",
                 JsonText::of(path).c_str(), JsonText::of(step.attributes).c_str(), arrays.c_str(),
                 coordinates.c_str());
    std::fputc('\n', to_);
    std::fflush(to_);
    const auto text = answer();
    return text == "right" ? "" : text;
  }

 private:
  std::string answer() {
    std::array<char, 4000> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), from_) == nullptr) {
      return "check_files.py ended";
    }
    std::string text = line.data();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  pid_t child_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace tailrace
