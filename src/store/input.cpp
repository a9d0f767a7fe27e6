// SPDX-License-Identifier: BSD-3-Clause
// Reading in rounds: each reader reads, checks and converts units of the dataset, about a buffer
// full. Then an exchange takes them to the layout that is wanted, or a broadcast to all ranks. So
// it does not matter how many ranks wrote the file, nor how.
#include "tailrace/input.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/common_path.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "move/device_copies.hpp"
#include "move/strided_copy.hpp"
#include "store/contents_check.hpp"
#include "store/dataset_reader.hpp"
#include "store/file_index.hpp"
#include "store/item_convert.hpp"
#include "store/link_walk.hpp"
#include "store/read_plan.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/more/axis_text.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/output.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

using store::FileIndex;
using store::ReadPlan;
using store::Units;

/// An opened file.
class Input::State {
 public:
  /// Collective, blocking.
  State(const Comm& comm_in, std::string path_in, InputOptions options_in);
  /// Throws `Errc::invalid_input` if there is no such variable. Local.
  const store::FileIndex::Entry& entry(const std::string& name) const;
  /// The same, for a call of all ranks. Throws the same on all of them, also if they ask for
  /// different things. Collective, blocking.
  const store::FileIndex::Entry& agreed_entry(const std::string& name, ItemType type) const;
  /// Throws `Errc::invalid_input` if there is none, or why it cannot be read. Local.
  const AttributeValue& attribute(const std::string& name) const;
  /// The numbers of an attribute as T, by the rules of `read`. Throws `Errc::invalid_input`. Local.
  template <class T>
  std::vector<T> numbers(const std::string& name) const;
  template <class T>
  T number(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;

  /// Makes `group_comm` and `readers_comm` at their first use. Collective, blocking.
  void make_groups();

  Comm comm;
  std::string path;
  InputOptions options;
  store::FileIndex index;
  std::vector<int> readers;  ///< ranks, ascending; rank 0 is one
  int group = 0;             ///< this rank's, by the number of its reader
  bool is_reader = false;
  file::Settings settings;
  FileStatistics file_statistics;
  std::unique_ptr<store::ReadFile> file;
  std::optional<Comm> group_comm;    ///< the reader is rank 0
  std::optional<Comm> readers_comm;  ///< on readers
  std::int64_t checked = 0;
  double move_s = 0;
  DeviceCopies copies;  ///< into arrays in device memory
};

namespace {

void check_options(const Comm& comm, const InputOptions& options) {
  require_all(comm.raw(), options.group_size >= 0,
              fmt::format("input: group_size = {} must be 0 (choose) or a number of ranks",
                          options.group_size));
  require_all(comm.raw(), options.buffer_bytes > 0,
              fmt::format("input: buffer_bytes = {} must be positive", options.buffer_bytes));
}

}  // namespace

Input::State::State(const Comm& comm_in, std::string path_in, InputOptions options_in)
    : comm(comm_in.raw()),
      path(common_path(comm, "input", path_in)),
      options(std::move(options_in)),
      index((check_options(comm, options), store::agreed_index(comm, path))) {
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
  const auto asked = store::without_aliases(index.aliases, name);
  std::vector<std::string> names;
  for (const auto& entry : index.entries) {
    if (entry.name == asked) return entry;
    names.push_back(entry.name);
  }
  for (const auto& refused : index.refused) {
    if (refused.name != asked && !asked.starts_with(refused.name + "/")) continue;
    throw Error(refused.damaged ? Errc::corrupt : Errc::invalid_input,
                fmt::format("{}: dataset {} {}", path, refused.name, refused.why));
  }
  refuse_input("{} has no variable \"{}\"; it has {}", path, name, fmt::join(names, ", "));
}

namespace {

// The place of `name` in a list of pairs.
template <class Pairs>
auto find_named(const Pairs& pairs, const std::string& name) {
  return std::ranges::find(pairs, name, &Pairs::value_type::first);
}

}  // namespace

const AttributeValue& Input::State::attribute(const std::string& name) const {
  const auto& [values, refused] = index.attributes;
  const auto found = find_named(values, name);
  if (found != values.end()) return found->second;
  const auto other = find_named(refused, name);
  if (other == refused.end()) refuse_input("{} has no attribute \"{}\"", path, name);
  refuse_input("{}: attribute \"{}\" {}", path, name, other->second);
}

template <class T>
std::vector<T> Input::State::numbers(const std::string& name) const {
  const auto convert = [&]<class Item>(const Item* items, std::size_t count) {
    constexpr auto from = item_type<Item>(), to = item_type<T>();
    std::vector<T> made(count);
    if (!store::convertible(from, to)) {
      refuse_input("{}: attribute \"{}\" is {}, which is not read as {}", path, name,
                   type_name(from), type_name(to));
    }
    const auto unfit =
        store::convert_items(from, to, reinterpret_cast<const std::byte*>(items), std::ssize(made),
                             reinterpret_cast<std::byte*>(made.data()));
    if (unfit) {
      refuse_input("{}: attribute \"{}\" holds {} ({}), which does not fit {}", path, name, *unfit,
                   type_name(from), type_name(to));
    }
    return made;
  };
  return std::visit(
      [&]<class Held>(const Held& held) -> std::vector<T> {
        using Item = AttributeItem<Held>;
        if constexpr (std::is_same_v<Item, std::string>) {
          refuse_input("{}: attribute \"{}\" is text, not {}", path, name,
                       type_name(item_type<T>()));
        } else if constexpr (std::is_same_v<Held, std::vector<bool>>) {
          const std::vector<std::uint8_t> items(held.begin(), held.end());
          return convert(items.data(), items.size());
        } else if constexpr (is_attribute_list<Held>) {
          return convert(held.data(), held.size());
        } else if constexpr (std::is_same_v<Held, bool>) {
          const std::uint8_t item = held ? 1 : 0;
          return convert(&item, 1);
        } else {
          return convert(&held, 1);
        }
      },
      attribute(name));
}

template <class T>
T Input::State::number(const std::string& name) const {
  const auto found = numbers<T>(name);
  if (found.size() != 1) {
    refuse_input("{}: attribute \"{}\" is a list of {} items, not one", path, name, found.size());
  }
  return found.front();
}

std::vector<std::string> Input::State::texts(const std::string& name) const {
  const auto& value = attribute(name);
  if (const auto* text = std::get_if<std::string>(&value)) return {*text};
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  refuse_input("{}: attribute \"{}\" holds numbers, not text", path, name);
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
  const auto& [values, refused] = state_->index.attributes;
  return find_named(values, name) != values.end() || find_named(refused, name) != refused.end();
}
AttributeValue Input::attribute(const std::string& name) const { return state_->attribute(name); }
std::int64_t Input::attribute_int(const std::string& name) const {
  return state_->number<std::int64_t>(name);
}
double Input::attribute_double(const std::string& name) const {
  return state_->number<double>(name);
}
std::string Input::attribute_string(const std::string& name) const {
  const auto texts = state_->texts(name);
  if (texts.size() == 1) return texts.front();
  refuse_input("{}: attribute \"{}\" is a list of {} texts, not one", state_->path, name,
               texts.size());
}
std::vector<double> Input::attribute_doubles(const std::string& name) const {
  return state_->numbers<double>(name);
}
std::vector<std::string> Input::attribute_strings(const std::string& name) const {
  return state_->texts(name);
}
std::vector<std::byte> Input::attribute_numbers(const std::string& name, ItemType type) const {
  return with_item_type(type, [&]<class T>(std::type_identity<T>) {
    const auto numbers = state_->numbers<T>(name);
    const auto bytes = std::as_bytes(std::span(numbers));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
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

namespace {

// One call of `read` or `read_all`: what this rank reads of one dataset, round by round.
class Rounds {
 public:
  Rounds(Input::State& state, const FileIndex::Entry& entry, ItemType type)
      : state_(state),
        entry_(entry),
        type_(type),
        units_(entry, state.options.checks),
        reader_(*state.file, entry, units_) {}

  const Units& units() const { return units_; }
  ReadPlan plan(std::vector<std::ptrdiff_t> wanted, std::ptrdiff_t least_bytes) const {
    return {units_,
            std::move(wanted),
            {static_cast<int>(state_.readers.size()), state_.options.buffer_bytes, least_bytes}};
  }
  /// This rank's part of a round, checked and converted. Throws the same on all ranks. Collective.
  const std::byte* read(const ReadPlan& plan, std::ptrdiff_t round) {
    run_agreed(state_.comm.raw(), [&] {
      if (state_.is_reader) read_share(plan.share(round, state_.group));
    });
    return entry_.type == type_ ? raw_.data() : converted_.data();
  }
  /// The whole dataset by this rank alone, checked and converted. Local.
  const std::byte* read_alone() {
    std::vector<std::ptrdiff_t> all(static_cast<std::size_t>(units_.count()));
    std::iota(all.begin(), all.end(), std::ptrdiff_t{0});
    read_share(all);
    return entry_.type == type_ ? raw_.data() : converted_.data();
  }

 private:
  void read_share(std::span<const std::ptrdiff_t> share) {
    const Span span(state_.options.trace, Activity::transfer, "read file");
    reader_.read(share, raw_);
    if (state_.options.checks) check_share(share);
    if (entry_.type != type_) convert();
  }
  void check_share(std::span<const std::ptrdiff_t> share) {
    const auto before = reader_.checked();
    const auto damages = reader_.check(share, raw_);
    state_.checked += reader_.checked() - before;
    if (!damages.empty()) {
      const auto part = damages.front().part;
      const auto file = part < 0 ? "" : entry_.parts[static_cast<std::size_t>(part)].file;
      throw Error(
          Errc::corrupt,
          fmt::format(
              "{} is damaged: {} does not match its checksum{}", state_.path,
              damages.front().describe(entry_.name, file),
              damages.size() == 1 ? "" : fmt::format(", nor do {} more", damages.size() - 1)));
    }
  }
  void convert() {
    const auto items = std::ssize(raw_) / item_bytes(entry_.type);
    converted_.resize(static_cast<std::size_t>(items * item_bytes(type_)));
    const auto unfit =
        store::convert_items(entry_.type, type_, raw_.data(), items, converted_.data());
    if (unfit) {
      refuse_input("{}: dataset {} holds {} ({}), which does not fit {}", state_.path, entry_.name,
                   *unfit, type_name(entry_.type), type_name(type_));
    }
  }

  Input::State& state_;
  const FileIndex::Entry& entry_;
  ItemType type_;
  Units units_;
  store::DatasetReader reader_;
  std::vector<std::byte> raw_, converted_;
};

// Throws if a file is missing that data lies in. Local, the same on all ranks.
void require_all_files(const Input::State& state, const FileIndex::Entry& entry) {
  if (entry.missing.empty()) return;
  throw Error(Errc::io,
              fmt::format("{}: variable {} lies in other files, of which {} is missing", state.path,
                          entry.name, entry.missing),
              ENOENT);
}

// What can be known before anything is read.
void check_readable(const Input::State& state, const FileIndex::Entry& entry, ItemType type) {
  require_all(state.comm.raw(), store::convertible(entry.type, type),
              fmt::format("{}: variable {} holds {} and cannot be read as {}: floating-point "
                          "numbers are not converted to integers, nor complex numbers to real ones",
                          state.path, entry.name, type_name(entry.type), type_name(type)));
  require_all_files(state, entry);
}

/// The array that a call reads into: `data`, or memory of the host if it lies in device memory,
/// from which `hand_over` copies.
class Destination {
 public:
  /// Collective, blocking; throws on all ranks.
  Destination(Input::State& state, std::ptrdiff_t bytes, void* data) : state_(state), given_(data) {
    run_agreed(state_.comm.raw(), [&] {
      const void* array = data;
      state_.copies.begin({&array, 1}, 0);
      if (!state_.copies.any()) return;
      memory_ = Buffer(bytes, false);
    });
    any_on_device_ = true_on_any(state_.comm, state_.copies.any());
  }
  ~Destination() { state_.copies.end(); }
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  bool on_device() const { return state_.copies.any(); }
  void* data() const { return on_device() ? memory_.data() : given_; }
  /// Copies boxes from where they lie without gaps into `memory` of the array. Collective,
  /// blocking; throws on all ranks.
  void hand_over(std::span<const Box> boxes, const Memory& memory, std::ptrdiff_t item) {
    if (!any_on_device_) return;
    run_agreed(state_.comm.raw(), [&] {
      if (!on_device()) return;
      std::ptrdiff_t at = 0;
      for (std::size_t b = 0; b < boxes.size(); ++b) {
        state_.copies.run_into(StridedCopy(boxes[b], packed_side(boxes[b], at),
                                           side_of(boxes[b], boxes[b], memory.boxes[b]), item),
                               memory_.data(), given_);
        at += boxes[b].num_items();
      }
      state_.copies.finish();
    });
  }

 private:
  Input::State& state_;
  void* given_;
  Buffer memory_;
  bool any_on_device_ = false;
};

// Copies a share, boxes one after another, to its places in the whole array.
void place(std::span<const Box> boxes, const Box& whole, std::ptrdiff_t item,
           const std::byte* share, std::byte* data) {
  for (const auto& box : boxes) {
    StridedCopy(box, packed_side(box), side_in_packed(box, whole), item).run(share, data);
    share += box.num_items() * item;
  }
}

}  // namespace

const FileIndex::Entry& Input::State::agreed_entry(const std::string& name, ItemType type) const {
  const FileIndex::Entry* found = nullptr;
  run_agreed(comm.raw(), [&] { found = &entry(name); });
  const auto place = static_cast<std::int64_t>(found - index.entries.data());
  const auto kind = static_cast<std::int64_t>(type);
  std::int64_t lowest[] = {place, -place, kind, -kind};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, lowest, 4, MPI_INT64_T, MPI_MIN, comm.raw()));
  require_all(comm.raw(), lowest[0] == -lowest[1] && lowest[2] == -lowest[3],
              fmt::format("{}: the ranks read different variables, or as different types", path));
  return *found;
}

void Input::State::make_groups() {
  if (group_comm) return;
  group_comm.emplace(comm.split(group));
  readers_comm.emplace(comm.split(is_reader ? 0 : 1));
}

void Input::read(const std::string& name, ItemType type, const Layout& layout, const Memory& given,
                 void* data) const {
  auto& state = *state_;
  const Comm& comm = state.comm;
  const auto& entry = state.agreed_entry(name, type);
  const auto& global = layout.global_extents();
  const bool same_shape = layout.num_dims() == static_cast<int>(entry.extents.size()) &&
                          std::equal(entry.extents.begin(), entry.extents.end(), global.begin());
  require_all(
      comm.raw(), same_shape && layout.num_ranks() == comm.num_ranks(),
      fmt::format(
          "{}: variable {} has extents {}, the layout {} of {} ranks", state.path, name,
          per_axis(entry.extents, " x "),
          per_axis(std::span(global).first(static_cast<std::size_t>(layout.num_dims())), " x "),
          layout.num_ranks()));
  const Memory dense = Memory::dense(layout.boxes(comm.rank()));
  const bool is_open = given.boxes.empty();
  require_all(comm.raw(), !is_open || dense.boxes.empty() || given.num_items == dense.num_items,
              fmt::format("{}: variable {}: an array of {} items is given, rank {} holds {}",
                          state.path, name, given.num_items, comm.rank(), dense.num_items));
  check_readable(state, entry, type);
  Destination destination(state, dense.num_items * item_bytes(type), data);
  const Memory& final_memory = is_open ? dense : given;
  const Memory& memory = destination.on_device() ? dense : final_memory;
  void* into = destination.data();
  Rounds rounds(state, entry, type);
  const auto plan = rounds.plan(store::wanted_units(rounds.units(), layout), store::piece_bytes);
  for (std::ptrdiff_t round = 0; round < plan.num_rounds(); ++round) {
    const void* source = rounds.read(plan, round);
    const double start_s = now_s();
    std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
    for (std::size_t r = 0; r < state.readers.size(); ++r) {
      boxes[static_cast<std::size_t>(state.readers[r])] =
          rounds.units().boxes(plan.share(round, static_cast<int>(r)));
    }
    const auto shares = from_boxes(entry.extents, std::move(boxes));
    Exchange exchange(comm, Plan(shares, layout, comm.rank()),
                      Memory::dense(shares.boxes(comm.rank())), memory, {item_bytes(type), 1},
                      "untimed");
    exchange.run({&source, 1}, {&into, 1});
    state.move_s += now_s() - start_s;
  }
  const auto boxes = layout.boxes(comm.rank());
  destination.hand_over(boxes, final_memory, item_bytes(type));
}

void Input::read_form(const std::string& name, ItemType type, const Layout& layout,
                      const ArrayForm& form, std::ptrdiff_t num_items, void* data) const {
  Variable variable(name, type, {}, &layout, Memory{{}, num_items}, data);
  variable.form = form;
  run_agreed(state_->comm.raw(), [&] { store::set_memory(variable, state_->comm.rank()); });
  read(name, type, layout, variable.memory, data);
}

void Input::read_all(const std::string& name, ItemType type, void* data) const {
  auto& state = *state_;
  const auto& entry = state.agreed_entry(name, type);
  check_readable(state, entry, type);
  state.make_groups();
  Rounds rounds(state, entry, type);
  std::vector<std::ptrdiff_t> all(static_cast<std::size_t>(rounds.units().count()));
  std::iota(all.begin(), all.end(), std::ptrdiff_t{0});
  // Every share is passed on to all: fewer and larger ones cost fewer reads and broadcasts.
  const auto plan = rounds.plan(std::move(all), state.options.buffer_bytes);
  const auto whole = store::whole_box(entry);
  Destination destination(state, whole.num_items() * item_bytes(type), data);
  auto* into = static_cast<std::byte*>(destination.data());
  std::vector<std::byte> buffer;
  for (std::ptrdiff_t round = 0; round < plan.num_rounds(); ++round) {
    const auto* mine = rounds.read(plan, round);
    const double start_s = now_s();
    for (int r = 0; r < static_cast<int>(state.readers.size()); ++r) {
      const auto boxes = rounds.units().boxes(plan.share(round, r));
      std::ptrdiff_t bytes = 0;
      for (const auto& box : boxes) bytes += box.num_items() * item_bytes(type);
      if (bytes == 0) continue;
      buffer.resize(static_cast<std::size_t>(bytes));
      if (state.is_reader && state.group == r) std::memcpy(buffer.data(), mine, buffer.size());
      if (state.is_reader) broadcast_bytes(state.readers_comm->raw(), buffer.data(), bytes, r);
      broadcast_bytes(state.group_comm->raw(), buffer.data(), bytes, 0);
      place(boxes, whole, item_bytes(type), buffer.data(), into);
    }
    state.move_s += now_s() - start_s;
  }
  const std::array wholes{whole};
  destination.hand_over(wholes, Memory::dense(wholes), item_bytes(type));
}

std::vector<double> Input::coordinate(const std::string& name) const {
  const auto& entry = state_->entry(name);
  const auto refuse = [&](const std::string& why) {
    refuse_input("{}: \"{}\" {}", state_->path, entry.name, why);
  };
  if (!entry.scale) refuse("is not a coordinate");
  if (entry.only_dimension) refuse("is a dimension without a coordinate: it has no values");
  if (entry.extents.size() != 1) refuse("is a coordinate of several dimensions; use `read`");
  require_all_files(*state_, entry);
  std::vector<double> values(static_cast<std::size_t>(entry.extents[0]));
  if (values.empty()) return values;
  Rounds rounds(*state_, entry, ItemType::float64);
  std::memcpy(values.data(), rounds.read_alone(), values.size() * sizeof(double));
  return values;
}

}  // namespace tailrace
