// SPDX-License-Identifier: BSD-3-Clause
// A processor asks by itself for what follows on a line that is read, but begins anew with every
// panel, as the 1D transform between two of them reads something else. Asked for by us, the lines
// come while the last panel is turned and written. Where memory is near, or the processor guesses
// well, that costs instructions for nothing, so it is measured on what the processor guesses worst,
// a z stage backward, which reads a part of each row of modes: on all ranks at once, into a cache.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include <fmt/format.h>

#include "core/method_table.hpp"
#include "engine.hpp"
#include "tailrace/more/tune.hpp"
#include "tune/sample.hpp"

namespace tailrace::fft {

namespace {

constexpr std::ptrdiff_t least_bytes = 2 << 20;  // smaller blocks stay in a cache

struct ReadKind {
  std::string_view name;
  std::string_view summary;
  Reads reads;
};
constexpr std::array kinds{
    ReadKind{"plain", "each line when it is needed; only the processor prefetches (the reference)",
             Reads::plain},
    ReadKind{"ahead",
             "the next lines are prefetched while the last ones are transposed and written",
             Reads::ahead},
};

template <class Real>
class ReadTrial : public tune::Trial {
 public:
  /// `modes` are those of `kys` ky.
  ReadTrial(const Stages<Real>& stages, const Kernels<Real>& kernels, std::ptrdiff_t kys,
            std::shared_ptr<Buffer> modes, Reads reads)
      : stages_(stages),
        kernel_(*kernels.z),
        kys_(kys),
        modes_(std::move(modes)),
        work_(stages.g, kernels, 1, stages.g.z.points * unit<Real>) {
    work_.ahead.use(reads);
  }

  void run() override {
    const auto& g = stages_.g;
    const auto steps = g.mode_steps(kys_);
    for (std::ptrdiff_t ky = 0; ky < kys_; ++ky) {
      const auto* modes = modes_->as<std::complex<Real>>() + ky * steps.ky;
      for (std::ptrdiff_t group = 0; group < num_groups(g.kxs().count, lanes<Real>); ++group) {
        stages_.gather_modes(modes, steps, group, work_.panel(0), work_.ahead);
        const Real* result = work_.run(kernel_, Direction::backward, 0);
        stages_.scatter_units(g.z.points, work_.tile(), unit<Real>, [&](std::ptrdiff_t z) {
          work_.ahead.fetch(2);
          return result + z * unit<Real>;
        });
      }
    }
    fence_stores();
  }
  std::uint64_t checksum() override {
    std::uint64_t sum = 1;
    for (std::ptrdiff_t i = 0; i < stages_.g.z.points * unit<Real>; ++i) {
      sum = sum * 31 + std::bit_cast<std::uint64_t>(static_cast<double>(work_.tile()[i]));
    }
    return sum;
  }

 private:
  const Stages<Real>& stages_;
  const Kernel<Real>& kernel_;
  std::ptrdiff_t kys_;
  std::shared_ptr<Buffer> modes_;
  Work<Real> work_;
};

template <class Real>
std::shared_ptr<Buffer> make_modes(std::ptrdiff_t bytes) {
  auto memory = std::make_shared<Buffer>(bytes);
  auto* items = memory->as<Real>();
  const auto count = bytes / static_cast<std::ptrdiff_t>(sizeof(Real));
  for (std::ptrdiff_t i = 0; i < count; ++i) items[i] = static_cast<Real>(i % 97) / 97;
  return memory;
}

template <class Real>
std::string measure(const Comm& comm, const Stages<Real>& stages, const Kernels<Real>& kernels) {
  const auto& g = stages.g;
  const auto ky_bytes =
      g.z.kept() * g.kxs().count * static_cast<std::ptrdiff_t>(sizeof(std::complex<Real>));
  std::array<std::ptrdiff_t, 3> most{g.kys().count * ky_bytes, ky_bytes,
                                     stage_shapes(g, sizeof(Real)).bytes()};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 3, MPI_INT64_T, MPI_MAX, comm.raw()));
  if (most[0] < least_bytes) return std::string(kinds.front().name);
  // More than there are, where these would be read again from a cache.
  const auto bytes = std::min(std::max(most[0], most[2]), tune::beyond_caches());
  const auto kys = ky_bytes == 0 ? 0 : bytes / most[1] + 1;
  tune::Problem problem;
  problem.operation = "fft reads";
  problem.key = fmt::format("modes: {} bytes by {} a ky, {} points of {} bytes, {} MB", most[0],
                            most[1], g.z.points, Stages<Real>::unit_bytes, most[2] >> 20);
  problem.fallback = kinds.front().name;
  problem.fallback_why = "not measured here";
  problem.memory_bytes = kys * ky_bytes;
  tune::Settings settings;
  run_agreed(comm.raw(), [&] { settings = tune::Settings::from_environment(); });
  settings.budget_s /= 8;
  std::shared_ptr<Buffer> modes;
  std::vector<tune::Candidate> candidates;
  for (const auto& kind : kinds) {
    candidates.push_back({std::string(kind.name), [&, reads = kind.reads] {
                            if (!modes) modes = make_modes<Real>(kys * ky_bytes);
                            return std::make_unique<ReadTrial<Real>>(stages, kernels, kys, modes,
                                                                     reads);
                          }});
  }
  return tune::choose(comm, problem, candidates, settings).name;
}

}  // namespace

std::span<const ReadInfo> read_kinds() {
  static const auto infos = [] {
    std::array<ReadInfo, kinds.size()> list;
    std::ranges::transform(kinds, list.begin(), [](const auto& kind) {
      return ReadInfo{kind.name, kind.summary, "always; measured"};
    });
    return list;
  }();
  return infos;
}

template <class Real>
Reads choose_reads(const Comm& comm, const Stages<Real>& stages, const Kernels<Real>& kernels,
                   std::string& name) {
  if (name == "auto") name = measure(comm, stages, kernels);
  const auto* kind = find_line(kinds, name);
  require_all(comm.raw(), kind != nullptr,
              fmt::format("unknown reads `{}`; there are: {}", name, names_instead(name, kinds)));
  return kind->reads;
}

template Reads choose_reads(const Comm&, const Stages<float>&, const Kernels<float>&, std::string&);
template Reads choose_reads(const Comm&, const Stages<double>&, const Kernels<double>&,
                            std::string&);

}  // namespace tailrace::fft
