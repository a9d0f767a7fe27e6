// SPDX-License-Identifier: BSD-3-Clause
// Isotropic spectra of fields in periodic boxes.

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "core/refuse_input.hpp"
#include "core/worker.hpp"
#include "fft/kernel.hpp"
#include "server/group.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "server/step.hpp"
#include "store/attribute_values.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::server {
namespace {

/// The periodic box of a field as three axes (z, y, x): of fewer axes, y or z and y are one point.
struct SpectrumBox {
  std::array<std::ptrdiff_t, 3> extents{1, 1, 1};
  std::array<double, 3> lengths{};

  /// Width of a shell: the smallest wave number [1/length].
  double unit() const;
  /// Shells as of `fft::shell_of_wave`, up to the corner of wave number space.
  std::size_t num_shells() const;
};

using Complex = std::complex<double>;
using fft::Direction;
constexpr std::ptrdiff_t w = fft::lanes<double>;

/// One axis of n points: a kernel, and panels for each call.
class AxisTransform {
 public:
  AxisTransform(std::ptrdiff_t n, bool real) : n_(n), real_(real) {
    // ducc0 keeps no state of the process, which other threads may be using.
    const auto* library = fft::find_kernel_library("ducc0");
    if (!library->available()) library = &fft::reference_kernel_library();
    kernel_ = library->make<double>(n, real);
  }

  std::ptrdiff_t n() const { return n_; }

  /// Panels for one thread.
  struct Work {
    Buffer panel, scratch;
  };
  Work make_work() const {
    return {Buffer(n_ * (real_ ? w : 2 * w) * 8), Buffer(kernel_->scratch_items() * 8)};
  }

  double* run(Work& work) const {
    return kernel_->run(Direction::forward, work.panel.as<double>(), work.scratch.as<double>());
  }

  /// `lines` real lines of n points (gapless) to lines of n / 2 + 1 modes.
  void forward_real(Work& work, const double* in, std::ptrdiff_t lines, Complex* out) const {
    double* panel = work.panel.as<double>();
    for (std::ptrdiff_t l = 0; l < w; ++l) {
      for (std::ptrdiff_t i = 0; i < n_; ++i) panel[i * w + l] = l < lines ? in[l * n_ + i] : 0;
    }
    const double* modes = run(work);
    const auto kept = n_ / 2 + 1;
    for (std::ptrdiff_t l = 0; l < lines; ++l) {
      out[l * kept] = modes[l];
      for (std::ptrdiff_t k = 1; k < kept; ++k) {
        const double imaginary = 2 * k < n_ ? modes[2 * k * w + l] : 0;
        out[l * kept + k] = {modes[(2 * k - 1) * w + l], imaginary};
      }
    }
  }

  /// `lines` neighbouring complex lines, points `stride` apart, in place.
  void forward(Work& work, Complex* data, std::ptrdiff_t lines, std::ptrdiff_t stride) const {
    double* panel = work.panel.as<double>();
    for (std::ptrdiff_t i = 0; i < n_; ++i) {
      for (std::ptrdiff_t l = 0; l < w; ++l) {
        const Complex value = l < lines ? data[i * stride + l] : Complex();
        panel[2 * i * w + l] = value.real();
        panel[(2 * i + 1) * w + l] = value.imag();
      }
    }
    const double* modes = run(work);
    for (std::ptrdiff_t i = 0; i < n_; ++i) {
      for (std::ptrdiff_t l = 0; l < lines; ++l) {
        data[i * stride + l] = {modes[2 * i * w + l], modes[(2 * i + 1) * w + l]};
      }
    }
  }

 private:
  std::ptrdiff_t n_;
  bool real_;
  std::unique_ptr<fft::Kernel<double>> kernel_;
};

/// Transforms all lines of a plane [n][columns].
void transform_columns(const AxisTransform& axis, Complex* plane, std::ptrdiff_t columns) {
  auto work = axis.make_work();
  for (std::ptrdiff_t column = 0; column < columns; column += w) {
    axis.forward(work, plane + column, std::min(w, columns - column), columns);
  }
}

/// One transform on one server of many. The field goes into slabs of z, [z][y][x], is transformed
/// along x and y, goes into slabs of ky, [ky][z][kx], and is transformed along z. A quarter of the
/// work of a complex transform is saved by keeping kx >= 0 only; what is left out is counted by
/// weight 2.
class SlabTransform {
 public:
  SlabTransform(const SpectrumBox& box, Group& group, int threads)
      : box_(box),
        group_(group),
        threads_(threads),
        kept_(box.extents[2] / 2 + 1),
        z_(split_evenly(box.extents[0], group.size(), group.rank())),
        y_(split_evenly(box.extents[1], group.size(), group.rank())) {}

