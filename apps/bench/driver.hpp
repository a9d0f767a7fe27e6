// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What every benchmark driver shares: `--name value` arguments, timing, and the one line of JSON
// that `tailrace bench` reads. Needs no MPI, so that drivers of serial libraries can use it, too.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

inline double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// CPU time [s] by CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID.
inline double cpu_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The command line as pairs `--name value`; an argument without value ends the program.
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (name.rfind("--", 0) != 0 || i + 1 >= argc) {
        std::fprintf(stderr, "%s: expected pairs --name value, got '%s'\n", argv[0], argv[i]);
        std::exit(2);
      }
      values_[name.substr(2)] = argv[i + 1];
    }
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  int number(const std::string& name, int otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::atoi(found->second.c_str());
  }
  double real(const std::string& name, double otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::atof(found->second.c_str());
  }

 private:
  std::map<std::string, std::string> values_;
};

/// `text` without what a JSON string must escape.
inline std::string plain(std::string text) {
  for (char& c : text) {
    if (c == '"') c = '\'';
    if (c == '\\' || static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

/// The middle one, or the upper of two. `values` is not empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One line of JSON, built field by field. Texts must not need escapes.
class JsonLine {
 public:
  JsonLine& text(const std::string& key, const std::string& value) {
    return raw(key, '"' + value + '"');
  }
  JsonLine& number(const std::string& key, double value) { return raw(key, digits(value)); }
  JsonLine& flag(const std::string& key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonLine& numbers(const std::string& key, const std::vector<double>& values) {
    std::string list;
    for (double value : values) list += (list.empty() ? "" : ", ") + digits(value);
    return raw(key, '[' + list + ']');
  }
  void print() const {
    std::printf("{%s}\n", fields_.c_str());
    std::fflush(stdout);
  }

 private:
  static std::string digits(double value) {
    if (!std::isfinite(value)) return "null";
    std::ostringstream out;
    out.precision(std::numeric_limits<double>::max_digits10);
    out << value;
    return out.str();
  }
  JsonLine& raw(const std::string& key, const std::string& value) {
    fields_ += (fields_.empty() ? "" : ", ") + ('"' + key + "\": ") + value;
    return *this;
  }
  std::string fields_;
};

/// A test value for global point `i` of a field: white noise in [-1, 1), the same everywhere.
inline double noise(std::size_t i) {
  std::size_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1.0p-52 - 1.0;
}

/// Seconds of each of `repeats` runs of `action`, after `warmups` that do not count. `barrier`
/// lines the ranks up before each run, `slowest` returns the largest value of all ranks.
template <class Action, class Barrier, class Slowest>
std::vector<double> time_runs(int warmups, int repeats, Action action, Barrier barrier,
                              Slowest slowest) {
  std::vector<double> seconds;
  for (int i = 0; i < warmups + repeats; ++i) {
    barrier();
    const double start = now_s();
    action();
    const double taken = slowest(now_s() - start);
    if (i >= warmups) seconds.push_back(taken);
  }
  return seconds;
}

/// The same for one process.
template <class Action>
std::vector<double> time_runs(int warmups, int repeats, Action action) {
  return time_runs(
      warmups, repeats, action, [] {}, [](double own) { return own; });
}

}  // namespace bench
