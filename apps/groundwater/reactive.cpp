// SPDX-License-Identifier: BSD-3-Clause
#include "reactive.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/region.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/nearest_word.hpp"

namespace tailrace::groundwater {

namespace {

std::size_t find_water(const Case& values, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  const auto& items = values.chemistry.waters.items;
  for (std::size_t w = 0; w < items.size(); ++w) {
    if (items[w].name == name) return w;
    names.push_back(items[w].name);
  }
  throw Error(Errc::invalid_input, names.empty()
                                       ? where + ": there is no [[chemistry.waters]]"
                                       : fmt::format("{}: `{}` is not a water; did you mean `{}`?",
                                                     where, name, nearest_word(name, names)));
}

/// Amounts [mol/m3 of ground] and reactive areas [m2/m3 of ground] of the minerals.
struct Minerals {
  std::vector<double> amounts, areas;
};

Minerals minerals_of(const Case& values, const Chemistry& chemistry) {
  Minerals out{std::vector<double>(chemistry.minerals.size()),
               std::vector<double>(chemistry.minerals.size())};
  for (const auto& from : values.chemistry.minerals.items) {
    const auto where = values.source + ": [[chemistry.minerals]]";
    const auto m = chemistry.find_mineral(from.name, where);
    if (!(chemistry.minerals[m].molar_volume > 0)) {
      throw Error(
          Errc::invalid_input,
          fmt::format("{}: `{}` has no molar_volume in its chemistry file", where, from.name));
    }
    out.amounts[m] = from.volume_fraction / chemistry.minerals[m].molar_volume;
    out.areas[m] = from.area;
  }
  return out;
}

/// An array of own cells out of one with several of them.
std::vector<double> row_of(std::span<const double> values, std::size_t row, std::size_t count) {
  const auto of_row = values.subspan(row * count, count);
  return {of_row.begin(), of_row.end()};
}

}  // namespace

ReactiveTransport::ReactiveTransport(const Case& values, const FlowEquations& flow)
    : flow_(&flow),
      chemistry_(chemistry_of(values)),
      sums_(flow.grid().comm(),
            {.type = NumberType::float64, .max_items = 3 * std::ssize(chemistry_.primary)}),
      reactions_(chemistry_, minerals_of(values, chemistry_).areas),
      transport_(values, flow, chemistry_.num_primary(), sums_),
      count_(static_cast<std::size_t>(flow.grid().num_own())) {
  const auto waters = make_waters(values, chemistry_);
  Speciation speciation(chemistry_);
  const auto totals_of = [&](const std::string& name, const std::string& where) {
    const auto w = find_water(values, name.empty() ? values.chemistry.initial : name, where);
    std::vector<double> totals(chemistry_.num_primary());
    speciation.totals(waters[w], totals, {});
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
  states_ = reactions_.states_of(water, minerals_of(values, chemistry_).amounts, count_);
  for (const double total : first) totals_.insert(totals_.end(), count_, total);
  if (values.transport.coupling == "implicit") {
    if (chemistry_.num_primary() > 16) {
      throw Error(
          Errc::invalid_input,
          fmt::format("{}: transport.coupling = \"implicit\" takes up to 16 primary species, "
                      "but `{}` has {}; use \"split\"",
                      values.source, values.chemistry.file, chemistry_.num_primary()));
    }
    coupled_.emplace(values, flow, transport_, reactions_, sums_);
  }
}

/// Reactions after transport. Collective.
bool ReactiveTransport::react(double dt, std::span<const double> new_water, std::string& why) {
  const app::Region region("reactions");
  reactions_.set_step(dt);
  const auto failed =
      static_cast<std::int64_t>(reactions_.step(contents_of(new_water), totals_, states_));
  const auto all_failed = sums_.allreduce(failed);
  if (all_failed > 0) why = fmt::format("the reactions of {} cells have not converged", all_failed);
  return all_failed == 0;
}

bool ReactiveTransport::step(double dt, std::span<const double> old_water,
                             std::span<const double> new_water, std::string& why) {
  before_ = totals_;
  const auto states = states_;
  const bool good = coupled_
                        ? coupled_->step(dt, old_water, new_water, incoming_, totals_, states_, why)
                        : transport_.step(dt, old_water, new_water, incoming_, totals_, why) &&
                              react(dt, new_water, why);
  if (!good) {
    totals_ = before_;
    states_ = states;
    ++failed_steps_;
  }
  last_dt_ = dt;
  return good;
}

SpeciesCounts ReactiveTransport::counts() const {
  const auto linear = transport_.linear_iterations();
  return {.kernel = std::string(reactions_.kernel().name),
          .failed_steps = failed_steps_,
          .newton = coupled_ ? coupled_->iterations() : 0,
          .linear = coupled_ ? coupled_->linear_iterations() : linear};
}

/// Water of own cells, as a part of the ground.
std::vector<double> ReactiveTransport::contents_of(std::span<const double> water) const {
  std::vector<double> contents(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    contents[i] = water[i] / flow_->volume(static_cast<std::ptrdiff_t>(i));
  }
  return contents;
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
    const auto& species = chemistry_.primary[s];
    out.push_back({next_name(), "total concentration of " + species.name, "mol/L",
                   row_of(totals_, s, count_)});
    if (species.name != "H+") continue;
    NamedField ph{next_name(), "pH", "1", row_of(states_.log_free, s, count_)};
    for (std::size_t i = 0; i < count_; ++i) {
      ph.values[i] =
          -(ph.values[i] + log_gamma(chemistry_, species, states_.strength[i])) / std::log(10.0);
    }
    out.push_back(std::move(ph));
  }
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) {
    const auto& mineral = chemistry_.minerals[m];
    if (!(mineral.molar_volume > 0)) continue;
    NamedField field{next_name(), "part of the ground", "1", row_of(states_.minerals, m, count_)};
    for (double& value : field.values) value *= mineral.molar_volume;
    out.push_back(std::move(field));
  }
  return out;
}

