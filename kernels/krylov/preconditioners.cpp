// SPDX-License-Identifier: BSD-3-Clause
// What a rank does with its own rows in its own columns, without a word to others. Over the ranks
// all of them are block Jacobi, so ILU(0) and ICC(0) need more iterations on more ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/same_on_all.hpp"
#include "krylov/agreed.hpp"
#include "sparse/coupled_incomplete_lu.hpp"
#include "tailrace/krylov.hpp"
#include "tailrace/more/block_incomplete_lu.hpp"
#include "tailrace/more/incomplete_lu.hpp"

namespace tailrace::sparse {

namespace {

/// Calls visit(block row, place of its block on the diagonal).
template <class Visit>
void for_each_diagonal_block(const DistMatrix::Diagonal& a, Visit visit) {
  for (std::size_t row = 0; row + 1 < a.row_starts.size(); ++row) {
    const auto begin = a.block_columns.begin() + a.row_starts[row];
    const auto end = a.block_columns.begin() + a.row_starts[row + 1];
    const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(row));
    if (found == end || *found != static_cast<std::int32_t>(row)) {
      throw Error(Errc::invalid_input,
                  fmt::format("preconditioner: local block row {} has no block on the diagonal; "
                              "one is needed in each row",
                              row));
    }
    visit(row, static_cast<std::size_t>(found - a.block_columns.begin()));
  }
}

/// Item (r, c) of block k, which is in block row `row`.
double item_of(const DistMatrix::Diagonal& a, std::size_t b, std::size_t row, std::size_t k,
               std::size_t r, std::size_t c) {
  if (a.blocks.empty()) return a.values[(k * b + r) * b + c];
  const bool diagonal = a.block_columns[k] == static_cast<std::int32_t>(row);
  return (r == c ? a.values[k] : 0) + (diagonal ? a.blocks[(row * b + c) * b + r] : 0);
}

/// What applies to vectors of a matrix: lengths are checked here.
class OfMatrix : public Preconditioner {
 public:
  explicit OfMatrix(const DistMatrix& a) : a_(a) {}
  void apply(std::span<const double> r, std::span<double> z) final {
    const auto items = static_cast<std::size_t>(num_local_items());
    const bool right = r.size() == items && z.size() == items;
    if (!true_on_all(a_.comm(), right)) {
      require_all(a_.comm().raw(), right,
                  fmt::format("preconditioner: r has {} items and z {}; this rank has {} of a "
                              "vector",
                              r.size(), z.size(), items));
    }
    apply_unchecked(r, z);
  }
  std::ptrdiff_t num_local_items() const override { return a_.num_local_items(); }

 protected:
  const DistMatrix& a_;
};

class Identity final : public OfMatrix {
 public:
  Identity(const DistMatrix& a, const PreconditionerOptions&) : OfMatrix(a) {}
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    std::copy(r.begin(), r.end(), z.begin());
  }
  std::string describe() const override { return "none"; }
};

class Jacobi final : public OfMatrix {
 public:
  Jacobi(const DistMatrix& a, const PreconditionerOptions&) : OfMatrix(a) { update(); }
  void update() override {
    run_agreed_sparse(a_.comm().raw(), [this] {
      const auto diagonal = a_.local_diagonal();
      const auto b = static_cast<std::size_t>(a_.block());
      inverse_.resize(static_cast<std::size_t>(a_.num_local_items()));
      for_each_diagonal_block(diagonal, [&](std::size_t row, std::size_t k) {
        for (std::size_t r = 0; r < b; ++r) {
          const double value = item_of(diagonal, b, row, k, r, r);
          inverse_[row * b + r] = 1 / value;
          if (value != 0 && std::isfinite(value) && std::isfinite(1 / value)) continue;
          throw Error(Errc::invalid_input,
                      fmt::format("jacobi: local row {} has {} on the diagonal; it must be finite "
                                  "and not zero",
                                  row * b + r, value));
        }
      });
    });
  }
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    for (std::size_t i = 0; i < inverse_.size(); ++i) z[i] = inverse_[i] * r[i];
  }
  std::string describe() const override { return "jacobi"; }

 private:
  std::vector<double> inverse_;
};

