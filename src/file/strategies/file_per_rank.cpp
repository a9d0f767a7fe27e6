// SPDX-License-Identifier: BSD-3-Clause
// A file of its own for each rank, filled without gaps in the order of writing, and an index that
// says where each run of the whole file is: no rank ever waits for another's locks or stripes. Wins
// where many clients share a file system; costs a file a rank and, when it is read in another
// way than it was written, many small reads. The index is written last, so a file whose writing
// was cut short has none.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "file/strategies/pieces.hpp"
#include "file/strategy.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

constexpr std::size_t max_open_pieces = 64;  // kept open for reading on a rank

struct WrittenRow {
  PieceRow row;
  std::int64_t call = 0;  // number of the write call: later ones win
};

template <class Row>
OwnedType row_type() {
  MPI_Datatype raw = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(sizeof(Row) / sizeof(std::int64_t), MPI_INT64_T, &raw));
  OwnedType type(raw);
  check_mpi(MPI_Type_commit(&raw));
  return type;
}

bool is_empty_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

class FilePerRank final : public Strategy {
 public:
  explicit FilePerRank(const StrategyRequest& request);
  void write(const FilePart& part, const std::byte* data) override;
  void read(const FilePart& part, std::byte* data) override;
  void close(bool flush) override;

 private:
  struct OpenPiece {
    std::int64_t piece = 0;
    std::unique_ptr<BackEnd> file;
  };
  void write_own(std::span<const Segment> segments, const std::byte* data);
  void read_pieces(const PiecePlan& plan, std::byte* data);
  BackEnd& opened(std::int64_t piece);
  std::unique_ptr<BackEnd> open(std::int64_t piece, FileAccess access);
  void gather_rows();
  void share_rows();

  const StrategyRequest request_;
  const Comm& comm_;
  Comm self_{MPI_COMM_SELF};
  std::unique_ptr<BackEnd> own_;
  std::int64_t own_bytes_ = 0;
  std::vector<WrittenRow> written_;  // by this rank, not yet in the index
  std::int64_t calls_ = 0;
  bool changed_ = false;        // the same on all ranks
  std::vector<PieceRow> rows_;  // the index; while it is `changed_`, on rank 0 alone
  std::deque<OpenPiece> open_pieces_;
};

FilePerRank::FilePerRank(const StrategyRequest& request) : request_(request), comm_(request.comm) {
  run_agreed(comm_.raw(), [&] {
    if (comm_.rank() != 0) return;
    const auto& path = request_.path;
    // An empty file has just been created, and is no index yet.
    const bool keep = request_.access == FileAccess::read ||
                      (request_.access == FileAccess::update && ::access(path.c_str(), F_OK) == 0 &&
                       !is_empty_file(path));
    if (keep) rows_ = read_pieces_index(path);
    if (request_.access != FileAccess::read) make_pieces_folder(path, !keep);
  });
  share_rows();
}

std::unique_ptr<BackEnd> FilePerRank::open(std::int64_t piece, FileAccess access) {
  const auto path = piece_path(request_.path, piece);
  try {
    return request_.back_end.open({&self_, path, access, request_.settings, request_.statistics});
  } catch (const Error& error) {
    if (error.sys_errno() != ENOENT || access != FileAccess::read) throw;
    throw Error(Errc::io,
                fmt::format("{}: piece {}, which the index names, is missing", request_.path, path),
                ENOENT);
  }
}

void FilePerRank::write(const FilePart& part, const std::byte* data) {
  changed_ = true;
  ++calls_;
  run_agreed(comm_.raw(), [&] {
    if (part.bytes() > 0) write_own(FilePart::Data::of(part).segments(), data);
  });
}

