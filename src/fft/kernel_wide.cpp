// SPDX-License-Identifier: BSD-3-Clause
// Kernels of our own for complex panels: J. W. Cooley and J. W. Tukey, Math. Comp. 19 (1965), in
// Stockham's self-sorting order. Radices are as wide as registers allow, so that lines of up to 256
// points take two passes, the first of them in place: a panel of 256 points fills most of a first
// cache, and every pass that goes from one panel to another and back goes through the second.
// Cost: two loads and two stores of each item, and fewer multiplications than with small radices.
// Real lines, and lengths with a prime factor above 7, are left to another library.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace tailrace::fft {

namespace {

template <int value>
using Index = std::integral_constant<int, value>;

/// body(Index<0>), ..., body(Index<count - 1>), so that arrays stay in registers.
template <int count, class Body>
[[gnu::always_inline]] inline void each(Body&& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (body(Index<i>{}), ...);
  }
  (std::make_integer_sequence<int, count>{});
}

/// cos(2 pi k / n), or sin, by Taylor's series about the nearest quarter of a turn.
constexpr double circle(int k, int n, bool sine) {
  k = ((k % n) + n) % n;
  const int quarter = (4 * k + n / 2) / n;
  const long double x =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(4 * k - quarter * n) / (4 * n);
  long double term = 1, c = 0, s = 0;
  for (int i = 0; i < 40; ++i) {
    (i % 2 == 0 ? c : s) += i % 4 < 2 ? term : -term;
    term *= x / (i + 1);
  }
  const std::array<long double, 4> cosines{c, -s, -c, s}, sines{s, c, -s, -c};
  const auto at = static_cast<std::size_t>(quarter % 4);
  return static_cast<double>(sine ? sines[at] : cosines[at]);
}
template <int k, int n>
constexpr double cosine = circle(k, n, false);
template <int k, int n>
constexpr double sine = circle(k, n, true);