std::vector<NamedField> ReactiveTransport::state() const {
  std::vector<NamedField> out;
  for (std::size_t s = 0; s < chemistry_.num_primary(); ++s) {
    const auto& name = chemistry_.primary[s].name;
    out.push_back({"total_" + name, "total concentration", "mol/L", row_of(totals_, s, count_)});
    out.push_back(
        {"log_free_" + name, "ln of the free molality", "1", row_of(states_.log_free, s, count_)});
  }
  out.push_back({"ionic_strength", "that activities follow", "mol/kg", states_.strength});
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) {
    out.push_back({"mineral_" + chemistry_.minerals[m].name, "amount", "mol/m^3",
                   row_of(states_.minerals, m, count_)});
  }
  const auto& tables = reactions_.tables();
  for (std::size_t s = 0; s < tables.sites.size(); ++s) {
    const auto& site = tables.sites[s];
    const auto& name = chemistry_.sites[s].name;
    const auto species = site.end_primary - site.first_primary;
    const auto classes = site.end_class - site.first_class;
    if (species == 0) continue;
    const auto first = states_.bound.begin() + static_cast<std::ptrdiff_t>(site.first_row * count_);
    out.push_back({"bound_" + name,
                   "bound amounts of each class and species",
                   "mol/m^3",
                   {first, first + static_cast<std::ptrdiff_t>(classes * species * count_)},
                   {{name + "_class", static_cast<std::ptrdiff_t>(classes)},
                    {name + "_species", static_cast<std::ptrdiff_t>(species)}}});
  }
  return out;
}

void ReactiveTransport::set_state(const std::vector<NamedField>& state) {
  std::size_t f = 0;
  const auto take = [&](std::vector<double>& to, std::size_t row) {
    const auto& values = state[f++].values;
    std::copy(values.begin(), values.end(), to.begin() + static_cast<std::ptrdiff_t>(row * count_));
  };
  for (std::size_t s = 0; s < chemistry_.num_primary(); ++s) {
    take(totals_, s);
    take(states_.log_free, s);
  }
  take(states_.strength, 0);
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) take(states_.minerals, m);
  for (const auto& site : reactions_.tables().sites) {
    if (site.end_primary > site.first_primary) take(states_.bound, site.first_row);
  }
}

std::vector<double> ReactiveTransport::amounts(std::span<const double> water) {
  const std::size_t n = chemistry_.num_primary();
  std::vector<double> out(3 * n), volumes(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    volumes[i] = flow_->volume(static_cast<std::ptrdiff_t>(i));
    for (std::size_t s = 0; s < n; ++s) out[s] += litres * water[i] * totals_[s * count_ + i];
  }
  const auto sum_of = [&](std::span<const double> values, std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += volumes[i] * values[row * count_ + i];
    return sum;
  };
  for (std::size_t m = 0; m < chemistry_.minerals.size(); ++m) {
    for (const auto& term : chemistry_.minerals[m].formula) {
      out[term.primary] += term.count * sum_of(states_.minerals, m);
    }
  }
  const auto& tables = reactions_.tables();
  for (const auto& site : tables.sites) {
    std::size_t row = site.first_row;
    for (std::size_t c = site.first_class; c < site.end_class; ++c) {
      for (std::size_t p = site.first_primary; p < site.end_primary; ++p, ++row) {
        out[tables.site_primary[p]] += sum_of(states_.bound, row);
      }
    }
  }
  for (std::size_t s = 0; s < n; ++s) {
    out[n + s] = transport_.inflows()[s];
    if (last_dt_ > 0 && !reactions_.decayed().empty()) {
      out[2 * n + s] = sum_of(reactions_.decayed(), s) / last_dt_;
    }
  }
  sums_.allreduce(std::span(out));
  return out;
}

SpeciesFile::SpeciesFile(const Comm& comm, const std::string& folder, const Chemistry& chemistry,
                         std::int64_t restart_step)
    : comm_(&comm) {
  for (const auto& species : chemistry.primary) names_.push_back(species.name);
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    file_.emplace(folder + "/species.csv", "step,time,species,amount,inflow,decay,relative_error",
                  restart_step);
  });
}

void SpeciesFile::append(const RunClock& clock, const std::vector<double>& amounts) {
  std::string lines;
  const std::size_t n = names_.size();
  for (std::size_t s = 0; s < n; ++s) {
    const double inflow = amounts[n + s], decay = amounts[2 * n + s];
    const double error = amounts[s] - last_[s] - clock.dt * (inflow + decay);
    const double size = std::abs(amounts[s]) + clock.dt * (std::abs(inflow) + std::abs(decay));
    const double relative = size > 0 ? std::abs(error) / size : 0;
    worst_ = std::max(worst_, relative);
    lines += fmt::format("{},{:.17g},{},{:.17g},{:.17g},{:.17g},{:.3g}\n", clock.step, clock.time,
                         names_[s], amounts[s], inflow, decay, relative);
  }
  last_ = amounts;
  run_agreed(comm_->raw(), [&] {
    if (comm_->rank() == 0 && clock.step > file_->last_step()) file_->append(clock.step, lines);
  });
}

}  // namespace tailrace::groundwater
