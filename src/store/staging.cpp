// SPDX-License-Identifier: BSD-3-Clause
#include "store/staging.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

constexpr std::ptrdiff_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = 2 << 20;

// Mappings start on a page in every process, so all ranks find the same place.
std::byte* page_start(std::byte* memory) {
  const auto rest = reinterpret_cast<std::uintptr_t>(memory) % page_bytes;
  return rest == 0 ? memory : memory + (page_bytes - static_cast<std::ptrdiff_t>(rest));
}

}  // namespace

void Staging::Free::operator()(std::byte* memory) const { std::free(memory); }

Staging::Staging(const Comm& comm, int slots, bool share) : comm_(comm), slots_(slots) {
  first_.resize(static_cast<std::size_t>(comm.num_ranks()), nullptr);
  rank_bytes_.resize(first_.size(), 0);
  if (!share) return;
  Comm node = comm.node();
  int whole = node.num_ranks() == comm.num_ranks() ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &whole, 1, MPI_INT, MPI_MIN, comm.raw()));
  if (whole == 1) node_.emplace(std::move(node));
}

void Staging::reserve(std::ptrdiff_t bytes) {
  int grow = grows(bytes) ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &grow, 1, MPI_INT, MPI_MAX, comm_.raw()));
  if (grow == 0) return;
  slot_bytes_ = std::max(slot_bytes_, (bytes + page_bytes - 1) / page_bytes * page_bytes);
  check_mpi(MPI_Allgather(&slot_bytes_, 1, MPI_AINT, rank_bytes_.data(), 1, MPI_AINT, comm_.raw()));
  const auto total = slot_bytes_ * slots_;
  if (node_) {
    window_ = NodeWindow();  // the old one goes first: never two at a time
    window_ = NodeWindow(*node_, total + page_bytes);
    for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
      first_[static_cast<std::size_t>(rank)] = page_start(window_.segment(rank));
    }
    return;
  }
  run_agreed(comm_.raw(), [&] {
    own_.reset();
    const auto size = std::max(static_cast<std::size_t>(total), huge_page_bytes);
    own_.reset(static_cast<std::byte*>(std::aligned_alloc(
        huge_page_bytes, (size + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes)));
    if (!own_) {
      throw Error(Errc::io,
                  fmt::format("no memory for {} staging buffers of {} bytes", slots_, slot_bytes_),
                  ENOMEM);
    }
    madvise(own_.get(), size, MADV_HUGEPAGE);
    std::memset(own_.get(), 0, size);
  });
  first_[static_cast<std::size_t>(comm_.rank())] = own_.get();
}

std::byte* Staging::slot(int rank, int slot) const {
  return first_[static_cast<std::size_t>(rank)] +
         slot * rank_bytes_[static_cast<std::size_t>(rank)];
}

}  // namespace tailrace::store
