// SPDX-License-Identifier: BSD-3-Clause
#include "electron_states.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "coulomb.hpp"
#include "flush_tiny.hpp"
#include "observables.hpp"
#include "tailrace/error.hpp"

namespace tailrace::helium {

namespace {

constexpr std::size_t shells = 3;  ///< of the ion, beside an electron that has left

double time_of(const Attributes& about) {
  for (const auto& [name, value] : about) {
    if (name == "time") return std::get<double>(value);
  }
  return 0;
}

bool is_reference(const Attributes& about) {
  return std::ranges::any_of(about, [](const auto& item) { return item.first == "reference"; });
}

double square(double x) { return x * x; }

std::vector<double> count_up(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

/// Of line `s`, a function of r2, of `count` ones, real parts first: its share of `function`.
double population(const double* lines, std::size_t count, std::size_t s,
                  const std::vector<double>& function) {
  const auto n = function.size();
  return square(product(function, lines + s * n)) +
         square(product(function, lines + (count + s) * n));
}

/// sum of a b, off the diagonal twice; both have the places of `part`.
double weighted_product(std::ptrdiff_t n, const WavePart& part, const std::vector<double>& a,
                        const std::vector<double>& b) {
  double sum = 0;
  for (const auto& piece : pieces_of(n, part.packed, part.places)) {
    for (std::ptrdiff_t c = 0; c < part.channels; ++c) {
      const double* x = a.data() + c * part.places + piece.offset;
      const double* y = b.data() + c * part.places + piece.offset;
      double row = 0;
      for (std::ptrdiff_t i = 0; i < piece.count; ++i) row += x[i] * y[i];
      sum += 2 * row - (piece.row == piece.column ? x[0] * y[0] : 0);
    }
  }
  return sum;
}

}  // namespace

/// Fills the file of a step: all but what never changes has an axis of one time, by which the files
/// of a run may be put together.
struct ElectronStates::Writer {
  StageResults& out;