template <class Real>
struct Pair {
  Vector<Real> re, im;
};
template <class Real>
[[gnu::always_inline]] inline Pair<Real> operator+(const Pair<Real>& a, const Pair<Real>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class Real>
[[gnu::always_inline]] inline Pair<Real> operator-(const Pair<Real>& a, const Pair<Real>& b) {
  return {a.re - b.re, a.im - b.im};
}
/// a - i b and a + i b.
template <class Real>
[[gnu::always_inline]] inline Pair<Real> minus_i(const Pair<Real>& a, const Pair<Real>& b) {
  return {a.re + b.im, a.im - b.re};
}
template <class Real>
[[gnu::always_inline]] inline Pair<Real> plus_i(const Pair<Real>& a, const Pair<Real>& b) {
  return {a.re - b.im, a.im + b.re};
}
/// a (c - i s)
template <class Real>
[[gnu::always_inline]] inline Pair<Real> turn(const Pair<Real>& a, Real c, Real s) {
  return {a.re * c + a.im * s, a.im * c - a.re * s};
}
/// a exp(-2 pi i k / n)
template <int k, int n, class Real>
[[gnu::always_inline]] inline Pair<Real> turn(const Pair<Real>& a) {
  if constexpr (k == 0) {
    return a;
  } else if constexpr (4 * k == n) {
    return {a.im, -a.re};
  } else {
    return turn(a, static_cast<Real>(cosine<k, n>), static_cast<Real>(sine<k, n>));
  }
}

/// The first factor of a composite radix.
constexpr int first_factor(int radix) {
  if (radix % 4 == 0 && radix > 4) return 4;
  for (int factor = 2; factor * factor <= radix; ++factor) {
    if (radix % factor == 0) return factor;
  }
  return radix;
}

/// x becomes its forward transform.
template <int radix, class Real>
[[gnu::always_inline]] inline void transform(std::array<Pair<Real>, radix>& x) {
  if constexpr (radix == 2) {
    const auto a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  } else if constexpr (radix == 4) {
    const auto a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    x = {a + c, minus_i(b, d), a - c, plus_i(b, d)};
  } else if constexpr (first_factor(radix) == radix) {  // an odd prime
    constexpr int half = radix / 2;
    std::array<Pair<Real>, half> sum, difference;
    const auto first = x[0];
    each<half>([&](auto j) __attribute__((always_inline)) {
      sum[j] = x[j + 1] + x[radix - 1 - j];
      difference[j] = x[j + 1] - x[radix - 1 - j];
      x[0] = x[0] + sum[j];
    });
    each<half>([&](auto k) __attribute__((always_inline)) {
      Pair<Real> even = first, odd{};
      each<half>([&](auto j) __attribute__((always_inline)) {
        constexpr int product = (decltype(j)::value + 1) * (decltype(k)::value + 1);
        constexpr auto c = static_cast<Real>(cosine<product, radix>);
        constexpr auto s = static_cast<Real>(sine<product, radix>);
        even = {even.re + c * sum[j].re, even.im + c * sum[j].im};
        odd = {odd.re + s * difference[j].re, odd.im + s * difference[j].im};
      });
      x[k + 1] = minus_i(even, odd);
      x[radix - 1 - k] = plus_i(even, odd);
    });
  } else {
    constexpr int a = first_factor(radix), b = radix / a;
    std::array<Pair<Real>, radix> inner;
    each<b>([&](auto j) __attribute__((always_inline)) {
      std::array<Pair<Real>, a> part;
      each<a>([&](auto i) __attribute__((always_inline)) { part[i] = x[b * i + j]; });
      transform<a, Real>(part);
      each<a>([&](auto k) __attribute__((always_inline)) {
        inner[a * j + k] = turn<decltype(j)::value* decltype(k)::value, radix>(part[k]);
      });
    });
    each<a>([&](auto k) __attribute__((always_inline)) {
      std::array<Pair<Real>, b> part;
      each<b>([&](auto j) __attribute__((always_inline)) { part[j] = inner[a * j + k]; });
      transform<b, Real>(part);
      each<b>([&](auto j) __attribute__((always_inline)) { x[k + a * j] = part[j]; });
    });
  }
}

/// A pass over a line of `before` x radix x `after` points, [before][radix][after] -> [radix]
/// [before][after]; `factors` are (cos, sin) of each i of `after` and each j > 0 of radix.
template <class Real>
struct Pass {
  using Run = void (*)(const Pass& pass, const Real* from, Real* to);
  std::ptrdiff_t radix = 1, before = 1, after = 1;
  std::vector<Real> factors;
  Run forward = nullptr, backward = nullptr;
};

/// The compiler is not to work out all places from the first, which takes more registers than there
/// are.
template <class Real>
[[gnu::always_inline]] inline void keep(Real*& place) {
  asm("" : "+r"(place));
}

/// Backward is forward with real and imaginary parts exchanged.
template <int radix, bool turns, Direction direction, class Real>
void run_pass(const Pass<Real>& pass, const Real* from, Real* to) {
  constexpr auto re = direction == Direction::forward ? 0 : lanes<Real>, im = lanes<Real> - re;
  const auto before = pass.before, after = turns ? pass.after : 1;
  const auto in_step = after * unit<Real>, out_step = before * after * unit<Real>;
  for (std::ptrdiff_t k = 0; k < before; ++k) {
    const auto* factors = pass.factors.data();
    for (std::ptrdiff_t i = 0; i < after; ++i) {
      const Real* in = from + (k * radix * after + i) * unit<Real>;
      std::array<Pair<Real>, radix> x;
      each<radix>([&](auto j) __attribute__((always_inline)) {
        x[j] = {load(in + re), load(in + im)};
        in += in_step;
        keep(in);
      });
      transform<radix, Real>(x);
      Real* out = to + (k * after + i) * unit<Real>;
      each<radix>([&](auto j) __attribute__((always_inline)) {
        if constexpr (turns && decltype(j)::value > 0) {
          x[j] = turn(x[j], factors[2 * j - 2], factors[2 * j - 1]);
        }
        store(out + re, x[j].re);
        store(out + im, x[j].im);
        out += out_step;
        keep(out);
      });
      factors += 2 * (radix - 1);
    }
  }
}

constexpr std::array radices{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18};

template <int radix, bool turns, class Real>
void set_runs(Pass<Real>& pass) {
  pass.forward = run_pass<radix, turns, Direction::forward, Real>;
  pass.backward = run_pass<radix, turns, Direction::backward, Real>;
}
template <class Real>
void set_runs(Pass<Real>& pass) {
  each<static_cast<int>(radices.size())>([&](auto i) {
    constexpr int radix = radices[i];
    if (pass.radix != radix) return;
    pass.after > 1 ? set_runs<radix, true>(pass) : set_runs<radix, false>(pass);
  });
}

/// The fewest radices whose product is n, and of those the ones whose largest is smallest; empty if
/// there are none.
std::vector<int> radices_of(std::ptrdiff_t n) {
  std::vector<int> best;
  for (const int radix : radices) {
    if (n % radix != 0) continue;
    std::vector<int> found{radix};
    if (n > radix) {
      const auto rest = radices_of(n / radix);
      if (rest.empty()) continue;
      found.insert(found.begin(), rest.begin(), rest.end());
    }
    const auto cost = [](const std::vector<int>& list) {
      return std::pair(list.size(), std::ranges::max(list));
    };
    if (best.empty() || cost(found) < cost(best)) best = std::move(found);
  }
  return best;
}

template <class Real>
class WideKernel : public Kernel<Real> {
 public:
  WideKernel(std::ptrdiff_t n, const std::vector<int>& factors) : n_(n) {
    std::ptrdiff_t before = 1;
    for (const int radix : factors) {
      auto& pass = passes_.emplace_back();
      pass.radix = radix;
      pass.before = before;
      pass.after = n / (before * radix);
      for (std::ptrdiff_t i = 0; i < pass.after; ++i) {
        for (std::ptrdiff_t j = 1; j < radix; ++j) {
          const auto k = static_cast<int>(i * j * before % n);
          pass.factors.push_back(static_cast<Real>(circle(k, static_cast<int>(n), false)));
          pass.factors.push_back(static_cast<Real>(circle(k, static_cast<int>(n), true)));
        }
      }
      set_runs(pass);
      before *= radix;
    }
  }

  Real* run(Direction direction, Real* panel, Real* scratch) const override {
    for (const auto& pass : passes_) {
      Real* to = pass.before == 1 ? panel : scratch;  // the first writes where it reads
      (direction == Direction::forward ? pass.forward : pass.backward)(pass, panel, to);
      if (to == scratch) std::swap(panel, scratch);
    }
    return panel;
  }
  std::ptrdiff_t scratch_items() const override { return n_ * unit<Real>; }

 private:
  std::ptrdiff_t n_;
  std::vector<Pass<Real>> passes_;
};

const KernelLibrary& others() {
  return *find_kernel_library(ducc_available() ? "ducc0" : fftw_available() ? "fftw" : "mkl");
}

template <class Real>
std::unique_ptr<Kernel<Real>> make_wide(std::ptrdiff_t n, bool real) {
  constexpr std::ptrdiff_t most = 1 << 16;  // factors of a longer line fill caches
  const auto factors = real || n > most ? std::vector<int>() : radices_of(n);
  if (factors.empty()) return others().make<Real>(n, real);
  return std::make_unique<WideKernel<Real>>(n, factors);
}

}  // namespace

bool wide_available() { return ducc_available() || fftw_available() || mkl_available(); }
std::unique_ptr<Kernel<float>> make_wide_float(std::ptrdiff_t n, bool real) {
  return make_wide<float>(n, real);
}
std::unique_ptr<Kernel<double>> make_wide_double(std::ptrdiff_t n, bool real) {
  return make_wide<double>(n, real);
}

}  // namespace tailrace::fft
