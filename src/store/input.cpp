// SPDX-License-Identifier: BSD-3-Clause
// Reading: contiguous runs of the file, one a reader, checked piece by piece, then an exchange to
// the layout that is wanted. So it does not matter how many ranks wrote the file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "store/file_index.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/output.hpp"

namespace tailrace {

using store::FileIndex;

class Input::State {
 public:
  State(const Comm& comm_in, std::string path_in) : comm(comm_in.raw()), path(std::move(path_in)) {
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == 0) index = store::index_file(path);
    });
    store::share_index(comm, index);
  }
  const FileIndex::Entry& entry(const std::string& name) const;
  const AttributeValue* find_attribute(const std::string& name) const;
  template <class T>
  const T& attribute(const std::string& name, const char* kind) const;

  Comm comm;
  std::string path;
  FileIndex index;
};

const FileIndex::Entry& Input::State::entry(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& entry : index.entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw Error(Errc::invalid_input, fmt::format("{} has no variable \"{}\"; it has {}", path, name,
                                               fmt::join(names, ", ")));
}

const AttributeValue* Input::State::find_attribute(const std::string& name) const {
  const auto found = std::ranges::find(index.attributes, name,
                                       [](const auto& attribute) { return attribute.first; });
  return found == index.attributes.end() ? nullptr : &found->second;
}

template <class T>
const T& Input::State::attribute(const std::string& name, const char* kind) const {
  const auto* value = find_attribute(name);
  if (value == nullptr) {
    throw Error(Errc::invalid_input, fmt::format("{} has no attribute \"{}\"", path, name));
  }
  if (!std::holds_alternative<T>(*value)) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: attribute \"{}\" is not {}", path, name, kind));
  }
  return std::get<T>(*value);
}

namespace {

constexpr int max_readers = 16;

// One reader's access to the bytes of a dataset; every failure names file and dataset.
class DatasetFile {
 public:
  DatasetFile(const std::string& path, const FileIndex::Entry& entry)
      : path_(path), entry_(entry), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) fail(errno);
  }
  ~DatasetFile() { close(fd_); }
  DatasetFile(const DatasetFile&) = delete;
  DatasetFile& operator=(const DatasetFile&) = delete;

  void read(std::byte* to, std::ptrdiff_t start, std::ptrdiff_t bytes) const {
    for (std::ptrdiff_t at = 0; at < bytes;) {
      const auto done =
          pread(fd_, to + at, static_cast<std::size_t>(bytes - at), entry_.offset + start + at);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail(errno);
      if (done == 0) {
        throw Error(Errc::corrupt, fmt::format("{} is cut short: dataset {} ends at byte {}", path_,
                                               entry_.name, start + at));
      }
      at += done;
    }
  }
  void check(const store::ChecksumRow& piece, const std::byte* data) const {
    if (XXH3_64bits(data, piece.bytes) == piece.xxh3) return;
    throw Error(Errc::corrupt,
                fmt::format("{} is damaged: dataset {}, bytes {} to {} do not match "
                            "their checksum",
                            path_, entry_.name, piece.offset, piece.offset + piece.bytes - 1));
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw Error(Errc::io,
                fmt::format("cannot read {} (dataset {}): {} (errno {})", path_, entry_.name,
                            std::strerror(error), error),
                error);
  }
  const std::string& path_;
  const FileIndex::Entry& entry_;
  int fd_;
};

// Reads bytes [start, start + bytes) of a dataset and checks every piece that they touch.
void read_checked(const std::string& path, const FileIndex::Entry& entry, std::ptrdiff_t start,
                  std::ptrdiff_t bytes, std::byte* to) {
  const DatasetFile file(path, entry);
  if (entry.pieces.empty()) return file.read(to, start, bytes);
  const auto end = start + bytes;
  const auto piece_end = [](const store::ChecksumRow& piece) {
    return static_cast<std::ptrdiff_t>(piece.offset + piece.bytes);
  };
  std::vector<std::byte> whole;  // a piece that sticks out of this reader's share
  auto piece = std::ranges::upper_bound(entry.pieces, start, {}, piece_end);
  for (; piece != entry.pieces.end(); ++piece) {
    const auto first = static_cast<std::ptrdiff_t>(piece->offset);
    if (first >= end) break;
    if (first >= start && piece_end(*piece) <= end) {
      file.read(to + (first - start), first, static_cast<std::ptrdiff_t>(piece->bytes));
      file.check(*piece, to + (first - start));
      continue;
    }
    whole.resize(piece->bytes);
    file.read(whole.data(), first, static_cast<std::ptrdiff_t>(piece->bytes));
    file.check(*piece, whole.data());
    const auto from = std::max(first, start);
    const auto until = std::min(piece_end(*piece), end);
    std::memcpy(to + (from - start), whole.data() + (from - first),
                static_cast<std::size_t>(until - from));
  }
}

