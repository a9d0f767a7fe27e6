// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/verify.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "file/settings.hpp"
#include "store/dataset_reader.hpp"
#include "store/file_hash.hpp"
#include "store/read_plan.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace {
namespace store {
namespace {

constexpr std::ptrdiff_t buffer_bytes = 8 << 20;
constexpr std::ptrdiff_t most_damages = 100;

// What cannot be read for these reasons need not be damaged.
bool is_unreadable(const Error& error) {
  return error.code() == Errc::invalid_input || error.code() == Errc::io;
}

// Rank 0 opens; all ranks learn why it could not. False then.
bool open_index(const Comm& comm, VerifiedFile& found, FileIndex& index) {
  try {
    index = agreed_index(comm, found.path);
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string rank = "rank 0: ";  // of no use to a reader, as only rank 0 opens
    found.problem = text.starts_with(rank) ? text.substr(rank.size()) : text;
    found.unreadable = is_unreadable(error);
    return false;
  }
  return true;
}

VerifiedDataset::Check check_of(const FileIndex::Entry& entry) {
  if (!entry.boxes.empty()) return VerifiedDataset::Check::boxes;
  if (!entry.pieces.empty() || !entry.parts.empty()) return VerifiedDataset::Check::pieces;
  return entry.offset >= 0 ? VerifiedDataset::Check::structure : VerifiedDataset::Check::read;
}

// The damages of all ranks on rank 0, in the order of the ranks, which is that of the file.
void gather(const Comm& comm, std::vector<Damage>& damages) {
  const int bytes = to_int(std::ssize(damages) * std::ptrdiff_t{sizeof(Damage)});
  std::vector<int> counts(static_cast<std::size_t>(comm.num_ranks()));
  check_mpi(MPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm.raw()));
  std::vector<int> places(counts.size(), 0);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  const auto total = comm.rank() == 0 ? places.back() + counts.back() : 0;
  std::vector<Damage> all(static_cast<std::size_t>(total) / sizeof(Damage));
  check_mpi(MPI_Gatherv(damages.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(),
                        MPI_BYTE, 0, comm.raw()));
  damages = std::move(all);
  if (std::ssize(damages) > most_damages) damages.resize(most_damages);
}

// Where a box cannot be read, one box after another, so that all of them are named.
std::vector<Damage> damages_of(DatasetReader& reader, const FileIndex::Entry& entry,
                               std::span<const std::ptrdiff_t> units,
                               std::vector<std::byte>& data) {
  const auto failure = failure_of([&] { reader.read(units, data); });
  if (!failure) return reader.check(units, data);
  if (failure->code() != Errc::corrupt || entry.boxes.empty()) throw Error(*failure);
  if (units.size() == 1) return {reader.damage_of(units.front())};
  std::vector<Damage> damages;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto more = damages_of(reader, entry, units.subspan(u, 1), data);
    damages.insert(damages.end(), more.begin(), more.end());
  }
  return damages;
}

// This rank's share of one dataset.
void verify_share(ReadFile& file, const FileIndex::Entry& entry, const Comm& comm,
                  VerifiedDataset& found) {
  const Units units(entry, true);
  std::vector<std::ptrdiff_t> all(static_cast<std::size_t>(units.count()));
  std::iota(all.begin(), all.end(), std::ptrdiff_t{0});
  const ReadPlan plan(units, std::move(all), {comm.num_ranks(), buffer_bytes});
  DatasetReader reader(file, entry, units);
  std::vector<std::byte> data;
  for (std::ptrdiff_t round = 0; round < plan.num_rounds(); ++round) {
    const auto share = plan.share(round, comm.rank());
    const auto damages = damages_of(reader, entry, share, data);
    found.num_damages += std::ssize(damages);
    const auto room = most_damages - std::ssize(found.damages);
    const auto kept = std::min(room, std::ssize(damages));
    found.damages.insert(found.damages.end(), damages.begin(), damages.begin() + kept);
    found.checked += std::ssize(share);
    for (const auto unit : share) found.bytes += units.bytes(unit);
  }
  if (!entry.parts.empty() && reader.checked() < found.checked) {
    found.check = VerifiedDataset::Check::read;  // pieces without checksums
  }
}

void verify_length(const FileIndex::Entry& entry, const std::string& path, VerifiedDataset& found) {
  struct stat status {};
  found.bytes = whole_box(entry).num_items() * item_bytes(entry.type);
  if (uninterrupted([&] { return stat(path.c_str(), &status); }) != 0) {
    fail_io("look at", path, errno);
  }
  if (status.st_size >= entry.offset + found.bytes) return;
  throw Error(Errc::corrupt, fmt::format("{} is cut short: dataset {} would end at byte {}", path,
                                         entry.name, entry.offset + found.bytes));
}

