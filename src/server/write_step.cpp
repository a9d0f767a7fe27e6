// SPDX-License-Identifier: BSD-3-Clause
#include "server/write_step.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/bytes.hpp"
#include "core/whole_file.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr std::chrono::milliseconds retry_nap{200};

bool lacks_room(const Error& error) {
  return error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT;
}

std::string name_of(const Group& group) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{} {} on {}", group.word(), group.rank(), host.data());
}

/// Runs `action` on all members and tells all of them what it returned, in their order. If it
/// throws on any, all throw the `Error` of the first one, which names it where there are several.
/// `action` makes no calls of `group`. Collective, blocking; one exchange.
template <class Action, class Result = std::invoke_result_t<Action>>
std::vector<Result> run_on_all(Group& group, Action&& action) {
  if (group.size() == 1) return {action()};
  Result result{};
  const auto failure = failure_of([&] { result = action(); });
  ByteWriter own;
  own.put(failure.has_value());
  if (failure) {
    own.put(about(name_of(group), *failure));
  } else {
    own.put(result);
  }
  std::vector<Result> all;
  for (const auto& bytes : group.gather(own.take())) {
    ByteReader reader(bytes);
    if (reader.get<bool>()) throw Error(reader.get_error());
    all.push_back(reader.get<Result>());
  }
  return all;
}

}  // namespace

void Outcome::add(const Outcome& other) {
  bytes += other.bytes;
  seconds += other.seconds;
  if (other.failure) add_failure(*other.failure);
  if (!instead.empty() && !other.instead.empty()) instead += "; ";
  instead += other.instead;
}

void Outcome::add_failure(const Error& error) {
  if (failure) {
    failure = Error(failure->code(), fmt::format("{}; and {}", failure->what(), error.what()),
                    failure->sys_errno());
  } else {
    failure = error;
  }
}

Outcome write_file(const Step& step, const std::string& format, const FileSettings& settings,
                   Group& group) {
  std::unique_ptr<StepFile> file;
  const bool leads = group.rank() == 0;
  try {
    const auto needs = run_on_all(group, [&] {
      file = find_format(format, step.path).make(step, settings, group.rank(), group.size());
      return file->needs();
    });
    const auto layouts =
        run_on_all(group, [&] { return leads ? file->lay_out(needs) : Message(); });
    const auto written = run_on_all(group, [&] {
      file->place(layouts[0]);
      file->write();
      return std::pair(file->bytes(), file->seconds());
    });
    run_on_all(group, [&] {
      if (leads) file->commit();
      return leads;
    });
    Outcome outcome;
    for (const auto& [bytes, seconds] : written) {
      outcome.bytes += bytes;
      outcome.seconds = std::max(outcome.seconds, seconds);
    }
    return outcome;
  } catch (const Error& error) {
    // Only the first member has made anything that may be left.
    const auto left =
        run_on_all(group, [&] { return leads && file ? file->discard() : std::string(); })[0];
    if (left.empty()) throw;
    throw Error(error.code(), fmt::format("{}; {} is left", error.what(), left), error.sys_errno());
  }
}

Outcome write_or_fall_back(const std::string& path, const StreamOptions& options, Group& group,
                           const std::function<Outcome(const std::string& path)>& write) {
  const double start_s = now_s();
  std::string to = path;
  std::string instead;
  while (true) {
    try {
      auto outcome = write(to);
      outcome.instead = std::move(instead);
      return outcome;
    } catch (const Error& error) {
      double waited_s = now_s() - start_s;
      group.max({&waited_s, 1});
      if (lacks_room(error) && waited_s < options.retry_s) {
        std::this_thread::sleep_for(retry_nap);
        continue;
      }
      const auto other = in_folder(options.fallback_path, path);
      if (error.code() != Errc::io || options.fallback_path.empty() || other == to) {
        Outcome failed;
        failed.failure = error;
        return failed;
      }
      instead = fmt::format("{}: {} is written instead", error.what(), other);
      to = other;
    }
  }
}

Outcome write_files(const std::vector<Pipeline::Result>& results, const StreamOptions& options,
                    const FileSettings& settings, Group& group) {
  Outcome all;
  for (const auto& result : results) {
    all.add(write_or_fall_back(result.step.path, options, group, [&](const std::string& path) {
      Step step = result.step;
      step.path = path;
      return write_file(step, result.format, settings, group);
    }));
  }
  return all;
}

}  // namespace tailrace::server
