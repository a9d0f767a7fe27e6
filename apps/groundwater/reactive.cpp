// SPDX-License-Identifier: BSD-3-Clause
#include "reactive.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/region.hpp"
#include "core/nearest_word.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

namespace {

constexpr double litres = 1000;  ///< in a cubic metre

std::size_t find_water(const Case& values, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  const auto& items = values.chemistry.waters.items;
  for (std::size_t w = 0; w < items.size(); ++w) {
    if (items[w].name == name) return w;
    names.push_back(items[w].name);
  }
  throw Error(Errc::invalid_input, names.empty()
                                       ? where + ": there is no [[chemistry.waters]]"
                                       : fmt::format("{}: `{}` is no water; did you mean `{}`?",
                                                     where, name, nearest_word(name, names)));
}

CellSolids initial_solids(const Case& values, const Chemistry& chemistry) {
  CellSolids solids;
  solids.minerals.assign(chemistry.minerals.size(), 0.0);
  solids.areas.assign(chemistry.minerals.size(), 0.0);
  for (const auto& from : values.chemistry.minerals.items) {
    const auto where = values.source + ": [[chemistry.minerals]]";
    const auto m = chemistry.find_mineral(from.name, where);
    if (!(chemistry.minerals[m].molar_volume > 0)) {
      throw Error(
          Errc::invalid_input,
          fmt::format("{}: `{}` has no molar_volume in its chemistry file", where, from.name));
    }
    solids.minerals[m] = from.volume_fraction / chemistry.minerals[m].molar_volume;
    solids.areas[m] = from.area;
  }
  return solids;
}

}  // namespace

ReactiveTransport::ReactiveTransport(const Case& values, const FlowEquations& flow)
    : flow_(&flow),
      chemistry_(chemistry_of(values)),
      sums_(flow.grid().comm(),
            {.type = NumberType::float64, .max_items = 2 * std::ssize(chemistry_.primary)}),
      speciation_(chemistry_),
      reaction_(chemistry_),
      transport_(values, flow, chemistry_.num_primary(), sums_),
      count_(static_cast<std::size_t>(flow.grid().num_own())) {
  const auto waters = make_waters(values, chemistry_);
  const auto totals_of = [&](const std::string& name, const std::string& where) {
    const auto w = find_water(values, name.empty() ? values.chemistry.initial : name, where);
    std::vector<double> totals(chemistry_.num_primary());
    speciation_.totals(waters[w], totals, {});
    return totals;
  };
  for (const auto& b : values.flow.boundaries.items) {
    incoming_.push_back(
        totals_of(b.water, fmt::format("{}: boundary `{}`", values.source, b.name)));
  }
  for (const auto& w : values.flow.wells.items) {
    incoming_.push_back(totals_of(w.water, fmt::format("{}: well `{}`", values.source, w.name)));
  }
  const auto where = values.source + ": chemistry.initial";
  const auto first = totals_of("", where);
  const auto& water = waters[find_water(values, values.chemistry.initial, where)];
  CellSolids solids = initial_solids(values, chemistry_);
  reaction_.equilibrate(water, solids);
  waters_.assign(count_, water);
  solids_.assign(count_, solids);
  for (const double total : first) totals_.insert(totals_.end(), count_, total);
}

bool ReactiveTransport::step(double dt, std::span<const double> old_water,
                             std::span<const double> new_water, std::string& why) {
  before_ = totals_;
  bool good = transport_.step(dt, old_water, new_water, incoming_, totals_, why);
  if (good) {
    const app::Region region("reactions");
    const auto waters = waters_;
    const auto solids = solids_;
    const std::size_t n = chemistry_.num_primary();
    std::vector<double> total(n);
    std::int32_t failed = 0;
    for (std::size_t i = 0; i < count_ && failed == 0; ++i) {
      for (std::size_t s = 0; s < n; ++s) total[s] = totals_[s * count_ + i];
      const double content = new_water[i] / flow_->volume(static_cast<std::ptrdiff_t>(i));
      if (!reaction_.step(content, dt, total, waters_[i], solids_[i])) failed = 1;
      for (std::size_t s = 0; s < n; ++s) totals_[s * count_ + i] = total[s];
    }
    good = sums_.allreduce(failed, ReduceOp::max) == 0;
    if (!good) {
      why = "the reactions of a cell have not converged";
      waters_ = waters;
      solids_ = solids;
    }
  }
  if (!good) totals_ = before_;
  return good;
}

