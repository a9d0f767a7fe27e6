// SPDX-License-Identifier: BSD-3-Clause
#include "blas/chooser.hpp"

#include <omp.h>
#include <pthread.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "chooser/environment.hpp"
#include "chooser/tuning_is_off.hpp"

namespace tailrace::blas {

namespace {

// libgomp's threads are not there after a fork.
bool has_forked = false;

/// 1 to 16 as they are, then four classes an octave.
std::uint64_t class_of(std::int64_t extent) {
  const auto n = static_cast<std::uint64_t>(extent);
  if (n <= 16) return n;
  const auto octave = static_cast<std::uint64_t>(std::bit_width(n) - 1);
  return 4 * octave + ((n >> (octave - 2)) & 3);
}

std::size_t place_of(std::uint64_t key) {
  return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 52);
}

std::string text_of(std::uint64_t key, const void* own) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%016llx ", static_cast<unsigned long long>(key));
  return text.data() + file_name_of(own);
}

}  // namespace

int blas_threads() {
  const char* const old = renamed_environment("TAILRACE_BLAS_THREADS", "OPENBLAS_NUM_THREADS");
  if (old != nullptr && std::atoi(old) > 0) return std::atoi(old);
  for (const char* name :
       {"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 0) return std::atoi(value);
  }
  return omp_get_num_procs();
}

bool always_library() {
  static const bool always = [] {
    const char* const value = environment("TAILRACE_BLAS");
    constexpr std::array<std::string_view, 1> words{"library"};
    report_ignored("TAILRACE_BLAS", unknown_word(value, words), "library");
    return tuning_is_off() || (value != nullptr && std::string_view(value) == "library");
  }();
  return always;
}

ShapeChooser& shape_chooser() {
  // Calls may come from destructors. Libraries that the user names are wanted sooner.
  constexpr auto before = ShapeChooser::work_before_libraries;
  static auto& it = *new ShapeChooser(
      blas_threads(), environment("TAILRACE_BLAS_LIBRARIES") != nullptr ? before / 10 : before);
  static const int at_exit = std::atexit([] { it.remember(); });
  static_cast<void>(at_exit);
  return it;
}

ShapeChooser::ShapeChooser(int threads, std::int64_t before_libraries)
    : threads_(threads),
      before_libraries_(before_libraries),
      machine_(machine_of_choices(threads)),
      remembered_(recall_choices(machine_)),
      slots_(std::make_unique<std::array<std::atomic<Slot*>, num_slots>>()) {
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { has_forked = true; });
  static_cast<void>(at_fork);
  if (knows_of_libraries()) before_libraries_ /= 4;  // they have paid before
}

ShapeChooser::~ShapeChooser() {
  for (auto& slot : *slots_) delete slot.load();
}

/// Whether an earlier run has chosen another library for something.
bool ShapeChooser::knows_of_libraries() const {
  for (const auto& [calls, variant] : remembered_) {
    if (variant.find(".so") != std::string::npos) return true;
  }
  return false;
}

std::uint64_t ShapeChooser::key_of(const Shape& shape, unsigned routine, bool due) {
  const auto head = std::uint64_t{routine} << 8 | (shape.flags & 0xffU) | 1U << 13;
  return (due ? with_libraries : 0) | head << 48 | class_of(shape.m) << 32 |
         class_of(shape.n) << 16 | class_of(shape.k);
}

ShapeVerdict* ShapeChooser::verdict_of(std::uint64_t key) const {
  for (auto place = place_of(key);; place = (place + 1) % num_slots) {
    auto* const slot = (*slots_)[place].load(std::memory_order_acquire);
    if (slot == nullptr) return nullptr;
    if (slot->key == key) return &slot->verdict;
  }
}

ShapeVerdict* ShapeChooser::add(std::uint64_t key, std::vector<BlasVariant> variants,
                                const void* own) {
  const std::unique_lock lock(adding_, std::try_to_lock);  // held for ever where a fork met it
  if (!lock || used_ > num_slots / 2) return nullptr;
  auto place = place_of(key);
  for (; (*slots_)[place].load() != nullptr; place = (place + 1) % num_slots) {
    if ((*slots_)[place].load()->key == key) return &(*slots_)[place].load()->verdict;
  }
  const auto calls = text_of(key & ~with_libraries, own);
  int chosen = -1;
  if (const auto known = remembered_.find(calls); known != remembered_.end()) {
    for (std::size_t w = 0; w < variants.size(); ++w) {
      if (variants[w].name == known->second) chosen = static_cast<int>(w);
    }
  }
  ++used_;
  auto* const slot = new Slot{key, calls, ShapeVerdict(std::move(variants), chosen)};
  (*slots_)[place].store(slot, std::memory_order_release);
  return &slot->verdict;
}

void ShapeChooser::open_libraries() {
  const std::unique_lock lock(opening_, std::try_to_lock);
  if (!lock || opened_.load()) return;
  libraries_ = open_blas_libraries(threads_);
  opened_.store(true, std::memory_order_release);
}

double ShapeChooser::seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool ShapeChooser::forked() { return has_forked; }

int ShapeChooser::threads_now(int threads) {
  return has_forked || omp_in_parallel() != 0 ? 1 : threads;
}

ShapeVerdict::Account ShapeChooser::account() const {
  ShapeVerdict::Account all{0, 0, 0};
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

std::map<std::string, std::int64_t> ShapeChooser::by_variant() const {
  std::map<std::string, std::int64_t> found;
  for (const auto& entry : *slots_) {
    const auto* const slot = entry.load();
    if (slot == nullptr || slot->verdict.chosen() <= 0) continue;
    const auto& variants = slot->verdict.variants();
    const auto& variant = variants[static_cast<std::size_t>(slot->verdict.chosen())];
    found[variant.name] += slot->verdict.account().ours;
  }
  return found;
}

std::vector<std::string> ShapeChooser::left_out() const {
  return opened_.load(std::memory_order_acquire) ? libraries_.left_out : std::vector<std::string>{};
}

void ShapeChooser::remember() const {
  if (!opened_.load(std::memory_order_acquire) || has_forked) return;
  chooser::Winners learned;
  for (const auto& entry : *slots_) {
    const auto* const slot = entry.load();
    const bool all_tried =
        slot != nullptr && ((slot->key & with_libraries) != 0) != libraries_.usable.empty();
    if (!all_tried || slot->verdict.chosen() < 0 || slot->verdict.variants().size() == 1) continue;
    const auto& variant =
        slot->verdict.variants()[static_cast<std::size_t>(slot->verdict.chosen())];
    const auto before = remembered_.find(slot->calls);
    if (before == remembered_.end() || before->second != variant.name)
      learned[slot->calls] = variant.name;
  }
  remember_choices(machine_, learned);
}

}  // namespace tailrace::blas
