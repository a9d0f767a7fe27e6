// SPDX-License-Identifier: BSD-3-Clause
#include "soil.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::groundwater {

namespace {

/// A curve without its residual part: values between 0 and 1, and slopes [1/m].
struct Relative {
  double saturation = 1, dsaturation = 0, mobility = 1, dmobility = 0;
};

/// At a pressure head below 0, without smoothing.
Relative exact_van_genuchten(const Soil& soil, double h) {
  const double suction = -h, m = 1 - 1 / soil.n;
  const double x = std::pow(soil.alpha * suction, soil.n);
  if (!(x < 1e100)) return {0, 0, 0, 0};      // dry; the powers below would overflow
  const double slope = soil.n * x / suction;  // of x by the suction
  const double full = std::pow(1 + x, -m);
  // 1 - (x / (1 + x))^m without cancellation in dry ground.
  const double log_ratio = -std::log1p(1 / x);
  const double open = -std::expm1(m * log_ratio);
  const double dopen = m * std::exp((m - 1) * log_ratio) / ((1 + x) * (1 + x)) * slope;
  Relative at;
  at.saturation = full;
  at.dsaturation = m * full / (1 + x) * slope;
  at.mobility = std::sqrt(full) * open * open;
  at.dmobility =
      0.5 * at.dsaturation / std::sqrt(full) * open * open + 2 * std::sqrt(full) * open * dopen;
  return at;
}

Relative van_genuchten(const Soil& soil, double h) {
  if (h > 0 || (h == 0 && soil.smoothing == 0)) return {};
  if (h < -soil.smoothing) return exact_van_genuchten(soil, h);
  const Relative edge = exact_van_genuchten(soil, -soil.smoothing);
  const double part = (h + soil.smoothing) / soil.smoothing;
  return {edge.saturation + part * (1 - edge.saturation), (1 - edge.saturation) / soil.smoothing,
          edge.mobility + part * (1 - edge.mobility), (1 - edge.mobility) / soil.smoothing};
}

Relative gardner(const Soil& soil, double h) {
  if (h > 0) return {};
  const double value = std::exp(soil.alpha * h);
  return {value, soil.alpha * value, value, soil.alpha * value};
}

Relative tabulated(const Soil& soil, double h) {
  const auto& x = soil.heads;
  const auto& s = soil.saturations;
  const auto& k = soil.conductivities;
  if (h > x.back()) return {s.back(), 0, k.back(), 0};
  if (h <= x.front()) return {s.front(), 0, k.front(), 0};
  const auto i = static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), h) - x.begin());
  const double width = x[i] - x[i - 1], t = (h - x[i - 1]) / width;
  return {s[i - 1] + t * (s[i] - s[i - 1]), (s[i] - s[i - 1]) / width,
          k[i - 1] + t * (k[i] - k[i - 1]), (k[i] - k[i - 1]) / width};
}

Relative relative_at(const Soil& soil, double h) {
  switch (soil.curve) {
    case Soil::Curve::saturated:
      return {};
    case Soil::Curve::van_genuchten:
      return van_genuchten(soil, h);
    case Soil::Curve::gardner:
      return gardner(soil, h);
    case Soil::Curve::table:
      return tabulated(soil, h);
  }
  return {};
}

[[noreturn]] void refuse_soil(const std::string& name, const std::string& text) {
  throw Error(Errc::invalid_input, name + ": " + text);
}

void require_table(const Soil& soil, const std::string& name) {
  const auto count = soil.heads.size();
  if (count < 2 || soil.saturations.size() != count || soil.conductivities.size() != count) {
    refuse_soil(name,
                fmt::format("curve = \"table\" needs `heads`, `saturations` and `mobilities` of "
                            "the same length, at least 2; they have {}, {} and {}",
                            count, soil.saturations.size(), soil.conductivities.size()));
  }
  if (!std::is_sorted(soil.heads.begin(), soil.heads.end(), std::less_equal<>())) {
    refuse_soil(name, "the `heads` of its table must ascend");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double s = soil.saturations[i], k = soil.conductivities[i];
    if (s > 0 && s <= 1 && k >= 0 && k <= 1) continue;
    refuse_soil(name,
                fmt::format("at head {} its table has saturation {} and mobility {}; they lie "
                            "between 0 and 1",
                            soil.heads[i], s, k));
  }
}

}  // namespace

Water water_at(const Soil& soil, double h) {
  const Relative at = relative_at(soil, h);
  const bool scaled =
      soil.curve == Soil::Curve::van_genuchten || soil.curve == Soil::Curve::gardner;
  const double span = scaled ? 1 - soil.residual : 1, least = scaled ? soil.residual : 0;
  Water water;
  water.saturation = least + span * at.saturation;
  water.dsaturation = span * at.dsaturation;
  water.mobility = at.mobility;
  water.dmobility = at.dmobility;
  water.content = soil.porosity * water.saturation;
  water.dcontent = soil.porosity * water.dsaturation;
  if (h > 0 || soil.curve == Soil::Curve::saturated) {
    water.content += soil.storage * h;
    water.dcontent += soil.storage;
  }
  return water;
}

void require_soil(const Soil& soil, const std::string& name) {
  if (!(soil.porosity > 0 && soil.porosity <= 1)) {
    refuse_soil(name,
                fmt::format("porosity is {}: it must be above 0 and at most 1", soil.porosity));
  }
  if (!(soil.residual >= 0 && soil.residual < 1)) {
    refuse_soil(name, fmt::format("residual saturation is {}: it must be at least 0 and below 1",
                                  soil.residual));
  }
  if (!(soil.storage >= 0)) {
    refuse_soil(name, fmt::format("storage is {}: it must be at least 0", soil.storage));
  }
  if (soil.curve == Soil::Curve::table) require_table(soil, name);
  const bool formula =
      soil.curve == Soil::Curve::van_genuchten || soil.curve == Soil::Curve::gardner;
  if (formula && !(soil.alpha > 0)) {
    refuse_soil(name, fmt::format("alpha is {}: it must be above 0", soil.alpha));
  }
  if (soil.curve != Soil::Curve::van_genuchten) return;
  if (!(soil.n > 1)) refuse_soil(name, fmt::format("n is {}: it must be above 1", soil.n));
  if (!(soil.smoothing >= 0)) {
    refuse_soil(name, fmt::format("smoothing is {}: it must be at least 0", soil.smoothing));
  }
}

}  // namespace tailrace::groundwater
