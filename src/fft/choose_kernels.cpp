// SPDX-License-Identifier: BSD-3-Clause
// The kernel libraries differ by a factor of two to five, and the winner depends on length,
// precision and processor, so "auto" is the tuner's choice on the lines of this problem: rank 0
// times them alone, which takes some milliseconds, or remembers.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "choose_library.hpp"
#include "engine.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace::fft {

namespace {

template <class Real>
Kernels<Real> make_all(const KernelLibrary& library, const Geometry& g) {
  Kernels<Real> kernels;
  kernels.y = library.make<Real>(g.y.points, false);
  kernels.z = g.z.points == g.y.points ? kernels.y : library.make<Real>(g.z.points, false);
  kernels.x = library.make<Real>(g.x.points, g.real());
  return kernels;
}

// A panel of one axis, transformed there and back.
template <class Real>
class PanelRun {
 public:
  PanelRun(std::shared_ptr<const Kernel<Real>> kernel, std::ptrdiff_t items)
      : kernel_(std::move(kernel)),
        items_(items),
        buffer_(room() * static_cast<std::ptrdiff_t>(sizeof(Real))),
        scratch_(room() * static_cast<std::ptrdiff_t>(sizeof(Real))) {}

  /// The forward result for a fixed random panel.
  std::vector<Real> forward() {
    std::mt19937 generator(1);
    std::uniform_real_distribution<Real> uniform(-1, 1);
    std::generate_n(buffer_.template as<Real>(), items_, [&] { return uniform(generator); });
    const Real* result = run(Direction::forward);
    return {result, result + items_};
  }
  void there_and_back() {
    std::fill_n(buffer_.template as<Real>(), items_, Real(0.5));  // no growth to infinity
    run(Direction::forward);
    run(Direction::backward);
  }

 private:
  std::ptrdiff_t room() const { return std::max(items_, kernel_->scratch_items()) + lanes<Real>; }
  const Real* run(Direction direction) {
    return kernel_->run(direction, buffer_.template as<Real>(), scratch_.template as<Real>());
  }

  std::shared_ptr<const Kernel<Real>> kernel_;
  std::ptrdiff_t items_;
  Buffer buffer_, scratch_;
};

template <class Real>
bool agrees(const std::vector<Real>& result, const std::vector<Real>& reference) {
  Real largest = 0;
  Real error = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    largest = std::max(largest, std::abs(reference[i]));
    error = std::max(error, std::abs(result[i] - reference[i]));
  }
  return error <= (sizeof(Real) == 4 ? Real(1e-4) : Real(1e-11)) * largest;
}

// The kernels of one library on lines of these lengths.
template <class Real>
class KernelTrial : public tune::Trial {
 public:
  KernelTrial(const KernelLibrary& library, const std::vector<KernelLine>& lines) {
    for (const auto& line : lines) {
      runs_.emplace_back(library.make<Real>(line.points, line.real),
                         line.points * (line.real ? lanes<Real> : unit<Real>));
    }
  }
  void run() override {
    for (auto& one : runs_) one.there_and_back();
  }
  /// Results of libraries differ in their last bits, so they are compared here, not by checksums.
  bool agrees_with(KernelTrial& reference) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!agrees(runs_[i].forward(), reference.runs_[i].forward())) return false;
    }
    return true;
  }

 private:
  std::vector<PanelRun<Real>> runs_;
};

template <class Real>
std::unique_ptr<tune::Trial> make_trial(const KernelLibrary& library,
                                        const std::vector<KernelLine>& lines) {
  auto trial = std::make_unique<KernelTrial<Real>>(library, lines);
  const KernelLibrary& trusted = reference_kernel_library();
  KernelTrial<Real> reference(trusted, lines);
  if (!trial->agrees_with(reference)) {
    throw Error(Errc::internal, fmt::format("its transforms are not those of {}", trusted.name));
  }
  return trial;
}

/// Of rank 0 alone.
template <class Real>
std::string find_fastest(const std::vector<KernelLine>& lines, const std::string& key,
                         tune::Settings settings) {
  const Comm alone(MPI_COMM_SELF);
  tune::Problem problem;
  problem.operation = "fft kernel";
  problem.key = key;
  std::vector<tune::Candidate> candidates;
  for (std::size_t i = 0; i < num_kernel_libraries(); ++i) {
    const KernelLibrary& library = kernel_library(i);
    if (!library.available()) continue;
    candidates.push_back({std::string(library.name),
                          [&library, &lines] { return make_trial<Real>(library, lines); }});
  }
  // Without measuring: one that takes panels as they are, where there is one.
  problem.fallback = ducc_available() ? "ducc0" : candidates.front().name;
  problem.fallback_why = "usually the fastest of those that are built in";
  settings.budget_s /= 8;
  return tune::choose(alone, problem, candidates, settings).name;
}

int index_of(std::string_view name) {
  std::size_t index = 0;
  while (kernel_library(index).name != name) ++index;
  return static_cast<int>(index);
}

}  // namespace

template <class Real>
const KernelLibrary& choose_library(const Comm& comm, const std::vector<KernelLine>& lines,
                                    const std::string& key, std::string& name) {
  if (name == "auto" && lines.empty()) {  // there is nothing to measure
    name = ducc_available() ? "ducc0" : reference_kernel_library().name;
  }
  if (name == "auto") {
    tune::Settings settings;
    run_agreed(comm.raw(), [&] { settings = tune::Settings::from_environment(); });
    int chosen = 0;
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == 0) chosen = index_of(find_fastest<Real>(lines, key, settings));
    });
    check_mpi(MPI_Bcast(&chosen, 1, MPI_INT, 0, comm.raw()));
    name = kernel_library(static_cast<std::size_t>(chosen)).name;
  }
  const auto* library = find_kernel_library(name);
  std::string names = "auto";
  for (const auto& info : fft::kernels()) {
    if (info.available) names += fmt::format(", {}", info.name);
  }
  const bool usable = library != nullptr && library->available();
  require_all(comm.raw(), usable,
              fmt::format("FFT kernel library `{}` {}: use one of {}", name,
                          library == nullptr ? "is unknown" : "is not built in", names));
  return *library;
}

template <class Real>
Kernels<Real> choose_kernels(const Comm& comm, const Geometry& g, std::string& name) {
  const std::vector<KernelLine> lines{{g.x.points, g.real()}, {g.y.points, false}};
  const auto key = fmt::format("{} points along x, {}, {} along y; {}", g.x.points,
                               g.real() ? "real" : "complex", g.y.points,
                               sizeof(Real) == 4 ? "single" : "double");
  return make_all<Real>(choose_library<Real>(comm, lines, key, name), g);
}

template const KernelLibrary& choose_library<float>(const Comm&, const std::vector<KernelLine>&,
                                                    const std::string&, std::string&);
template const KernelLibrary& choose_library<double>(const Comm&, const std::vector<KernelLine>&,
                                                     const std::string&, std::string&);
template Kernels<float> choose_kernels(const Comm&, const Geometry&, std::string&);
template Kernels<double> choose_kernels(const Comm&, const Geometry&, std::string&);

}  // namespace tailrace::fft
