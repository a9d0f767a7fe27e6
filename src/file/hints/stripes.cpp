// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/round_up.hpp"
#include "core/system_call.hpp"
#include "file/hints/lustre.hpp"
#include "file/settings.hpp"
#include "tailrace/more/file_stripes.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t smallest_stripe = 65536;  // of Lustre and of CephFS alike
constexpr std::ptrdiff_t ceph_object_bytes = 4 << 20;

std::string failed(const std::string& path, const std::string& doing, int error) {
  return fmt::format("cannot {} {}: {} (errno {})", doing, path, std::strerror(error), error);
}

std::string set_ceph(const std::string& path, bool is_folder, std::ptrdiff_t stripe_bytes,
                     int stripe_count) {
  const std::string layout = ceph_layout(path, stripe_bytes, stripe_count);
  const char* name = is_folder ? "ceph.dir.layout" : "ceph.file.layout";
  if (setxattr(path.c_str(), name, layout.data(), layout.size(), 0) == 0) return "";
  if (errno == ENOTEMPTY) {
    return fmt::format(
        "cannot set the stripes of {}: it has held data before, and only a new file can get "
        "stripes",
        path);
  }
  return failed(path, fmt::format("set layout \"{}\" of", layout), errno);
}

/// Lustre gives a file its objects when it is created, so the layout must come between: a new file
/// is opened without objects, laid out, and takes the empty one's name, as ROMIO and `lfs
/// setstripe` do. Written from Lustre's header and ROMIO's ad_lustre_open.c; there was no Lustre
/// to run it on.
std::string set_lustre(const std::string& path, std::ptrdiff_t stripe_bytes, int stripe_count,
                       mode_t mode) {
  // O_LOV_DELAY_CREATE: the bit of old versions with the flags of new ones.
  constexpr int delay_create = 0100000000 | O_NOCTTY | FASYNC;
  constexpr unsigned long set_stripe = _IOW('f', 154, long);  // LL_IOC_LOV_SETSTRIPE
  const std::string fresh = fmt::format("{}.stripes.{}", path, getpid());
  const int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | delay_create;
  const int file = uninterrupted([&] { return open(fresh.c_str(), flags, mode); });
  if (file < 0) return failed(fresh, "create", errno);
  const LustreRequest request = lustre_request(stripe_bytes, stripe_count);
  std::string problem;
  if (ioctl(file, set_stripe, &request) != 0) problem = failed(path, "set the stripes of", errno);
  close_descriptor(file);
  if (problem.empty() && uninterrupted([&] { return rename(fresh.c_str(), path.c_str()); }) != 0) {
    problem = failed(path, "replace", errno);
  }
  if (!problem.empty()) unlink(fresh.c_str());
  return problem;
}

}  // namespace

std::string set_stripes(const std::string& path, std::ptrdiff_t stripe_bytes, int stripe_count) {
  if (stripe_bytes == 0 && stripe_count == 0) return "";
  struct stat status {};
  if (uninterrupted([&] { return stat(path.c_str(), &status); }) != 0) {
    return failed(path, "look at", errno);
  }
  const std::string name = file_system_of(path).name;
  const bool is_folder = S_ISDIR(status.st_mode);
  if (is_folder ? name != "ceph" : !S_ISREG(status.st_mode) || status.st_size > 0) {
    return fmt::format("cannot set the stripes of {}: only a new, empty file can get stripes",
                       path);
  }
  if (name != "ceph" && name != "lustre") {
    return fmt::format("cannot set the stripes of {}: file system {} has no stripes to set", path,
                       name);
  }
  if (stripe_bytes % smallest_stripe != 0 || stripe_bytes >= std::ptrdiff_t{1} << 32) {
    return fmt::format(
        "cannot set the stripes of {}: striping_unit={} is not a multiple of 64 KiB below 4 GiB",
        path, stripe_bytes);
  }
  return name == "ceph" ? set_ceph(path, is_folder, stripe_bytes, stripe_count)
                        : set_lustre(path, stripe_bytes, stripe_count, status.st_mode & 07777);
}

