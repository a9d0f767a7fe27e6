// SPDX-License-Identifier: BSD-3-Clause
// What MPI-IO does wrong, shown with MPI alone, and that files through it are right all the same.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "file/back_end.hpp"
#include "file_back_ends/ompio.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file.hpp"
#include "temp_folder.hpp"

namespace {

// Counts down to a call that fails, or writes only half; the calls of MPI's libraries come here,
// too.
int calls_until_failure = -1;
bool writes_half = false;
int failed_calls = 0;
bool flush_fails = false;

bool fails_now() {
  if (calls_until_failure < 0 || calls_until_failure-- > 0) return false;
  ++failed_calls;
  return true;
}

ssize_t fail_now(int fd, const void* data, size_t bytes, off_t offset) {
  if (writes_half && bytes > 1) {
    return static_cast<ssize_t>(syscall(SYS_pwrite64, fd, data, bytes / 2, offset));
  }
  errno = ENOSPC;
  return -1;
}

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
int fsync(int fd) {
  if (flush_fails) errno = EIO;
  return flush_fails ? -1 : next("fsync", &fsync)(fd);
}
int fdatasync(int fd) {
  if (flush_fails) errno = EIO;
  return flush_fails ? -1 : next("fdatasync", &fdatasync)(fd);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return fails_now() ? fail_now(fd, data, bytes, offset)
                     : next("pwrite", &pwrite)(fd, data, bytes, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return fails_now() ? fail_now(fd, data, bytes, offset)
                     : next("pwrite64", &pwrite64)(fd, data, bytes, offset);
}
ssize_t pwritev(int fd, const iovec* data, int count, off_t offset) {
  return fails_now() ? fail_now(fd, data->iov_base, data->iov_len, offset)
                     : next("pwritev", &pwritev)(fd, data, count, offset);
}
ssize_t pwritev64(int fd, const iovec* data, int count, off64_t offset) {
  return fails_now() ? fail_now(fd, data->iov_base, data->iov_len, offset)
                     : next("pwritev64", &pwritev64)(fd, data, count, offset);
}
}

namespace tailrace {
namespace {

constexpr std::ptrdiff_t block = 16;

/// Rank 0 reads block 1, rank 1 blocks 1 and 2, rank 2 blocks 0 to 2, and so on in turn.
FileRun overlapping_run(int rank) {
  if (rank % 3 == 0) return {block, block};
  return rank % 3 == 1 ? FileRun{block, 2 * block} : FileRun{0, 3 * block};
}

class MpiIo : public ::testing::Test {
 protected:
  std::string make_file() {
    const auto path = folder / "blocks";
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) {
      std::ofstream file(path, std::ios::binary);
      for (char c = 0; c < 3 * block; ++c) file.put(c);
    }
    MPI_Barrier(comm.raw());
    return path;
  }
  static bool is_right(const std::vector<char>& data, const FileRun& run) {
    for (std::ptrdiff_t n = 0; n < run.bytes; ++n) {
      if (data[static_cast<std::size_t>(n)] != run.offset + n) return false;
    }
    return true;
  }
  /// Whether a write of which call `k` of each rank fails is reported.
  bool write_failing(const std::string& path, const char* strategy, int k, const FilePart& part,
                     const std::vector<char>& data) {
    bool reported = false;
    try {
      File file(comm, path, FileAccess::write,
                {{"back_end", "mpiio"}, {"strategy", strategy}, {"cb_buffer_size", "16384"}});
      calls_until_failure = k;
      file.write(part, data.data());
      file.close();
    } catch (const Error& error) {
      reported = true;
      EXPECT_EQ(error.code(), Errc::io) << error.what();
    }
    calls_until_failure = -1;
    return reported;
  }
  bool on_all(bool good) const {
    int all = good ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm.raw());
    return all == 1;
  }

