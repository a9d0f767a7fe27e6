// SPDX-License-Identifier: BSD-3-Clause
// The table of back ends. Adding one: its file, its declarations in back_end.hpp, a line here, a
// line in CMakeLists.txt. Tests, benchmarks and `tailrace list` walk this table.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "core/replaced.hpp"
#include "core/say.hpp"
#include "core/system_call.hpp"
#include "file/back_end.hpp"
#include "file/limiter.hpp"
#if TAILRACE_MPI_IO
#include "file_back_ends/entries.hpp"
#endif

namespace tailrace::file {
namespace {

bool always() { return true; }

constexpr std::array back_ends {
  BackEndEntry{"posix",  "pwritev and preadv; bypasses the page cache where that is faster",
               "always", false,
               always,   open_posix},
      BackEndEntry{"uring",
                   "io_uring: several requests in flight, written in the background",
                   "built with liburing, on a kernel that allows io_uring",
                   false,
                   uring_available,
                   open_uring},
      BackEndEntry{
          limited_name,
          "posix at a limited rate, limited:RATE[,LATENCY]: simulates a shared file system",
          "always",
          false,
          always,
          open_limited,
          nullptr,
          "limited:1G"},
#if TAILRACE_MPI_IO
      mpiio_entry, hdf5_entry,
#endif
};

}  // namespace

std::span<const BackEndEntry> back_end_table() { return back_ends; }

const BackEndEntry& find_back_end(std::string_view hint) {
  const auto name = hint.substr(0, hint.find(':'));
  constexpr auto advice = TAILRACE_MPI_IO ? "" : " (mpiio, hdf5: build with -DTAILRACE_MPI_IO=ON)";
  if (const auto* entry = find_line(back_ends, name)) return *entry;
  refuse_input("there is no back end \"{}\"; there are {}{}", name, names_instead(name, back_ends),
               advice);
}

namespace {

void make_empty(const std::string& path) {
  Descriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file || file.close() != 0) fail_io("create", path, errno);
}

bool has_stripes(const FileSystem& file_system) {
  return file_system.name == "lustre" || file_system.name == "ceph" || file_system.stripe_bytes > 0;
}

}  // namespace

void create_file(const std::string& path, const Settings& settings) {
  if (!settings.set_striping || !has_stripes(settings.file_system)) {
    make_empty(path);
    return;
  }
  // The layout of a file that has held data cannot be changed: it must be a new one.
  try {
    const auto target = followed_links(path);
    const auto access = Access::of(target);
    if (access.is_file() && uninterrupted([&] { return unlink(target.c_str()); }) != 0) {
      fail_errno(errno);
    }
    make_empty(target);
    const auto problem = set_stripes(target, settings.striping_unit, settings.striping_factor);
    if (!problem.empty()) say(LogLevel::warning, fmt::format("{}: {}", path, problem));
    if (!access.is_file()) return;
    const Descriptor made = open_descriptor(target, O_RDONLY);
    if (!made) fail_errno(errno);
    access.apply(made.get());
  } catch (const Error& error) {
    fail_io("replace", path, error.sys_errno());
  }
}

void BackEnd::write_all(const FilePart&, const std::byte*) {
  throw Error(Errc::internal, "this back end has no collective calls");
}
void BackEnd::read_all(const FilePart&, std::byte*) {
  throw Error(Errc::internal, "this back end has no collective calls");
}
void BackEnd::resize(std::ptrdiff_t) {
  throw Error(Errc::internal, "this back end cannot resize files");
}
void BackEnd::write_part(const FilePart& part, const std::byte* data) {
  write(FilePart::Data::of(part).segments(), data, true);
}
void BackEnd::read_part(const FilePart& part, std::byte* data) {
  read(FilePart::Data::of(part).segments(), data, true);
}

}  // namespace tailrace::file

namespace tailrace {

std::span<const MethodInfo> file_back_ends() {
  static const auto lines = method_infos(file::back_ends);
  return lines;
}

}  // namespace tailrace
