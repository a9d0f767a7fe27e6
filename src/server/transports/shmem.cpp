// SPDX-License-Identifier: BSD-3-Clause
// OpenSHMEM: like `pull`, but tables and packets lie in the symmetric heap, and servers reach for
// them with shmem_getmem. For networks whose one-sided path is better through OpenSHMEM than
// through MPI windows. The heap has the same size on every rank, servers too. OpenSHMEM knows only
// all ranks of the job, so the session must have them all; its PEs are the ranks of MPI_COMM_WORLD.
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "core/world_ranks.hpp"
#include "move/one_sided_window.hpp"
#include "server/transport.hpp"
#include "server/transports/packet_table.hpp"
#include "tailrace/error.hpp"

#ifdef TAILRACE_HAVE_SHMEM
#include <dlfcn.h>
#include <link.h>
#include <shmem.h>
#endif

namespace tailrace::server {
namespace {

#ifdef TAILRACE_HAVE_SHMEM

using one_sided::PacketTable;

// PE of each rank of `comm`; empty if that has not all ranks of the job. Local.
std::vector<int> pes_of(const Comm& comm) {
  int num_pes = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &num_pes));
  if (num_pes != comm.num_ranks()) return {};
  return world_ranks_of(comm);
}

// How Open MPI 4 ends OpenSHMEM does not go with MPI: shmem_finalize takes MPI with it, and is
// called at exit in any case, after MPI_Finalize then, which it does not survive. So OpenSHMEM is
// told at MPI_Finalize that it does not run; the system takes back what it had.
bool* shmem_runs() { return static_cast<bool*>(dlsym(RTLD_DEFAULT, "oshmem_shmem_initialized")); }

int forget_shmem(MPI_Comm, int, void*, void*) {
  if (bool* runs = shmem_runs()) *runs = false;
  return MPI_SUCCESS;
}

// It also unloads its plug-ins while UCX still calls into them. Those that stay do no harm.
int keep_loaded(dl_phdr_info* info, std::size_t, void*) {
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "/mca_") == nullptr) return 0;
  static_cast<void>(dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  return 0;
}

// Does nothing if OpenSHMEM runs already. The heap has room for `bytes` (its allocator rounds up to
// powers of two), unless the user has said how large it is to be. Collective over the job.
void start_shmem(std::ptrdiff_t bytes) {
  const bool* runs = shmem_runs();
  if (runs != nullptr && *runs) return;
  const auto heap = 2 * std::bit_ceil(static_cast<std::size_t>(bytes) + (std::size_t{1} << 20));
  setenv("SHMEM_SYMMETRIC_HEAP_SIZE", fmt::format("{}", heap).c_str(), 0);
  // Its progress is called from inside MPI, so threads that may call MPI reach it, too.
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level));
  int provided = 0;
  shmem_init_thread(level == MPI_THREAD_MULTIPLE ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE,
                    &provided);
  dl_iterate_phdr(keep_loaded, nullptr);
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_shmem, &key, nullptr));
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
}

// A piece of the symmetric heap, as large on every rank; its first `used` bytes are zeroed. Made
// and freed collectively.
class Symmetric {
 public:
  Symmetric(const Comm& comm, std::ptrdiff_t bytes, std::ptrdiff_t used)
      : memory_(shmem_align(64, static_cast<std::size_t>(bytes))), bytes_(bytes) {
    run_agreed(comm.raw(), [this] {
      if (memory_ != nullptr) return;
      refuse_input(
          "transport shmem: the symmetric heap has no room for {} bytes; set "
          "SHMEM_SYMMETRIC_HEAP_SIZE to more than twice as much",
          bytes_);
    });
    std::memset(memory_, 0, static_cast<std::size_t>(used));
    check_mpi(MPI_Barrier(comm.raw()));
  }
  ~Symmetric() {
    if (!detail::mpi_is_finalized()) shmem_free(memory_);
  }
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
  std::ptrdiff_t bytes_;
};

