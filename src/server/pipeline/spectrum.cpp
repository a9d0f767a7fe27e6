// SPDX-License-Identifier: BSD-3-Clause
// Isotropic spectra of fields in periodic boxes.
#include <algorithm>

#include <fmt/format.h>

#include "entries.hpp"
#include "row_field.hpp"
#include "settings.hpp"
#include "visit.hpp"
#include "wave_spectrum.hpp"

namespace tailrace::server {

namespace {

class SpectrumStage : public Stage {
 public:
  explicit SpectrumStage(const StageSettings& settings) {
    SettingsReader reader("spectrum", settings);
    energy_ = reader.yes("energy", false);
    lengths_ = reader.reals("lengths");
    reader.finish();
    for (const double length : lengths_) {
      if (length > 0) continue;
      throw Error(Errc::invalid_input,
                  fmt::format("stage spectrum: {} in lengths must be greater than 0", length));
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
      throw Error(
          Errc::invalid_input,
          fmt::format("stage spectrum takes real variables of 1 to 3 axes, and {} has {} "
                      "axes of {} numbers",
                      field.name, field.num_dims(), is_complex(field.type) ? "complex" : "real"));
    }
    if (field.dims != first.dims || field.extents != first.extents) {
      throw Error(Errc::invalid_input, fmt::format("stage spectrum: {} and {} have not the same "
                                                   "axes; make a product for each",
                                                   first.name, field.name));
    }
  }

  /// Period of an axis: from the setting, else from its coordinate, else 2 pi.
  double length_of(const Step& step, const Field& field, std::size_t axis) const {
    if (!lengths_.empty()) return lengths_[axis];
    for (const auto& coordinate : step.coordinates) {
      const auto& x = coordinate.values;
      if (coordinate.name != field.dims[axis] || x.size() < 2) continue;
      const double spacing = (x.back() - x.front()) / static_cast<double>(x.size() - 1);
      if (spacing > 0) return spacing * static_cast<double>(x.size());
    }
    return 2 * M_PI;
  }

  SpectrumBox box_of(const Step& step, const Field& field) const {
    check(field, field);
    const auto dims = static_cast<std::size_t>(field.num_dims());
    if (!lengths_.empty() && lengths_.size() != dims) {
      throw Error(Errc::invalid_input, fmt::format("stage spectrum: lengths has {} numbers, and {} "
                                                   "has {} axes",
                                                   lengths_.size(), field.name, dims));
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
