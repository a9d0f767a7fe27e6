// SPDX-License-Identifier: BSD-3-Clause
// A program that calls ScaLAPACK and knows nothing of libtailrace_lapack.so: pdgesv, pdposv and
// what may follow them, compared with pdgetrf, which nobody takes unless asked; compiled with
// COMPLEX_ITEMS the same of pzgesv and pzposv. With the argument `pairs`: pdgetrf and pdgetrs, or
// pzgetrf and pzgetrs. Every rank has the whole system and checks it in long double.
#include <functional>
#include <limits>
#include <string_view>

#include "refine_words.hpp"
#include "scalapack_systems.hpp"

namespace {

using namespace scalapack_test;

void general(const Grid& grid) {
  for (const auto& [n, nrhs, block] : {std::array{105, 2, 8}, {97, 1, 16}, {101, 60, 12}}) {
    doing = std::to_string(n) + " rows, " + std::to_string(nrhs) + " columns";
    Program p(grid, normal_items(n, n, 1), normal_items(n, nrhs, 2), block);
    p.gesv();
    check_answer(p, "pdgesv");
    require(factor_error(p) < 1e-2, "factors that are none of A");
    for (unsigned seed = 3; seed < 21; ++seed) {  // at some of them, factors are made again
      p.set_b(normal_items(n, nrhs, seed));
      p.getrs("N");
      if (seed % 4 == 0) check_answer(p, "pdgetrs after pdgesv", 4);
    }
    require(factor_error(p) < factor_limit_after_many_solves(1e-2), "factors after many solves");
    // Of many columns Debian's ScaLAPACK 2.2.1 loses its place among messages, by itself, too.
    Program t(grid, normal_items(n, n, 4), normal_items(n, 1, 5), block);
    t.gesv();
    t.set_b(t.whole_b);
    t.getrs("T");
    t.whole_a = transposed(t.whole_a);
    check_answer(t, "pdgetrs, transposed", 4);
    Program c(grid, normal_items(n, n, 4), normal_items(n, 1, 5), block);
    c.gesv();
    c.set_b(c.whole_b);
    c.getrs("C");
    c.whole_a = transposed(c.whole_a);
    for (Item& item : c.whole_a.items) item = conjugate(item);
    check_answer(c, "pdgetrs, conjugate transposed", 4);
  }
}

void factors_used(const Grid& grid) {
  doing = "factors";
  Program p(grid, normal_items(110, 110, 6), normal_items(110, 1, 7));
  p.gesv();
  Vector work(40000);
  std::vector<int> ints(4000);
  const int size = 40000;
  const int size_ints = 4000;
  getri(&p.n, p.a.items.data(), &one, &one, p.a.descriptor.data(), p.pivots.data(), work.data(),
        &size, ints.data(), &size_ints, &p.info);
  Whole unit(p.n, p.n);
  for (int i = 0; i < p.n; ++i) unit.at(i, i) = 1;
  require(p.info == 0 && backward_error(p.whole_a, p.a.whole(), unit) < 1e-13, "pdgetri");
  // Factors that are copied, and solved with where they were not made.
  Program r(grid, normal_items(110, 110, 10), normal_items(110, 1, 11));
  r.gesv();
  Program copy = r;
  std::fill(r.a.items.begin(), r.a.items.end(), 3.0);
  copy.set_b(normal_items(110, 1, 12));
  copy.getrs("N");
  check_answer(copy, "pdgetrs with a copy", 4);
}

/// On one rank: on more, pdgerfs of Debian's ScaLAPACK 2.2.1 loses its place by itself (pdlacon).
void improved(const Grid& grid) {
  doing = "pdgerfs";
  Program q(grid, normal_items(110, 110, 8), normal_items(110, 1, 9));
  q.gesv();
  const BlockCyclic a(grid, q.whole_a, 8);
  const BlockCyclic b(grid, q.whole_b, 8);
  Vector work(40000);
  std::vector<More> more(4000);
  const int size = 40000;
  const int size_of_more = 4000;
  std::vector<double> forward(110);
  std::vector<double> backward(110);
  gerfs("N", &q.n, &q.nrhs, a.items.data(), &one, &one, a.descriptor.data(), q.a.items.data(), &one,
        &one, q.a.descriptor.data(), q.pivots.data(), b.items.data(), &one, &one,
        b.descriptor.data(), q.b.items.data(), &one, &one, q.b.descriptor.data(), forward.data(),
        backward.data(), work.data(), &size, more.data(), &size_of_more, &q.info, 1);
  check_answer(q, "pdgerfs after pdgesv", 4);
  require(factor_error(q) < 1e-11, "factors for pdgerfs");
}

void symmetric(const Grid& grid, const char* uplo) {
  doing = std::string("triangle ") + uplo;
  const int n = 107;
  const bool lower = *uplo != 'U';
  const auto a = definite(n, 13);
  // The other triangle is not read and not written.
  auto half = a;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      if (lower ? i < j : i > j) half.at(i, j) = -1000;
    }
#ifdef COMPLEX_ITEMS
    half.at(j, j).imag(1e4);  // not read
#endif
  }
  Program p(grid, half, normal_items(n, 2, 14));
  const auto check = [&](const char* what, double slack) {
    p.whole_a = a;
    check_answer(p, what, slack);
  };
  p.posv(uplo);
  check("pdposv", 1.05);
  const auto check_factors = [&](double largest) {
    const auto f = p.a.whole();
    double worst = 0;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        if (lower ? i < j : i > j) {
          require(f.at(i, j) == -1000.0, "the other triangle was written");
          continue;
        }
        Item sum = 0;
        for (int k = 0; k <= std::min(i, j); ++k) {
          sum += lower ? f.at(i, k) * conjugate(f.at(j, k)) : conjugate(f.at(k, i)) * f.at(k, j);
        }
        worst = std::max(worst, std::abs(sum - a.at(i, j)));
      }
    }
    require(worst < largest, "factors of pdposv");
  };
  check_factors(1e-2);
  for (unsigned seed = 15; seed < 33; ++seed) {
    p.set_b(normal_items(n, 2, seed));
    p.potrs(uplo);
    if (seed % 4 == 0) check("pdpotrs after pdposv", 4);
  }
  check_factors(1e-9);
  Program q(grid, half, normal_items(n, 1, 40));
  q.posv(uplo);
  potri(uplo, &q.n, q.a.items.data(), &one, &one, q.a.descriptor.data(), &q.info, 1);
  auto inverse = q.a.whole();
  Whole unit(n, n);
  for (int j = 0; j < n; ++j) {
    unit.at(j, j) = 1;
    for (int i = 0; i < n; ++i) {
      if (lower ? i < j : i > j) inverse.at(i, j) = conjugate(inverse.at(j, i));
    }
  }
  require(q.info == 0 && backward_error(a, inverse, unit) < 1e-13, "pdpotri after pdposv");
}