class BlockJacobi final : public OfMatrix {
 public:
  BlockJacobi(const DistMatrix& a, const PreconditionerOptions&) : OfMatrix(a) { update(); }
  void update() override {
    run_agreed_sparse(a_.comm().raw(), [this] {
      const auto diagonal = a_.local_diagonal();
      const auto b = static_cast<std::size_t>(a_.block());
      inverse_.resize(static_cast<std::size_t>(a_.num_local_rows()) * b * b);
      for_each_diagonal_block(diagonal, [&](std::size_t row, std::size_t k) {
        double* block = inverse_.data() + row * b * b;
        for (std::size_t i = 0; i < b * b; ++i) {
          block[i] = item_of(diagonal, b, row, k, i / b, i % b);
        }
        if (invert_block(a_.block(), block)) return;
        throw Error(Errc::invalid_input,
                    fmt::format("block_jacobi: the block on the diagonal of local block row {} is "
                                "singular or not finite",
                                row));
      });
    });
  }
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    const auto b = static_cast<std::size_t>(a_.block());
    for (std::size_t row = 0; row < static_cast<std::size_t>(a_.num_local_rows()); ++row) {
      for (std::size_t i = 0; i < b; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < b; ++j) {
          sum += inverse_[(row * b + i) * b + j] * r[row * b + j];
        }
        z[row * b + i] = sum;
      }
    }
  }
  std::string describe() const override {
    return fmt::format("block_jacobi, blocks of {0} x {0}", a_.block());
  }

 private:
  std::vector<double> inverse_;
};

/// Options that keep the schedule of factors made before: it is timed once.
IncompleteLuOptions options_of(const std::optional<IncompleteLu>& before) {
  IncompleteLuOptions options;
  if (before) {
    const auto storage = before->storage();
    options.schedule = storage.substr(0, storage.find(','));
  }
  return options;
}

class Ilu0 final : public OfMatrix {
 public:
  Ilu0(const DistMatrix& a, const PreconditionerOptions&) : OfMatrix(a) { update(); }
  void update() override {
    run_agreed_sparse(a_.comm().raw(), [this] { factor(); });
  }
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    if (coupled_) {
      coupled_->solve(a_.local_diagonal().values.data(), r.data(), z.data());
    } else if (blocks_) {
      blocks_->solve(r, z);
    } else {
      items_->solve(r, z);
    }
  }
  std::string describe() const override {
    if (items_) return "ilu0 by rank, " + items_->storage();
    return fmt::format("ilu0 by rank, blocks of {0} x {0}{1}", a_.block(),
                       coupled_ ? ", coupled by numbers" : "");
  }

 private:
  void factor() {
    const auto a = a_.local_diagonal();
    if (!a.blocks.empty()) {
      if (!coupled_) coupled_.emplace(a_.block(), a.row_starts, a.block_columns);
      coupled_->factor(a.values.data(), a.blocks.data());
      return;
    }
    if (a_.block() > 1) {
      if (blocks_) {
        blocks_->set_values(a.values);
      } else {
        blocks_.emplace(a_.block(), a.row_starts, a.block_columns, a.values);
      }
      return;
    }
    const std::vector<std::int64_t> columns(a.block_columns.begin(), a.block_columns.end());
    items_.emplace(a.row_starts, columns, a.values, options_of(items_));
  }

  std::optional<IncompleteLu> items_;  ///< of blocks of one item
  std::optional<BlockIncompleteLu> blocks_;
  std::optional<CoupledIncompleteLu> coupled_;  ///< of coupled values
};