std::vector<std::string> species_fields(const Chemistry& chemistry) {
  std::vector<std::string> names;
  for (const auto& species : chemistry.primary) {
    names.push_back("total_" + species.name);
    if (species.name == "H+") names.emplace_back("pH");
  }
  for (const auto& mineral : chemistry.minerals) {
    // Others are there for conditions of waters alone.
    if (mineral.molar_volume > 0) names.push_back(mineral.name + "_volume_fraction");
  }
  return names;
}

std::vector<NamedField> ReactiveTransport::fields() const {
  std::vector<NamedField> out;
  auto next_name = [names = species_fields(chemistry_), i = std::size_t{0}]() mutable {
    return names[i++];
  };
  for (std::size_t s = 0; s < chemistry_.num_primary(); ++s) {
    const auto& name = chemistry_.primary[s].name;
    const auto first = totals_.begin() + static_cast<std::ptrdiff_t>(s * count_);
    out.push_back({next_name(),
                   "total concentration of " + name,
                   "mol/L",
                   {first, first + static_cast<std::ptrdiff_t>(count_)}});
    if (name != "H+") continue;
    NamedField ph{next_name(), "pH", "1", {}};
    for (const auto& water : waters_) {
      ph.values.push_back(-(water.log_free[s] + water.log_gamma[s]) / std::log(10.0));
    }
    out.push_back(std::move(ph));
  }
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) {
    const auto& mineral = chemistry_.minerals[m];
    if (!(mineral.molar_volume > 0)) continue;
    NamedField field{next_name(), "part of the ground", "1", {}};
    for (const auto& solids : solids_) {
      field.values.push_back(solids.minerals[m] * mineral.molar_volume);
    }
    out.push_back(std::move(field));
  }
  return out;
}

std::vector<NamedField> ReactiveTransport::state() const {
  std::vector<NamedField> out;
  for (std::size_t s = 0; s < chemistry_.num_primary(); ++s) {
    const auto& name = chemistry_.primary[s].name;
    const auto first = totals_.begin() + static_cast<std::ptrdiff_t>(s * count_);
    out.push_back({"total_" + name,
                   "total concentration",
                   "mol/L",
                   {first, first + static_cast<std::ptrdiff_t>(count_)}});
    NamedField free{"log_free_" + name, "ln of the free molality", "1", {}};
    for (const auto& water : waters_) free.values.push_back(water.log_free[s]);
    out.push_back(std::move(free));
  }
  for (std::size_t s = 0; s < chemistry_.num_species(); ++s) {
    NamedField gamma{fmt::format("log_gamma_{}", s), "ln of the activity coefficient", "1", {}};
    for (const auto& water : waters_) gamma.values.push_back(water.log_gamma[s]);
    out.push_back(std::move(gamma));
  }
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) {
    NamedField amount{"mineral_" + chemistry_.minerals[m].name, "amount", "mol/m^3", {}};
    for (const auto& solids : solids_) amount.values.push_back(solids.minerals[m]);
    out.push_back(std::move(amount));
  }
  const std::size_t n = chemistry_.num_primary();
  std::size_t first_set = 0;
  for (std::size_t s = 0; s < chemistry_.sites.size(); ++s) {
    const auto& site = chemistry_.sites[s];
    const auto primary = chemistry_.primary_of_site(s);
    const auto classes = num_classes(site);
    NamedField bound{"bound_" + site.name,
                     "bound amounts of each class and species",
                     "mol/m^3",
                     {},
                     {{site.name + "_class", static_cast<std::ptrdiff_t>(classes)},
                      {site.name + "_species", std::ssize(primary)}}};
    for (std::size_t r = first_set; r < first_set + classes; ++r) {
      for (const auto j : primary) {
        for (const auto& solids : solids_) bound.values.push_back(solids.bound[r * n + j]);
      }
    }
    first_set += classes;
    if (!primary.empty()) out.push_back(std::move(bound));
  }
  return out;
}