void not_solvable(const Grid& grid) {
  doing = "systems that cannot be solved, or hardly";
  auto a = normal_items(120, 120, 41);
  for (int i = 0; i < 120; ++i) a.at(i, 70) = 0;
  Program p(grid, a, normal_items(120, 1, 42));
  p.gesv();
  require(p.info == 71 && p.b.whole().items == p.whole_b.items, "pdgesv of a singular matrix");
  // Of whole numbers: pivots that are 0 in double precision are not in single.
  auto integers = normal_items(120, 120, 43);
  for (Item& item : integers.items) item = std::round(1e4 * std::real(item));
  for (int i = 0; i < 120; ++i) integers.at(i, 119) = integers.at(i, 3) + integers.at(i, 50);
  Program w(grid, integers, normal_items(120, 1, 44));
  w.gesv();
  Program of_theirs(grid, integers, w.whole_b);
  of_theirs.getrf();
  require(w.info == of_theirs.info, "pdgesv of a matrix without full rank");
  if (w.info == 0) check_answer(w, "pdgesv of a matrix without full rank");
  Program hopeless(grid, conditioned(130, 1e13, 45), normal_items(130, 1, 46));
  hopeless.gesv();
  check_answer(hopeless, "a hopeless system");
  require(factor_error(hopeless) < 1e-13, "factors of a hopeless system");
  auto h = definite(107, 47);
  h.at(60, 60) = -1;
  Program q(grid, h, normal_items(107, 1, 48));
  q.posv("U");
  require(q.info > 0 && q.info <= 61 && q.b.whole().items == q.whole_b.items,
          "pdposv of an indefinite matrix");
  for (const bool in_a : {true, false}) {
    Program r(grid, normal_items(110, 110, 49), normal_items(110, 1, 50));
    (in_a ? r.a : r.b).items[0] = std::numeric_limits<double>::quiet_NaN();
    Program theirs = r;
    theirs.getrf();
    if (theirs.info == 0) theirs.getrs("N");
    r.gesv();
    require(r.info == theirs.info, "info with NaN");
    require(is_finite(r.b) == is_finite(theirs.b), "NaN");
    require(in_a || !is_finite(r.b), "NaN in B");
  }
}