// Appends: what is scattered in the whole file is one run of the piece.
void FilePerRank::write_own(std::span<const Segment> segments, const std::byte* data) {
  if (!own_) {
    const auto path = piece_path(request_.path, comm_.rank());
    if (::access(path.c_str(), F_OK) != 0) create_file(path, request_.settings);
    own_ = open(comm_.rank(), request_.access);
    own_bytes_ = own_->size();
  }
  std::vector<Segment> places;
  std::vector<PieceRow> rows;
  places.reserve(segments.size());
  rows.reserve(segments.size());
  auto place = own_bytes_;
  for (const auto& segment : segments) {
    if (segment.bytes == 0) continue;
    places.push_back({place, segment.memory_offset, segment.bytes});
    rows.push_back({segment.file_offset, segment.bytes, comm_.rank(), place});
    place += segment.bytes;
  }
  own_->write(places, data, false);
  own_bytes_ = place;
  join_rows(rows);
  for (const auto& row : rows) written_.push_back({row, calls_});
}

void FilePerRank::gather_rows() {
  const auto type = row_type<WrittenRow>();
  const int own = to_int(std::ssize(written_));
  std::vector<int> counts(static_cast<std::size_t>(comm_.num_ranks()));
  check_mpi(MPI_Gather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm_.raw()));
  std::vector<int> places(counts.size());
  std::ptrdiff_t total = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    places[r] = to_int(total);
    total += comm_.rank() == 0 ? counts[r] : 0;
  }
  std::vector<WrittenRow> all(static_cast<std::size_t>(total));
  check_mpi(MPI_Gatherv(written_.data(), own, type.raw(), all.data(), counts.data(), places.data(),
                        type.raw(), 0, comm_.raw()));
  written_.clear();
  std::ranges::stable_sort(all, {}, &WrittenRow::call);
  std::vector<PieceRow> later;
  later.reserve(all.size());
  for (const auto& written : all) later.push_back(written.row);
  overlay_rows(rows_, later);
}

void FilePerRank::share_rows() {
  const auto type = row_type<PieceRow>();
  std::int64_t count = std::ssize(rows_);
  check_mpi(MPI_Bcast(&count, 1, MPI_INT64_T, 0, comm_.raw()));
  rows_.resize(static_cast<std::size_t>(count));
  check_mpi(MPI_Bcast(rows_.data(), to_int(count), type.raw(), 0, comm_.raw()));
}

void FilePerRank::read(const FilePart& part, std::byte* data) {
  if (changed_) {
    gather_rows();
    share_rows();
    changed_ = false;
  }
  run_agreed(comm_.raw(), [&] {
    read_pieces(find_pieces(rows_, FilePart::Data::of(part).segments(), request_.path), data);
  });
}

void FilePerRank::read_pieces(const PiecePlan& plan, std::byte* data) {
  for (const auto& hole : plan.holes) {
    std::memset(data + hole.memory_offset, 0, static_cast<std::size_t>(hole.bytes));
  }
  for (const auto& reads : plan.pieces) opened(reads.piece).read(reads.segments, data, true);
}

BackEnd& FilePerRank::opened(std::int64_t piece) {
  const auto found = std::ranges::find(open_pieces_, piece, &OpenPiece::piece);
  if (found != open_pieces_.end()) return *found->file;
  if (open_pieces_.size() == max_open_pieces) {
    open_pieces_.front().file->close();
    open_pieces_.pop_front();
  }
  open_pieces_.push_back({piece, open(piece, FileAccess::read)});
  return *open_pieces_.back().file;
}

void FilePerRank::close(bool flush) {
  run_agreed(comm_.raw(), [&] {
    for (auto& open : open_pieces_) open.file->close();
    open_pieces_.clear();
    if (!own_) return;
    const auto own = std::move(own_);
    if (flush) own->flush();
    own->close();
  });
  if (request_.access == FileAccess::read) return;
  if (changed_) gather_rows();
  run_agreed(comm_.raw(), [&] {
    if (comm_.rank() == 0) write_pieces_index(request_.path, rows_, flush);
  });
}

}  // namespace

std::unique_ptr<Strategy> make_file_per_rank(const StrategyRequest& request) {
  return std::make_unique<FilePerRank>(request);
}

}  // namespace tailrace::file
