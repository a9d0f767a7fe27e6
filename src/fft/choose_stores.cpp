// SPDX-License-Identifier: BSD-3-Clause
// A stage writes units that lie far apart; what it writes is next read from memory, if there is
// more of it than a cache holds. Written past the caches, a line is not read before it is written:
// of three transfers two are left. Whether that is faster depends on the processor, the size of its
// caches and the shape of what is written, so it is measured for each stage, on all ranks at once,
// as they share the memory, with the 1D transforms between that the stage makes: where they would
// wait for stores, what these alone take says little. The kinds are those of the table of copies
// whose units are one line: a transform's own units are as long as its registers make them.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/method_table.hpp"
#include "mode_rows.hpp"
#include "route.hpp"
#include "stores.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/lanes.hpp"
#include "tailrace/more/tune.hpp"
#include "tune/sample.hpp"

namespace tailrace::fft {

namespace {

// Smaller blocks are read again from a cache.
constexpr std::ptrdiff_t least_bytes = 2 << 20;
// Arrays of callers seldom begin on a line.
constexpr std::ptrdiff_t array_offset = 16;

const std::vector<StoreInfo>& kinds() {
  static const auto list = [] {
    std::vector<StoreInfo> infos;
    for (const auto& kind : copy_kinds()) {
      if (kind.lines == 1) infos.push_back({kind.name, kind.summary, "always; measured"});
    }
    return infos;
  }();
  return list;
}

/// As many blocks, or units of each row of the only one, as are enough; more blocks than there are
/// where they would be read again from a cache, which the transform, that touches `touched` bytes
/// in between, does not.
ScatteredUnits enough_of(ScatteredUnits shape, std::ptrdiff_t touched) {
  if (shape.bytes() == 0) return shape;
  const auto block_bytes = shape.rows * shape.row_bytes;
  const auto enough = tune::beyond_caches();
  const auto wanted = std::max(shape.bytes(), std::min(touched, enough)) / block_bytes;
  shape.blocks = std::min(std::max(shape.blocks, wanted), enough / block_bytes + 1);
  const auto column = std::max<std::ptrdiff_t>(shape.rows * shape.unit_bytes, 1);
  shape.units = std::min(shape.units, enough / column + 1);
  return shape;
}

class StoreTrial : public tune::Trial {
 public:
  StoreTrial(std::shared_ptr<Buffer> memory, const ScatteredUnits& shape, Stores stores)
      : memory_(std::move(memory)),
        shape_(shape),
        stores_(stores),
        panel_(shape.unit_bytes),
        gathered_(shape.gathered  ? shape.rows * shape.row_bytes
                  : shape.carried ? shape.rows * static_cast<std::ptrdiff_t>(simd_bytes)
                                  : 0) {
    std::fill_n(panel_.as<double>(), panel_.bytes() / items, 0.5);
  }

  void run() override {
    for (std::ptrdiff_t b = 0; b < shape_.blocks; ++b) write_block(b);
    fence_stores();
    read();
  }
  std::uint64_t checksum() override { return static_cast<std::uint64_t>(sum_ * 2); }

 private:
  static constexpr auto items = static_cast<std::ptrdiff_t>(sizeof(double));

  std::byte* block(std::ptrdiff_t index) const {
    const auto offset = shape_.gathered || shape_.carried ? array_offset : 0;
    return memory_->data() + offset + index * shape_.rows * shape_.row_bytes;
  }
  void write_block(std::ptrdiff_t index) {
    auto* out = block(index);
    const bool streams = stores_ == Stores::streaming;
    if (streams && shape_.carried) return write_carried(out);
    if (shape_.gathered) shape_.compute();
    if (!shape_.gathered) {
      return streams ? write<store_past_caches<double>>(out) : write<store<double>>(out);
    }
    if (!streams) return write<store<double>>(out);
    write<store<double>>(gathered_.data());
    copy_loops().front()->stream_rows({}, {}, shape_.rows * shape_.row_bytes, gathered_.data(),
                                      out);
  }
  void write_carried(std::byte* block) {
    const auto num_kx = shape_.row_bytes / (2 * items);
    const auto* panel = panel_.as<double>();
    ModeRows<double> rows(num_kx, gathered_.as<double>());
    for (std::ptrdiff_t kx0 = 0; kx0 < num_kx; kx0 += lanes<double>) {
      shape_.compute();
      for (std::ptrdiff_t index = 0; index < shape_.rows; ++index) {
        auto* row = reinterpret_cast<double*>(block + index * shape_.row_bytes);
        rows.put(row, index, kx0, load(panel), load(panel + lanes<double>));
      }
    }
  }
  template <void (*put)(double*, Vector<double>)>
  void write(std::byte* block) {
    const bool fetches = stores_ == Stores::fetched;
    for (std::ptrdiff_t unit = 0; unit < shape_.units; ++unit) {
      for (std::ptrdiff_t index = 0; index < shape_.rows; ++index) {
        if (!shape_.gathered && index % shape_.rows_at_once == 0) shape_.compute();
        auto* out = block + index * shape_.row_bytes + unit * shape_.unit_bytes;
        if (fetches && index + fetch_distance < shape_.rows) {
          fetch_unit(out + fetch_distance * shape_.row_bytes, shape_.unit_bytes);
        }
        for (std::ptrdiff_t at = 0; at < shape_.unit_bytes; at += lanes<double> * items) {
          put(reinterpret_cast<double*>(out + at),
              load(reinterpret_cast<const double*>(panel_.data() + at)));
        }
      }
    }
  }
  void read() {
    Vector<double> sum{};
    const auto count = shape_.units * shape_.unit_bytes / items;
    for (std::ptrdiff_t b = 0; b < shape_.blocks; ++b) {
      for (std::ptrdiff_t index = 0; index < shape_.rows; ++index) {
        const auto* row = reinterpret_cast<const double*>(block(b) + index * shape_.row_bytes);
        for (std::ptrdiff_t i = 0; i + lanes<double> <= count; i += lanes<double>) {
          sum += load(row + i);
        }
      }
    }
    sum_ = 0;
    for (std::ptrdiff_t lane = 0; lane < lanes<double>; ++lane) sum_ += sum[lane];
  }

