// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/hints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "core/nearest_word.hpp"
#include "core/refuse_input.hpp"
#include "file/hints/hint_table.hpp"
#include "file/limiter.hpp"
#include "file/settings.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

namespace file {

namespace {

constexpr std::string_view size_text = "a size in bytes such as 4194304, 4M or 4MiB";
constexpr std::string_view or_size_text =
    "0 (leave to the file system) or a size in bytes such as 1048576, 1M or 1MiB";
constexpr std::string_view or_none_text =
    "0 (no piece) or a size in bytes such as 65536, 64K or 64KiB";

/// MPI-IO knows the name, too.
constexpr HintEntry for_mpi(HintEntry entry, std::string_view synonym_of = {}) {
  entry.mpi = true;
  entry.synonym_of = synonym_of;
  return entry;
}

constexpr HintEntry mpi_only(std::string_view name, std::string_view summary = "Only for MPI-IO") {
  return for_mpi({{name, "", "see the MPI library", summary}});
}

constexpr auto hint_entries = std::to_array<HintEntry>({
    {{"strategy", "auto",
      "auto | spokesperson | file_per_rank | shared_independent | collective | grouped | "
      "by_length | library_collective",
      "How the ranks share the file; auto decides by file system and piece size"},
     ValueKind::word},
    {{"back_end", "auto",
      "auto | posix | uring | mpiio | hdf5 | limited:RATE[,LATENCY] (limited:200M,2ms)",
      "Interface that reads and writes: system calls, io_uring, MPI-IO, parallel HDF5, or system "
      "calls at a limited rate (here 200 MiB/s and 2 ms per call)"},
     ValueKind::back_end},
    for_mpi({{"cb_nodes", "0", "0 (choose) or a number of ranks",
              "Number of writers: ranks that open, read and write the file on behalf of all"},
             ValueKind::number}),
    {{"cb_ranks", "", "rank numbers, ascending, as in 0+4+8",
      "Ranks that are writers, instead of cb_nodes"},
     ValueKind::ranks},
    for_mpi({{"cb_buffer_size", "", size_text,
              "Bytes that a writer collects for one request; unset: depends on the file system"},
             ValueKind::bytes,
             4096}),
    {{"cb_align", "1", "0 | 1 | 2",
      "Boundaries between writers; 0: equal shares; 1: at stripe boundaries; 2: each stripe always "
      "has the same writer"},
     ValueKind::word},
    {{"cb_longest_piece", "", or_none_text,
      "Strategy by_length: longest piece that passes through writers; each rank moves longer "
      "pieces itself. Unset: 64 KiB to write, 2 KiB to read"},
     ValueKind::bytes,
     0},
    {{"cb_exchange", "auto", "auto | node | messages",
      "How data gets to the writers: shared memory of the node, or messages"},
     ValueKind::word},
    {{"group_size", "0", "0 (the ranks of a node) or a number of ranks",
      "Strategy grouped: number of ranks in a group"},
     ValueKind::number},
    for_mpi({{"striping_unit", "0", or_size_text,
              "Stripe size requested when the file is created; writers align to it"},
             ValueKind::bytes}),
    for_mpi({{"striping_factor", "0", "0 (leave to the file system) or a number of storage targets",
              "Number of storage targets requested when the file is created"},
             ValueKind::number}),
    for_mpi({{"romio_cb_write", "automatic", "enable | disable | automatic",
              "If strategy is auto: enable selects collective, disable selects shared_independent"},
             ValueKind::word}),
    for_mpi({{"romio_cb_read", "automatic", "enable | disable | automatic",
              "The same, if romio_cb_write is automatic"},
             ValueKind::word}),
    for_mpi({{"romio_ds_write", "disable", "enable | disable | automatic",
              "Data sieving for writing: read, modify and write the range that contains small "
              "pieces, under a lock"},
             ValueKind::word}),
    for_mpi({{"romio_ds_read", "automatic", "enable | disable | automatic",
              "Data sieving for reading: read the whole range that contains small pieces"},
             ValueKind::word}),
    {{"ds_density", "0.1", "a number from 0 to 1",
      "Automatic sieving is used if at least this share of the range is requested"},
     ValueKind::share},
    for_mpi(
        {{"ind_rd_buffer_size", "4194304", size_text, "Buffer size of data sieving for reading"},
         ValueKind::bytes,
         4096}),
    for_mpi({{"ind_wr_buffer_size", "524288", size_text,
              "Buffer size of data sieving for writing; this range is locked at once"},
             ValueKind::bytes,
             4096}),
    {{"direct_io", "automatic", "true | false | automatic",
      "Bypass the page cache (O_DIRECT) where size and alignment allow"},
     ValueKind::word},
    for_mpi({{"direct_read", "", "true | false", "ROMIO's name for direct_io"}, ValueKind::word},
            "direct_io"),
    for_mpi({{"direct_write", "", "true | false", "ROMIO's name for direct_io"}, ValueKind::word},
            "direct_io"),
    {{"queue_depth", "8", "a number of requests, at least 1",
      "Requests that back end uring keeps in flight"},
     ValueKind::number,
     1},
    {{"sync", "true", "true | false", "Flush to disk when the file is closed"}, ValueKind::word},
    for_mpi(
        {{"romio_no_indep_rw", "true", "true | false",
          "Only ranks that access the file open it; Tailrace always does so, whatever the value"},
         ValueKind::word}),
    mpi_only("start_iodevice",
             "Only for MPI-IO: first storage target. Not recommended, because this target fills "
             "before the others"),
    mpi_only("access_style"),
    mpi_only("cb_block_size"),
    mpi_only("cb_config_list", "Only for MPI-IO: number of aggregators on each node"),
    mpi_only("chunked"),
    mpi_only("collective_buffering"),
    mpi_only("file_perm"),
    mpi_only("io_node_list"),
    mpi_only("nb_proc"),
    mpi_only("num_io_nodes"),
    mpi_only("romio_cb_alltoall", "Only for ROMIO"),
    mpi_only("romio_cb_ds_threshold", "Only for ROMIO"),
    mpi_only("romio_cb_fr_alignment", "Only for ROMIO"),
    mpi_only("romio_cb_fr_types", "Only for ROMIO"),
    mpi_only("romio_cb_pfr", "Only for ROMIO"),
    mpi_only("romio_lustre_co_ratio", "Only for ROMIO on Lustre"),
    mpi_only("romio_lustre_coll_threshold", "Only for ROMIO on Lustre"),
    mpi_only("romio_lustre_ds_in_coll", "Only for ROMIO on Lustre"),
    mpi_only("romio_lustre_start_iodevice", "Only for ROMIO on Lustre; as start_iodevice"),
    mpi_only("romio_min_fdomain_size", "Only for ROMIO"),
    mpi_only("romio_print_hints", "Only for ROMIO"),
    mpi_only("romio_synchronized_flush", "Only for ROMIO"),
    mpi_only("romio_visibility_immediate", "Only for ROMIO"),
});

constexpr auto hint_infos = [] {
  std::array<HintInfo, hint_entries.size()> infos;
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = hint_entries[i].info;
  return infos;
}();

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

bool is_word_of(std::string_view allowed, std::string_view word) {
  constexpr std::string_view between = " | ";
  while (true) {
    const std::size_t end = allowed.find(between);
    if (allowed.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    allowed.remove_prefix(end + between.size());
  }
}

/// The whole of `text` as a number, or -1.
std::ptrdiff_t whole_number(std::string_view text) {
  std::ptrdiff_t number = -1;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end && number >= 0 ? number : -1;
}

bool is_share(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && number >= 0 && number <= 1;
}

/// "limited:RATE[,LATENCY]", checked.
std::string limited_value(const std::string& value, const std::string& source) {
  const auto colon = value.find(':');
  try {
    if (colon == std::string::npos) refuse_input("it contains no rate");
    const auto text = std::string(limited_name) + value.substr(colon);
    parse_limit(text);
    return text;
  } catch (const Error& error) {
    refuse_input(
        "hint back_end = \"{}\" (set by: {}): {}; write limited:RATE[,LATENCY], as in limited:200M "
        "or limited:200M,2ms",
        value, source, error.what());
  }
}

}  // namespace

const HintEntry* find_hint(std::string_view name) {
  const auto* found = std::find_if(hint_entries.begin(), hint_entries.end(),
                                   [&](const auto& entry) { return entry.info.name == name; });
  return found == hint_entries.end() ? nullptr : found;
}

std::string_view nearest_hint(std::string_view name) {
  std::vector<std::string_view> names;
  for (const HintEntry& entry : hint_entries) names.push_back(entry.info.name);
  return nearest_word(name, names, slip_limit(name));
}

std::vector<int> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find('+', start), text.size());
    const auto rank = whole_number(text.substr(start, end - start));
    if (rank < 0 || rank > INT_MAX || (!ranks.empty() && rank <= ranks.back())) return {};
    ranks.push_back(static_cast<int>(rank));
    start = end + 1;
  }
  return ranks;
}