/// The blocks as a matrix of items.
Csr items_of(const DistMatrix& matrix) {
  const auto a = matrix.local_diagonal();
  const auto b = static_cast<std::size_t>(matrix.block());
  const auto rows = matrix.num_local_items();
  Csr made{rows, rows, {0}, {}, {}};
  made.row_starts.reserve(static_cast<std::size_t>(rows) + 1);
  made.column_indices.reserve(a.block_columns.size() * b * b);
  made.values.reserve(a.block_columns.size() * b * b);
  for (std::size_t item = 0; item < static_cast<std::size_t>(rows); ++item) {
    for (auto k = a.row_starts[item / b]; k < a.row_starts[item / b + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      for (std::size_t c = 0; c < b; ++c) {
        made.column_indices.push_back(a.block_columns[at] * matrix.block() +
                                      static_cast<std::int32_t>(c));
        made.values.push_back(item_of(a, b, item / b, at, item % b, c));
      }
    }
    made.row_starts.push_back(std::ssize(made.values));
  }
  return made;
}

class Icc0 final : public OfMatrix {
 public:
  Icc0(const DistMatrix& a, const PreconditionerOptions&) : OfMatrix(a) { update(); }
  void update() override {
    run_agreed_sparse(a_.comm().raw(), [this] {
      const auto a = items_of(a_);
      const std::vector<std::int64_t> columns(a.column_indices.begin(), a.column_indices.end());
      const std::span<const std::int64_t> starts(a.row_starts);
      factors_ = IncompleteLu::cholesky(starts, columns, a.values, options_of(factors_));
    });
  }
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    factors_->solve(r, z);
  }
  std::string describe() const override {
    const auto text = "icc0 by rank, " + factors_->storage();
    if (factors_->shift() == 0) return text;
    return text + fmt::format(", diagonal larger by {:.3g} of itself", factors_->shift());
  }

 private:
  std::optional<IncompleteLu> factors_;
};

class Milu0 final : public OfMatrix {
 public:
  Milu0(const DistMatrix& a, const PreconditionerOptions& options)
      : OfMatrix(a), modified_(options.modified) {
    update();
  }
  void update() override {
    run_agreed_sparse(a_.comm().raw(), [this] {
      const auto a = items_of(a_);
      const std::vector<std::int64_t> columns(a.column_indices.begin(), a.column_indices.end());
      auto options = options_of(factors_);
      options.modified = modified_;
      factors_.emplace(std::span<const std::int64_t>(a.row_starts), columns, a.values, options);
    });
  }
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    factors_->solve(r, z);
  }
  std::string describe() const override {
    return fmt::format("milu0 by rank, {} of the fill kept, {}", modified_, factors_->storage());
  }

 private:
  double modified_;
  std::optional<IncompleteLu> factors_;
};

/// One forward and one backward sweep from z = 0. With E = D / relaxation this is
/// z = (2 - relaxation) (E + U)^-1 E (E + L)^-1 r: factors I + L E^-1 and (E + U) scaled, in the
/// schedules of ILU(0).
class GaussSeidel final : public OfMatrix {
 public:
  GaussSeidel(const DistMatrix& a, const PreconditionerOptions& options)
      : OfMatrix(a), relaxation_(options.relaxation) {
    update();
  }
  void update() override {
    run_agreed_sparse(a_.comm().raw(), [this] {
      sweeps_ = IncompleteLu::from_factors(factors(), options_of(sweeps_));
    });
  }
  void apply_unchecked(std::span<const double> r, std::span<double> z) override {
    sweeps_->solve(r, z);
  }
  std::string describe() const override {
    return fmt::format("gauss_seidel by rank, relaxation {}, {}", relaxation_, sweeps_->storage());
  }