class HeapMemory final : public one_sided::ClientMemory {
 public:
  HeapMemory(const Participants& participants, std::vector<int> pe_of_rank)
      : pe_of_rank_(std::move(pe_of_rank)),
        ranks_(participants.rank_of_client),
        client_bytes_(participants.client >= 0 ? participants.settings.client_bytes : 0),
        tables_(participants.comm, table_bytes(participants), table_bytes(participants)),
        data_(participants.comm, participants.largest_client_bytes, client_bytes_) {}

  PacketTable* tables() override { return reinterpret_cast<PacketTable*>(tables_.data()); }
  std::span<std::byte> data() override {
    return {data_.data(), static_cast<std::size_t>(client_bytes_)};
  }
  void sync() override { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void read_tables(std::span<const int> clients, std::ptrdiff_t offset, std::ptrdiff_t bytes,
                   std::byte* to) override {
    for (const int client : clients) {
      shmem_getmem(to, tables_.data() + offset, static_cast<std::size_t>(bytes), pe(client));
      to += bytes;
    }
  }
  void write_table(int client, std::ptrdiff_t offset, std::span<const std::byte> bytes) override {
    shmem_putmem(tables_.data() + offset, bytes.data(), bytes.size(), pe(client));
    shmem_quiet();
  }
  void start_read(std::size_t, int client, std::ptrdiff_t offset,
                  std::span<std::byte> to) override {
    shmem_getmem(to.data(), data_.data() + offset, to.size(), pe(client));
  }
  bool ended(std::size_t) override { return true; }

 private:
  int pe(int client) const {
    return pe_of_rank_[static_cast<std::size_t>(ranks_[static_cast<std::size_t>(client)])];
  }

  static std::ptrdiff_t table_bytes(const Participants& participants) {
    return static_cast<std::ptrdiff_t>(sizeof(PacketTable)) * participants.num_servers();
  }

  std::vector<int> pe_of_rank_, ranks_;
  std::ptrdiff_t client_bytes_;
  Symmetric tables_, data_;
};

// Only now: the heap is made once, and must have its size by then.
void probe(const Participants& participants, const std::vector<int>& pe_of_rank) {
  const Symmetric memory(participants.comm, sizeof(std::int64_t), sizeof(std::int64_t));
  const std::int64_t rank = participants.comm.rank();
  std::memcpy(memory.data(), &rank, sizeof rank);
  const auto found =
      probe_reads(participants.comm,
                  probe_targets(participants.server, participants.rank_of_client), [&](int other) {
                    std::int64_t shown = -1;
                    shmem_getmem(&shown, memory.data(), sizeof shown,
                                 pe_of_rank[static_cast<std::size_t>(other)]);
                    return shown;
                  });
  require_all(participants.comm.raw(), found.trouble.empty(),
              "transport shmem cannot be used here: " + found.trouble);
}

std::unique_ptr<one_sided::ClientMemory> make_shmem_memory(const Participants& participants,
                                                           std::size_t) {
  auto pes = pes_of(participants.comm);
  require_all(participants.comm.raw(), !pes.empty(),
              "transport shmem: the session must have all ranks of the job");
  start_shmem(participants.largest_client_bytes);
  probe(participants, pes);
  return std::make_unique<HeapMemory>(participants, std::move(pes));
}

std::string shmem_refuses(const Team& team) {
  if (auto reason = refuses_but_ranks(team); !reason.empty()) return reason;
  if (pes_of(team.all).empty()) return "the session does not have all ranks of the job";
  return {};
}

#else

std::unique_ptr<one_sided::ClientMemory> make_shmem_memory(const Participants&, std::size_t) {
  throw Error(Errc::invalid_input, "transport shmem: this build has no OpenSHMEM");
}

std::string shmem_refuses(const Team&) {
  return "this build has no OpenSHMEM (no oshcc of its MPI)";
}

#endif

}  // namespace

Transport shmem() {
  return one_sided::line({"shmem", make_shmem_memory},
                         "OpenSHMEM: like pull, through the symmetric heap", shmem_refuses);
}

}  // namespace tailrace::server