std::string checked_value(const HintEntry& entry, const std::string& value,
                          const std::string& source) {
  const std::string word = lower(value);
  std::ptrdiff_t number = -1;
  switch (entry.kind) {
    case ValueKind::text:
      return value;
    case ValueKind::word:
      if (is_word_of(entry.info.allowed, word)) return word;
      break;
    case ValueKind::back_end:
      if (is_word_of(entry.info.allowed, word)) return word;
      if (names_limited(word)) return limited_value(value, source);
      break;
    case ValueKind::share:
      if (is_share(value)) return value;
      break;
    case ValueKind::ranks:
      if (!parse_ranks(value).empty()) return value;
      break;
    case ValueKind::number:
      number = whole_number(value);
      if (number >= entry.least && number <= INT_MAX) return std::to_string(number);
      break;
    case ValueKind::bytes:
      try {
        number = parse_bytes(value, std::string(entry.info.name));
      } catch (const Error&) {
        break;  // one message for all kinds, below
      }
      if (number >= entry.least) return std::to_string(number);
      break;
  }
  const std::string least = entry.kind == ValueKind::bytes && entry.least > 0
                                ? fmt::format(", at least {}", entry.least)
                                : "";
  refuse_input("hint {} = \"{}\" (set by: {}) must be {}{}", entry.info.name, value, source,
               entry.info.allowed, least);
}

}  // namespace file

