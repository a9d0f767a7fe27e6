// SPDX-License-Identifier: BSD-3-Clause
// What every back end says when the file is not there, too short, or the disk is full.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>

#include "file/back_ends/back_end_fixture.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::file {
namespace {

class Faults : public BackEndTest {};

template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Errc::internal, "nothing was thrown");
}

TEST_F(Faults, MissingFileAndFolder) {
  for (const auto* entry : available_back_ends()) {
    SCOPED_TRACE(entry->name);
    const auto error = error_of([&] { open(*entry, "absent", FileAccess::read, self); });
    EXPECT_EQ(error.code(), Errc::io) << error.what();
    EXPECT_NE(std::string(error.what()).find("absent"), std::string::npos) << error.what();
    if (entry->name == "hdf5") continue;  // does not tell why
    EXPECT_EQ(error.sys_errno(), ENOENT) << error.what();
  }
  const auto error = error_of([&] { create_file(path("no/folder"), settings); });
  EXPECT_EQ(error.sys_errno(), ENOENT);
  EXPECT_NE(std::string(error.what()).find("No such file or directory (errno 2)"),
            std::string::npos);
}

TEST_F(Faults, ReadingBeyondTheEnd) {
  const auto whole = FilePart::runs(std::vector<FileRun>{{0, 1000}});
  const auto beyond = FilePart::runs(std::vector<FileRun>{{900, 101}});
  for (const auto* entry : available_back_ends()) {
    for (const Switch direct : {Switch::off, Switch::on}) {
      SCOPED_TRACE(entry->name);
      settings.direct_io = direct;
      create(*entry, "short");
      Bytes memory(1000);
      auto file = open(*entry, "short", FileAccess::write, self);
      file->write_part(whole, memory.data());
      file->close();
      file = open(*entry, "short", FileAccess::read, self);
      for (const Switch sieving : {Switch::off, Switch::on}) {
        settings.ds_read = sieving;
        const auto error = error_of([&] { file->read_part(beyond, memory.data()); });
        EXPECT_EQ(error.code(), Errc::corrupt) << error.what();
        EXPECT_NE(std::string(error.what()).find("1001"), std::string::npos) << error.what();
      }
      file->close();
    }
  }
}

// A disk of 1 MiB for this process alone; false if that is not allowed here.
bool mount_tiny_disk(const std::string& folder) {
  std::filesystem::create_directories(folder);
  return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

void expect_full(const BackEndEntry& entry, const Error& error, int expected) {
  EXPECT_EQ(error.code(), Errc::io) << error.what();
  EXPECT_NE(std::string(error.what()).find(std::string(entry.name) + "_full"), std::string::npos)
      << error.what();
  // MPI-IO and HDF5 do not always tell why.
  if (entry.name == "mpiio" || entry.name == "hdf5") return;
  EXPECT_EQ(error.sys_errno(), expected);
}

TEST_F(Faults, FullDiskIsAnErrorInEveryBackEnd) {
  const auto tiny = path("tiny");
  const bool mounted = mount_tiny_disk(tiny);
  rlimit before{};
  if (!mounted) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = before;
    limit.rlim_cur = 1 << 20;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  const Buffer buffer(4 << 20);
  const auto part = FilePart::runs(std::vector<FileRun>{{0, buffer.bytes()}});
  for (const auto* entry : available_back_ends()) {
    if (entry->name == "hdf5") continue;  // leaves a file that it cannot close
    for (const std::string way : {"part", "in the background", "collective"}) {
      if (way == "collective" && !entry->has_collective) continue;
      SCOPED_TRACE(fmt::format("{}, {}", entry->name, way));
      const auto name = fmt::format("tiny/{}_full", entry->name);
      create_file(path(name), settings);
      auto file = open(*entry, name, FileAccess::write, self);
      const auto error = error_of([&] {
        if (way == "part") file->write_part(part, buffer.data());
        if (way == "collective") file->write_all(part, buffer.data());
        if (way == "in the background") {
          file->start_write(FilePart::Data::of(part).segments(), buffer.data());
          file->finish();
        }
        file->flush();
      });
      expect_full(*entry, error, mounted ? ENOSPC : EFBIG);
      file->close();
      std::filesystem::remove(path(name));
      // It goes on when there is room again.
      create_file(path(name), settings);
      file = open(*entry, name, FileAccess::write, self);
      EXPECT_NO_THROW(file->write(std::vector<Segment>{{0, 0, 1000}}, buffer.data(), false));
      EXPECT_NO_THROW(file->flush());
      file->close();
      std::filesystem::remove(path(name));
    }
  }
  if (mounted) {
    umount(tiny.c_str());
  } else {
    setrlimit(RLIMIT_FSIZE, &before);
  }
}

}  // namespace
}  // namespace tailrace::file