// Layouts of Lustre, taken apart by hand so that nothing of Lustre is needed to build. Numbers and
// places of fields are those of lustre/include/uapi/linux/lustre/lustre_user.h (Lustre 2.15):
//   lov_user_md_v1/v3   magic u32, pattern u32, object id 16 bytes, stripe_size u32 at 24,
//                       stripe_count u16 at 28
//   lov_comp_md_v1      magic u32, size u32, generation u32, flags u16, entry_count u16 at 14;
//                       entries from 32 on, 48 bytes each: id u32, flags u32, extent start u64 at
//                       8, end u64 at 16, offset u32 at 24 and size u32 at 28 of its own
//                       lov_user_md

namespace {

constexpr std::uint32_t magic_v1 = 0x0BD10BD0;
constexpr std::uint32_t magic_v3 = 0x0BD30BD0;
constexpr std::uint32_t magic_specific = 0x0BD50BD0;  // version 3 with its targets named
constexpr std::uint32_t magic_composite = 0x0BD60BD0;
constexpr std::size_t plain_bytes = 32;
constexpr std::size_t header_bytes = 32;
constexpr std::size_t entry_bytes = 48;

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t place) {
  Number number = 0;
  if (place + sizeof number <= bytes.size()) {
    std::memcpy(&number, bytes.data() + place, sizeof number);
  }
  return number;
}

std::optional<LustreStripes> parse_plain(std::span<const std::byte> layout) {
  if (layout.size() < plain_bytes) return {};
  const auto count = number_at<std::uint16_t>(layout, 28);
  return LustreStripes{static_cast<std::ptrdiff_t>(number_at<std::uint32_t>(layout, 24)),
                       count == 0xffff ? -1 : static_cast<int>(count)};
}

std::optional<LustreStripes> parse_composite(std::span<const std::byte> layout) {
  std::optional<LustreStripes> farthest;
  std::uint64_t farthest_end = 0;
  const std::size_t entries = number_at<std::uint16_t>(layout, 14);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = header_bytes + i * entry_bytes;
    if (entry + entry_bytes > layout.size()) return farthest;
    const auto end = number_at<std::uint64_t>(layout, entry + 16);
    const std::size_t offset = number_at<std::uint32_t>(layout, entry + 24);
    if (end <= farthest_end || offset >= layout.size()) continue;
    const std::span<const std::byte> component = layout.subspan(offset);
    const auto magic = number_at<std::uint32_t>(component, 0);
    if (magic != magic_v1 && magic != magic_v3 && magic != magic_specific) continue;
    if (const auto stripes = parse_plain(component)) {
      farthest = stripes;
      farthest_end = end;
    }
  }
  return farthest;
}

}  // namespace

std::optional<LustreStripes> parse_lustre_layout(std::span<const std::byte> layout) {
  switch (number_at<std::uint32_t>(layout, 0)) {
    case magic_v1:
    case magic_v3:
    case magic_specific:
      return parse_plain(layout);
    case magic_composite:
      return parse_composite(layout);
    default:
      return {};
  }
}

LustreRequest lustre_request(std::ptrdiff_t stripe_bytes, int stripe_count) {
  LustreRequest request;
  request.stripe_size = static_cast<std::uint32_t>(stripe_bytes);
  request.stripe_count =
      stripe_count < 0 ? std::uint16_t{0xffff} : static_cast<std::uint16_t>(stripe_count);
  return request;
}

}  // namespace tailrace::file

namespace tailrace {

std::string set_file_stripes(const std::string& path, std::ptrdiff_t stripe_bytes,
                             int stripe_count) {
  return file::set_stripes(path, stripe_bytes, stripe_count);
}

std::string ceph_layout(const std::string& path, std::ptrdiff_t stripe_bytes, int stripe_count) {
  const FileStripes now = file_stripes(path);
  const std::ptrdiff_t unit = stripe_bytes > 0 ? stripe_bytes : now.stripe_bytes;
  const int count = stripe_count > 0 ? stripe_count : now.stripe_count;
  const std::ptrdiff_t object = round_up(std::max(file::ceph_object_bytes, unit), unit);
  return fmt::format("stripe_unit={} stripe_count={} object_size={}", unit, count, object);
}

}  // namespace tailrace
