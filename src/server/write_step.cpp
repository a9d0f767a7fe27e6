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
  return fmt::format("{} on {}", group.name(), host.data());
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
  own_bytes += other.own_bytes;
  own_seconds += other.own_seconds;
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

namespace {

using MakeFile = std::function<std::unique_ptr<StepFile>(const std::string& path)>;

/// What a member tells the others of its part of a file.
struct Written {
  std::int64_t bytes = 0;
  double seconds = 0;
  Message kept;
};

template <class Bytes>
void travel(Bytes& bytes, Written& written) {
  bytes(written.bytes, written.seconds, written.kept);
}

/// All members write `file`, or one that `make` makes; the first gives it its name.
Outcome write_file(std::unique_ptr<StepFile> file, const std::string& path, const MakeFile& make,
                   Group& group, SeriesWriter* series) {
  const bool leads = group.rank() == 0;
  try {
    std::optional<Message> layout;
    if (!file) {
      for (int round = 0; !file || round < file->rounds(); ++round) {
        const auto needs = run_on_all(group, [&] {
          if (!file) file = make(path);
          if (layout) file->place(*layout);
          return file->needs();
        });
        layout = run_on_all(group, [&] { return leads ? file->lay_out(needs) : Message(); })[0];
      }
    }
    const auto written = run_on_all(group, [&] {
      if (layout) file->place(*layout);
      file->write();
      return Written{file->bytes(), file->seconds(), file->kept()};
    });
    run_on_all(group, [&] {
      std::vector<Message> kept;
      for (const auto& part : written) kept.push_back(part.kept);
      const auto commit = [&] { file->commit(kept); };
      if (leads && series != nullptr) series->publish(path, *file, commit);
      if (leads && series == nullptr) commit();
      return leads;
    });
    Outcome outcome;
    outcome.own_bytes = file->bytes();
    outcome.own_seconds = file->seconds();
    for (const auto& part : written) {
      outcome.bytes += part.bytes;
      outcome.seconds = std::max(outcome.seconds, part.seconds);
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

/// While the disk has no room, again for `retry_s`; what cannot be written where it belongs, in the
/// folder `fallback_path`.
Outcome write_or_fall_back(StepOutput& output, const OutputOptions& options, Group& group,
                           SeriesWriter* series) {
  const double start_s = now_s();
  std::string to = output.path;
  std::string instead;
  while (true) {
    try {
      auto outcome = write_file(std::move(output.placed), to, output.make, group, series);
      outcome.instead = std::move(instead);
      return outcome;
    } catch (const Error& error) {
      double waited_s = now_s() - start_s;
      group.max({&waited_s, 1});
      if (lacks_room(error) && waited_s < options.retry_s) {
        std::this_thread::sleep_for(retry_nap);
        continue;
      }
      const auto other = in_folder(options.fallback_path, output.path);
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

}  // namespace

StepOutput output_of(Pipeline::Result result, const FileSettings& settings, const Group& group) {
  auto path = result.step.path;
  return {std::move(path),
          [result = std::move(result), settings, rank = group.rank(),
           size = group.size()](const std::string& to) {
            Step step = result.step;
            step.path = to;
            return find_format(result.format, to).make(std::move(step), settings, rank, size);
          },
          nullptr};
}

Outcome write_files(std::vector<StepOutput>& outputs, const OutputOptions& options, Group& group,
                    SeriesWriter* series) {
  Outcome all;
  for (auto& output : outputs) {
    const bool shown = options.variables && &output == outputs.data();
    all.add(write_or_fall_back(output, options, group, shown ? series : nullptr));
  }
  return all;
}

}  // namespace tailrace::server