void wrong_arguments(const Grid& grid, bool last) {
  doing = "wrong arguments";
  const Program fresh(grid, normal_items(110, 110, 51), normal_items(110, 3, 52));
  const auto info_of = [&](const std::function<void(Program&)>& spoil) {
    Program p = fresh;
    spoil(p);
    p.gesv();
    require(p.b.items == fresh.b.items, "a refused call wrote to B");
    return p.info;
  };
  require(info_of([](Program& p) { p.n = -1; }) == -1, "n");
  require(info_of([](Program& p) { p.nrhs = -1; }) == -2, "nrhs");
  require(info_of([](Program& p) { p.a.descriptor[0] = 9; }) == -601, "type of descriptor");
  require(info_of([](Program& p) { p.a.descriptor[4] = 9; }) < -600, "blocks that are not square");
  require(info_of([](Program& p) { p.b.descriptor[4] = 9; }) < -1000, "blocks of B");
  require(info_of([](Program& p) { p.a.descriptor[8] = 0; }) == -609, "leading dimension");
  require(info_of([&](Program& p) {
            if (last) p.b.descriptor[0] = 0;
          }) == -1101,
          "a descriptor that is wrong on one rank");
  Program p = fresh;
  p.n = 0;
  p.gesv();
  require(p.info == 0 && p.b.items == fresh.b.items, "no rows");
}

/// The system of a part of A, from its second block on.
void part_of_a_matrix(const Grid& grid) {
  doing = "a part of a matrix";
  const Program whole(grid, normal_items(136, 136, 53), normal_items(136, 1, 54));
  Program p = whole;
  const int n = 128;
  const int from = 9;
  gesv(&n, &p.nrhs, p.a.items.data(), &from, &from, p.a.descriptor.data(), p.pivots.data(),
       p.b.items.data(), &from, &one, p.b.descriptor.data(), &p.info);
  Whole a(n, n);
  Whole b(n, 1);
  Whole x(n, 1);
  const auto found = p.b.whole();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) a.at(i, j) = whole.whole_a.at(i + 8, j + 8);
    b.at(i, 0) = whole.whole_b.at(i + 8, 0);
    x.at(i, 0) = found.at(i + 8, 0);
  }
  require(p.info == 0 && backward_error(a, x, b) < 1e-14, "pdgesv of a part");
}

/// The same array for one system after the other, and the same system in two arrays.
void one_array(const Grid& grid) {
  doing = "one array";
  Program p(grid, normal_items(115, 115, 55), normal_items(115, 1, 56));
  const auto again = [&] {
    p.a.set(p.whole_a);
    p.b.set(p.whole_b);
    p.gesv();
    check_answer(p, "pdgesv, another system");
  };
  for (unsigned seed = 60; seed < 64; ++seed) {
    p.whole_a = normal_items(115, 115, seed);
    again();
  }
  again();
  p.getrs("N");  // of the answer
  p.whole_b = [&] {
    Program reference(grid, p.whole_a, p.whole_b);
    reference.getrf();
    reference.getrs("N");
    return reference.b.whole();
  }();
  check_answer(p, "pdgetrs after that", 4);
  Program second(grid, p.whole_a, normal_items(115, 1, 65));
  second.gesv();
  Program first = p;
  for (int k = 0; k < 3; ++k) {
    second.set_b(normal_items(115, 1, 66));
    second.getrs("N");
    check_answer(second, "pdgetrs in the second array", 4);
    p.set_b(normal_items(115, 1, 67));
    p.getrs("N");
    check_answer(p, "pdgetrs in the first array", 4);
  }
}

