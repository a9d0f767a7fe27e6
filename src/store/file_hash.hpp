// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <xxhash.h>

namespace tailrace::store {

/// XXH3_64bits of bytes that come piece by piece.
class Hash {
 public:
  Hash() { XXH3_64bits_reset(state_.get()); }
  void add(const std::byte* data, std::ptrdiff_t bytes) {
    XXH3_64bits_update(state_.get(), data, static_cast<std::size_t>(bytes));
    bytes_ += bytes;
  }
  std::ptrdiff_t bytes() const { return bytes_; }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
  std::ptrdiff_t bytes_ = 0;
};

}  // namespace tailrace::store
