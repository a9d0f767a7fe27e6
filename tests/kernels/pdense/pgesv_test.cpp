// SPDX-License-Identifier: BSD-3-Clause
// Systems over ranks, beside ScaLAPACK's pdgesv (the rung fp64): errors in long double.
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "tailrace/error.hpp"
#include "tailrace/more/pgesv.hpp"

namespace tailrace::dense::test {
namespace {

using Vector = std::vector<double>;

/// The whole system, on every rank; row-major.
struct Whole {
  std::ptrdiff_t n, nrhs;
  Vector a, b;
};

/// Normal items; `condition` above 1: columns of nearly the same direction.
Whole random_whole(std::ptrdiff_t n, std::ptrdiff_t nrhs, double condition, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Whole w{n, nrhs, Vector(static_cast<std::size_t>(n * n)),
          Vector(static_cast<std::size_t>(n * nrhs))};
  for (double& item : w.a) item = normal(random);
  for (double& item : w.b) item = normal(random);
  for (std::ptrdiff_t i = 0; condition > 1 && i < n; ++i) {
    for (std::ptrdiff_t j = 1; j < n; ++j) {
      auto& item = w.a[static_cast<std::size_t>(i * n + j)];
      item = w.a[static_cast<std::size_t>(i * n)] + item / condition;
    }
  }
  return w;
}

Vector part_of(const Vector& whole, std::ptrdiff_t columns, const Layout& layout, int rank) {
  Vector part;
  for (const auto& box : layout.boxes(rank)) {
    for (std::ptrdiff_t i = 0; i < box.extents[0]; ++i) {
      for (std::ptrdiff_t j = 0; j < box.extents[1]; ++j) {
        part.push_back(
            whole[static_cast<std::size_t>((box.start[0] + i) * columns + box.start[1] + j)]);
      }
    }
  }
  return part;
}

/// The parts of all ranks, put together on each.
Vector gathered(const Comm& comm, const Vector& part, std::ptrdiff_t columns, std::size_t items,
                const Layout& layout) {
  Vector whole(items, 0.0);
  std::size_t next = 0;
  for (const auto& box : layout.boxes(comm.rank())) {
    for (std::ptrdiff_t i = 0; i < box.extents[0]; ++i) {
      for (std::ptrdiff_t j = 0; j < box.extents[1]; ++j) {
        whole[static_cast<std::size_t>((box.start[0] + i) * columns + box.start[1] + j)] =
            part[next++];
      }
    }
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, whole.data(), static_cast<int>(items), MPI_DOUBLE, MPI_SUM,
                          comm.raw()));
  return whole;
}

/// Normwise, of the worst column, in long double.
double backward_error(const Whole& w, const Vector& x) {
  long double norm = 0;
  for (std::ptrdiff_t i = 0; i < w.n; ++i) {
    long double row = 0;
    for (std::ptrdiff_t j = 0; j < w.n; ++j) {
      row += std::abs(w.a[static_cast<std::size_t>(i * w.n + j)]);
    }
    norm = std::max(norm, row);
  }
  long double worst = 0;
  for (std::ptrdiff_t c = 0; c < w.nrhs; ++c) {
    long double left = 0;
    long double size = 0;
    long double given = 0;
    for (std::ptrdiff_t i = 0; i < w.n; ++i) {
      long double r = w.b[static_cast<std::size_t>(i * w.nrhs + c)];
      given = std::max(given, std::abs(r));
      size = std::max<long double>(size, std::abs(x[static_cast<std::size_t>(i * w.nrhs + c)]));
      for (std::ptrdiff_t j = 0; j < w.n; ++j) {
        r -= static_cast<long double>(w.a[static_cast<std::size_t>(i * w.n + j)]) *
             x[static_cast<std::size_t>(j * w.nrhs + c)];
      }
      left = std::max(left, std::abs(r));
    }
    worst = std::max(worst, left / (norm * size + given));
  }
  return static_cast<double>(worst);
}

struct Solved {
  Certificate certificate;
  Vector x, part;
};

Solved solve(const Comm& comm, const Whole& w, const Layout& a, const Layout& b,
             const PgesvOptions& options) {
  Solved s;
  s.part = part_of(w.b, w.nrhs, b, comm.rank());
  s.certificate = pgesv(comm, a, part_of(w.a, w.n, a, comm.rank()), b, s.part, options);
  s.x = gathered(comm, s.part, w.nrhs, w.b.size(), b);
  return s;
}

Layout rows_of(std::ptrdiff_t rows, std::ptrdiff_t columns, const Comm& comm) {
  const std::array extents{rows, columns};
  return slabs(extents, 0, comm.num_ranks());
}
Layout columns_of(std::ptrdiff_t rows, std::ptrdiff_t columns, const Comm& comm) {
  const std::array extents{rows, columns};
  return slabs(extents, 1, comm.num_ranks());
}

TEST(Pgesv, AsGoodAsPdgesv) {
  const Comm comm(MPI_COMM_WORLD);
  for (const auto& [n, nrhs, block] :
       {std::tuple<int, int, int>{1, 1, 64}, {9, 2, 2}, {97, 3, 8}, {200, 1, 64}, {150, 70, 16}}) {
    for (const double condition : {1.0, 1e3}) {
      SCOPED_TRACE(std::to_string(n) + " rows, blocks of " + std::to_string(block) +
                   ", condition " + std::to_string(condition));
      const auto w = random_whole(n, nrhs, condition, 5);
      PgesvOptions options;
      options.block = block;
      const auto a = rows_of(n, n, comm);
      const auto b = columns_of(n, nrhs, comm);
      const auto ours = solve(comm, w, a, b, options);
      options.lowest = Rung::fp64;
      const auto theirs = solve(comm, w, rows_of(n, n, comm), rows_of(n, nrhs, comm), options);
      EXPECT_EQ(ours.certificate.info, 0);
      EXPECT_EQ(ours.certificate.rung, Rung::fp32) << ours.certificate.attempts[0].outcome;
      EXPECT_EQ(theirs.certificate.rung, Rung::fp64);
      const double error = backward_error(w, ours.x);
      EXPECT_LE(error, std::max(1.05 * backward_error(w, theirs.x), 0x1p-52));
      EXPECT_NEAR(ours.certificate.backward_error, error, 1e-15);
    }
  }
}

TEST(Pgesv, AnyGridAndBlocksGiveTheSame) {
  const Comm comm(MPI_COMM_WORLD);
  const auto w = random_whole(60, 2, 1, 6);
  const auto a = rows_of(60, 60, comm);
  const auto b = rows_of(60, 2, comm);
  const auto first = solve(comm, w, a, b, {});
  const int ranks = comm.num_ranks();
  for (const auto& grid : {std::array{1, ranks}, std::array{ranks, 1}}) {
    for (const std::ptrdiff_t block : {1, 7, 100}) {
      PgesvOptions options;
      options.grid = grid;
      options.block = block;
      // Blocks that are where ScaLAPACK wants them already, too.
      const auto own = block_cyclic({60, 60}, block, grid);
      const auto other = solve(comm, w, own, b, options);
      for (std::size_t i = 0; i < first.x.size(); ++i) {
        ASSERT_NEAR(other.x[i], first.x[i], 1e-11);
      }
    }
  }
}

TEST(Pgesv, EndsInDoublePrecision) {
  const Comm comm(MPI_COMM_WORLD);
  const auto w = random_whole(80, 1, 1e13, 7);
  const auto a = rows_of(80, 80, comm);
  const auto b = rows_of(80, 1, comm);
  PgesvOptions options;
  options.block = 16;
  const auto whole = solve(comm, w, a, b, options);
  EXPECT_EQ(whole.certificate.rung, Rung::fp64);
  EXPECT_EQ(whole.certificate.attempts.size(), 2U);
  EXPECT_LE(backward_error(w, whole.x), 1e-14);
  options.highest = Rung::fp32;
  const auto low = solve(comm, w, a, b, options);
  EXPECT_EQ(low.certificate.info, -1);
  EXPECT_EQ(low.part, part_of(w.b, 1, b, comm.rank()));
}

TEST(Pgesv, SingularAndNotFinite) {
  const Comm comm(MPI_COMM_WORLD);
  auto w = random_whole(40, 1, 1, 8);
  for (std::size_t i = 0; i < 40; ++i) w.a[i * 40 + 17] = 0;
  const auto a = rows_of(40, 40, comm);
  const auto b = rows_of(40, 1, comm);
  PgesvOptions options;
  options.block = 8;
  const auto singular = solve(comm, w, a, b, options);
  EXPECT_EQ(singular.certificate.info, 18);
  EXPECT_EQ(singular.part, part_of(w.b, 1, b, comm.rank()));
  w = random_whole(40, 1, 1, 8);
  w.b[33] = HUGE_VAL;
  EXPECT_EQ(solve(comm, w, a, b, options).certificate.rung, Rung::fp64);
  w = random_whole(40, 1, 1, 8);
  w.a[5 * 40 + 6] = std::nan("");
  EXPECT_EQ(solve(comm, w, a, b, options).certificate.rung, Rung::fp64);
}

TEST(Pgesv, RefusesBadInputOnAllRanksTogether) {
  const Comm comm(MPI_COMM_WORLD);
  const bool here = comm.rank() == comm.num_ranks() - 1;
  const auto w = random_whole(12, 2, 1, 9);
  const auto refusal = [&](const Layout& a, const Layout& b, std::ptrdiff_t more,
                           const PgesvOptions& options) {
    Vector items(static_cast<std::size_t>(a.num_items(comm.rank())), 1.0);
    Vector right(static_cast<std::size_t>(b.num_items(comm.rank()) + more), 1.0);
    try {
      pgesv(comm, a, items, b, right, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  const auto expect = [](const std::string& got, const std::string& text) {
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  const auto a = rows_of(12, 12, comm);
  const auto b = rows_of(12, 2, comm);
  expect(refusal(rows_of(12, 11, comm), b, 0, {}), "A is 12 x 11");
  expect(refusal(a, rows_of(11, 2, comm), 0, {}), "B is 11 x 2; A has 12 rows");
  expect(refusal(a, b, here ? 1 : 0, {}), "b has ");
  PgesvOptions options;
  options.max_steps = here ? 0 : 30;
  expect(refusal(a, b, 0, options), "max_steps is 0");
  options = {};
  options.grid = {5, 7};
  expect(refusal(a, b, 0, options), "grid is 5 x 7");
  options = {};
  options.block = 0;
  expect(refusal(a, b, 0, options), "block is 0");
  if (comm.num_ranks() > 1) {  // what is right by itself, but differs
    expect(refusal(a, rows_of(12, here ? 0 : 2, comm), 0, {}), "right-hand sides must be the same");
    expect(refusal(here ? rows_of(13, 13, comm) : a, here ? rows_of(13, 2, comm) : b, 0, {}),
           "rows must be the same");
    options = {};
    options.block = here ? 3 : 4;
    expect(refusal(a, b, 0, options), "block must be the same");
    options = {};
    options.lowest = here ? Rung::fp64 : Rung::fp32;
    expect(refusal(a, b, 0, options), "lowest must be the same");
    options = {};
    options.max_steps = here ? 3 : 4;
    expect(refusal(a, b, 0, options), "max_steps must be the same");
  }
  EXPECT_THROW(block_cyclic({4, 4}, 0, {1, 1}), Error);
  EXPECT_EQ(solve(comm, random_whole(0, 1, 1, 1), rows_of(0, 0, comm), rows_of(0, 1, comm), {})
                .certificate.info,
            0);
}

}  // namespace
}  // namespace tailrace::dense::test