template <class From, class To>
void convert(const std::vector<std::byte>& in, std::vector<std::byte>& out) {
  const auto count = in.size() / sizeof(From);
  out.resize(count * sizeof(To));
  for (std::size_t i = 0; i < count; ++i) {
    From value{};
    std::memcpy(&value, in.data() + i * sizeof(From), sizeof(From));
    const To converted = static_cast<To>(value);
    std::memcpy(out.data() + i * sizeof(To), &converted, sizeof(To));
  }
}

bool is_float(ItemType type) { return type == ItemType::float32 || type == ItemType::float64; }

// This rank's share of the dataset, in the type that is wanted.
std::vector<std::byte> read_share(const std::string& path, const FileIndex::Entry& entry,
                                  const Layout& shares, int rank, ItemType type) {
  const auto boxes = shares.boxes(rank);
  if (boxes.empty()) return {};
  const auto num_items = static_cast<std::size_t>(shares.num_items(rank));
  if (entry.offset < 0) {
    std::vector<std::byte> data(num_items * static_cast<std::size_t>(item_bytes(type)));
    store::read_dataset(path, entry.name, type, data.data());
    return data;
  }
  std::ptrdiff_t first = 0;
  for (std::size_t d = 0; d < entry.extents.size(); ++d) {
    first = first * entry.extents[d] + boxes.front().start[d];
  }
  const auto item = item_bytes(entry.type);
  std::vector<std::byte> data(num_items * static_cast<std::size_t>(item));
  read_checked(path, entry, first * item, static_cast<std::ptrdiff_t>(data.size()), data.data());
  if (entry.type == type) return data;
  std::vector<std::byte> converted;
  if (type == ItemType::float64) {
    convert<float, double>(data, converted);
  } else {
    convert<double, float>(data, converted);
  }
  return converted;
}

}  // namespace

Input::Input(const Comm& comm, const std::string& path)
    : state_(std::make_unique<State>(comm, path)) {}
Input::~Input() = default;

std::vector<std::ptrdiff_t> Input::extents(const std::string& name) const {
  return state_->entry(name).extents;
}
ItemType Input::type(const std::string& name) const { return state_->entry(name).type; }

std::vector<std::string> Input::names() const {
  std::vector<std::string> names;
  for (const auto& entry : state_->index.entries) {
    if (!entry.scale) names.push_back(entry.name);
  }
  return names;
}

bool Input::has_attribute(const std::string& name) const {
  return state_->find_attribute(name) != nullptr;
}
std::int64_t Input::attribute_int(const std::string& name) const {
  return state_->attribute<std::int64_t>(name, "an integer");
}
double Input::attribute_double(const std::string& name) const {
  return state_->attribute<double>(name, "a floating-point number");
}
std::string Input::attribute_string(const std::string& name) const {
  return state_->attribute<std::string>(name, "a text");
}
std::vector<double> Input::attribute_doubles(const std::string& name) const {
  return state_->attribute<std::vector<double>>(name, "a list of floating-point numbers");
}

std::vector<double> Input::coordinate(const std::string& name) const {
  const auto& entry = state_->entry(name);
  if (!entry.scale) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: \"{}\" is not a coordinate", state_->path, name));
  }
  return entry.values;
}

void Input::read(const std::string& name, ItemType type, const Layout& layout, const Memory& memory,
                 void* data) const {
  const Comm& comm = state_->comm;
  const auto& entry = state_->entry(name);
  const auto& global = layout.global_extents();
  const bool same_shape = layout.num_dims() == static_cast<int>(entry.extents.size()) &&
                          std::equal(entry.extents.begin(), entry.extents.end(), global.begin());
  require_all(comm.raw(), same_shape && layout.num_ranks() == comm.num_ranks(),
              fmt::format("{}: variable {} has extents {}, the layout {} of {} ranks", state_->path,
                          name, fmt::join(entry.extents, " x "),
                          fmt::join(global.begin(), global.begin() + layout.num_dims(), " x "),
                          layout.num_ranks()));
  require_all(comm.raw(), type == entry.type || (is_float(type) && is_float(entry.type)),
              fmt::format("{}: variable {} holds another type of items than asked for, and only "
                          "float32 and float64 are converted",
                          state_->path, name));
  const bool direct = entry.offset >= 0;
  std::vector<int> readers(
      static_cast<std::size_t>(direct ? std::min(comm.num_ranks(), max_readers) : 1));
  std::iota(readers.begin(), readers.end(), 0);
  const auto shares = file_domains(entry.extents, item_bytes(entry.type), readers, comm.num_ranks(),
                                   direct ? store::piece_bytes : 0, 0);
  std::vector<std::byte> share;
  run_agreed(comm.raw(),
             [&] { share = read_share(state_->path, entry, shares, comm.rank(), type); });
  Exchange exchange(comm, Plan(shares, layout, comm.rank()),
                    Memory::dense(shares.boxes(comm.rank())), memory, {item_bytes(type), 1});
  const void* source = share.data();
  exchange.run({&source, 1}, {&data, 1});
}

}  // namespace tailrace
