// SPDX-License-Identifier: BSD-3-Clause
// The trace file: Chrome's trace event format, object form, which Perfetto and chrome://tracing
// read. https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/whole_file.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {
namespace {

constexpr const char* activity_names[] = {"compute", "transfer", "write", "wait"};
constexpr auto replace = nlohmann::json::error_handler_t::replace;
constexpr const char* track_names[] = {"main", "writer"};

// Clocks may have another origin on each rank (MPI_WTIME_IS_GLOBAL is often false, and Open MPI
// counts from MPI_Init). Rank 0 asks each rank for its time and keeps the answer with the shortest
// round trip. Returns what to add to this rank's times to get rank 0's.
double clock_shift_s(const Comm& comm) {
  constexpr int rounds = 10;
  constexpr int tag = 1;
  double shift_s = 0;
  if (comm.rank() != 0) {
    for (int i = 0; i < rounds; ++i) {
      check_mpi(MPI_Recv(nullptr, 0, MPI_DOUBLE, 0, tag, comm.raw(), MPI_STATUS_IGNORE));
      const double time_s = now_s();
      check_mpi(MPI_Send(&time_s, 1, MPI_DOUBLE, 0, tag, comm.raw()));
    }
    check_mpi(MPI_Recv(&shift_s, 1, MPI_DOUBLE, 0, tag, comm.raw(), MPI_STATUS_IGNORE));
    return shift_s;
  }
  for (int peer = 1; peer < comm.num_ranks(); ++peer) {
    double shortest_s = std::numeric_limits<double>::max();
    double peer_shift_s = 0;
    for (int i = 0; i < rounds; ++i) {
      double time_s = 0;
      const double start_s = now_s();
      check_mpi(MPI_Send(nullptr, 0, MPI_DOUBLE, peer, tag, comm.raw()));
      check_mpi(MPI_Recv(&time_s, 1, MPI_DOUBLE, peer, tag, comm.raw(), MPI_STATUS_IGNORE));
      const double end_s = now_s();
      if (end_s - start_s >= shortest_s) continue;
      shortest_s = end_s - start_s;
      peer_shift_s = (start_s + end_s) / 2 - time_s;
    }
    check_mpi(MPI_Send(&peer_shift_s, 1, MPI_DOUBLE, peer, tag, comm.raw()));
  }
  return 0;
}

// Rank 0 gets the text of each rank in turn, so that it holds only one at a time.
void append_ranks(const Comm& comm, const std::string& own, WholeFile* file) {
  constexpr int tag = 2;
  constexpr std::ptrdiff_t chunk = 1 << 30;
  auto total = static_cast<std::ptrdiff_t>(own.size());
  if (comm.rank() != 0) {
    check_mpi(MPI_Send(&total, 1, MPI_AINT, 0, tag, comm.raw()));
    for (std::ptrdiff_t at = 0; at < total; at += chunk) {
      check_mpi(MPI_Send(own.data() + at, to_int(std::min(chunk, total - at)), MPI_CHAR, 0, tag,
                         comm.raw()));
    }
    return;
  }
  file->append(own);
  std::string text;
  for (int peer = 1; peer < comm.num_ranks(); ++peer) {
    check_mpi(MPI_Recv(&total, 1, MPI_AINT, peer, tag, comm.raw(), MPI_STATUS_IGNORE));
    text.resize(static_cast<std::size_t>(total));
    for (std::ptrdiff_t at = 0; at < total; at += chunk) {
      check_mpi(MPI_Recv(text.data() + at, to_int(std::min(chunk, total - at)), MPI_CHAR, peer, tag,
                         comm.raw(), MPI_STATUS_IGNORE));
    }
    file->append(text);
  }
}

}  // namespace

std::string Trace::to_json(int rank, double shift_s, double first_s) const {
  std::string out;
  const auto back = std::back_inserter(out);
  const char* separator = rank == 0 ? "\n" : ",\n";
  fmt::format_to(back,
                 "{}{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"tid\":0,"
                 "\"args\":{{\"name\":\"rank {}\"}}}}",
                 separator, rank, rank);
  for (int track = 0; track < 2; ++track) {
    fmt::format_to(back,
                   ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},"
                   "\"args\":{{\"name\":\"{}\"}}}}",
                   rank, track, track_names[track]);
  }
  const std::size_t kept = std::min(used_.load(), spans_.size());
  for (std::size_t i = 0; i < kept; ++i) {
    const Entry& entry = spans_[i];
    const char* name = entry.name.load(std::memory_order_acquire);
    if (name == nullptr) continue;
    fmt::format_to(back,
                   ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},"
                   "\"dur\":{:.3f},\"pid\":{},\"tid\":{}}}",
                   nlohmann::json(name).dump(-1, ' ', false, replace),
                   activity_names[static_cast<std::size_t>(entry.activity)],
                   (entry.start_s + shift_s - first_s) * 1e6, (entry.end_s - entry.start_s) * 1e6,
                   rank, int{entry.track});
  }
  return out;
}

void Trace::write(const Comm& comm, const std::string& path) const {
  double shift_s = clock_shift_s(comm);
  double first_s = std::numeric_limits<double>::max();
  const std::size_t used = used_.load();
  const std::size_t kept = std::min(used, spans_.size());
  for (std::size_t i = 0; i < kept; ++i) {
    if (spans_[i].name.load(std::memory_order_acquire) == nullptr) continue;
    first_s = std::min(first_s, spans_[i].start_s + shift_s);
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first_s, 1, MPI_DOUBLE, MPI_MIN, comm.raw()));
  auto dropped = static_cast<std::int64_t>(used - kept);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &dropped, 1, MPI_INT64_T, MPI_SUM, comm.raw()));

  std::unique_ptr<WholeFile> file;
  if (comm.rank() == 0) {
    file = std::make_unique<WholeFile>(path);
    file->append("{\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[");
  }
  append_ranks(comm, to_json(comm.rank(), shift_s, first_s), file.get());
  run_agreed(comm.raw(), [&] {
    if (!file) return;
    file->append(fmt::format("\n],\n\"otherData\":{{\"num_ranks\":{},\"spans_dropped\":{}}}}}\n",
                             comm.num_ranks(), dropped));
    file->commit();
  });
}

}  // namespace tailrace
