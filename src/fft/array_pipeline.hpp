// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array_pass.hpp"
#include "core/same_on_all.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {

/// What all ranks give alike for a transform; `threads` may differ.
std::vector<CommonArgument> common_arguments(const ArrayProblem& problem,
                                             const ArrayOptions& options, std::size_t real_bytes);

/// Runs the steps of an `ArrayPlan`: passes by kernels, exchanges by `Exchange`.
template <class Real>
class ArrayTransform<Real>::Pipeline {
 public:
  Pipeline(const Comm& comm, const ArrayProblem& given, const ArrayOptions& wanted);

  /// Backward multiplies its result by `backward_scale`.
  void run(Direction direction, const void* input, void* output, double backward_scale = 1);
  std::string describe() const;
  std::ptrdiff_t buffer_bytes() const;
  /// Throws if all ranks refuse the call; see `refuse_call`.
  [[noreturn]] void refuse(const std::string& fault) const;

  Comm everybody;
  ArrayOptions options;
  ArrayPlan plan;
  std::optional<Layout> physical_layout, spectral_layout;
  std::ptrdiff_t num_points = 0, num_modes = 0;  ///< items of this rank
  std::string kernel_name;
  double normalization = 1;

 private:
  struct Step {
    std::unique_ptr<ArrayPass<Real>> pass;        ///< null: an exchange
    std::unique_ptr<Exchange> forward, backward;  ///< made when they are first used
    std::ptrdiff_t bytes_before = 0, bytes_after = 0;
    bool in_place = false;
  };
  void make_steps();
  void make_cube();
  /// For each step in the order of `direction`, where its result goes: 0 is the output, 1 and 2 are
  /// the work arrays.
  std::vector<int> places(Direction direction) const;
  void make_room(Direction direction);
  std::size_t index(Direction direction, std::size_t turn) const {
    return direction == Direction::forward ? turn : steps_.size() - 1 - turn;
  }
  void run_step(Direction direction, std::size_t which, const void* input, void* output,
                Real scale);
  void run_pass(Direction direction, std::size_t which, const Real* input, Real* output,
                Real scale);
  Exchange& exchange_of(Direction direction, std::size_t which);
  void run_cube(Direction direction, const void* input, void* output, double backward_scale);

  std::vector<Step> steps_;
  std::array<Buffer, 2> work_;
  std::vector<PanelSpace<Real>> spaces_;
  std::optional<Transform<Real>> cube_;  ///< instead of the steps
};

}  // namespace tailrace::fft