 private:
  Csr factors() const {
    if (!(relaxation_ > 0 && relaxation_ < 2)) {
      throw Error(Errc::invalid_input,
                  fmt::format("gauss_seidel: relaxation is {}; it must be above 0 and below 2",
                              relaxation_));
    }
    const auto a = a_.local_diagonal();
    const auto b = static_cast<std::size_t>(a_.block());
    std::vector<double> inverse(static_cast<std::size_t>(a_.num_local_items()));  // of E
    for_each_diagonal_block(a, [&](std::size_t row, std::size_t k) {
      for (std::size_t r = 0; r < b; ++r) {
        const double value = item_of(a, b, row, k, r, r);
        inverse[row * b + r] = relaxation_ / value;
        if (value != 0 && std::isfinite(value) && std::isfinite(1 / value)) continue;
        throw Error(Errc::invalid_input,
                    fmt::format("gauss_seidel: local row {} has {} on the diagonal; it must be "
                                "finite and not zero",
                                row * b + r, value));
      }
    });
    const double scale = 1 / (2 - relaxation_);
    auto made = items_of(a_);
    for (std::size_t item = 0; item < inverse.size(); ++item) {
      for (auto k = made.row_starts[item]; k < made.row_starts[item + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const auto column = static_cast<std::size_t>(made.column_indices[at]);
        if (column == item) made.values[at] /= relaxation_;
        made.values[at] *= column < item ? inverse[column] : scale;
      }
    }
    return made;
  }

  double relaxation_;
  std::optional<IncompleteLu> sweeps_;
};

template <class Made>
std::unique_ptr<Preconditioner> make(const DistMatrix& a, const PreconditionerOptions& options) {
  return std::make_unique<Made>(a, options);
}

struct PreconditionerLine {
  PreconditionerInfo info;
  std::unique_ptr<Preconditioner> (*make)(const DistMatrix&, const PreconditionerOptions&);
};
constexpr std::array preconditioners_table{
    PreconditionerLine{{"none", "z = r"}, make<Identity>},
    PreconditionerLine{{"jacobi", "the diagonal"}, make<Jacobi>},
    PreconditionerLine{{"block_jacobi", "the blocks on the diagonal, inverted"}, make<BlockJacobi>},
    PreconditionerLine{{"ilu0", "ILU(0) by blocks, of each rank's rows in its own columns"},
                       make<Ilu0>},
    PreconditionerLine{
        {"milu0", "ILU(0) by items, with the dropped fill added to the diagonal; A an M-matrix"},
        make<Milu0>},
    PreconditionerLine{
        {"icc0", "ICC(0) by items, of each rank's rows in its own columns; A symmetric"},
        make<Icc0>},
    PreconditionerLine{
        {"gauss_seidel", "a forward and a backward sweep, of each rank's rows in its own columns"},
        make<GaussSeidel>},
};

}  // namespace

std::unique_ptr<Preconditioner> make_preconditioner(const DistMatrix& a, std::string_view name,
                                                    const PreconditionerOptions& options) {
  const std::array names_given{CommonArgument{"name", std::string(name)}};
  require_same(a.comm(), "make_preconditioner", names_given);
  std::string names;
  for (const auto& line : preconditioners_table) {
    if (line.info.name == name) {
      auto made = line.make(a, options);  // says what is wrong with an option
      const std::array numbers{CommonArgument{"relaxation", fmt::format("{}", options.relaxation)},
                               CommonArgument{"modified", fmt::format("{}", options.modified)}};
      require_same(a.comm(), "make_preconditioner", numbers);
      return made;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", line.info.name);
  }
  // All ranks come here, or the others wait in `make`, which meets them by the same agreement.
  run_agreed_sparse(a.comm().raw(), [&] {
    throw Error(Errc::invalid_input,
                fmt::format("preconditioner is \"{}\"; it must be one of {}", name, names));
  });
  return nullptr;
}

std::span<const PreconditionerInfo> preconditioners() {
  static const auto infos = [] {
    std::array<PreconditionerInfo, preconditioners_table.size()> made;
    std::ranges::transform(preconditioners_table, made.begin(), &PreconditionerLine::info);
    return made;
  }();
  return infos;
}

}  // namespace tailrace::sparse