  std::shared_ptr<Buffer> memory_;
  ScatteredUnits shape_;
  Stores stores_;
  Buffer panel_, gathered_;
  double sum_ = 0;
};

/// Of a transform that touches `touched` bytes on this rank.
Stores measure(const Comm& comm, const char* what, const ScatteredUnits& shape,
               std::ptrdiff_t touched) {
  std::array<std::ptrdiff_t, 5> most{shape.bytes(), shape.blocks, shape.rows, shape.units, touched};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 5, MPI_INT64_T, MPI_MAX, comm.raw()));
  if (most[0] < least_bytes) return Stores::ordinary;
  const auto part = enough_of(shape, most[4]);
  tune::Problem problem;
  problem.operation = "fft stores";
  problem.key =
      fmt::format("{} between transforms: {} blocks of {} rows of {} units of {} bytes, {} MB",
                  what, most[1], most[2], most[3], shape.unit_bytes, most[4] >> 20);
  problem.fallback = kinds().front().name;
  problem.fallback_why = "not measured here";
  problem.memory_bytes = part.bytes();
  tune::Settings settings;
  run_agreed(comm.raw(), [&] { settings = tune::Settings::from_environment(); });
  settings.budget_s /= 8;
  std::shared_ptr<Buffer> memory;  // the same for all: nothing of it is kept between runs
  std::vector<tune::Candidate> candidates;
  for (const auto& kind : kinds()) {
    const auto stores = find_copy_kind(kind.name)->stores;
    if (stores == Stores::fetched && (shape.gathered || shape.carried)) continue;
    candidates.push_back({std::string(kind.name), [&, stores] {
                            if (!memory) {
                              memory = std::make_shared<Buffer>(part.bytes() + array_offset);
                            }
                            return std::make_unique<StoreTrial>(memory, part, stores);
                          }});
  }
  return find_copy_kind(tune::choose(comm, problem, candidates, settings).name)->stores;
}

std::string_view name_of(Stores stores) {
  return std::ranges::find(copy_kinds(), stores, &CopyKind::stores)->name;
}

}  // namespace

std::span<const StoreInfo> store_kinds() { return kinds(); }

StageShapes stage_shapes(const Geometry& g, std::size_t real_bytes,
                         const StageTransforms& transforms) {
  const auto item = static_cast<std::ptrdiff_t>(real_bytes);
  const auto w = static_cast<std::ptrdiff_t>(simd_bytes) / item;  // lanes
  const auto unit_bytes = 2 * w * item;
  const auto fields = g.problem.max_fields;
  const auto num_kx = g.kxs().count;
  const auto rows = g.kys().count * num_groups(num_kx, w) * fields;
  StageShapes shapes;
  shapes.columns = {1,          rows,  g.zs().count, padded(g.zs().count) * unit_bytes,
                    unit_bytes, false, false,        transforms.y,
                    g.y.kept()};
  if (g.py > 1) {
    const auto kx_groups = num_groups(g.x.kept(), w);
    shapes.rows = {g.zs().count * fields,
                   kx_groups,
                   g.ys().count / w,
                   padded(g.ys().count) * unit_bytes,
                   w * unit_bytes,
                   false,
                   false,
                   transforms.x,
                   kx_groups};
  }
  shapes.modes = {g.kys().count, g.z.kept(), num_kx / w,   2 * num_kx * item, unit_bytes,
                  false,         true,       transforms.z, g.z.kept()};
  const auto row = g.x.points * (g.real() ? 1 : 2);
  shapes.fields = {g.zs().count * (g.ys().count / w),
                   w,
                   row / w,
                   row * item,
                   w * item,
                   true,
                   false,
                   transforms.x};
  return shapes;
}

StageStores choose_stores(const Comm& comm, const std::string& name, const StageShapes& shapes) {
  if (name == "auto") {
    const auto kind = [&](const char* what, const ScatteredUnits& shape) {
      return measure(comm, what, shape, shapes.bytes());
    };
    return {kind("columns", shapes.columns), kind("rows", shapes.rows), kind("modes", shapes.modes),
            kind("fields", shapes.fields)};
  }
  const bool known = std::ranges::find(kinds(), name, &StoreInfo::name) != kinds().end();
  require_all(
      comm.raw(), known,
      fmt::format("unknown stores `{}`; there are: {}", name, names_instead(name, kinds())));
  const auto stores = find_copy_kind(name)->stores;
  return {stores, stores, stores, stores};
}

std::string describe(const StageStores& stores) {
  const auto [columns, rows, modes, fields] = stores;
  if (stores == StageStores{columns, columns, columns, columns}) {
    return std::string(name_of(columns));
  }
  return fmt::format("{} for columns, {} for rows, {} for modes, {} for fields", name_of(columns),
                     name_of(rows), name_of(modes), name_of(fields));
}

}  // namespace tailrace::fft
