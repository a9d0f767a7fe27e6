// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace tailrace::groundwater {

/// How a ground holds and conducts water, as a function of the pressure head h [m]: h >= 0 is
/// saturated.
struct Soil {
  enum class Curve {
    saturated,      ///< always full
    van_genuchten,  ///< with Mualem's conductivity (van Genuchten, Soil Sci. Soc. Am. J. 44, 1980)
    gardner,        ///< exp(alpha h) for both (Gardner, Soil Sci. 85, 1958)
    table           ///< linear between the points of a table
  };
  Curve curve = Curve::saturated;
  double porosity = 0.25;  ///< water content of the saturated ground
  double residual = 0;     ///< saturation that never drains
  double alpha = 1;        ///< [1/m]
  double n = 2;            ///< of van Genuchten, above 1; m = 1 - 1/n
  double storage = 0;      ///< specific storage [1/m]
  /// Of van Genuchten: at suctions below this [m] the curves are straight lines to saturation.
  double smoothing = 1e-3;
  /// Of `table`: heads [m], ascending, with saturation and relative conductivity.
  std::vector<double> heads, saturations, conductivities;
};

/// Water at one pressure head, with derivatives by it.
struct Water {
  double content = 0, dcontent = 0;        ///< water a volume of ground; [1/m]
  double mobility = 1, dmobility = 0;      ///< conductivity relative to the saturated one; [1/m]
  double saturation = 1, dsaturation = 0;  ///< of the pores; [1/m]
};

/// What `soil` holds at pressure head `h` [m]. At h = 0 the derivatives are those of the
/// unsaturated side. Near saturation van Genuchten's conductivity has no bounded derivative for
/// n < 2 (Vogel et al., Adv. Water Resour. 24, 2001) and its capacity vanishes, so that Newton's
/// method fails; hence `smoothing`. The content is porosity * saturation + storage * h,
/// the second term where h > 0 (where the ground is always full: for any h). Local.
Water water_at(const Soil& soil, double h);

/// Throws `Errc::invalid_input`, `name` in front, if a number of `soil` is out of range. Local.
void require_soil(const Soil& soil, const std::string& name);

}  // namespace tailrace::groundwater
