// SPDX-License-Identifier: BSD-3-Clause
#include "field_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include "tailrace/input.hpp"
#include "tailrace/more/xdmf.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::turbulence {

namespace {

/// Turns the doubles of `data` into floats in place. Item i is read before its bytes are
/// overwritten.
void narrow_in_place(void* data, std::size_t count) {
  auto* bytes = static_cast<char*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    double wide = 0;
    std::memcpy(&wide, bytes + i * sizeof(double), sizeof(double));
    const auto narrow = static_cast<float>(wide);
    std::memcpy(bytes + i * sizeof(float), &narrow, sizeof(float));
  }
}

// As CF has it. Numbers are in the units of the case, which are nobody's: "1".
// CF gives the attribute `axis` to axes on the Earth, and to times with a date: these are neither.
Coordinate axis(const char* name, std::ptrdiff_t points, double length) {
  Coordinate out;
  out.name = name;
  out.attributes = {{"long_name", fmt::format("position along {}", name)},
                    {"units", std::string("1")}};
  for (std::ptrdiff_t i = 0; i < points; ++i) {
    out.values.push_back(length * static_cast<double>(i) / static_cast<double>(points));
  }
  return out;
}

// A dimension of one, by which readers put the files of a run in a row.
Coordinate time_axis() {
  Coordinate out;
  out.name = "time";
  out.values = {0.0};
  out.attributes = {{"long_name", std::string("time since the start of the flow")},
                    {"units", std::string("1")}};
  return out;
}

