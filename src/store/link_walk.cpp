// SPDX-License-Identifier: BSD-3-Clause
// A breadth-first search over groups, hard links first: a group is known by its file and address,
// and has the name by which it was reached first. Each group is listed once, so that neither loops
// nor many links to one group make it long.
#include "store/link_walk.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/system_call.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

struct Link {
  std::string name;
  bool hard;
};

herr_t note_link(hid_t, const char* name, const H5L_info_t* info, void* links) {
  static_cast<std::vector<Link>*>(links)->push_back({name, info->type == H5L_TYPE_HARD});
  return 0;
}

// Names a file, whatever its path: HDF5 numbers a file again each time it opens it.
std::string identity_of(const std::string& path) {
  struct stat status {};
  if (uninterrupted([&] { return stat(path.c_str(), &status); }) != 0) return path;
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

class Walk {
 public:
  Walk(hid_t file, const std::string& path) : file_(file) {
    const auto root = info_of("/");
    if (!root) fail_hdf5("inspect the root group");
    fileno_ = root->fileno;
    enter("", {identity_of(path), root->addr});
    while (!groups_.empty() || !links_.empty()) {
      if (groups_.empty()) {
        const auto name = std::move(links_.front());
        links_.pop_front();
        reach(name, place_of(name));
        continue;
      }
      const auto group = std::move(groups_.front());
      groups_.pop_front();
      list(group);
    }
    std::ranges::sort(found.datasets, {}, &LinkedObjects::Dataset::name);
    std::ranges::sort(found.aliases);
  }

  LinkedObjects found;

 private:
  using Place = std::pair<std::string, haddr_t>;  // a file and an address in it
  struct Group {
    std::string name;
    Place place;
  };

  std::optional<H5O_info_t> info_of(const std::string& name) const {
    H5O_info_t info{};
    const auto status =
        H5Oget_info_by_name2(file_, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
    return status < 0 ? std::nullopt : std::optional(info);
  }
  void enter(const std::string& name, const Place& place) {
    names_.emplace(place, name);
    groups_.push_back({name, place});
  }
  // A group, by one of its names.
  void reach(const std::string& name, const Place& place) {
    const auto known = names_.find(place);
    if (known == names_.end()) return enter(name, place);
    found.aliases.emplace_back(name, known->second);
  }
  // Where the group lies that a soft or external link leads to.
  Place place_of(const std::string& name) const {
    const Hdf5Handle group(H5Oopen(file_, name.c_str(), H5P_DEFAULT), H5Oclose, "open " + name);
    const Hdf5Handle its_file(H5Iget_file_id(group.id()), H5Fclose, "file of " + name);
    const auto path = text_of(
        [&](char* text, std::size_t bytes) { return H5Fget_name(its_file.id(), text, bytes); });
    H5O_info_t info{};
    check_hdf5(H5Oget_info2(group.id(), &info, H5O_INFO_BASIC), "look at " + name);
    return {identity_of(path), info.addr};
  }
  void list(const Group& group) {
    std::vector<Link> links;
    const auto name = group.name.empty() ? std::string("/") : group.name;
    try {
      const Hdf5Handle opened(H5Gopen2(file_, name.c_str(), H5P_DEFAULT), H5Gclose, "open " + name);
      // Not in the order of names: HDF5 makes a table for that, and crashes if it cannot fill it.
      check_hdf5(H5Literate(opened.id(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_link, &links),
                 "list " + name);
    } catch (const Error& error) {
      const auto info = info_of(name);
      if (!info || info->fileno == fileno_) throw;
      found.dead.push_back({group.name, fmt::format("cannot be listed ({})", error.what())});
    }
    std::ranges::sort(links, {}, &Link::name);
    for (const auto& link : links) {
      visit(link, group.name.empty() ? link.name : group.name + "/" + link.name, group.place.first);
    }
  }
  void visit(const Link& link, const std::string& name, const std::string& file) {
    const auto info = info_of(name);
    if (!info) {
      if (link.hard) fail_hdf5("look at " + name);
      found.dead.push_back({name, "is a link that leads nowhere"});
    } else if (info->type == H5O_TYPE_DATASET) {
      if (!name.starts_with("tailrace/")) {
        found.datasets.push_back({name, info->fileno == fileno_});
      }
    } else if (info->type == H5O_TYPE_GROUP) {
      if (link.hard) {
        reach(name, {file, info->addr});
      } else {
        links_.push_back(name);
      }
    }
  }

  hid_t file_;
  unsigned long fileno_ = 0;
  std::map<Place, std::string> names_;
  std::deque<Group> groups_;       // to be listed
  std::deque<std::string> links_;  // soft and external ones to groups, to be followed
};

}  // namespace

LinkedObjects walk_links(hid_t file, const std::string& path) {
  return std::move(Walk(file, path).found);
}

std::string without_aliases(const std::vector<std::pair<std::string, std::string>>& aliases,
                            const std::string& name) {
  std::string found;
  for (std::size_t at = 0; at < name.size();) {
    const auto end = std::min(name.find('/', at), name.size());
    const auto part = name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    found += found.empty() ? part : "/" + part;
    const auto alias =
        std::ranges::lower_bound(aliases, found, {}, &std::pair<std::string, std::string>::first);
    if (alias != aliases.end() && alias->first == found) found = alias->second;
  }
  return found;
}

}  // namespace tailrace::store