/// A grid without the last rank, which ScaLAPACK refuses.
void rank_outside(int rank, int ranks) {
  doing = "a rank outside of the grid";
  MPI_Comm inside = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == ranks - 1 ? 1 : 0, rank, &inside);
  Grid grid(MPI_COMM_WORLD, 1, ranks - 1);
  grid.comm = inside;
  require((grid.context < 0) == (rank == ranks - 1), "the context");
  if (grid.context >= 0) {
    Program p(grid, normal_items(104, 104, 91), normal_items(104, 1, 92));
    p.gesv();
    check_answer(p, "pdgesv without one rank");
    Cblacs_gridexit(grid.context);
  } else {
    const Grid alone(MPI_COMM_SELF, 1, 1);
    Program p(alone, normal_items(104, 104, 91), normal_items(104, 1, 92));
    const auto before = p.b.items;
    p.a.descriptor[1] = p.b.descriptor[1] = grid.context;
    p.gesv();
    require(p.info == -602 && p.b.items == before, "pdgesv outside of the grid");
    Cblacs_gridexit(alone.context);
  }
  MPI_Comm_free(&inside);
}

/// Small systems of all kinds: none may have a wrong answer.
void random_systems(const Grid& grid, unsigned count) {
  std::mt19937_64 random(70);
  const auto up_to = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  for (unsigned k = 0; k < count; ++k) {
    const int n = 1 + up_to(24);
    const int kind = up_to(6);
    doing = "random system " + std::to_string(k);
    auto a = normal_items(n, n, 1000 + k);
    if (kind == 1) a = conditioned(n, std::pow(10, 1 + up_to(14)), 1000 + k);
    if (kind == 2) a.items[static_cast<std::size_t>(up_to(n * n))] = HUGE_VAL;
    if (kind == 3) {
      const int column = up_to(n);
      for (int i = 0; i < n; ++i) a.at(i, column) = 0;
    }
    if (kind == 4) a = definite(n, 1000 + k);
    if (kind == 5) {
      for (Item& item : a.items) item *= std::pow(10, up_to(60) - 30);
    }
    const auto b = normal_items(n, 1 + up_to(5), 2000 + k);
    Program p(grid, a, b, 1 + up_to(12));
    Program reference = p;
    reference.getrf();
    if (kind == 4 && up_to(2) == 1) {
      p.posv("L");
    } else {
      p.gesv();
    }
    require(p.info == reference.info, "info");
    if (p.info != 0) {
      require(p.b.whole().items == b.items, "B of what cannot be solved");
    } else if (kind == 2) {
      reference.getrs("N");
      require(is_finite(p.b) == is_finite(reference.b), "infinity");
    } else {
      check_answer(p, "a random system");
    }
  }
}

