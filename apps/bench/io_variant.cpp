// SPDX-License-Identifier: BSD-3-Clause
#include "io_variant.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "tailrace/input.hpp"
#include "tailrace/output.hpp"

namespace bench {

namespace {

using tailrace::File;
using tailrace::FileAccess;

/// A program that uses tailrace::File.
class Ours : public Method {
 public:
  Ours(const Job& job, const std::string& strategy, const std::string& back_end)
      : job_(job), hints_(job.hints), part_(job.pattern.file_part()) {
    if (strategy != "auto") hints_.set("strategy", strategy);
    if (back_end != "auto") hints_.set("back_end", back_end);
  }
  void write(const std::byte* data) override {
    file_.emplace(job_.pool, job_.path, FileAccess::write, hints_);
    file_->write(part_, data);
    file_->close();
  }
  void read(std::byte* data) override {
    file_.emplace(job_.pool, job_.path, FileAccess::read, hints_);
    file_->read(part_, data);
    file_->close();
  }
  bool is_plain_file() const override { return setting("back_end") != "hdf5"; }
  std::optional<tailrace::FileStatistics> statistics() override {
    return file_->total_statistics();
  }
  std::string chosen() const override { return setting("strategy") + "/" + setting("back_end"); }

 private:
  std::string setting(const std::string& name) const {
    for (const auto& value : file_->settings()) {
      if (value.name == name) return value.value;
    }
    return "";
  }
  const Job& job_;
  tailrace::Hints hints_;
  tailrace::FilePart part_;
  std::optional<File> file_;
};

WriteMethod make_ours(const std::string& strategy, const std::string& back_end) {
  const bool is_auto = strategy == "auto";
  const std::string name = is_auto ? "tailrace auto" : "tailrace " + strategy + "/" + back_end;
  return {name, "ours", back_end == "mpiio" || back_end == "hdf5",
          [strategy, back_end](const Job& job) {
            return std::make_unique<Ours>(job, strategy, back_end);
          }};
}

/// A program that writes its array into compressed HDF5 files, within the call.
class Compressed : public Method {
 public:
  Compressed(const Job& job, const std::string& compress) : job_(job), path_(job.path + ".h5") {
    const auto& array = job.pattern.array;
    if (!array || array->item_bytes != sizeof(std::uint64_t)) {
      throw tailrace::Error(tailrace::Errc::invalid_input,
                            "compressed output: the pattern is not an array of 8-byte items");
    }
    layout_ = tailrace::own_box(job.comm, array->extents, array->start, array->part);
    output_.emplace(job.comm, tailrace::OutputOptions{
                                  .servers = "none", .hints = job.hints, .compress = compress});
  }
  void write(const std::byte* data) override {
    output_->write(path_, {.variables = {variable(data)}});
    output_->finish();
  }
  void read(std::byte* data) override {
    const tailrace::Input input(job_.comm, path_);
    input.read("u", tailrace::ItemType::uint64, *layout_, memory(), data);
  }
  bool is_plain_file() const override { return false; }
  std::optional<std::ptrdiff_t> stored_bytes() override {
    return static_cast<std::ptrdiff_t>(std::filesystem::file_size(path_));
  }

 private:
  tailrace::Memory memory() const {
    return tailrace::Memory::dense(layout_->boxes(job_.comm.rank()));
  }
  tailrace::Variable variable(const std::byte* data) const {
    return {"u", tailrace::ItemType::uint64, {}, &*layout_, memory(), data};
  }
  const Job& job_;
  std::string path_;
  std::optional<tailrace::Layout> layout_;
  std::optional<tailrace::Output> output_;
};

}  // namespace

std::vector<WriteMethod> our_variants() {
  std::vector<WriteMethod> variants{make_ours("auto", "auto")};
  for (const auto& strategy : tailrace::file_strategies()) {
    for (const auto& back_end : tailrace::file_back_ends()) {
      if (!strategy.available || !back_end.available) continue;
      if (back_end.name == "limited") continue;  // as slow as it is told to be
      variants.push_back(make_ours(std::string(strategy.name), std::string(back_end.name)));
    }
  }
  const std::string compress = "deflate:1";
  variants.push_back(
      {"tailrace compressed, " + compress, "ours", false,
       [compress](const Job& job) { return std::make_unique<Compressed>(job, compress); }});
  return variants;
}

std::vector<WriteMethod> all_variants() {
  std::vector<WriteMethod> variants;
  for (auto make : {our_variants, mpiio_variants, posix_variants}) {
    auto more = make();
    std::move(more.begin(), more.end(), std::back_inserter(variants));
  }
  return variants;
}

void fail_errno(const std::string& doing, const std::string& path) {
  const int number = errno;
  throw tailrace::Error(tailrace::Errc::io,
                        "cannot " + doing + " " + path + " (errno " + std::to_string(number) + ")",
                        number);
}

}  // namespace bench
