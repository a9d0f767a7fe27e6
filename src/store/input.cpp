// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/input_state.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace {

using store::FileIndex;

namespace {

void check_options(const Comm& comm, const InputOptions& options) {
  require_all(comm.raw(), options.group_size >= 0,
              fmt::format("input: group_size = {} must be 0 (choose) or a number of ranks",
                          options.group_size));
  require_all(comm.raw(), options.buffer_bytes > 0,
              fmt::format("input: buffer_bytes = {} must be positive", options.buffer_bytes));
}

FileIndex agreed_index(const Comm& comm, const std::string& path) {
  FileIndex index;
  run_agreed(comm.raw(), [&] {
    if (comm.rank() == 0) index = store::index_file(path);
  });
  store::share_index(comm, index);
  return index;
}

}  // namespace

Input::State::State(const Comm& comm_in, std::string path_in, InputOptions options_in)
    : comm(comm_in.raw()),
      path(std::move(path_in)),
      options(std::move(options_in)),
      index((check_options(comm, options), agreed_index(comm, path))) {
  settings = file::resolve(comm, path, options.hints);
  if (comm.rank() == 0) file::show(path, settings);
  if (settings.group_size > 0) options.group_size = settings.group_size;
  readers = store::choose_readers(comm.num_ranks(), options.group_size);
  const auto next = std::ranges::upper_bound(readers, comm.rank());
  group = static_cast<int>(next - readers.begin()) - 1;
  is_reader = readers[static_cast<std::size_t>(group)] == comm.rank();
  file = std::make_unique<store::ReadFile>(comm, path, settings, file_statistics);
}

const FileIndex::Entry& Input::State::entry(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& entry : index.entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  for (const auto& refused : index.refused) {
    if (refused.name != name) continue;
    throw Error(refused.damaged ? Errc::corrupt : Errc::invalid_input,
                fmt::format("{}: dataset {} {}", path, name, refused.why));
  }
  throw Error(Errc::invalid_input, fmt::format("{} has no variable \"{}\"; it has {}", path, name,
                                               fmt::join(names, ", ")));
}

const AttributeValue* Input::State::find_attribute(const std::string& name) const {
  const auto found = std::ranges::find(index.attributes, name,
                                       [](const auto& attribute) { return attribute.first; });
  return found == index.attributes.end() ? nullptr : &found->second;
}

template <class T>
const T& Input::State::attribute(const std::string& name, const char* kind) const {
  const auto* value = find_attribute(name);
  if (value == nullptr) {
    throw Error(Errc::invalid_input, fmt::format("{} has no attribute \"{}\"", path, name));
  }
  if (!std::holds_alternative<T>(*value)) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: attribute \"{}\" is not {}", path, name, kind));
  }
  return std::get<T>(*value);
}

Input::Input(const Comm& comm, const std::string& path, const InputOptions& options)
    : state_(std::make_unique<State>(comm, path, options)) {}
Input::~Input() = default;
Input::Input(Input&&) noexcept = default;

std::vector<std::ptrdiff_t> Input::extents(const std::string& name) const {
  return state_->entry(name).extents;
}
ItemType Input::type(const std::string& name) const { return state_->entry(name).type; }

std::vector<std::string> Input::names() const {
  std::vector<std::string> names;
  for (const auto& entry : state_->index.entries) {
    if (!entry.scale) names.push_back(entry.name);
  }
  return names;
}

bool Input::has_attribute(const std::string& name) const {
  return state_->find_attribute(name) != nullptr;
}
std::int64_t Input::attribute_int(const std::string& name) const {
  return state_->attribute<std::int64_t>(name, "an integer");
}
double Input::attribute_double(const std::string& name) const {
  return state_->attribute<double>(name, "a floating-point number");
}
std::string Input::attribute_string(const std::string& name) const {
  return state_->attribute<std::string>(name, "a text");
}
std::vector<double> Input::attribute_doubles(const std::string& name) const {
  return state_->attribute<std::vector<double>>(name, "a list of floating-point numbers");
}

std::vector<double> Input::coordinate(const std::string& name) const {
  const auto& entry = state_->entry(name);
  if (!entry.scale) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: \"{}\" is not a coordinate", state_->path, name));
  }
  return entry.values;
}

InputStatistics Input::statistics() const {
  const auto& files = state_->file_statistics;
  return {files.opens, files.reads, files.bytes_read, state_->checked, files.io_s, state_->move_s};
}

InputStatistics Input::total_statistics() const {
  const auto mine = statistics();
  std::int64_t counts[] = {mine.opens, mine.reads, mine.bytes_read, mine.checked};
  double times_s[] = {mine.io_s, mine.move_s};
  const auto comm = state_->comm.raw();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPI_INT64_T, MPI_SUM, comm));
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, times_s, 2, MPI_DOUBLE, MPI_MAX, comm));
  return {counts[0], counts[1], counts[2], counts[3], times_s[0], times_s[1]};
}

}  // namespace tailrace