/// Factors, and right-hand sides that come later.
void pairs(const Grid& grid) {
  constexpr double limit = 1e-15;  // of an answer by refinement, or by factors in double precision
  const auto check = [](const Program& p, const Whole& a, const char* what) {
    const double error = backward_error(a, p.b.whole(), p.whole_b);
    if (!(error <= limit)) std::printf("%.3g\n", error);
    require(p.info == 0 && error <= limit, what);
    require(p.a.gaps_are_whole() && p.b.gaps_are_whole(), "written beside the matrix");
  };
  for (const auto& [n, nrhs, block] : {std::array{105, 2, 8}, {97, 1, 16}, {101, 20, 12}}) {
    doing = "pairs, " + std::to_string(n) + " rows";
    Program p(grid, normal_items(n, n, 101), normal_items(n, nrhs, 102), block);
    p.getrf();
    require(p.info == 0 && factor_error(p) < 1e-2, "factors of pdgetrf");
    for (unsigned seed = 103; seed < 121; ++seed) {
      p.set_b(normal_items(n, nrhs, seed));
      p.getrs("N");
      if (seed % 4 == 0) check(p, p.whole_a, "pdgetrs after pdgetrf");
    }
    require(factor_error(p) < factor_limit_after_many_solves(1e-2), "factors after many solves");
    Program t(grid, normal_items(n, n, 121), normal_items(n, 1, 122), block);
    t.getrf();
    t.getrs("T");
    check(t, transposed(t.whole_a), "pdgetrs, transposed, after pdgetrf");
    require(factor_error(t) < 1e-11, "factors for the transpose");
  }
  doing = "pairs that are ScaLAPACK's";
  auto singular = normal_items(120, 120, 123);
  for (int i = 0; i < 120; ++i) singular.at(i, 70) = 0;
  Program s(grid, singular, normal_items(120, 1, 124));
  s.getrf();
  require(s.info == 71, "info of pdgetrf");
  Program hopeless(grid, conditioned(130, 1e13, 125), normal_items(130, 1, 126));
  hopeless.getrf();
  require(hopeless.info == 0 && factor_error(hopeless) < 1e-13, "factors of a hopeless matrix");
  hopeless.getrs("N");
  check(hopeless, hopeless.whole_a, "a hopeless system");
  Program tall(grid, normal_items(120, 120, 127), normal_items(120, 1, 128));
  Program wide = tall;
  const int fewer = 100;
  getrf(&tall.n, &fewer, tall.a.items.data(), &one, &one, tall.a.descriptor.data(),
        tall.pivots.data(), &tall.info);
  require(tall.info == 0 && factor_error(tall, tall.n, fewer) < 1e-11, "a tall matrix");
  getrf(&fewer, &wide.n, wide.a.items.data(), &one, &one, wide.a.descriptor.data(),
        wide.pivots.data(), &wide.info);
  require(wide.info == 0 && factor_error(wide, fewer, wide.n) < 1e-11, "a wide matrix");
  const int from = 9;
  Program part(grid, normal_items(128, 128, 129), normal_items(128, 1, 130));
  const int n = 120;
  getrf(&n, &n, part.a.items.data(), &from, &from, part.a.descriptor.data(), part.pivots.data(),
        &part.info);
  getrs("N", &n, &one, part.a.items.data(), &from, &from, part.a.descriptor.data(),
        part.pivots.data(), part.b.items.data(), &from, &one, part.b.descriptor.data(), &part.info,
        1);
  Whole a(n, n);
  Whole b(n, 1);
  Whole x(n, 1);
  const auto found = part.b.whole();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) a.at(i, j) = part.whole_a.at(i + 8, j + 8);
    b.at(i, 0) = part.whole_b.at(i + 8, 0);
    x.at(i, 0) = found.at(i + 8, 0);
  }
  require(part.info == 0 && backward_error(a, x, b) < 1e-14, "factors of a part");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rows = ranks == 4 ? 2 : 1;
  const Grid grid(MPI_COMM_WORLD, rows, ranks / rows);
  const Grid upright(MPI_COMM_WORLD, ranks, 1);
  const Grid flat(MPI_COMM_WORLD, 1, ranks);
  if (argc > 1 && std::string_view(argv[1]) == "pairs") {
    for (const Grid* on : {&grid, &upright}) pairs(*on);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("all is right\n");
    std::fflush(stdout);
    MPI_Finalize();
    return 0;
  }
  general(grid);
  factors_used(grid);
  for (const char* uplo : {"L", "U", "l"}) symmetric(grid, uplo);
  not_solvable(grid);
  wrong_arguments(grid, rank == ranks - 1);
  part_of_a_matrix(grid);
  one_array(grid);
  random_systems(grid, 120);
  for (const Grid* on : {&upright, &flat}) random_systems(*on, 30);
  if (ranks > 1) rank_outside(rank, ranks);
  // Each rank for itself, then together again.
  const Grid alone(MPI_COMM_SELF, 1, 1);
  doing = "a grid of one rank";
  Program p(alone, normal_items(100, 100, 80 + static_cast<unsigned>(rank)),
            normal_items(100, 1, 90));
  p.gesv();
  check_answer(p, "pdgesv on a grid of one rank");
  improved(alone);
  Cblacs_gridexit(alone.context);
  factors_used(upright);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("all is right\n");
  std::fflush(stdout);  // before the lines of libraries at the end
  MPI_Finalize();
}