  /// [z][y][x] of this server's z to [ky][z][kx] of its ky.
  std::vector<Complex> run(const std::vector<double>& points) const {
    const auto [nz, ny, nx] = box_.extents;
    std::vector<Complex> planes(static_cast<std::size_t>(z_.count * ny * kept_));
    {
      const AxisTransform x(nx, true), y(ny, false);
      parallel_for(z_.count, threads_, [&](std::ptrdiff_t z) {
        auto work = x.make_work();
        for (std::ptrdiff_t row = z * ny; row < (z + 1) * ny; row += w) {
          x.forward_real(work, &points[static_cast<std::size_t>(row * nx)],
                         std::min(w, (z + 1) * ny - row),
                         &planes[static_cast<std::size_t>(row * kept_)]);
        }
        transform_columns(y, &planes[static_cast<std::size_t>(z * ny * kept_)], kept_);
      });
    }
    auto modes = transpose(planes);
    const AxisTransform z(nz, false);
    parallel_for(y_.count, threads_, [&](std::ptrdiff_t y) {
      transform_columns(z, &modes[static_cast<std::size_t>(y * nz * kept_)], kept_);
    });
    return modes;
  }

  /// Adds the squares of this server's modes up in shells.
  std::vector<double> sum_shells(const std::vector<Complex>& modes) const {
    const auto shells = box_.num_shells();
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(y_.count));
    parallel_for(y_.count, threads_, [&](std::ptrdiff_t y) {
      auto& sum = sums[static_cast<std::size_t>(y)];
      sum.resize(shells);
      const double ky = wave_number(1, y_.start + y);
      std::size_t at = static_cast<std::size_t>(y * box_.extents[0] * kept_);
      for (std::ptrdiff_t z = 0; z < box_.extents[0]; ++z) {
        const double kz = wave_number(0, z);
        for (std::ptrdiff_t x = 0; x < kept_; ++x, ++at) {
          const double kx = wave_number(2, x);
          const double k = std::sqrt(kx * kx + ky * ky + kz * kz);
          const bool single = x == 0 || 2 * x == box_.extents[2];  // its mirror image is there too
          sum[shell_of(k)] += (single ? 1 : 2) * std::norm(modes[at]);
        }
      }
    });
    std::vector<double> total(shells);
    for (const auto& sum : sums) {
      for (std::size_t s = 0; s < shells; ++s) total[s] += sum[s];
    }
    return total;
  }

 private:
  std::size_t shell_of(double k) const { return fft::shell_of_wave(k / box_.unit()); }

  double wave_number(std::size_t axis, std::ptrdiff_t mode) const {
    const auto n = box_.extents[axis];
    const auto number = 2 * mode <= n ? mode : n - mode;
    return 2 * M_PI / box_.lengths[axis] * static_cast<double>(number);
  }

  /// [z][y][kx] of this server's z to [y][z][kx] of its y.
  std::vector<Complex> transpose(const std::vector<Complex>& planes) const {
    const auto ny = box_.extents[1], nz = box_.extents[0];
    const auto row_bytes = static_cast<std::size_t>(kept_) * sizeof(Complex);
    std::vector<std::vector<std::byte>> outgoing(static_cast<std::size_t>(group_.size()));
    for (int peer = 0; peer < group_.size(); ++peer) {
      const auto rows = split_evenly(ny, group_.size(), peer);
      auto& message = outgoing[static_cast<std::size_t>(peer)];
      message.resize(static_cast<std::size_t>(z_.count * rows.count) * row_bytes);
      auto* to = message.data();
      for (std::ptrdiff_t z = 0; z < z_.count && rows.count > 0; ++z) {
        const auto bytes = static_cast<std::size_t>(rows.count) * row_bytes;
        std::memcpy(to, &planes[static_cast<std::size_t>((z * ny + rows.start) * kept_)], bytes);
        to += bytes;
      }
    }
    const auto incoming = group_.exchange(outgoing);
    std::vector<Complex> modes(static_cast<std::size_t>(y_.count * nz * kept_));
    for (int peer = 0; peer < group_.size(); ++peer) {
      const auto planes_of = split_evenly(nz, group_.size(), peer);
      const auto* from = incoming[static_cast<std::size_t>(peer)].data();
      for (auto z = planes_of.start; z < planes_of.end(); ++z) {
        for (std::ptrdiff_t y = 0; y < y_.count; ++y, from += row_bytes) {
          std::memcpy(&modes[static_cast<std::size_t>((y * nz + z) * kept_)], from, row_bytes);
        }
      }
    }
    return modes;
  }

  const SpectrumBox& box_;
  Group& group_;
  int threads_;
  std::ptrdiff_t kept_;
  Range z_, y_;
};

double SpectrumBox::unit() const {
  double longest = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if (extents[d] > 1) longest = std::max(longest, lengths[d]);
  }
  return 2 * M_PI / (longest > 0 ? longest : 2 * M_PI);
}

std::size_t SpectrumBox::num_shells() const {
  double square = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double k = 2 * M_PI / lengths[d] * static_cast<double>(extents[d] / 2);
    square += k * k;
  }
  return fft::shell_of_wave(std::sqrt(square) / unit()) + 1;
}