std::string long_name(const std::string& field) {
  if (field.starts_with("scalar_")) return "passive scalar " + field.substr(7);
  return fmt::format("velocity along {}", field == "u" ? "x" : field == "v" ? "y" : "z");
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

template <class Real>
FieldOutput<Real>::FieldOutput(Session& session, const Case& values, NavierStokes<Real>& flow,
                               const std::string& folder)
    : comm_(&session.compute()),
      self_(MPI_COMM_SELF),
      folder_(folder),
      name_(values.about.name),
      series_(app::series_path(values.output, folder)),
      files_(app::field_series(session, "fields", values, folder)) {
  if (!files_.active()) return;
  layout_ = std::make_unique<Layout>(flow.transform().physical_layout());
  const auto& options = flow.options();
  extents_ = options.extents;
  for (std::size_t d = 0; d < 3; ++d) {
    spacing_[d] = options.lengths[d] / static_cast<double>(extents_[d]);
  }
  narrow_ = std::is_same_v<Real, double> && values.output.precision == "single";
  contents_.coordinates = {axis("x", extents_[2], options.lengths[2]),
                           axis("y", extents_[1], options.lengths[1]),
                           axis("z", extents_[0], options.lengths[0]), time_axis()};
  const Memory memory = Memory::dense(layout_->boxes(comm_->rank()));
  for (std::size_t f = 0; f < 3 + options.scalars.size(); ++f) {
    const std::string name =
        f < 3 ? std::string(component_names[f]) : fmt::format("scalar_{}", f - 3);
    captures_.push_back(nullptr);
    if (contains(values.output.fields, f < 3 ? name : "scalars")) add_field(name, memory);
  }
  contents_.attributes = {
      {"step", std::int64_t{0}},        {"time", 0.0},
      {"title", values.about.name},     {"history", std::string("written by tailrace-turbulence")},
      {"viscosity", options.viscosity}, {"Conventions", std::string("CF-1.11")}};
}

/// Makes room for one more field of the files; the solver fills it.
template <class Real>
void FieldOutput<Real>::add_field(const std::string& name, const Memory& memory) {
  // Never without an address, which would say that the field is not wanted: a rank without points
  // takes part in the transforms, too.
  arrays_.emplace_back(static_cast<std::size_t>(std::max<std::ptrdiff_t>(memory.num_items, 1)));
  captures_.back() = arrays_.back().data();
  Variable variable;
  variable.name = name;
  variable.type = narrow_ || std::is_same_v<Real, float> ? ItemType::float32 : ItemType::float64;
  variable.dims = {"z", "y", "x"};
  variable.layout = layout_.get();
  variable.memory = memory;
  variable.data = arrays_.back().data();
  variable.attributes = {{"long_name", long_name(name)}, {"units", std::string("1")}};
  contents_.variables.push_back(std::move(variable));
  variables_.push_back(name);
}

template <class Real>
void FieldOutput<Real>::before_step(NavierStokes<Real>& flow) {
  if (!files_.due(flow.step_number())) return;
  caught_step_ = flow.step_number();
  caught_time_ = flow.time();
  flow.capture(captures_);
}

template <class Real>
void FieldOutput<Real>::after_step(NavierStokes<Real>&) {
  files_.progress();  // they get their names while the run goes on
  show_complete();
  if (caught_step_ < 0) return;
  write(caught_step_, caught_time_);
  caught_step_ = -1;
}

template <class Real>
void FieldOutput<Real>::write_last(NavierStokes<Real>& flow, bool always) {
  if (!files_.due(flow.step_number(), always)) return;
  flow.to_physical(captures_);
  write(flow.step_number(), flow.time());
}

template <class Real>
void FieldOutput<Real>::write(std::int64_t step, double time) {
  if (narrow_) {
    for (auto& array : arrays_) narrow_in_place(array.data(), array.size());
  }
  contents_.step = step;
  contents_.attributes[0].second = step;
  contents_.attributes[1].second = time;
  contents_.coordinates.back().values[0] = time;
  if (files_.write(contents_) == WriteResult::dropped) return;
  paths_.push_back(files_.path_of(step));
  times_.push_back(time);
}

template <class Real>
void FieldOutput<Real>::finish() {
  if (!files_.active()) return;
  files_.finish();
  write_sidecar(*comm_, paths_.size());
}

/// Of the first `num_files` files; rank 0's list counts. A stream may have written a file
/// elsewhere, or not at all. Steps of a series may have been merged into other files.
template <class Real>
void FieldOutput<Real>::write_sidecar(const Comm& comm, std::size_t num_files) const {
  std::vector<std::string> found;
  std::vector<double> times;
  const bool has_index = !series_.empty();
  for (std::size_t f = 0; f < num_files && comm_->rank() == 0; ++f) {
    std::error_code ignored;
    if (!has_index && !std::filesystem::exists(paths_[f], ignored)) continue;
    found.push_back(paths_[f]);
    times.push_back(times_[f]);
  }
  const bool single = narrow_ || std::is_same_v<Real, float>;
  write_xdmf(comm, folder_ + "/fields.xdmf", found, times, variables_, extents_, spacing_,
             single ? ItemType::float32 : ItemType::float64, series_);
}

/// The sidecar of the files that are complete, for those who look on while the run goes on. It is
/// written anew each time, so with many files less often: it may take a twentieth of the time.
template <class Real>
void FieldOutput<Real>::show_complete() {
  if (comm_->rank() != 0 || files_.last_complete() == shown_) return;
  const double now = now_s();
  if (now < next_show_s_) return;
  shown_ = files_.last_complete();
  const auto last = std::find(paths_.begin(), paths_.end(), shown_);
  if (last == paths_.end()) return;
  try {
    write_sidecar(self_, static_cast<std::size_t>(last - paths_.begin()) + 1);
  } catch (const Error&) {
    // The last one, which all ranks write together, tells.
  }
  next_show_s_ = now + 20 * (now_s() - now);
}

/// Steps that the index of the fields has, and their times; none without one. Local.
template <class Real>
std::map<long long, double> FieldOutput<Real>::earlier_steps() const {
  std::map<long long, double> found;
  std::error_code ignored;
  if (series_.empty() || !std::filesystem::exists(series_, ignored)) return found;
  const Input index(self_, series_);
  const auto values_of = [&](const std::string& name) {
    if (!contains(index.names(), name)) return index.coordinate(name);
    std::vector<double> values(static_cast<std::size_t>(index.extents(name).front()));
    index.read(name, slabs(index.extents(name), 0, 1), std::span(values));
    return values;
  };
  const auto steps = values_of("step"), times = values_of("time");
  const auto extents = index.extents(variables_.empty() ? "u" : variables_[0]);
  if (extents.size() != 4 || !std::equal(extents_.begin(), extents_.end(), extents.begin() + 1)) {
    return found;
  }
  for (std::size_t s = 0; s < std::min(steps.size(), times.size()); ++s) {
    found[static_cast<long long>(steps[s])] = times[s];
  }
  return found;
}

template <class Real>
void FieldOutput<Real>::find_earlier(std::int64_t restart_step) {
  if (!files_.active()) return;
  std::map<long long, double> indexed;
  run_agreed(comm_->raw(), [&] {
    if (comm_->rank() == 0) indexed = earlier_steps();
  });
  std::vector<long long> steps;
  std::vector<double> times;  // NaN: the file says it
  if (comm_->rank() == 0) {
    std::error_code ignored;
    const std::string start = name_ + "_";
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/fields", ignored)) {
      const std::string stem = entry.path().stem().string();
      if (entry.path().extension() != ".h5" || !stem.starts_with(start)) continue;
      char* end = nullptr;
      const long long step = std::strtoll(stem.c_str() + start.size(), &end, 10);
      if (*end == '\0') indexed.try_emplace(step, std::nan(""));
    }
    for (const auto& [step, time] : indexed) {
      if (step > restart_step) break;
      steps.push_back(step);
      times.push_back(time);
    }
  }
  int count = static_cast<int>(steps.size());
  check_mpi(MPI_Bcast(&count, 1, MPI_INT, 0, comm_->raw()));
  steps.resize(static_cast<std::size_t>(count));
  times.resize(steps.size());
  check_mpi(MPI_Bcast(steps.data(), count, MPI_LONG_LONG, 0, comm_->raw()));
  check_mpi(MPI_Bcast(times.data(), count, MPI_DOUBLE, 0, comm_->raw()));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto path = files_.path_of(steps[s]);
    files_.go_on_from(steps[s]);
    if (std::isnan(times[s])) {
      const Input earlier(*comm_, path);
      const auto found = earlier.extents(variables_.empty() ? "u" : variables_[0]);
      if (!std::equal(found.begin(), found.end(), extents_.begin(), extents_.end())) continue;
      times[s] = earlier.attribute_double("time");
    }
    paths_.push_back(path);
    times_.push_back(times[s]);
  }
}

template <class Real>
std::ptrdiff_t FieldOutput<Real>::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& array : arrays_) bytes += array.size() * sizeof(Real);
  return static_cast<std::ptrdiff_t>(bytes);
}

template class FieldOutput<float>;
template class FieldOutput<double>;

}  // namespace tailrace::turbulence
