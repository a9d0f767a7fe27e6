// SPDX-License-Identifier: BSD-3-Clause
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "file/hints/lustre.hpp"
#include "file/settings.hpp"
#include "tailrace/more/file_stripes.hpp"

namespace tailrace::file {

namespace {

using Kind = FileSystem::Kind;

struct KnownFileSystem {
  unsigned long magic;
  Kind kind;
  const char* name;
};

// Numbers that linux/magic.h does not have are in the sources of the file systems.
constexpr auto known_file_systems = std::to_array<KnownFileSystem>({
    {TMPFS_MAGIC, Kind::memory, "tmpfs"},
    {RAMFS_MAGIC, Kind::memory, "ramfs"},
    {HUGETLBFS_MAGIC, Kind::memory, "hugetlbfs"},
    {EXT4_SUPER_MAGIC, Kind::local, "ext4"},  // ext2 and ext3 say the same
    {XFS_SUPER_MAGIC, Kind::local, "xfs"},
    {BTRFS_SUPER_MAGIC, Kind::local, "btrfs"},
    {0x2FC12FC1, Kind::local, "zfs"},
    {F2FS_SUPER_MAGIC, Kind::local, "f2fs"},
    {OVERLAYFS_SUPER_MAGIC, Kind::local, "overlayfs"},
    {NFS_SUPER_MAGIC, Kind::network, "nfs"},
    {0x0BD00BD0, Kind::network, "lustre"},
    {0x00C36400, Kind::network, "ceph"},
    {FUSE_SUPER_MAGIC, Kind::network, "fuse"},
    {0x47504653, Kind::network, "gpfs"},
    {0x19830326, Kind::network, "beegfs"},
    {0x20030528, Kind::network, "orangefs"},
    {0xAAD7AAEA, Kind::network, "panfs"},
    {0xFF534D42, Kind::network, "cifs"},
    {SMB2_SUPER_MAGIC, Kind::network, "smb2"},
    {AFS_SUPER_MAGIC, Kind::network, "afs"},
    {0x01161970, Kind::network, "gfs2"},
    {V9FS_MAGIC, Kind::network, "9p"},
});

std::string attribute(const std::string& path, const char* name) {
  std::array<char, 4096> value{};
  const ssize_t bytes = getxattr(path.c_str(), name, value.data(), value.size());
  return bytes > 0 ? std::string(value.data(), static_cast<std::size_t>(bytes)) : std::string();
}

/// "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data"
void parse_ceph_layout(const std::string& layout, FileStripes& stripes) {
  const auto value = [&](const std::string& name) {
    const std::size_t place = (" " + layout).find(" " + name + "=");
    if (place == std::string::npos) return std::string();
    const std::size_t first = place + name.size() + 1;
    return layout.substr(first, layout.find(' ', first) - first);
  };
  const auto number = [&](const char* name) {
    return std::strtol(value(name).c_str(), nullptr, 10);
  };
  stripes.stripe_bytes = number("stripe_unit");
  stripes.stripe_count = static_cast<int>(number("stripe_count"));
  stripes.object_bytes = number("object_size");
  stripes.pool = value("pool");
}

/// A folder has a layout only if one was set on it; else the nearest one above it counts.
void ask_ceph(const std::string& path, bool is_folder, FileStripes& stripes) {
  std::string layout = is_folder ? "" : attribute(path, "ceph.file.layout");
  const std::string own = is_folder ? path : folder_of(path);
  std::string folder = own;
  // Every folder of CephFS, and no other, has this attribute.
  while (layout.empty() && !attribute(folder, "ceph.dir.entries").empty()) {
    stripes.file_system = "ceph";
    layout = attribute(folder, "ceph.dir.layout");
    struct stat here {};
    struct stat above {};
    const std::string parent = folder + "/..";
    if (!layout.empty() || stat(folder.c_str(), &here) != 0 || stat(parent.c_str(), &above) != 0) {
      break;
    }
    if (here.st_dev != above.st_dev || here.st_ino == above.st_ino) break;
    folder = parent;
  }
  if (!layout.empty()) {
    stripes.file_system = "ceph";
    parse_ceph_layout(layout, stripes);
    std::error_code error;
    if (folder != own) stripes.source = std::filesystem::canonical(folder, error).string();
  } else if (stripes.file_system == "ceph") {
    // The layout of files where none was set (file_layout_t of Ceph): whole objects of 4 MiB.
    stripes.stripe_bytes = stripes.object_bytes = 4 << 20;
    stripes.stripe_count = 1;
    stripes.source = "default of Ceph";
  }
}

void ask_lustre(const std::string& path, FileStripes& stripes) {
  const std::string layout = attribute(path, "lustre.lov");
  const auto found = parse_lustre_layout(std::as_bytes(std::span(layout)));
  if (!found) return;
  stripes.stripe_bytes = found->stripe_bytes;
  stripes.stripe_count = std::max(found->stripe_count, 0);
}

struct Found {
  Kind kind = Kind::local;
  FileStripes stripes;
};

Found find(const std::string& path) {
  Found answer;
  FileStripes& stripes = answer.stripes;
  struct stat status {};
  const bool exists = uninterrupted([&] { return stat(path.c_str(), &status); }) == 0;
  const std::string asked = exists ? path : folder_of(path);
  struct statfs found {};
  if (statfs(asked.c_str(), &found) != 0) {
    stripes.file_system = "unknown";
    return answer;
  }
  // The type is signed and of 32 bits on some machines.
  const unsigned long magic = static_cast<unsigned long>(found.f_type) & 0xFFFFFFFFUL;
  const auto* known =
      std::find_if(known_file_systems.begin(), known_file_systems.end(),
                   [&](const KnownFileSystem& each) { return each.magic == magic; });
  if (known == known_file_systems.end()) {
    stripes.file_system = fmt::format("0x{:x}", magic);
    return answer;
  }
  answer.kind = known->kind;
  stripes.file_system = known->name;
  if (stripes.file_system == "lustre") ask_lustre(asked, stripes);
  if (stripes.file_system == "ceph" || stripes.file_system == "fuse") {
    ask_ceph(asked, !exists || S_ISDIR(status.st_mode), stripes);
  }
  return answer;
}

}  // namespace

FileSystem file_system_of(const std::string& path) {
  const auto [kind, stripes] = find(path);
  return {kind, stripes.file_system, stripes.stripe_bytes, stripes.stripe_count};
}

}  // namespace tailrace::file

tailrace::FileStripes tailrace::file_stripes(const std::string& path) {
  return file::find(path).stripes;
}