VerifiedDataset verify_dataset(const Comm& comm, ReadFile& file, const FileIndex::Entry& entry) {
  VerifiedDataset found;
  found.name = entry.name;
  found.check = check_of(entry);
  const auto failure = failure_of([&] {
    if (!entry.missing.empty()) {
      throw Error(Errc::corrupt, fmt::format("{} lies in other files, of which {} is missing",
                                             entry.name, entry.missing));
    }
    if (found.check != VerifiedDataset::Check::structure) {
      verify_share(file, entry, comm, found);
    } else if (comm.rank() == 0) {
      verify_length(entry, file.path(), found);
    }
  });
  try {
    agree(comm.raw(), failure ? &*failure : nullptr);
  } catch (const Error& error) {
    found.problem = error.what();
  }
  const int only_read = found.check == VerifiedDataset::Check::read ? 1 : 0;
  const int damaged = failure && !is_unreadable(*failure) ? 1 : 0;
  std::int64_t counts[] = {found.checked, found.bytes, found.num_damages, only_read, damaged};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, counts, 5, MPI_INT64_T, MPI_SUM, comm.raw()));
  if (counts[3] > 0) found.check = VerifiedDataset::Check::read;
  found.checked = counts[0];
  found.bytes = counts[1];
  found.num_damages = counts[2];
  found.unreadable = !found.problem.empty() && counts[4] == 0;
  gather(comm, found.damages);
  for (const auto& damage : found.damages) {
    found.files.push_back(
        damage.part < 0 ? "" : entry.parts[static_cast<std::size_t>(damage.part)].file);
  }
  return found;
}

// Hashes all of a file that is not in `data` (ascending), holes included.
ChecksumRow hash_rest(const std::string& path, const std::vector<Range>& data) {
  const Descriptor file = open_descriptor(path, O_RDONLY);
  if (!file) fail_io("open", path, errno);
  const std::ptrdiff_t end = lseek(file.get(), 0, SEEK_END);
  std::vector<std::byte> buffer(1 << 20);
  Hash hash;
  int error = 0;
  const auto add = [&](std::ptrdiff_t from, std::ptrdiff_t until) {
    while (error == 0 && from < until) {
      const auto count = std::min(until - from, std::ssize(buffer));
      error = read_at(file.get(), buffer.data(), count, from);
      if (error != 0) return;
      hash.add(buffer.data(), count);
      from += count;
    }
  };
  std::ptrdiff_t at = 0;
  for (const auto& range : data) {
    add(at, range.start);
    at = std::max(at, range.end());
  }
  add(at, end);
  if (error != 0) fail_io("read", path, error);
  return {0, 0, static_cast<std::uint64_t>(hash.bytes()), hash.value()};
}

// On rank 0.
VerifiedDataset verify_header(const std::string& path, const FileIndex& index) {
  VerifiedDataset found;
  found.name = "(headers, attributes, coordinates)";
  found.check = VerifiedDataset::Check::header;
  found.checked = 1;
  try {
    const auto row = hash_rest(path, index.data);
    found.bytes = static_cast<std::ptrdiff_t>(row.bytes);
    const auto& written = *index.header;
    if (written.offset != 0) {
      found.problem = "its row of the checksum table is damaged";
      return found;
    }
    if (row.bytes == written.bytes && row.xxh3 == written.xxh3) return found;
    found.problem = row.bytes == written.bytes
                        ? "headers, attributes or coordinates have changed since they were written"
                        : fmt::format("headers have {} bytes, but had {} when they were written",
                                      row.bytes, written.bytes);
  } catch (const Error& error) {
    found.problem = error.what();
  }
  return found;
}

}  // namespace
}  // namespace store

std::string Damage::describe(const std::string& dataset, const std::string& file) const {
  auto text = fmt::format("dataset {}, box {}", dataset, box.describe());
  if (bytes.count > 0) text += fmt::format(", bytes {} to {}", bytes.start, bytes.end() - 1);
  if (file_offset < 0) return text;
  text += file.empty() ? fmt::format(" (file offset {})", file_offset)
                       : fmt::format(" (file offset {} of {})", file_offset, file);
  return text;
}

bool VerifiedFile::damaged() const {
  return (!problem.empty() && !unreadable) ||
         std::ranges::any_of(datasets, &VerifiedDataset::damaged);
}

bool VerifiedFile::unchecked() const {
  return unreadable || std::ranges::any_of(datasets, &VerifiedDataset::unreadable);
}

VerifiedFile verify_file(const Comm& comm, const std::string& path, bool data) {
  using namespace store;
  VerifiedFile found;
  found.path = path;
  FileIndex index;
  if (!open_index(comm, found, index)) return found;
  found.sources = index.sources;
  int header = index.header ? 1 : 0;
  check_mpi(MPI_Bcast(&header, 1, MPI_INT, 0, comm.raw()));
  const auto settings = file::resolve(comm, path, {});
  FileStatistics statistics;
  ReadFile file(comm, path, settings, statistics);
  for (const auto& entry : index.entries) {
    const bool checksums =
        !entry.pieces.empty() || !entry.boxes.empty() || (!entry.parts.empty() && header == 1);
    found.checksums = found.checksums || checksums;
    found.pieces_checked = found.pieces_checked || !entry.parts.empty();
    if (!data || entry.only_dimension) continue;
    if (header == 1 && entry.scale && !checksums) continue;  // a part of the header
    found.datasets.push_back(verify_dataset(comm, file, entry));
  }
  for (const auto& refused : index.refused) {
    if (!refused.damaged || !data) continue;
    VerifiedDataset dataset;
    dataset.name = refused.name;
    dataset.problem = refused.why;
    found.datasets.push_back(std::move(dataset));
  }
  if (header == 0) return found;
  VerifiedDataset rest;
  if (comm.rank() == 0) rest = verify_header(path, index);
  int wrong = rest.problem.empty() ? 0 : 1;
  check_mpi(MPI_Bcast(&wrong, 1, MPI_INT, 0, comm.raw()));
  if (comm.rank() != 0 && wrong == 1) rest.problem = "headers have changed since they were written";
  found.datasets.push_back(std::move(rest));
  return found;
}

}  // namespace tailrace