std::ptrdiff_t parse_bytes(const std::string& text, const std::string& what) {
  using namespace file;
  constexpr std::string_view letters = "kmgt";
  std::string_view digits = text;
  const std::size_t end = text.find_first_not_of("0123456789");
  std::ptrdiff_t unit = 1;
  bool good = end != 0 && !text.empty();
  if (end != std::string::npos) {
    const std::string suffix = lower(text.substr(end));
    const std::size_t place = letters.find(suffix[0]);
    good =
        good && place != std::string_view::npos && (suffix.size() == 1 || suffix.substr(1) == "ib");
    if (good) unit = std::ptrdiff_t{1} << (10 * (place + 1));
    digits = digits.substr(0, end);
  }
  const std::ptrdiff_t number = good ? whole_number(digits) : -1;
  if (number < 0 || number > std::numeric_limits<std::ptrdiff_t>::max() / unit) {
    refuse_input("{}: \"{}\" is not {}", what, text, size_text);
  }
  return number * unit;
}

Hints::Hints(std::initializer_list<std::pair<std::string, std::string>> pairs) {
  for (const auto& [name, value] : pairs) set(name, value);
}

void Hints::set(const std::string& name, const std::string& value) {
  if (name.empty()) throw Error(Errc::invalid_input, "a hint needs a name");
  const file::HintEntry* entry = file::find_hint(name);
  const std::string kept = entry != nullptr ? file::checked_value(*entry, value, "program") : value;
  // Last set, last in the list: of two names for the same thing the later one counts.
  std::erase_if(pairs_, [&](const auto& pair) { return pair.first == name; });
  pairs_.emplace_back(name, kept);
}

std::span<const HintInfo> hint_table() { return file::hint_infos; }

}  // namespace tailrace
