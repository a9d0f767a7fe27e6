// SPDX-License-Identifier: BSD-3-Clause
#include "guarded_group.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/bytes.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

void GuardedGroup::run(const std::function<void()>& action) {
  bool others = false;
  const auto failure = failure_of([&] {
    try {
      action();
    } catch (const OtherFailed&) {
      others = true;
    }
  });
  if (!others && !any(failure.has_value())) return;
  if (size() == 1) throw Error(*failure);
  ByteWriter out;
  if (failure) out.put(*failure);
  const auto all = group_.gather(out.take());
  for (std::size_t server = 0; server < all.size(); ++server) {
    if (all[server].empty()) continue;
    const auto error = ByteReader(all[server]).get_error();
    throw Error(error.code(), fmt::format("{} {}: {}", word(), server, error.what()),
                error.sys_errno());
  }
  throw Error(Errc::internal, "servers disagree about a failure");
}

bool GuardedGroup::any(bool failed) {
  double flag = failed ? 1 : 0;
  group_.max({&flag, 1});
  return flag > 0;
}

void GuardedGroup::fine() {
  if (any(false)) throw OtherFailed{};
}

}  // namespace tailrace::server
