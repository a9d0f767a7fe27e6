// SPDX-License-Identifier: BSD-3-Clause
// Plain POSIX, as IOR does it: every rank opens the file and calls pwrite for each of its pieces.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "io_variant.hpp"

namespace bench {

namespace {

using tailrace::FileRun;

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : path_(path), raw_(::open(path.c_str(), flags, 0644)) {
    if (raw_ < 0) fail_errno("open", path);
  }
  ~Descriptor() {
    if (raw_ >= 0) ::close(raw_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(const FileRun& run, const std::byte* data) const {
    for (std::ptrdiff_t done = 0; done < run.bytes;) {
      const auto count = ::pwrite(raw_, data + done, static_cast<std::size_t>(run.bytes - done),
                                  run.offset + done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_errno("write", path_);
      done += count;
    }
  }
  void read(const FileRun& run, std::byte* data) const {
    for (std::ptrdiff_t done = 0; done < run.bytes;) {
      const auto count =
          ::pread(raw_, data + done, static_cast<std::size_t>(run.bytes - done), run.offset + done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail_errno(count == 0 ? "read all of" : "read", path_);
      done += count;
    }
  }
  void flush_and_close() {
    if (::fsync(raw_) != 0) fail_errno("flush", path_);
    if (::close(std::exchange(raw_, -1)) != 0) fail_errno("close", path_);
  }

 private:
  std::string path_;
  int raw_;
};

class Posix : public Method {
 public:
  Posix(const Job& job, bool own_file)
      : path_(own_file ? job.path + '.' + std::to_string(job.comm.rank()) : job.path),
        pieces_(job.pattern.transfers),
        own_file_(own_file) {
    if (!own_file_) return;
    std::ptrdiff_t end = 0;  // in a file of one's own the pieces follow each other
    for (auto& piece : pieces_) {
      piece.offset = end;
      end = piece.end();
    }
  }
  void write(const std::byte* data) override {
    Descriptor file(path_, O_CREAT | O_WRONLY);
    for (const auto& piece : pieces_) {
      file.write(piece, data);
      data += piece.bytes;
    }
    file.flush_and_close();
  }
  void read(std::byte* data) override {
    Descriptor file(path_, O_RDONLY);
    for (const auto& piece : pieces_) {
      file.read(piece, data);
      data += piece.bytes;
    }
  }
  bool is_plain_file() const override { return !own_file_; }

 private:
  std::string path_;
  std::vector<FileRun> pieces_;
  bool own_file_;
};

/// Writes one wrong byte, so that the check can be checked.
class Wrong : public Posix {
 public:
  explicit Wrong(const Job& job) : Posix(job, false), bytes_(job.pattern.bytes()) {}
  void write(const std::byte* data) override {
    std::vector<std::byte> copy(data, data + bytes_);
    if (!copy.empty()) copy[copy.size() / 2] ^= std::byte{1};
    Posix::write(copy.data());
  }

 private:
  std::ptrdiff_t bytes_;
};

}  // namespace

std::vector<WriteMethod> posix_variants() {
  return {{"posix call per piece", "posix", false,
           [](const Job& job) { return std::make_unique<Posix>(job, false); }},
          {"posix file per rank", "posix", false,
           [](const Job& job) { return std::make_unique<Posix>(job, true); }},
          {"one wrong byte", "test", false,
           [](const Job& job) { return std::make_unique<Wrong>(job); }}};
}

}  // namespace bench
