// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "array_pipeline.hpp"
#include "core/last_resort.hpp"

namespace tailrace::fft {

namespace {

/// The types and sizes of a call against those of the transform.
template <class Pipeline>
void check(const Pipeline& pipeline, bool complex_field, bool complex_modes, std::size_t num_points,
           std::size_t num_modes) {
  if (complex_field != pipeline.plan.physical().is_complex ||
      complex_modes != pipeline.plan.spectral().is_complex) {
    const auto name = [](bool is_complex) { return is_complex ? "complex" : "real"; };
    pipeline.refuse(fmt::format("{} field and {} modes are given, it has {} and {}",
                                name(complex_field), name(complex_modes),
                                name(pipeline.plan.physical().is_complex),
                                name(pipeline.plan.spectral().is_complex)));
  }
  if (static_cast<std::ptrdiff_t>(num_points) != pipeline.num_points ||
      static_cast<std::ptrdiff_t>(num_modes) != pipeline.num_modes) {
    pipeline.refuse(
        fmt::format("arrays of {} points and {} modes are given, this rank has {} and "
                    "{}",
                    num_points, num_modes, pipeline.num_points, pipeline.num_modes));
  }
}

template <class Item>
constexpr bool is_complex_item = !std::is_floating_point_v<std::remove_const_t<Item>>;

template <class Pipeline, class From, class To>
void run_forward(Pipeline& pipeline, std::span<From> field, std::span<To> modes) {
  check(pipeline, is_complex_item<From>, is_complex_item<To>, field.size(), modes.size());
  pipeline.run(Direction::forward, field.data(), modes.data());
}
template <class Pipeline, class From, class To>
void run_backward(Pipeline& pipeline, std::span<From> modes, std::span<To> field) {
  check(pipeline, is_complex_item<To>, is_complex_item<From>, field.size(), modes.size());
  pipeline.run(Direction::backward, modes.data(), field.data());
}

}  // namespace

template <class Real>
ArrayTransform<Real>::ArrayTransform(const Comm& comm, const ArrayProblem& problem,
                                     const ArrayOptions& options)
    : pipeline_(make_together(comm, "ArrayTransform",
                              [&] { return std::make_unique<Pipeline>(comm, problem, options); })) {
}
template <class Real>
ArrayTransform<Real>::~ArrayTransform() = default;
template <class Real>
ArrayTransform<Real>::ArrayTransform(ArrayTransform&&) noexcept = default;

template <class Real>
const Layout& ArrayTransform<Real>::physical_layout() const {
  return *pipeline_->physical_layout;
}
template <class Real>
const Layout& ArrayTransform<Real>::spectral_layout() const {
  return *pipeline_->spectral_layout;
}
template <class Real>
Box ArrayTransform<Real>::physical_box() const {
  return physical_layout().box(pipeline_->everybody.rank());
}
template <class Real>
Box ArrayTransform<Real>::spectral_box() const {
  return spectral_layout().box(pipeline_->everybody.rank());
}
template <class Real>
bool ArrayTransform<Real>::real_modes() const {
  return !pipeline_->plan.spectral().is_complex;
}

template <class Real>
void ArrayTransform<Real>::forward(std::span<const Real> field, std::span<Complex> modes) {
  run_forward(*pipeline_, field, modes);
}
template <class Real>
void ArrayTransform<Real>::forward(std::span<const Real> field, std::span<Real> modes) {
  run_forward(*pipeline_, field, modes);
}
template <class Real>
void ArrayTransform<Real>::forward(std::span<const Complex> field, std::span<Complex> modes) {
  run_forward(*pipeline_, field, modes);
}
template <class Real>
void ArrayTransform<Real>::backward(std::span<const Complex> modes, std::span<Real> field) {
  run_backward(*pipeline_, modes, field);
}
template <class Real>
void ArrayTransform<Real>::backward(std::span<const Real> modes, std::span<Real> field) {
  run_backward(*pipeline_, modes, field);
}
template <class Real>
void ArrayTransform<Real>::backward(std::span<const Complex> modes, std::span<Complex> field) {
  run_backward(*pipeline_, modes, field);
}

template <class Real>
double ArrayTransform<Real>::normalization() const {
  return pipeline_->normalization;
}
template <class Real>
const ArrayProblem& ArrayTransform<Real>::problem() const {
  return pipeline_->plan.problem;
}
template <class Real>
std::string_view ArrayTransform<Real>::kernel() const {
  return pipeline_->kernel_name;
}
template <class Real>
std::string ArrayTransform<Real>::describe() const {
  return pipeline_->describe();
}
template <class Real>
std::ptrdiff_t ArrayTransform<Real>::buffer_bytes() const {
  return pipeline_->buffer_bytes();
}

template class ArrayTransform<float>;
template class ArrayTransform<double>;

}  // namespace tailrace::fft
