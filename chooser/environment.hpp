// SPDX-License-Identifier: BSD-3-Clause
// The table of all environment variables, and the one function that reads them. No MPI; allocates
// nothing, so plug-ins may call it before MPI starts.
#pragma once

#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace tailrace {

struct EnvironmentVariable {
  std::string_view name, values, default_value, meaning;
};

/// `tailrace list environment` prints this table.
inline constexpr std::array environment_variables{
    EnvironmentVariable{"TAILRACE_TUNE", "off, remembered, first_use", "first_use",
                        "when methods are measured; off: never, the defaults are used"},
    EnvironmentVariable{
        "TAILRACE_TUNE_FILE", "file; empty: none", "tune.json in the cache folder",
        "file in which measured choices are remembered; a file of another kind is not changed"},
    EnvironmentVariable{"TAILRACE_TUNE_BUDGET_S", "seconds", "3",
                        "longest time for measuring one problem"},
    EnvironmentVariable{"TAILRACE_TUNE_MEMORY", "bytes, as in 256M",
                        "1G; exchanges on one node 512M",
                        "limit on memory per rank while measuring"},
    EnvironmentVariable{"TAILRACE_REPRODUCIBLE", "0, 1", "0",
                        "1: no choice depends on a measured time, so that runs repeat bit for bit"},
    EnvironmentVariable{"TAILRACE_CACHE", "folder", "tailrace in XDG_CACHE_HOME or ~/.cache",
                        "the cache folder"},
    EnvironmentVariable{"TAILRACE_ARCHIVE", "file",
                        "tailrace/archive.toml of the configuration folder",
                        "configuration file of the archive"},
    EnvironmentVariable{"TAILRACE_REPORT", "0, 1", "",
                        "what rank 0 prints to stderr; 0: no summary lines of plug-ins; 1: also "
                        "that of --with waiting, and the hints of each opened file"},
    EnvironmentVariable{"TAILRACE_HINTS", "PATTERN:key=value:...,PATTERN:...", "",
                        "hints for files whose path matches; overrides the program's"},
    EnvironmentVariable{"TAILRACE_SERVERS", "as output.servers", "",
                        "overrides the program's servers"},
    EnvironmentVariable{"TAILRACE_TRANSPORT", "as output.transport", "",
                        "overrides the program's transport to servers"},
    EnvironmentVariable{"TAILRACE_PATIENCE_S", "seconds", "10",
                        "time after which the job ends if ranks wait for a rank that has left"},
    EnvironmentVariable{"TAILRACE_PYTHON", "program", "python3",
                        "interpreter for stages that call Python functions"},
    EnvironmentVariable{"TAILRACE_BIN_DIR", "folder", "",
                        "the build or installation folder whose programs and modules are used"},
    EnvironmentVariable{"TAILRACE_LAUNCHER", "command with {ranks}", "srun, mpiexec, ...",
                        "the command that starts ranks"},
    EnvironmentVariable{"TAILRACE_RANKS", "number", "",
                        "set by the commands that start ranks: the requested number of ranks"},
    EnvironmentVariable{"TAILRACE_RANKS_PER_NODE", "number", "",
                        "treats every N ranks as one node, to test several nodes on one machine"},
    EnvironmentVariable{"TAILRACE_KERNEL", "scalar, generic, avx2, avx512", "widest available",
                        "instruction set of the kernels of groundwater and helium"},
    EnvironmentVariable{"TAILRACE_PROFILE_DIR", "folder", "tailrace-profile",
                        "where the profiler writes its records"},
    EnvironmentVariable{
        "TAILRACE_PROFILE", "events=N,clock=kernel,launch,routines=RATE", "events=1048576",
        "settings of the profiler: largest number of events per rank; use of the kernel's clock; "
        "records of the launch; samples of routines per second of processor time"},
    EnvironmentVariable{"TAILRACE_WAIT", "nap, mpi", "nap if ranks share cores",
                        "--with waiting: how ranks wait"},
    EnvironmentVariable{"TAILRACE_COLLECTIVES", "measured, node, mpi", "measured",
                        "--with collectives: which calls are replaced"},
    EnvironmentVariable{
        "TAILRACE_IO", "measured, ours, mpi, hidden; memory=BYTES,through,fsync",
        "measured; memory=256M",
        "--with io: which calls are replaced; memory: limit for hidden writes per rank; through: "
        "write at once if it is full; fsync: flush files before they get their final names"},
    EnvironmentVariable{"TAILRACE_IO_CLOSE", "later, wait", "wait; later with --with hidden",
                        "--with hidden: whether closing a file waits until it is complete"},
    EnvironmentVariable{
        "TAILRACE_IO_FILES", "patterns, e.g. *.h5,run/*.nc; empty: none",
        "none; *.h5,*.hdf5,*.nc,*.nc4 with --with hidden",
        "--with hidden: files whose writes by POSIX calls are hidden (serial HDF5, netCDF, h5py)"},
    EnvironmentVariable{"TAILRACE_BLAS", "library", "",
                        "--with blas; library: use only the library of the program"},
    EnvironmentVariable{"TAILRACE_BLAS_LIBRARIES", "FILE:FILE, none", "those found",
                        "--with blas: the libraries that are compared"},
    EnvironmentVariable{"TAILRACE_REFINE", "always,pairs,unneeded,least=N", "",
                        "--with refine: which systems are solved in single precision and refined"},
    EnvironmentVariable{
        "TAILRACE_SPARSE", "always,bit_for_bit,least=N", "least=5000",
        "--with sparse, for Epetra; always: Tailrace's products regardless of time; bit_for_bit: "
        "sums in the order of plain CSR; least: smallest number of items of a matrix"},
};

