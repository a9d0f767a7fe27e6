// SPDX-License-Identifier: BSD-3-Clause
#include "server/group.hpp"

#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/bytes.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

std::string name_of(const Group& group) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{} {} on {}", group.word(), group.rank(), host.data());
}

}  // namespace

std::vector<std::vector<std::int64_t>> run_on_all(
    Group& group, const std::function<std::vector<std::int64_t>()>& action) {
  if (group.size() == 1) return {action()};
  std::vector<std::int64_t> numbers;
  const auto failure = failure_of([&] { numbers = action(); });
  ByteWriter own;
  own.put(failure.has_value());
  if (failure) {
    own.put(Error(failure->code(), fmt::format("{}: {}", name_of(group), failure->what()),
                  failure->sys_errno()));
  } else {
    own.put(numbers);
  }
  std::vector<std::vector<std::int64_t>> all;
  for (const auto& bytes : group.gather(own.take())) {
    ByteReader reader(bytes);
    if (reader.get<bool>()) throw Error(reader.get_error());
    all.push_back(reader.get<std::vector<std::int64_t>>());
  }
  return all;
}

}  // namespace tailrace::server
