// SPDX-License-Identifier: BSD-3-Clause
// One round of one access pattern: every variant of ours and of others writes the same bytes once
// (and reads them, if asked), in an order that turns with the round; before, each has done so
// untimed, as a program writes many files and not one. What was written is checked. With
// `--what limit`, the raw limit of the device instead; with `--what list`, the names of the
// variants.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <sstream>

#include "io_limit.hpp"
#include "io_variant.hpp"
#include "mpi_driver.hpp"
#include "programs.hpp"

namespace {

using bench::Job;
using bench::JsonLine;
using bench::Pattern;
using bench::plain;
using bench::WriteMethod;
using tailrace::Comm;
using tailrace::Errc;
using tailrace::Error;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// "name=value:name=value".
tailrace::Hints parse_hints(const std::string& text) {
  tailrace::Hints hints;
  for (const auto& word : split(text, ':')) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw Error(Errc::invalid_input, "hint " + word + ": expected name=value:name=value");
    }
    hints.set(word.substr(0, equals), word.substr(equals + 1));
  }
  return hints;
}

bench::PatternRequest parse_request(const bench::Arguments& args) {
  bench::PatternRequest request;
  request.name = args.text("pattern", request.name);
  request.block = std::atoll(args.text("block", "10000").c_str());
  request.transfer = std::atoll(args.text("transfer", "0").c_str());
  request.total = std::atoll(args.text("bytes", "20000000").c_str());
  request.edge = args.number("n", 0);
  request.grid = args.text("grid", request.grid);
  return request;
}

/// Runs `action` on all ranks; if any fails, all throw the same.
template <class Action>
void together(const Comm& comm, Action action) {
  try {
    action();
  } catch (const Error& error) {
    tailrace::agree(comm.raw(), &error);
    throw;
  } catch (const std::exception& error) {
    const Error wrapped(Errc::internal, error.what());
    tailrace::agree(comm.raw(), &wrapped);
    throw;
  }
  tailrace::agree(comm.raw(), nullptr);
}

/// A variant with what it made for the pattern.
struct Contender {
  WriteMethod variant;
  std::unique_ptr<bench::Method> method;
};

class Round {
 public:
  Round(const Comm& comm, const bench::Arguments& args)
      : comm_(comm),
        pool_(comm),
        folder_(args.text("dir", ".")),
        problem_(args.text("problem", "")),
        mpi_io_(args.text("mpi-io", "")),
        reads_(args.text("read", "no") == "yes"),
        checks_(args.text("check", "yes") == "yes"),
        drops_(args.text("drop-cache", "yes") == "yes"),
        warms_(args.text("warmup", "yes") == "yes"),
        pattern_(make(args)),
        data_(bench::expected_bytes(pattern_.runs)),
        arrived_(data_.size()),
        job_{comm, pool_, pattern_, path(args), parse_hints(args.text("hints", ""))} {
    together(comm, [&] {
      if (comm.rank() == 0) std::filesystem::create_directories(folder_);
    });
  }

  /// Warms every variant up, drops those that do not apply, and measures the others in turn.
  void run(const bench::Arguments& args, const std::vector<WriteMethod>& known) {
    std::vector<Contender> contenders;
    for (auto& variant : chosen_variants(args.text("entries", ""), known)) {
      Contender contender{variant, nullptr};
      if (attempt(variant, [&] { warm_up(contender); })) contenders.push_back(std::move(contender));
    }
    if (contenders.empty()) return;
    const auto size = contenders.size();
    const auto turn = static_cast<std::size_t>(args.number("round", 0)) * (1 + size / 3) % size;
    std::rotate(contenders.begin(), contenders.begin() + static_cast<std::ptrdiff_t>(turn),
                contenders.end());
    for (const auto& contender : contenders) {
      attempt(contender.variant, [&] { measure(contender.variant, *contender.method); });
    }
  }

  /// Rank 0 alone drives the device; meant for one rank.
  void run_limit() {
    if (comm_.rank() == 0) {
      bench::Limit limit(job_.path, pattern_.total_bytes);
      for (const auto& setting : bench::limit_settings(job_.path)) {
        const double seconds = limit.write_s(setting);
        print_limit(setting, limit, "", seconds);
        if (reads_) print_limit(setting, limit, ", reading", limit.read_s(setting));
      }
    }
    MPI_Barrier(comm_.raw());
  }