  Writer(StageResults& to, double time) : out(to) {
    axis("time", {time}, "time", "hbar / hartree");
  }
  static Attributes about(const char* meaning, const char* units) {
    return {{"long_name", std::string(meaning)}, {"units", std::string(units)}};
  }
  void axis(const std::string& name, const std::vector<double>& values, const char* meaning,
            const char* units) {
    out.coordinates.push_back({name, values, about(meaning, units)});
  }
  void number(const char* name, double value, const char* meaning) {
    constant(name, "time", {value}, meaning);
  }
  void constant(const char* name, const char* dim, const std::vector<double>& values,
                const char* meaning) {
    out.arrays.push_back({name, {dim}, {std::ssize(values)}, values, about(meaning, "1")});
  }
  /// Of axes that are there.
  void array(const char* name, std::vector<std::string> dims, const std::vector<double>& values,
             const char* meaning, const char* units) {
    dims.insert(dims.begin(), "time");
    std::vector<std::ptrdiff_t> extents;
    for (const auto& dim : dims) {
      const auto axis = std::ranges::find(out.coordinates, dim, &Coordinate::name);
      extents.push_back(std::ssize(axis->values));
    }
    out.arrays.push_back({name, dims, extents, values, about(meaning, units)});
  }
};

struct ElectronStates::Found {
  double shares[num_shares] = {};
  double ground = 0, left = 0, one_bound = 0, both_bound = 0;
  std::vector<double> channels, ion, single, both;  ///< of (channel), (l, shell), (L, E), (L, E, E)
};

ElectronStates::ElectronStates(const ElectronOptions& options)
    : options_(options),
      radial_(options.atom.num_points, options.atom.step, options.atom.charge),
      channels_(make_channels(options.atom.lmax, options.atom.big_lmax)),
      mirrors_(mirrors_of(channels_)),
      num_points_(static_cast<std::size_t>(options.atom.num_points)) {
  for (int e = 1; e <= options.energies; ++e) {
    energies_.push_back(options.largest_energy * e / options.energies);
  }
}

void ElectronStates::make_functions() {
  const auto& [points, step, charge, lmax, big_lmax, triplet, repulsion] = options_.atom;
  for (int l = 0; l <= lmax; ++l) {
    bound_.push_back(radial_.states_below(l, 0, most_ion_states).vectors);
    outer_.push_back(coulomb_waves(charge - 1, step, points, l, energies_));
    bare_.push_back(coulomb_waves(charge, step, points, l, energies_));
    inner_.push_back(bound_.back());
    inner_.back().insert(inner_.back().end(), bare_.back().begin(), bare_.back().end());
    num_bound_ = std::max(num_bound_, bound_.back().size());
  }
}

/// What needs the items themselves; then the ground state is taken away.
void ElectronStates::measure(std::vector<WavePart>& wave, const StageSum& sum, Found& found) const {
  const auto n = options_.atom.num_points;
  std::vector<double> sums(num_shares + 2 + channels_.size());
  for (std::size_t p = 0; p < wave.size(); ++p) {
    const auto& part = wave[p];
    sums[num_shares] += weighted_product(n, part, ground_[p].re, part.re);
    sums[num_shares + 1] += weighted_product(n, part, ground_[p].re, part.im);
    for (const auto& piece : pieces_of(n, part.packed, part.places)) {
      for (std::ptrdiff_t c = 0; c < part.channels; ++c) {
        const auto channel = static_cast<std::size_t>(part.channel + c);
        const auto at = c * part.places + piece.offset;
        double shares[num_shares] = {};
        add_shares(options_.atom, radial_, options_.radius, channels_[channel], piece,
                   part.re.data() + at, part.im.data() + at, shares);
        for (std::size_t s = 0; s < num_shares; ++s) sums[s] += shares[s];
        sums[num_shares + 2 + channel] += shares[norm];
      }
    }
  }
  sum(sums);
  std::copy_n(sums.begin(), static_cast<int>(num_shares), found.shares);
  const double re = sums[num_shares], im = sums[num_shares + 1];
  found.ground = square(re) + square(im);
  found.channels.assign(sums.begin() + num_shares + 2, sums.end());
  for (std::size_t p = 0; p < wave.size(); ++p) {
    auto& part = wave[p];
    for (std::size_t i = 0; i < part.re.size(); ++i) {
      part.re[i] -= re * ground_[p].re[i];
      part.im[i] -= im * ground_[p].re[i];
    }
    found.left += weighted_product(n, part, part.re, part.re);
    found.left += weighted_product(n, part, part.im, part.im);
  }
  sum({&found.left, 1});
}

/// One channel: lines over r2 for each function of r1, real parts first, of all servers; and what
/// follows from them.
void ElectronStates::project(const std::vector<WavePart>& wave, std::size_t channel,
                             const StageSum& sum, Found& found) const {
  const auto n = static_cast<std::ptrdiff_t>(num_points_);
  const auto& functions = inner_[static_cast<std::size_t>(channels_[channel].l1)];
  const auto mirror = mirrors_[channel];
  const int sign = options_.atom.triplet ? -1 : 1;
  std::vector<double> lines(2 * functions.size() * num_points_);
  double* imaginary = lines.data() + lines.size() / 2;
  for (const auto& part : wave) {
    const auto pieces = pieces_of(n, part.packed, part.places);
    const auto add = [&](int which, const auto& project) {
      const auto c = which - part.channel;
      if (c < 0 || c >= part.channels) return;
      for (const auto& piece : pieces) {
        const auto at = c * part.places + piece.offset;
        project(piece, part.re.data() + at, lines.data());
        project(piece, part.im.data() + at, imaginary);
      }
    };
    add(static_cast<int>(channel), [&](const RowPiece& piece, const double* f, double* out) {
      project_row(functions, piece, f, out, n);
    });
    add(mirror, [&](const RowPiece& piece, const double* f, double* out) {
      project_mirrored(functions, piece, f, sign, out, n);
    });
  }
  sum(lines);
  add_bound(channels_[channel], lines.data(), found);
  add_single(channels_[channel], lines.data(), found);
  add_double(channels_[channel], lines.data(), found);
}

void ElectronStates::add_bound(const Channel& channel, const double* lines, Found& found) const {
  const auto l1 = static_cast<std::size_t>(channel.l1), l2 = static_cast<std::size_t>(channel.l2);
  const auto count = inner_[l1].size();
  for (std::size_t s = 0; s < bound_[l1].size(); ++s) {
    double one = 0, both = 0;
    for (std::size_t j = 0; j < num_points_; ++j) {
      one += square(lines[s * num_points_ + j]) + square(lines[(count + s) * num_points_ + j]);
    }
    for (const auto& u : bound_[l2]) both += population(lines, count, s, u);
    found.one_bound += one;
    found.both_bound += both;
    found.ion[l1 * num_bound_ + s] += 2 * (one - both);  // either electron may be the bound one
  }
}

void ElectronStates::add_single(const Channel& channel, const double* lines, Found& found) const {
  const auto l1 = static_cast<std::size_t>(channel.l1), l2 = static_cast<std::size_t>(channel.l2);
  double* single = found.single.data() + static_cast<std::size_t>(channel.big_l) * energies_.size();
  for (std::size_t s = 0; s < std::min(shells, bound_[l1].size()); ++s) {
    for (std::size_t e = 0; e < energies_.size(); ++e) {
      single[e] += 2 * population(lines, inner_[l1].size(), s, outer_[l2][e]);
    }
  }
}

void ElectronStates::add_double(const Channel& channel, const double* lines, Found& found) const {
  const auto l1 = static_cast<std::size_t>(channel.l1), l2 = static_cast<std::size_t>(channel.l2);
  const auto count = energies_.size();
  double* both = found.both.data() + static_cast<std::size_t>(channel.big_l) * count * count;
  for (std::size_t first = 0; first < count; ++first) {
    for (std::size_t second = 0; second < count; ++second) {
      both[first * count + second] +=
          population(lines, inner_[l1].size(), bound_[l1].size() + first, bare_[l2][second]);
    }
  }
}

StageResults ElectronStates::operator()(const Attributes& about, std::span<const StagePart> parts,
                                        const StageSum& sum) {
  const FlushTiny flush;
  auto wave = wave_parts(parts);
  if (is_reference(about)) {
    ground_ = std::move(wave);
    return {};
  }
  bool same = wave.size() == ground_.size();
  for (std::size_t p = 0; same && p < wave.size(); ++p) {
    same = wave[p].channel == ground_[p].channel && wave[p].packed == ground_[p].packed &&
           wave[p].re.size() == ground_[p].re.size();
  }
  if (!same) {
    throw Error(Errc::internal,
                ground_.empty()
                    ? "the ground state is missing: this server was restarted"
                    : "the wave function is divided into other parts than the ground state");
  }
  if (inner_.empty()) make_functions();
  Found found;
  const auto total_ls = static_cast<std::size_t>(options_.atom.big_lmax) + 1;
  found.ion.resize(bound_.size() * num_bound_);
  found.single.resize(total_ls * energies_.size());
  found.both.resize(found.single.size() * energies_.size());
  measure(wave, sum, found);
  for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
    project(wave, channel, sum, found);
  }
  return results_of(found, time_of(about));
}

StageResults ElectronStates::results_of(const Found& found, double time) const {
  const auto& [shares, ground, left, one_bound, both_bound, channels, ion, single, both] = found;
  const double free = left - 2 * one_bound + both_bound;
  StageResults out;
  Writer to{out, time};
  to.axis("channel", count_up(channels_.size()), "partial wave", "1");
  to.axis("total_l", count_up(single.size() / energies_.size()), "L of both electrons", "1");
  to.axis("l", count_up(bound_.size()), "l of the bound electron", "1");
  to.axis("shell", count_up(num_bound_), "n - l - 1 of the bound electron", "1");
  to.number("norm", shares[norm], "population of all states");
  to.number("ground", ground, "population of the ground state");
  to.number("double_ionisation", free, "both electrons in no bound state of the ion");
  to.number("one_or_excited", left - free, "neither double ionisation nor the ground state");
  to.number("single_outside", shares[one_out], "one electron beyond observables.radius");
  to.number("double_outside", shares[both_out], "both electrons beyond observables.radius");
  to.number("edge_l", shares[last_l], "an electron with the largest l");
  to.number("edge_total_l", shares[last_total_l], "the largest L");
  to.number("edge_r", shares[last_r], "an electron in the last tenth of the box");
  for (const auto& [name, member] :
       {std::pair("channel_L", &Channel::big_l), std::pair("channel_l1", &Channel::l1),
        std::pair("channel_l2", &Channel::l2)}) {
    std::vector<double> numbers;
    for (const auto& channel : channels_) numbers.push_back(channel.*member);
    to.constant(name, "channel", numbers, "number of the partial wave");
  }
  to.array("population", {"channel"}, channels, "population of a partial wave", "1");
  to.array("ion", {"l", "shell"}, ion,
           "one electron in a state of the ion, the other in none, without the ground state", "1");
  write_spectra(found, to);
  return out;
}

/// Per energy, and per momentum k: dE = k dk.
void ElectronStates::write_spectra(const Found& found, Writer& to) const {
  const auto count = energies_.size();
  std::vector<double> k, single = found.single, both = found.both;
  for (const double energy : energies_) k.push_back(std::sqrt(2 * energy));
  for (const char* number : {"", "_2"}) {
    to.axis(std::string("energy") + number, energies_, "energy of an electron that has left",
            "hartree");
    to.axis(std::string("momentum") + number, k, "momentum of an electron that has left",
            "hbar / bohr");
  }
  const char *one = "one electron has left, the ion is in one of the three lowest shells of each l",
             *two = "both electrons have left";
  to.array("single_energy", {"total_l", "energy"}, single, one, "1 / hartree");
  to.array("double_energy", {"total_l", "energy", "energy_2"}, both, two, "1 / hartree^2");
  for (std::size_t at = 0; at < single.size(); ++at) single[at] *= k[at % count];
  for (std::size_t at = 0; at < both.size(); ++at) {
    both[at] *= k[at % count] * k[at / count % count];
  }
  to.array("single_momentum", {"total_l", "momentum"}, single, one, "bohr / hbar");
  to.array("double_momentum", {"total_l", "momentum", "momentum_2"}, both, two, "bohr^2 / hbar^2");
}

ResultsFunction electron_states(const ElectronOptions& options) {
  const auto states = std::make_shared<ElectronStates>(options);
  return [states](const Attributes& about, std::span<const StagePart> parts, const StageSum& sum) {
    return (*states)(about, parts, sum);
  };
}

}  // namespace tailrace::helium