/// The name of a variable of the table; another name does not compile.
class EnvironmentName {
 public:
  consteval EnvironmentName(const char* name)
      : name_(name) {  // NOLINT(google-explicit-constructor)
    bool is_known = false;
    for (const auto& variable : environment_variables) is_known |= variable.name == name;
    if (!is_known) throw "not in the table of environment variables";
  }
  const char* text() const { return name_; }

 private:
  const char* name_;
};

namespace detail {

/// Whether the launcher calls this process rank 0, or says nothing. MPI may not have started yet.
inline bool is_first_process() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr) return std::atoi(rank) == 0;
  }
  return true;
}

/// True at the first call with this name in this process.
inline bool is_new(std::string_view name) {
  static std::array<std::atomic<const char*>, 32> names{};
  for (auto& entry : names) {
    const char* seen = nullptr;
    if (entry.compare_exchange_strong(seen, name.data())) return true;
    if (name == seen) return false;
  }
  return false;
}

}  // namespace detail

/// The value of a variable that was renamed to `now`; nullptr if it is not set. Rank 0 prints one
/// line about the new name. `old_name` must be a literal. Local.
inline const char* renamed_environment(const char* old_name, const char* now) {
  const char* const value = std::getenv(old_name);
  if (value != nullptr && detail::is_first_process() && detail::is_new(old_name)) {
    std::fprintf(stderr, "tailrace: %s is now %s; the old name works until release 0.3\n", old_name,
                 now);
  }
  return value;
}

/// The value of a variable, else the value of its old name; nullptr if neither is set. Local.
inline const char* environment(EnvironmentName name, const char* old_name = nullptr) {
  const char* const value = std::getenv(name.text());
  if (value != nullptr || old_name == nullptr) return value;
  return renamed_environment(old_name, name.text());
}

/// The value of `word` in "word,word=value": empty for a word without a value; nothing where the
/// word is missing or `text` is nullptr. Local.
inline std::optional<std::string_view> value_of_word(const char* text, std::string_view word) {
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto equals = item.find('=');
    if (item.substr(0, equals) == word) {
      return equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return std::nullopt;
}

/// The first item of "word,word=value" whose word is none of `words`; empty if all are. Local.
template <std::size_t N>
std::string_view unknown_word(const char* text, const std::array<std::string_view, N>& words) {
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    bool is_known = item.empty();
    for (const auto word : words) is_known |= item.substr(0, item.find('=')) == word;
    if (!is_known) return item;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return {};
}

/// Tells rank 0's user of an item of `variable` that has no meaning; nothing for an empty `item`.
inline void report_ignored(EnvironmentName variable, std::string_view item, const char* expected) {
  if (item.empty() || !detail::is_first_process()) return;
  std::fprintf(stderr, "tailrace: %s: '%.*s' is ignored: expected %s\n", variable.text(),
               static_cast<int>(item.size()), item.data(), expected);
}

/// A whole number from 0; `otherwise`, with a line, for another text. Local.
inline long long whole_number(EnvironmentName variable, std::string_view text,
                              long long otherwise) {
  long long value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= 0) return value;
  report_ignored(variable, text, "a whole number");
  return otherwise;
}

}  // namespace tailrace
