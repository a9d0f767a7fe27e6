// SPDX-License-Identifier: BSD-3-Clause
#include "store/staging.hpp"

#include <algorithm>
#include <cstdint>

#include "core/round_up.hpp"
#include "core/same_on_all.hpp"

namespace tailrace::store {
Staging::Staging(const Comm& comm, int slots, bool share)
    : comm_(comm),
      slots_(slots),
      shared_(share && comm.node().num_ranks() == comm.num_ranks()),
      first_(static_cast<std::size_t>(comm.num_ranks())),
      slot_bytes_(first_.size()) {}

bool Staging::outgrown(std::ptrdiff_t bytes) const {
  return true_on_any(comm_, bytes > slot_bytes_[static_cast<std::size_t>(comm_.rank())]);
}

void Staging::grow(std::ptrdiff_t bytes) {
  const auto own =
      std::max(slot_bytes_[static_cast<std::size_t>(comm_.rank())], round_up(bytes, page_bytes));
  const auto total = own * slots_ + page_bytes;
  window_ = NodeWindow();
  own_ = Buffer();
  std::ranges::fill(slot_bytes_, 0);
  if (shared_) {
    window_ = NodeWindow(comm_, total);
  } else {
    own_ = agreed_buffer(comm_, total);
  }
  slot_bytes_ = gather_from_all(comm_, own);
  // Mappings start on a page in every process, so all ranks find the same place.
  for (std::size_t rank = 0; rank < first_.size(); ++rank) {
    auto* segment = shared_ ? window_.segment(static_cast<int>(rank)) : own_.data();
    first_[rank] = round_up(segment, page_bytes);
  }
}

std::byte* Staging::slot(int rank, int slot) const {
  const auto place = static_cast<std::size_t>(rank);
  return first_[place] + slot * slot_bytes_[place];
}

}  // namespace tailrace::store