 private:
  Pattern make(const bench::Arguments& args) const {
    // The limit is measured by one rank, for a file that more ranks write.
    return bench::make_pattern(parse_request(args), comm_.rank(),
                               args.number("for-ranks", comm_.num_ranks()));
  }

  /// The same on all ranks, and no other benchmark's.
  std::string path(const bench::Arguments& args) const {
    int id = static_cast<int>(::getpid());
    MPI_Bcast(&id, 1, MPI_INT, 0, comm_.raw());
    return args.text("dir", ".") + "/tailrace_bench_io_" + std::to_string(id);
  }

  static std::vector<WriteMethod> chosen_variants(const std::string& names,
                                                  const std::vector<WriteMethod>& known) {
    std::vector<WriteMethod> variants;
    const auto wanted = split(names, ';');
    for (const auto& variant : known) {
      const bool named = std::find(wanted.begin(), wanted.end(), variant.name) != wanted.end();
      if (named || (names.empty() && variant.family != "test")) variants.push_back(variant);
    }
    return variants;
  }

  /// Runs `action` of `variant`; what failed is printed in place of figures.
  template <class Action>
  bool attempt(const WriteMethod& variant, Action action) {
    bool done = false;
    try {
      action();
      done = true;
    } catch (const Error& error) {
      if (comm_.rank() == 0) print_failure(variant, error);
    }
    remove_files();
    return done;
  }

  void warm_up(Contender& contender) {
    together(comm_, [&] { contender.method = contender.variant.make(job_); });
    if (!warms_) return;
    together(comm_, [&] { contender.method->write(data_.data()); });
    if (reads_) together(comm_, [&] { contender.method->read(arrived_.data()); });
  }

  void measure(const WriteMethod& variant, bench::Method& method) {
    std::fill(arrived_.begin(), arrived_.end(), std::byte{0});
    const double write_s = seconds([&] { method.write(data_.data()); });
    const auto write_cost = method.statistics();
    std::optional<std::ptrdiff_t> stored;
    if (comm_.rank() == 0) stored = method.stored_bytes();
    if (checks_) check_size(method);
    if (reads_) {
      drop_files_from_cache();
      ::access((job_.path + ".reading").c_str(), F_OK);  // a mark in a trace of system calls
      const double read_s = seconds([&] { method.read(arrived_.data()); });
      const auto read_cost = method.statistics();
      check_data();
      print(variant, ", reading", read_s, read_cost, method.chosen());
    } else if (checks_) {
      together(comm_, [&] { read_back(method); });
      check_data();
    }
    print(variant, "", write_s, write_cost, method.chosen(), stored);
  }

  template <class Action>
  double seconds(Action action) {
    double taken = 0;
    MPI_Barrier(comm_.raw());
    together(comm_, [&] {
      const double start = bench::now_s();
      action();
      taken = bench::now_s() - start;
    });
    return bench::all_max(taken);
  }

  /// Reads what was written: by plain system calls where the file is plain, not by the variant
  /// itself.
  void read_back(bench::Method& method) {
    if (!method.is_plain_file()) return method.read(arrived_.data());
    for (const auto& variant : bench::posix_variants()) {
      if (variant.name == "posix call per piece") variant.make(job_)->read(arrived_.data());
    }
  }

  void check_size(const bench::Method& method) {
    together(comm_, [&] {
      if (comm_.rank() != 0 || !method.is_plain_file()) return;
      const auto size = static_cast<std::ptrdiff_t>(std::filesystem::file_size(job_.path));
      if (size == pattern_.total_bytes) return;
      throw Error(Errc::corrupt, "wrong result: the file has " + std::to_string(size) +
                                     " bytes, expected " + std::to_string(pattern_.total_bytes));
    });
  }

  void check_data() {
    together(comm_, [&] {
      const auto differs = std::mismatch(data_.begin(), data_.end(), arrived_.begin()).first;
      if (differs == data_.end()) return;
      throw Error(Errc::corrupt, "wrong result: byte " + std::to_string(differs - data_.begin()) +
                                     " of the rank's data is wrong in the file");
    });
  }