  const Comm comm{MPI_COMM_WORLD};
  const TempFolder folder{comm};
};

// MPI alone. An MPI-IO that reads parts that overlap wrongly must be known as one that does.
TEST_F(MpiIo, WhoReadsOverlappingPartsWronglyIsKnown) {
  const auto path = make_file();
  const auto run = overlapping_run(comm.rank());
  std::vector<char> data(static_cast<std::size_t>(run.bytes), 99);
  MPI_File file = MPI_FILE_NULL;
  check_mpi(MPI_File_open(comm.raw(), path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_Status status;
  check_mpi(
      MPI_File_read_at_all(file, run.offset, data.data(), to_int(run.bytes), MPI_BYTE, &status));
  check_mpi(MPI_File_close(&file));
  const bool right = on_all(is_right(data, run));
  if (comm.rank() == 0)
    std::printf("MPI-IO reads overlapping parts %s\n", right ? "right" : "WRONG");
  EXPECT_TRUE(right || file::uses_ompio());
}

TEST_F(MpiIo, OverlappingPartsAreReadRight) {
  const auto run = overlapping_run(comm.rank());
  int tried = 0;
  for (const char* back_end : {"mpiio", "hdf5"}) {
    if (!file::find_back_end(back_end).available()) continue;
    const Hints hints{{"back_end", back_end}, {"strategy", "library_collective"}};
    const auto path = folder / back_end;
    {
      std::vector<char> all;
      for (char c = 0; c < 3 * block; ++c) all.push_back(c);
      const FileRun whole{0, comm.rank() == 0 ? 3 * block : 0};
      File file(comm, path, FileAccess::write, hints);
      file.write(FilePart::runs({&whole, 1}), all.data());
      file.close();
    }
    std::vector<char> data(static_cast<std::size_t>(run.bytes), 99);
    File file(comm, path, FileAccess::read, hints);
    file.read(FilePart::runs({&run, 1}), data.data());
    file.close();
    EXPECT_TRUE(is_right(data, run)) << back_end;
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

// A call that fails in the midst, while all others succeed: an error, or every byte in the file.
// `first` is the first rank that has data: who writes for others may have none of its own.
TEST_F(MpiIo, NoFailedWriteIsSilent) {
  constexpr std::ptrdiff_t piece = 3000, pieces = 40;
  int errors = 0;
  for (int first = 0; first < comm.num_ranks(); ++first) {
    std::vector<FileRun> runs;
    std::vector<char> data;
    for (std::ptrdiff_t n = comm.rank() - first; n >= 0 && n < pieces;
         n += comm.num_ranks() - first) {
      runs.push_back({n * piece, piece});
      data.insert(data.end(), piece, static_cast<char>(n + 1));
    }
    const auto part = FilePart::runs(runs);
    for (const char* strategy : {"library_collective", "shared_independent", "collective"}) {
      for (int k = 0; k < 8; ++k) {
        const auto path = folder / fmt::format("{}{}{}", strategy, k, first);
        writes_half = k >= 4;
        if (write_failing(path, strategy, k % 4, part, data)) {
          ++errors;
          continue;
        }
        std::vector<char> there(data.size());
        File file(comm, path, FileAccess::read, {{"back_end", "posix"}});
        file.read(part, there.data());
        EXPECT_TRUE(on_all(there == data))
            << strategy << ", data from rank " << first << " on, call " << k << " failed silently";
      }
    }
  }
  int failed = failed_calls;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, comm.raw());
  EXPECT_GT(failed, 0) << "no call of MPI-IO failed";
  EXPECT_GT(errors, 0);
}

// What is lost without any error is found by reading it back.
TEST_F(MpiIo, LostBytesAreFoundByReadingBack) {
  const TempFolder own;
  const Comm alone(MPI_COMM_SELF);
  const auto settings = file::resolve_alone(own / "file", {});
  FileStatistics statistics;
  const std::vector<char> good(10000, 'a');
  const auto failure = [&](const std::vector<char>& in_file) -> std::string {
    std::ofstream(own / "file", std::ios::binary)
        .write(in_file.data(), static_cast<std::streamsize>(in_file.size()));
    file::ReadBack back({&alone, own / "file", FileAccess::write, settings, statistics});
    const std::vector<file::Segment> segments{{0, 0, 4000}, {5000, 5000, 5000}};
    try {
      back.check(segments, reinterpret_cast<const std::byte*>(good.data()));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::io);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(failure(good), "");
  auto other = good;
  other[4500] = 'b';  // nobody wrote it
  EXPECT_EQ(failure(other), "");
  other[9999] = 'b';
  EXPECT_NE(failure(other).find("some are not in the file"), std::string::npos);
  EXPECT_NE(failure({good.begin(), good.end() - 1}).find("some are not in"), std::string::npos);
}

TEST_F(MpiIo, AFailedFlushIsReported) {
  const FileRun run{1000 * comm.rank(), 1000};
  const std::vector<char> data(1000, 'a');
  for (const char* strategy : {"library_collective", "shared_independent", "collective"}) {
    bool reported = false;
    try {
      File file(comm, folder / strategy, FileAccess::write,
                {{"back_end", "mpiio"}, {"strategy", strategy}});
      file.write(FilePart::runs({&run, 1}), data.data());
      flush_fails = true;
      file.close();
    } catch (const Error& error) {
      reported = true;
      EXPECT_EQ(error.code(), Errc::io) << error.what();
    }
    flush_fails = false;
    EXPECT_TRUE(reported) << strategy;
  }
}

}  // namespace
}  // namespace tailrace
