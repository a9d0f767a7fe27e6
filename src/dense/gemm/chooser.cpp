// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gemm/chooser.hpp"

#include <omp.h>
#include <pthread.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <string_view>

namespace tailrace::dense {

namespace {

constexpr double flops_for_threads = 2e6;

// libgomp's threads are not there after a fork.
bool forked = false;

/// 1 to 16 as they are, then four classes an octave.
std::uint64_t class_of(std::ptrdiff_t extent) {
  const auto n = static_cast<std::uint64_t>(extent);
  if (n <= 16) return n;
  const auto octave = static_cast<std::uint64_t>(std::bit_width(n) - 1);
  return 4 * octave + ((n >> (octave - 2)) & 3);
}

template <class T>
std::uint64_t key_of(const Gemm<T>& g) {
  const std::uint64_t flags =
      (g.a_transposed ? 1U : 0U) + (g.b_transposed ? 2U : 0U) + (g.beta == T{} ? 4U : 0U) + 8U;
  return flags << 48 | class_of(g.m) << 32 | class_of(g.n) << 16 | class_of(g.k);
}

std::size_t place_of(std::uint64_t key) {
  return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 52);
}

}  // namespace

int gemm_threads() {
  for (const char* name : {"TAILRACE_BLAS_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
                           "MKL_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 0) return std::atoi(value);
  }
  return omp_get_num_procs();
}

bool always_library() {
  static const bool always = [] {
    const char* const value = std::getenv("TAILRACE_BLAS");
    return value != nullptr && std::string_view(value) == "library";
  }();
  return always;
}

template <class T>
GemmChooser<T>::GemmChooser(int threads)
    : threads_(threads), slots_(std::make_unique<std::array<std::atomic<Slot*>, num_slots>>()) {
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  static_cast<void>(at_fork);
}

template <class T>
GemmChooser<T>::~GemmChooser() {
  for (auto& slot : *slots_) delete slot.load();
}

template <class T>
GemmVerdict* GemmChooser<T>::verdict_of(const Gemm<T>& product) {
  const auto key = key_of(product);
  for (auto place = place_of(key);; place = (place + 1) % num_slots) {
    auto* const slot = (*slots_)[place].load(std::memory_order_acquire);
    if (slot == nullptr) return add(key, product);
    if (slot->key == key) return &slot->verdict;
  }
}

template <class T>
GemmVerdict* GemmChooser<T>::add(std::uint64_t key, const Gemm<T>& product) {
  const std::unique_lock lock(adding_, std::try_to_lock);  // held for ever where a fork met it
  if (!lock || used_ > num_slots / 2) return nullptr;
  auto place = place_of(key);
  for (; (*slots_)[place].load() != nullptr; place = (place + 1) % num_slots) {
    if ((*slots_)[place].load()->key == key) return &(*slots_)[place].load()->verdict;
  }
  std::vector<GemmWay> ways{{GemmMethod::library, threads_}};
  const double flops = 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                       static_cast<double>(product.k);
  for (const auto method : {GemmMethod::packed, GemmMethod::direct, GemmMethod::inner}) {
    if (!worth_trying(method, product)) continue;
    ways.push_back({method, 1});
    if (threads_ > 1 && flops > flops_for_threads) ways.push_back({method, threads_});
  }
  ++used_;
  auto* const slot = new Slot{key, GemmVerdict(std::move(ways))};
  (*slots_)[place].store(slot, std::memory_order_release);
  return &slot->verdict;
}

template <class T>
double GemmChooser<T>::seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
void GemmChooser<T>::run_way(const GemmWay& way, const Gemm<T>& product) {
  run_gemm(way.method, product, forked || omp_in_parallel() != 0 ? 1 : way.threads);
}

template <class T>
GemmVerdict::Account GemmChooser<T>::account() const {
  GemmVerdict::Account all{0, 0, 0};
  for (const auto& entry : *slots_) {
    const auto* const slot = entry.load();
    if (slot == nullptr) continue;
    const auto one = slot->verdict.account();
    all.calls += one.calls;
    all.ours += one.ours;
    all.gained_s += one.gained_s;
  }
  return all;
}

template class GemmChooser<double>;
template class GemmChooser<float>;

}  // namespace tailrace::dense