  std::vector<std::filesystem::path> files() const {
    const std::string start = std::filesystem::path(job_.path).filename().string();
    std::vector<std::filesystem::path> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
      if (entry.path().filename().string().rfind(start, 0) == 0) found.push_back(entry.path());
    }
    return found;
  }
  void drop_files_from_cache() const {
    if (!drops_) return;
    for (const auto& file : files()) bench::drop_from_cache(file.string());
    MPI_Barrier(comm_.raw());
  }
  /// Also has the file system finish the removal, which is not the next one's to pay.
  void remove_files() const {
    MPI_Barrier(comm_.raw());
    if (comm_.rank() == 0) {
      std::error_code ignored;
      for (const auto& file : files()) std::filesystem::remove_all(file, ignored);
      const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
      if (folder >= 0) {
        ::fsync(folder);
        ::close(folder);
      }
    }
    MPI_Barrier(comm_.raw());
  }

  /// The name of the variant, and the MPI-IO that it runs on if it runs on one.
  std::string label(const WriteMethod& variant) const {
    return variant.name + (variant.uses_mpi_io && !mpi_io_.empty() ? " " + mpi_io_ : "");
  }

  void print(const WriteMethod& variant, const std::string& phase, double taken,
             const std::optional<tailrace::FileStatistics>& cost, const std::string& chosen,
             std::optional<std::ptrdiff_t> stored = {}) const {
    if (comm_.rank() != 0) return;
    JsonLine line;
    line.text("entry", label(variant))
        .text("problem", problem_ + phase)
        .text("family", variant.family)
        .flag("ours", variant.family == "ours")
        .text("mpi_io", variant.uses_mpi_io ? mpi_io_ : "")
        .numbers("seconds", {taken})
        .number("bytes", static_cast<double>(pattern_.total_bytes));
    if (!chosen.empty()) line.text("chosen", plain(chosen));
    if (stored) {
      line.number("stored",
                  static_cast<double>(*stored) / static_cast<double>(pattern_.total_bytes));
    }
    if (cost) {
      line.number("opens", static_cast<double>(cost->opens))
          .number("writes", static_cast<double>(cost->writes))
          .number("reads", static_cast<double>(cost->reads))
          .number("bytes_written", static_cast<double>(cost->bytes_written))
          .number("bytes_read", static_cast<double>(cost->bytes_read))
          .number("locks", static_cast<double>(cost->locks))
          .number("io_s", cost->io_s)
          .number("move_s", cost->move_s);
    }
    line.print();
  }
  void print_failure(const WriteMethod& variant, const Error& error) const {
    const bool applies = error.code() != Errc::invalid_input;
    JsonLine()
        .text("entry", label(variant))
        .text("problem", problem_)
        .flag("ours", variant.family == "ours")
        .text(applies ? "failure" : "does_not_apply", plain(error.what()))
        .print();
  }
  void print_limit(const bench::LimitSetting& setting, const bench::Limit& limit,
                   const std::string& phase, double taken) const {
    JsonLine()
        .text("entry", setting.name())
        .text("problem", problem_ + phase)
        .text("family", "limit")
        .flag("ours", false)
        .numbers("seconds", {taken})
        .number("bytes", static_cast<double>(limit.bytes()))
        .print();
  }

  const Comm& comm_;
  tailrace::FilePool pool_;
  std::string folder_, problem_, mpi_io_;
  bool reads_, checks_, drops_, warms_;
  Pattern pattern_;
  std::vector<std::byte> data_, arrived_;
  Job job_;
};

void list_variants(const std::vector<WriteMethod>& variants) {
  for (const auto& variant : variants) {
    JsonLine()
        .text("name", variant.name)
        .text("family", variant.family)
        .flag("uses_mpi_io", variant.uses_mpi_io)
        .print();
  }
}

}  // namespace

int bench::run_io(int argc, char** argv, const std::vector<WriteMethod>& variants) {
  const bench::Arguments args(argc, argv);
  const std::string what = args.text("what", "round");
  if (what == "list") {
    list_variants(variants);
    return 0;
  }
  const bench::MpiProgram program(&argc, &argv);
  try {
    const Comm comm(MPI_COMM_WORLD);
    Round round(comm, args);
    if (what == "limit") {
      round.run_limit();
    } else {
      round.run(args, variants);
    }
  } catch (const std::exception& error) {
    if (program.rank == 0) std::fprintf(stderr, "%s\n", error.what());
    if (dynamic_cast<const Error*>(&error) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
  return 0;
}
