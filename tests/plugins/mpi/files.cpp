// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes files in each way that POSIX and MPI offer, counts that itself and prints it.
// Argument: a folder.
#include <fcntl.h>
#include <mpi.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

int rank = 0;
std::map<std::string, std::map<std::string, long long>> made;  // by file and key

void expect(bool ok, const char* what) {
  if (ok) return;
  std::printf("rank %d: wrong result of %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// Counts a read or write of `bytes`.
void count(const std::string& file, bool reads, ssize_t bytes, bool jumps = false) {
  expect(bytes >= 0, "a read or write");
  auto& counts = made[file];
  ++counts[reads ? "reads" : "writes"];
  counts[reads ? "read_bytes" : "written_bytes"] += bytes;
  if (bytes > 0 && bytes < 65536) ++counts["small"];
  if (jumps) ++counts["jumps"];
}

// Sequential, with two large pieces; synced; then read back from the start.
void in_order(const std::string& path) {
  const std::vector<char> large(100000, 'a');
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0640);
  ++made["order"]["opens"];
  expect((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "O_CLOEXEC");
  for (int i = 0; i < 2; ++i) count("order", false, write(fd, large.data(), large.size()));
  iovec parts[2] = {{const_cast<char*>(large.data()), 10}, {const_cast<char*>(large.data()), 20}};
  count("order", false, writev(fd, parts, 2));
  count("order", false, pwritev2(fd, parts, 2, -1, 0));
  expect(fsync(fd) == 0 && fdatasync(fd) == 0, "fsync");
  made["order"]["syncs"] += 2;
  expect(lseek(fd, 0, SEEK_END) == 200060 && lseek(fd, 0, SEEK_SET) == 0, "lseek");
  std::vector<char> back(100000);
  count("order", true, read(fd, back.data(), back.size()), true);
  iovec into[1] = {{back.data(), 50}};
  count("order", true, readv(fd, into, 1));
  expect(back == large, "read");
  // Another descriptor takes this one's number.
  const int other = open((path + ".other").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0640);
  ++made["other"]["opens"];
  expect(dup2(other, fd) == fd, "dup2");
  count("other", false, write(fd, "xyz", 3));
  close(other);
  close(fd);
}

// Pieces of 100 bytes, 1000 apart.
void strided(const std::string& path) {
  const int fd = creat(path.c_str(), 0640);
  ++made["strided"]["opens"];
  const std::string piece(100, 'p');
  for (int i = 0; i < 150; ++i)
    count("strided", false, pwrite(fd, piece.data(), piece.size(), 1000L * i), i > 0);
  close(fd);
  // What is not open for reading fails as it always did.
  const int again = openat(AT_FDCWD, path.c_str(), O_WRONLY);
  ++made["strided"]["opens"];
  char one = 0;
  errno = 0;
  expect(read(again, &one, 1) == -1 && errno == EBADF, "errno");
  ++made["strided"]["reads"];
  close(again);
  errno = 0;
  expect(open("/no/such/file", O_RDONLY) == -1 && errno == ENOENT, "errno of open");
}

// A child of fork is another process: what it does is not counted.
void in_child(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0640);
  ++made["child"]["opens"];
  const pid_t child = fork();
  if (child == 0) _exit(write(fd, "child", 5) == 5 ? 0 : 1);
  int status = -1;
  expect(waitpid(child, &status, 0) == child && status == 0, "a child");
  char back[8] = {};
  count("child", true, pread(fd, back, 8, 0));
  expect(std::string(back) == "child", "what a child wrote");
  close(fd);
}

void with_mpi(const std::string& path) {
  MPI_File file = MPI_FILE_NULL;
  std::vector<double> values(1000, rank);
  const MPI_Offset bytes = 8000;
  MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  MPI_File_write_at_all(file, bytes * rank, values.data(), 1000, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_read_at(file, bytes * rank, values.data(), 500, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  auto& counts = made["shared"];
  counts["mpi_writes"] = counts["mpi_reads"] = 1;
  counts["mpi_written_bytes"] = 8000;
  counts["mpi_read_bytes"] = 4000;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string folder = argc > 1 ? argv[1] : ".";
  const auto own = [&](const char* name) {
    return folder + "/" + name + "." + std::to_string(rank);
  };
  in_order(own("order"));
  strided(own("strided"));
  in_child(own("child"));
  with_mpi(folder + "/shared");
  std::ofstream(own("stream")) << "by C++";
  made["stream"]["opens"] = 1;
  made["stream"]["written_bytes"] = 6;
  for (const auto& [file, counts] : made)
    for (const auto& [key, value] : counts)
      std::printf("MADE %d %s %s %lld\n", rank, file.c_str(), key.c_str(), value);
  MPI_Finalize();
}
