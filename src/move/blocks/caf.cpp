// SPDX-License-Identifier: BSD-3-Clause
// The chunked pull in coarray Fortran (caf.f90), by OpenCoarrays: for machines whose coarrays are
// better than the windows of their MPI. Blocks are copied into a coarray, and chunks read from the
// others' images in the random order of `pull`, one at a time, as a read of a coarray waits for its
// data. Images are the ranks of the whole job, so an exchange must have all of them, in their
// order. The runtime of the coarrays is started by the first exchange that asks for it, and ends in
// MPI_Finalize. Cost: as `pull` at depth 1, and a copy.
#include <cstdint>
#include <cstring>

#include "core/same_on_all.hpp"
#include "move/blocks/pull_runners.hpp"
#include "move/one_sided_window.hpp"

#ifdef TAILRACE_HAVE_CAF
extern "C" {
void _gfortran_caf_init(int* argc, char*** argv);
void _gfortran_caf_finalize();
int _gfortran_caf_num_images(int distance, int failed);

std::int64_t tailrace_caf_reserve_part(std::int64_t num_bytes);
void tailrace_caf_release_part();
void tailrace_caf_write_part(std::int64_t offset, std::int64_t num_bytes, const std::byte* from);
void tailrace_caf_read_part(int image, std::int64_t offset, std::int64_t num_bytes, std::byte* to);
void tailrace_caf_sync_parts();
}
#endif

namespace tailrace {

#ifdef TAILRACE_HAVE_CAF

namespace {

bool is_started() { return _gfortran_caf_num_images(0, -1) > 0; }

// MPI_Finalize begins with the attributes of MPI_COMM_SELF.
void end_with_mpi() {
  int key = MPI_KEYVAL_INVALID;
  const auto end = [](MPI_Comm, int, void*, void*) {
    _gfortran_caf_finalize();
    return MPI_SUCCESS;
  };
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, nullptr));
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
  check_mpi(MPI_Comm_free_keyval(&key));
}

// Collective over all ranks of the job. What happens to errors in MPI_COMM_WORLD stays as it was.
void start_runtime() {
  if (is_started()) return;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  check_mpi(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
  _gfortran_caf_init(nullptr, nullptr);
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
  check_mpi(MPI_Errhandler_free(&before));
  end_with_mpi();
}

// The runtime makes these windows when it starts, and ends the job if it can not.
bool runtime_can_start(const Comm& comm) {
  int word = 0;
  MPI_Win window = MPI_WIN_NULL, dynamic = MPI_WIN_NULL;
  const int status = MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, comm.raw(), &window);
  if (!true_on_all(comm, status == MPI_SUCCESS)) return false;
  const OwnedWin owned(window);
  const bool made =
      true_on_all(comm, MPI_Win_create_dynamic(MPI_INFO_NULL, comm.raw(), &dynamic) == MPI_SUCCESS);
  const OwnedWin owned_dynamic(made ? dynamic : MPI_WIN_NULL);
  return made;
}

// A request that has completed.
MPI_Request done_request() {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto query = [](void*, MPI_Status* status) {
    MPI_Status_set_cancelled(status, 0);
    return MPI_Status_set_elements(status, MPI_BYTE, 0);
  };
  const auto free = [](void*) { return MPI_SUCCESS; };
  const auto cancel = [](void*, int) { return MPI_SUCCESS; };
  check_mpi(MPI_Grequest_start(query, free, cancel, nullptr, &request));
  check_mpi(MPI_Grequest_complete(request));
  return request;
}

class CoarrayMemory : public PullMemory {
 public:
  CoarrayMemory(const Comm& comm, std::ptrdiff_t bytes) : blocks_(bytes) {
    // Coarrays have the same size on all images.
    if (comm.num_ranks() == 1) return;  // there is nothing to read, so no images are needed
    part_bytes_ = largest_on_all(comm, bytes);
    start_runtime();
    first_ = tailrace_caf_reserve_part(part_bytes_);
    has_part_ = true;
  }
  ~CoarrayMemory() override {
    if (has_part_ && !detail::mpi_is_finalized()) tailrace_caf_release_part();
  }

  std::span<std::byte> own() const override {
    return {blocks_.data(), static_cast<std::size_t>(blocks_.bytes())};
  }
  void publish(std::ptrdiff_t offset, std::ptrdiff_t bytes) override {
    if (has_part_) tailrace_caf_write_part(first_ + offset, bytes, blocks_.data() + offset);
  }
  void see() override {
    if (has_part_) tailrace_caf_sync_parts();
  }
  MPI_Request start_read(int rank, std::ptrdiff_t offset, std::span<std::byte> to) override {
    tailrace_caf_read_part(rank + 1, first_ + offset, std::ssize(to), to.data());
    return done_request();
  }
  std::ptrdiff_t buffer_bytes() const override { return blocks_.bytes() + part_bytes_; }

 private:
  Buffer blocks_;
  std::int64_t first_ = 0, part_bytes_ = 0;
  bool has_part_ = false;
};

}  // namespace

bool block_caf_applies(const BlockProblem& problem) {
  if (problem.comm.num_ranks() == 1) return true;
  int same = MPI_UNEQUAL;
  check_mpi(MPI_Comm_compare(MPI_COMM_WORLD, problem.comm.raw(), &same));
  if (same != MPI_CONGRUENT) return false;
  return is_started() || (probe_windows(problem.comm).empty() && runtime_can_start(problem.comm));
}

std::unique_ptr<BlockRunner> make_block_caf(const BlockProblem& problem) {
  return make_pull_whole(problem,
                         std::make_unique<CoarrayMemory>(problem.comm, sent_bytes(problem.shape)));
}

#else

bool block_caf_applies(const BlockProblem&) { return false; }

std::unique_ptr<BlockRunner> make_block_caf(const BlockProblem&) {
  throw Error(Errc::invalid_input, "exchange method caf: this build has no OpenCoarrays");
}

#endif

}  // namespace tailrace
