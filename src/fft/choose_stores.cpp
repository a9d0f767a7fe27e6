// SPDX-License-Identifier: BSD-3-Clause
// A stage writes units that lie far apart; what it writes is next read from memory, if there is
// more of it than a cache holds. Written past the caches, a line is not read before it is written:
// of three transfers two are left. Whether that is faster depends on the processor and on the size
// of its caches, so it is measured, on all ranks at once, as they share the memory.
#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "core/buffer.hpp"
#include "stores.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/lanes.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace::fft {

namespace {

constexpr std::array<StoreInfo, 2> kinds{{
    {"ordinary", "into the caches, from where it goes to memory later"},
    {"streaming", "past the caches, where whole registers are aligned"},
}};

// Smaller blocks are read again from a cache.
constexpr std::ptrdiff_t least_bytes = 2 << 20;
// So much of a block is enough to measure; it is more than the caches of a core hold.
constexpr std::ptrdiff_t enough_bytes = 16 << 20;

class StoreTrial : public tune::Trial {
 public:
  StoreTrial(std::shared_ptr<Buffer> memory, const ScatteredUnits& block, bool past_caches)
      : memory_(std::move(memory)),
        block_(block),
        past_caches_(past_caches),
        panel_(block.units * block.unit_bytes) {
    std::fill_n(panel_.as<double>(), panel_.bytes() / items, 0.5);
  }

  void run() override {
    past_caches_ ? write<store_past_caches<double>>() : write<store<double>>();
    fence_stores();
    read();
  }
  std::uint64_t checksum() override { return static_cast<std::uint64_t>(sum_ * 2); }

 private:
  static constexpr auto items = static_cast<std::ptrdiff_t>(sizeof(double));
  std::ptrdiff_t units() const {
    const auto column = std::max<std::ptrdiff_t>(block_.rows * block_.unit_bytes, 1);
    return std::min(block_.units, enough_bytes / column + 1);
  }
  double* row(std::ptrdiff_t index) const {
    return memory_->as<double>() + index * block_.row_units * block_.unit_bytes / items;
  }

  template <void (*put)(double*, Vector<double>)>
  void write() {
    const auto step = block_.unit_bytes / items;
    for (std::ptrdiff_t unit = 0; unit < units(); ++unit) {
      for (std::ptrdiff_t index = 0; index < block_.rows; ++index) {
        double* out = row(index) + unit * step;
        for (std::ptrdiff_t i = 0; i < step; i += lanes<double>) {
          put(out + i, load(panel_.as<double>() + i));
        }
      }
    }
  }
  void read() {
    Vector<double> sum{};
    const auto count = units() * block_.unit_bytes / items;
    for (std::ptrdiff_t index = 0; index < block_.rows; ++index) {
      for (std::ptrdiff_t i = 0; i < count; i += lanes<double>) sum += load(row(index) + i);
    }
    sum_ = 0;
    for (std::ptrdiff_t lane = 0; lane < lanes<double>; ++lane) sum_ += sum[lane];
  }

  std::shared_ptr<Buffer> memory_;
  ScatteredUnits block_;
  bool past_caches_;
  Buffer panel_;
  double sum_ = 0;
};

std::string measure(const Comm& comm, const ScatteredUnits& block) {
  std::array<std::ptrdiff_t, 3> most{block.bytes(), block.rows, block.units};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 3, MPI_INT64_T, MPI_MAX, comm.raw()));
  if (most[0] < least_bytes) return std::string(kinds[0].name);
  tune::Problem problem;
  problem.operation = "fft stores";
  problem.key = fmt::format("{} rows of {} units of {} bytes", most[1], most[2], block.unit_bytes);
  problem.fallback = kinds[0].name;
  problem.fallback_why = "not measured here";
  problem.memory_bytes = block.bytes();
  tune::Settings settings;
  run_agreed(comm.raw(), [&] { settings = tune::Settings::from_environment(); });
  settings.budget_s /= 8;
  std::shared_ptr<Buffer> memory;  // the same for all: nothing of it is kept between runs
  std::vector<tune::Candidate> candidates;
  for (const auto& kind : kinds) {
    candidates.push_back({std::string(kind.name), [&, name = kind.name] {
                            if (!memory) memory = std::make_shared<Buffer>(block.bytes());
                            return std::make_unique<StoreTrial>(memory, block,
                                                                name != kinds[0].name);
                          }});
  }
  return tune::choose(comm, problem, candidates, settings).name;
}

}  // namespace

std::span<const StoreInfo> store_kinds() { return kinds; }

std::string choose_stores(const Comm& comm, const std::string& name, const ScatteredUnits& block) {
  if (name == "auto") return measure(comm, block);
  const bool known = std::ranges::any_of(kinds, [&](const StoreInfo& k) { return k.name == name; });
  require_all(comm.raw(), known,
              fmt::format("stores `{}` is unknown: use one of auto, ordinary, streaming", name));
  return name;
}

}  // namespace tailrace::fft