/// sum over the modes of each shell of |u_k|^2, divided by the width of a shell: times that width
/// and summed up it is the mean of u^2 (Parseval). `field` is real and covers its extents.
/// Collective over the servers; the same on all of them.
std::vector<double> shell_sums(const Field& field, const SpectrumBox& box, Group& group,
                               int threads) {
  const auto slab = to_slab(field, group);
  double missing = static_cast<double>(slab.box.num_items() - slab.given);
  group.sum({&missing, 1});
  if (missing != 0) {
    refuse_input("stage spectrum needs all items of {}, but {} of them are in no box", field.name,
                 missing);
  }
  const SlabTransform transform(box, group, threads);
  auto sums = transform.sum_shells(transform.run(as_doubles(slab, field.type)));
  group.sum(sums);
  const auto points = static_cast<double>(box.extents[0]) * static_cast<double>(box.extents[1]) *
                      static_cast<double>(box.extents[2]);
  for (double& sum : sums) sum /= points * points * box.unit();
  return sums;
}

class SpectrumStage : public Stage {
 public:
  explicit SpectrumStage(const StageSettings& settings) {
    SettingsReader reader("spectrum", settings);
    energy_ = reader.yes("energy", false);
    lengths_ = reader.reals("lengths");
    reader.finish();
    for (const double length : lengths_) {
      if (length > 0) continue;
      refuse_input("stage spectrum: {} in lengths must be greater than 0", length);
    }
  }

  void run(Step& step, StageContext& context) override {
    if (step.fields.empty()) throw Error(Errc::invalid_input, "stage spectrum has no variable");
    const auto box = box_of(step, step.fields.front());
    std::vector<Field> results;
    std::vector<double> energy(energy_ ? box.num_shells() : 0);
    for (const auto& field : step.fields) {
      check(field, step.fields.front());
      const auto sums = shell_sums(field, box, context.group, context.threads);
      if (energy_) {
        for (std::size_t s = 0; s < sums.size(); ++s) energy[s] += sums[s] / 2;
      } else {
        results.push_back(to_field(step, field.name + "_spectrum", sums, context));
      }
    }
    if (energy_) results.push_back(to_field(step, "energy_spectrum", energy, context));
    Coordinate k{"k", {}, {}};
    for (std::size_t s = 0; s < box.num_shells(); ++s) {
      k.values.push_back(static_cast<double>(s) * box.unit());
    }
    step.coordinates = {std::move(k)};
    step.fields = std::move(results);
  }

 private:
  static Field to_field(Step& step, const std::string& name, const std::vector<double>& sums,
                        StageContext& context) {
    return row_field<double>(step, name, "k", std::span(sums), context.group.rank());
  }

  static void check(const Field& field, const Field& first) {
    if (is_complex(field.type) || field.num_dims() < 1 || field.num_dims() > 3) {
      refuse_input(
          "stage spectrum takes real variables of 1 to 3 axes, but {} has {} axes of {} numbers",
          field.name, field.num_dims(), is_complex(field.type) ? "complex" : "real");
    }
    if (field.dims != first.dims || field.extents != first.extents) {
      refuse_input(
          "stage spectrum: {} and {} do not have the same axes; use a separate product for each",
          first.name, field.name);
    }
  }

  /// Period of an axis: from the setting, else from its coordinate, else 2 pi.
  double length_of(const Step& step, const Field& field, std::size_t axis) const {
    if (!lengths_.empty()) return lengths_[axis];
    for (const auto& coordinate : step.coordinates) {
      if (coordinate.name != field.dims[axis]) continue;
      const auto x = store::doubles_of(coordinate);
      if (x.size() < 2) continue;
      const double spacing = (x.back() - x.front()) / static_cast<double>(x.size() - 1);
      if (spacing > 0) return spacing * static_cast<double>(x.size());
    }
    return 2 * M_PI;
  }

  SpectrumBox box_of(const Step& step, const Field& field) const {
    check(field, field);
    const auto dims = static_cast<std::size_t>(field.num_dims());
    if (!lengths_.empty() && lengths_.size() != dims) {
      refuse_input("stage spectrum: lengths has {} numbers, but {} has {} axes", lengths_.size(),
                   field.name, dims);
    }
    // Axis 0 is divided among the servers: z of 3D and 2D fields, z too of 1D ones.
    constexpr std::size_t places[4][3] = {{}, {0}, {0, 2}, {0, 1, 2}};
    SpectrumBox box;
    box.lengths.fill(2 * M_PI);
    for (std::size_t axis = 0; axis < dims; ++axis) {
      box.extents[places[dims][axis]] = field.extents[axis];
      box.lengths[places[dims][axis]] = length_of(step, field, axis);
    }
    return box;
  }

  bool energy_ = false;
  std::vector<double> lengths_;
};

}  // namespace

MadeStage make_spectrum(const StageSettings& settings) {
  return std::make_unique<SpectrumStage>(settings);
}

}  // namespace tailrace::server