void ReactiveTransport::set_state(const std::vector<NamedField>& state) {
  const std::size_t n = chemistry_.num_primary();
  std::size_t f = 0;
  for (std::size_t s = 0; s < n; ++s) {
    const auto& total = state[f++].values;
    std::copy(total.begin(), total.end(),
              totals_.begin() + static_cast<std::ptrdiff_t>(s * count_));
    const auto& free = state[f++].values;
    for (std::size_t i = 0; i < count_; ++i) waters_[i].log_free[s] = free[i];
  }
  for (std::size_t s = 0; s < chemistry_.num_species(); ++s, ++f) {
    for (std::size_t i = 0; i < count_; ++i) waters_[i].log_gamma[s] = state[f].values[i];
  }
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m, ++f) {
    for (std::size_t i = 0; i < count_; ++i) solids_[i].minerals[m] = state[f].values[i];
  }
  std::size_t first_set = 0;
  for (std::size_t s = 0; s < chemistry_.sites.size(); ++s) {
    const auto primary = chemistry_.primary_of_site(s);
    const auto classes = num_classes(chemistry_.sites[s]);
    std::size_t item = 0;
    for (std::size_t r = first_set; r < first_set + classes; ++r) {
      for (const auto j : primary) {
        for (auto& solids : solids_) solids.bound[r * n + j] = state[f].values[item++];
      }
    }
    first_set += classes;
    if (!primary.empty()) ++f;
  }
}

std::vector<double> ReactiveTransport::amounts(std::span<const double> water) {
  const std::size_t n = chemistry_.num_primary();
  std::vector<double> out(2 * n);
  for (std::size_t i = 0; i < count_; ++i) {
    const double volume = flow_->volume(static_cast<std::ptrdiff_t>(i));
    for (std::size_t s = 0; s < n; ++s) out[s] += litres * water[i] * totals_[s * count_ + i];
    for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) {
      for (const auto& term : chemistry_.minerals[m].formula) {
        out[term.primary] += volume * term.count * solids_[i].minerals[m];
      }
    }
    for (std::size_t b = 0; b < solids_[i].bound.size(); ++b) {
      out[b % n] += volume * solids_[i].bound[b];
    }
  }
  for (std::size_t s = 0; s < n; ++s) out[n + s] = transport_.inflows()[s];
  sums_.allreduce(std::span(out));
  return out;
}

SpeciesFile::SpeciesFile(const Comm& comm, const std::string& folder, const Chemistry& chemistry,
                         std::int64_t restart_step)
    : comm_(&comm) {
  for (const auto& species : chemistry.primary) names_.push_back(species.name);
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    file_.emplace(folder + "/species.csv", "step,time,species,amount,inflow,relative_error",
                  restart_step);
  });
}

void SpeciesFile::append(const RunClock& clock, const std::vector<double>& amounts) {
  std::string lines;
  const std::size_t n = names_.size();
  for (std::size_t s = 0; s < n; ++s) {
    const double error = amounts[s] - last_[s] - clock.dt * amounts[n + s];
    const double size = std::abs(amounts[s]) + std::abs(clock.dt * amounts[n + s]);
    const double relative = size > 0 ? std::abs(error) / size : 0;
    worst_ = std::max(worst_, relative);
    lines += fmt::format("{},{:.17g},{},{:.17g},{:.17g},{:.3g}\n", clock.step, clock.time,
                         names_[s], amounts[s], amounts[n + s], relative);
  }
  last_ = amounts;
  run_agreed(comm_->raw(), [&] {
    if (comm_->rank() == 0 && clock.step > file_->last_step()) file_->append(clock.step, lines);
  });
}

}  // namespace tailrace::groundwater
