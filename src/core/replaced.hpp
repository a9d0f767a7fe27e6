// SPDX-License-Identifier: BSD-3-Clause
// Files that are replaced: a new file grows under a temporary name and takes the place of the old
// one. It must go where the name leads, and be for those whom the old one was for.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

/// Where `path` leads: symbolic links of its last name are followed, also to what does not exist.
/// Throws as `fail_errno` does (ELOOP). Local.
std::string followed_links(const std::string& path);

/// `path` with `suffix`, in the same folder: a temporary name. Where that is longer than file
/// systems allow (255 bytes), the name is cut and a digest of it stands in for the rest. Local.
std::string name_beside(const std::string& path, std::string_view suffix);

/// Who may do what with a file or a folder: owner, group, mode and POSIX access control lists.
class Access {
 public:
  /// Nothing is to be kept: there is no such file.
  Access() = default;
  /// That of the file or folder `path`, after links; none if it does not exist. Throws as
  /// `fail_errno` does. Local.
  static Access of(const std::string& path);

  /// That of a folder whose files are those of a file with this access. Local.
  Access of_folder_for_files() const;

  bool operator==(const Access&) const = default;
  bool exists() const { return exists_; }
  bool is_file() const;
  bool is_folder() const;
  /// Some of these mode bits are not in it, of a file that is to be replaced.
  bool lacks(mode_t bits) const { return exists_ && (mode_ & bits) != bits; }
  /// The mode to create the new file or folder with: `usual` if nothing is replaced; else for the
  /// owner alone until it has its access, as data must not be read by others meanwhile.
  mode_t mode_to_create(mode_t usual) const { return exists_ ? usual & 0700 : usual; }
  /// Gives a new file or folder this access. The owner stays if the system does not let us change
  /// it. If even the group cannot be given, the new group gets no more rights than all others have.
  /// `more`: mode bits that it has besides, while it is written. Throws as `fail_errno` does.
  /// Local.
  void apply(int descriptor, mode_t more = 0) const;

 private:
  bool exists_ = false;
  mode_t mode_ = 0;
  uid_t owner_ = 0;
  gid_t group_ = 0;
  std::vector<char> list_, default_list_;  // empty: it has none
};

/// Throws `Errc::io` (EEXIST) if something that is not a file stands at `path`: a new file must not
/// replace a device, a pipe or a socket. Returns the access of what it replaces. Local.
Access access_of_replaced_file(const std::string& path);

}  // namespace tailrace
