// SPDX-License-Identifier: BSD-3-Clause
#include "core/replaced.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace {
namespace {

constexpr const char* list_name = "system.posix_acl_access";
constexpr const char* default_list_name = "system.posix_acl_default";

/// The value of an extended attribute; empty if there is none, or none on this file system.
std::vector<char> attribute_of(const std::string& path, const char* name) {
  const auto read = [&](std::span<char> into) {
    return uninterrupted([&] { return getxattr(path.c_str(), name, into.data(), into.size()); });
  };
  std::array<char, 4096> some;  // on the stack: the time loop allocates nothing of this size
  auto bytes = read(some);
  if (bytes > 0) return {some.data(), some.data() + bytes};
  if (bytes == 0 || errno != ERANGE) return {};
  std::vector<char> value(XATTR_SIZE_MAX);
  bytes = read(value);
  value.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return value;
}

/// True if the list could be set, or there is none and none was inherited.
bool set_list(int descriptor, const char* name, const std::vector<char>& list) {
  if (list.empty()) {
    uninterrupted([&] { return fremovexattr(descriptor, name); });
    return true;
  }
  return uninterrupted([&] { return fsetxattr(descriptor, name, list.data(), list.size(), 0); }) ==
         0;
}

}  // namespace

std::string followed_links(const std::string& path) {
  constexpr int most_links = 40;  // as Linux
  std::string place = path;
  for (int links = 0; links < most_links; ++links) {
    std::array<char, PATH_MAX> target{};
    const auto bytes =
        uninterrupted([&] { return readlink(place.c_str(), target.data(), target.size() - 1); });
    if (bytes < 0) {
      // No link, or nothing that can be looked at: whoever opens it learns why.
      if (errno == EIO || errno == ESTALE || errno == ELOOP) fail_errno(errno);
      return place;
    }
    const std::string_view to(target.data(), static_cast<std::size_t>(bytes));
    if (to.starts_with('/')) {
      place = to;
    } else {
      const auto slash = place.find_last_of('/');
      place.resize(slash == std::string::npos ? 0 : slash + 1);
      place += to;
    }
  }
  fail_errno(ELOOP);
}

std::string name_beside(const std::string& path, std::string_view suffix) {
  const auto start = path.find_last_of('/') + 1;  // npos + 1 is 0
  if (path.size() - start + suffix.size() <= NAME_MAX) return path + std::string(suffix);
  std::uint64_t digest = 0xcbf29ce484222325U;  // FNV-1a: the same in every run
  for (const char letter : std::string_view(path).substr(start)) {
    digest = (digest ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  const auto rest = fmt::format("~{:016x}{}", digest, suffix);
  auto length = NAME_MAX - rest.size();
  // Not inside of a letter of several bytes.
  while (length > 0 && (static_cast<unsigned char>(path[start + length]) & 0xC0U) == 0x80U) {
    --length;
  }
  return path.substr(0, start + length) + rest;
}

Access Access::of(const std::string& path) {
  Access access;
  struct stat status {};
  if (uninterrupted([&] { return stat(path.c_str(), &status); }) != 0) {
    if (errno != ENOENT) fail_errno(errno);
    return access;
  }
  access.exists_ = true;
  access.mode_ = status.st_mode;
  access.owner_ = status.st_uid;
  access.group_ = status.st_gid;
  access.list_ = attribute_of(path, list_name);
  if (S_ISDIR(status.st_mode)) access.default_list_ = attribute_of(path, default_list_name);
  return access;
}

Access Access::of_folder_for_files() const {
  auto access = *this;
  access.mode_ = S_IFDIR | (mode_ & 0777U) | ((mode_ & 0444U) >> 2U);
  access.list_.clear();
  return access;
}

bool Access::is_file() const { return S_ISREG(mode_); }
bool Access::is_folder() const { return S_ISDIR(mode_); }

void Access::apply(int descriptor, mode_t more) const {
  if (!exists_) return;
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail_errno(errno);
  auto mode = mode_ & (is_folder() ? 07777U : 0777U);
  const bool other_owner = status.st_uid != owner_;
  bool has_group = status.st_gid == group_;
  if (other_owner && uninterrupted([&] { return fchown(descriptor, owner_, group_); }) == 0) {
    has_group = true;
  } else if (!has_group) {
    has_group =
        uninterrupted([&] { return fchown(descriptor, static_cast<uid_t>(-1), group_); }) == 0;
  }
  if (is_folder()) set_list(descriptor, default_list_name, default_list_);
  // A list names its groups; without our group, or without lists here, the mode alone says less.
  const bool has_list = set_list(descriptor, list_name, has_group ? list_ : std::vector<char>());
  if (!has_group || !has_list) mode &= ~070U | ((mode & 07U) << 3U);
  if (uninterrupted([&] { return fchmod(descriptor, mode | more); }) != 0) fail_errno(errno);
}

Access access_of_replaced_file(const std::string& path) {
  auto access = Access::of(path);
  if (access.exists() && !access.is_file() && !access.is_folder()) {
    throw Error(Errc::io, "it is a device or a pipe; only regular files are replaced", EEXIST);
  }
  return access;
}

}  // namespace tailrace
