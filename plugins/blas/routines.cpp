// SPDX-License-Identifier: BSD-3-Clause
#include "routines.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>

#include "chooser/environment.hpp"
#include "chooser/tuning_is_off.hpp"

namespace tailrace::blas {

const Site& find_site(const Family& family, void* caller, const char* routine) {
  using Key = std::tuple<void*, const Family*, std::string_view>;
  static std::mutex mutex;
  static auto& known = *new std::map<Key, std::unique_ptr<Site>>;
  const std::scoped_lock lock(mutex);
  auto& site = known[{caller, &family, routine}];
  if (!site) {
    const std::string prefix = family.prefix, name = routine;
    site = std::make_unique<Site>(
        Site{caller, lapack::find_routine(caller, prefix + name + family.suffix),
             lapack::find_routine(caller, prefix + "cblas_" + name + family.lapacke_suffix),
             lapack::has_wide_integers(family, caller)});
  }
  return *site;
}

void give_up(const char* routine) {
  std::fprintf(stderr, "tailrace: %s: the BLAS of this program was not found\n", routine);
  std::abort();
}

namespace {

/// Says at the end what was done, unless TAILRACE_BLAS_SUMMARY is 0.
__attribute__((destructor)) void report() {
  const char* const wanted = environment("TAILRACE_REPORT", "TAILRACE_BLAS_SUMMARY");
  const bool is_quiet = wanted != nullptr && std::string_view(wanted) == "0";
  if (tuning_is_off() && !is_quiet) {
    std::fputs("tailrace: BLAS: TAILRACE_TUNE=off: all calls by the program's own library\n",
               stderr);
  }
  if (always_library() || is_quiet) return;
  const auto& chooser = shape_chooser();
  const auto all = chooser.account();
  if (all.calls == 0) return;
  std::string by;
  for (const auto& [name, calls] : chooser.by_variant()) {
    by += (by.empty() ? " (" : ", ") + name + " " + std::to_string(calls);
  }
  if (!by.empty()) by += ")";
  std::fprintf(stderr,
               "tailrace: BLAS: %lld large calls, %lld of them not by the program's library%s; "
               "gained about %.3g s\n",
               static_cast<long long>(all.calls), static_cast<long long>(all.ours), by.c_str(),
               all.gained_s);
  for (const auto& why : chooser.left_out()) {
    std::fprintf(stderr, "tailrace: BLAS: not used: %s\n", why.c_str());
  }
}

}  // namespace

}  // namespace tailrace::blas
