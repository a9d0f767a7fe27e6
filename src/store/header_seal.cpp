// SPDX-License-Identifier: BSD-3-Clause
// The seal: first byte and number of bytes of each stretch of headers, then a footer that ends the
// file. Numbers are unsigned, of 64 bits, as the machine has them.
#include "store/file_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/round_up.hpp"
#include "core/system_call.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

constexpr std::array<char, 8> magic{'T', 'R', 's', 'e', 'a', 'l', '0', '1'};

struct Stretch {
  std::uint64_t offset = 0, bytes = 0;
};

struct Footer {
  std::uint64_t headers_xxh3 = 0;  ///< of all stretches, one after another
  std::uint64_t num_stretches = 0;
  std::uint64_t start = 0;      ///< first byte of the seal
  std::uint64_t seal_xxh3 = 0;  ///< of the stretches and the numbers above
  std::array<char, 8> end = magic;
};
static_assert(sizeof(Footer) == 40);

std::uint64_t hash_of(const std::vector<Stretch>& stretches, const Footer& footer) {
  const auto table = stretches.size() * sizeof(Stretch);
  std::vector<std::byte> bytes(table + offsetof(Footer, seal_xxh3));
  if (table > 0) std::memcpy(bytes.data(), stretches.data(), table);
  std::memcpy(bytes.data() + table, &footer, offsetof(Footer, seal_xxh3));
  return XXH3_64bits(bytes.data(), bytes.size());
}

class OpenedFile {
 public:
  explicit OpenedFile(const std::string& path)
      : path_(path), file_(open_descriptor(path, O_RDONLY)) {}
  bool is_file() const {
    struct stat status {};
    return file_ && fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
  }
  std::uint64_t bytes() const {
    const auto end = lseek(file_.get(), 0, SEEK_END);
    return end < 0 ? 0 : static_cast<std::uint64_t>(end);
  }
  void read(void* data, std::size_t bytes, std::uint64_t offset) const {
    const int error =
        read_at(file_.get(), data, static_cast<std::ptrdiff_t>(bytes), static_cast<off_t>(offset));
    if (error != 0) fail_io("read", path_, error);
  }

 private:
  const std::string& path_;
  Descriptor file_;
};

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(Errc::corrupt, fmt::format("{} is damaged: {}", path, what));
}

constexpr std::uint64_t most_searched = 1 << 20;

std::string some_of(const OpenedFile& file, std::uint64_t from, std::uint64_t until) {
  std::string bytes(until - from, '\0');
  file.read(bytes.data(), bytes.size(), from);
  return bytes;
}

// The end of the HDF5 file that its superblock names, if it is as we write it and complete: of
// version 2 or 3, at byte 0, with addresses of 64 bits and no writer at work. HDF5 compares the
// checksum of the superblock, and refuses a file that ends before.
std::optional<std::uint64_t> named_end(const OpenedFile& file) {
  constexpr std::string_view signature{"\x89HDF\r\n\x1a\n", 8};
  const auto found = some_of(file, 0, 36);
  const bool ours = found.starts_with(signature) && (found[8] == 2 || found[8] == 3) &&
                    found[9] == 8 && found[10] == 8 && found[11] == 0;
  std::uint64_t base = 0, end = 0;
  std::memcpy(&base, &found[12], sizeof(base));
  std::memcpy(&end, &found[28], sizeof(end));
  return ours && base == 0 ? std::optional(end) : std::nullopt;
}

// Without a seal at the end of a file. HDF5 ends its files where the superblock says so: what lies
// behind is the rest of a seal. Some file systems and tools fill up with zeros, which are damage
// only if the tables of checksums are named in the file.
void check_no_seal_is_lost(const OpenedFile& file, const std::string& path) {
  constexpr const char* lost = "the seal of its headers has changed";
  const auto bytes = file.bytes();
  const auto end = named_end(file);
  if (!end || *end >= bytes) return;
  const auto behind = some_of(file, std::max(*end, bytes - std::min(bytes, most_searched)), bytes);
  if (behind.find_first_not_of('\0') != std::string::npos) fail(path, lost);
  const auto searched = std::min(*end, most_searched);
  for (const auto from : {std::uint64_t{0}, *end - searched}) {
    if (some_of(file, from, from + searched).find("xxh3_64") != std::string::npos) fail(path, lost);
  }
}

}  // namespace

void add_header_seal(std::ptrdiff_t stripe_bytes, FileImage& image) {
  std::vector<Stretch> stretches;
  for (const auto& extent : image.extents) {
    stretches.push_back(
        {static_cast<std::uint64_t>(extent.file_offset), static_cast<std::uint64_t>(extent.count)});
  }
  // The stripe of the last data is another writer's.
  const auto unit =
      image.total_bytes > stripe_bytes ? std::max<std::ptrdiff_t>(stripe_bytes, 8) : 8;
  const auto start = round_up(image.total_bytes, unit);
  Footer footer;
  footer.headers_xxh3 = XXH3_64bits(image.bytes.data(), image.bytes.size());
  footer.num_stretches = stretches.size();
  footer.start = static_cast<std::uint64_t>(start);
  footer.seal_xxh3 = hash_of(stretches, footer);
  const auto table = stretches.size() * sizeof(Stretch);
  const auto bytes = static_cast<std::ptrdiff_t>(table + sizeof(footer));
  auto* const seal = image.add(start, bytes);
  if (table > 0) std::memcpy(seal, stretches.data(), table);
  std::memcpy(seal + table, &footer, sizeof(footer));
  image.total_bytes = start + bytes;
}

void check_header_seal(const std::string& path) {
  const OpenedFile file(path);
  Footer footer;
  if (!file.is_file() || file.bytes() < sizeof(footer)) return;
  const auto end = file.bytes();
  file.read(&footer, sizeof(footer), end - sizeof(footer));
  if (footer.end != magic) return check_no_seal_is_lost(file, path);
  const auto room = (end - sizeof(footer)) / sizeof(Stretch);
  if (footer.num_stretches > room ||
      footer.start != end - sizeof(footer) - footer.num_stretches * sizeof(Stretch)) {
    fail(path, "the seal of its headers has changed");
  }
  std::vector<Stretch> stretches(footer.num_stretches);
  file.read(stretches.data(), stretches.size() * sizeof(Stretch), footer.start);
  if (hash_of(stretches, footer) != footer.seal_xxh3) {
    fail(path, "the seal of its headers has changed");
  }
  std::vector<std::byte> headers;
  for (const auto& stretch : stretches) {
    const auto place = headers.size();
    headers.resize(place + stretch.bytes);
    file.read(headers.data() + place, stretch.bytes, stretch.offset);
  }
  if (XXH3_64bits(headers.data(), headers.size()) != footer.headers_xxh3) {
    fail(path, "headers, attributes or coordinates have changed since they were written");
  }
}

}  // namespace tailrace::store
