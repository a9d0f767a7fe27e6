// SPDX-License-Identifier: BSD-3-Clause
#include "file/strategies/choose.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/method_table.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

// From this mean size of a piece on, ranks that read by themselves are as fast as two-phase I/O.
constexpr std::int64_t read_piece_bytes = 65536;

// A local disk takes several direct writes at once; anything else is done when the call returns.
bool background_writes_pay(const Settings& settings, FileAccess access) {
  const bool two_phase = settings.strategy != "shared_independent" &&
                         settings.strategy != "file_per_rank" &&
                         settings.strategy != "library_collective";
  return two_phase && access != FileAccess::read && settings.direct_io != Switch::off &&
         settings.file_system.kind == FileSystem::Kind::local;
}

}  // namespace

const StrategyEntry& find_strategy(std::string_view name, const BackEndEntry& back_end) {
  const auto* entry = find_line(strategy_table(), name);
  if (entry == nullptr) {
    throw Error(Errc::invalid_input, fmt::format("strategy={} is unknown; there are {}", name,
                                                 names_instead(name, strategy_table())));
  }
  if (entry->applies(back_end)) return *entry;
  throw Error(Errc::invalid_input,
              fmt::format("strategy={} does not run on back_end={}; it needs {}", name,
                          back_end.name, entry->applies_text));
}

const BackEndEntry& choose_back_end(Settings& settings, FileAccess access) {
  if (settings.back_end != "auto") {
    const auto& entry = find_back_end(settings.back_end);
    if (!entry.available()) {
      throw Error(Errc::invalid_input, fmt::format("back_end={} is not available here: it needs {}",
                                                   entry.name, entry.applies_text));
    }
    return entry;
  }
  const auto& uring = find_back_end("uring");
  if (background_writes_pay(settings, access) && uring.available()) {
    settings.choose("back_end", "uring", "direct writes to a local disk go on in the background");
    return uring;
  }
  settings.choose("back_end", "posix", "plain system calls are as fast as any here");
  return find_back_end("posix");
}

const StrategyEntry& choose_strategy(const Comm& comm, Settings& settings,
                                     const BackEndEntry& back_end, const FilePart& part,
                                     Direction direction) {
  if (back_end.has_collective) {
    settings.choose("strategy", "library_collective", fmt::format("what {} offers", back_end.name));
    return find_strategy("library_collective", back_end);
  }
  if (direction == Direction::write) {
    settings.choose("strategy", "collective", "the fastest with pieces of any size");
    return find_strategy("collective", back_end);
  }
  std::array<std::int64_t, 2> sums{
      part.bytes(), static_cast<std::int64_t>(FilePart::Data::of(part).segments().size())};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, comm.raw()));
  const auto mean = sums[0] / std::max<std::int64_t>(sums[1], 1);
  const auto& system = settings.file_system;
  const bool fast_calls = system.kind != FileSystem::Kind::network && mean >= read_piece_bytes;
  const char* name = fast_calls ? "shared_independent" : "collective";
  settings.choose("strategy", name,
                  fmt::format("pieces of {} bytes on average, on {}", mean, system.name));
  return find_strategy(name, back_end);
}

}  // namespace tailrace::file
