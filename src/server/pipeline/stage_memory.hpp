// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "core/buffer.hpp"
#include "server/step.hpp"

namespace tailrace::server {

/// New zeroed bytes that live as long as `step` and its copies.
inline std::byte* add_memory(Step& step, std::ptrdiff_t bytes) {
  auto buffer = std::make_shared<Buffer>(bytes);
  std::byte* data = buffer->data();
  step.memory.push_back(std::move(buffer));
  return data;
}

}  // namespace tailrace::server
