// SPDX-License-Identifier: BSD-3-Clause
// Synchronous peers: the variants of the bench of files, one new file a step.

#include <optional>

#include "../servers_variant.hpp"
#include "io_hdf5.hpp"
#include "io_variant.hpp"

namespace bench {

namespace {

class Synchronous : public StepWriter {
 public:
  explicit Synchronous(WriteMethod variant)
      : comm_(MPI_COMM_WORLD), pool_(comm_), variant_(std::move(variant)) {}
  const tailrace::Comm* compute() const override { return &comm_; }
  void open(const StepField& field) override {
    field_ = &field;
    pattern_ = field.pattern;
    // A rank that has a file of its own writes its memory as it is, in one go.
    if (variant_.family == "posix") pattern_.transfers = {{0, pattern_.bytes()}};
  }
  void write(int step, const double* data) override {
    method(step)->write(reinterpret_cast<const std::byte*>(data));
    tailrace::check_mpi(MPI_Barrier(comm_.raw()));
  }
  void read(int step, double* data) override {
    method(step)->read(reinterpret_cast<std::byte*>(data));
  }
  std::optional<bool> under_way() override { return false; }

 private:
  std::unique_ptr<Method> method(int step) {
    job_.emplace(Job{comm_, pool_, pattern_, field_->path(step) + ".peer", {}});
    return variant_.make(*job_);
  }

  tailrace::Comm comm_;
  tailrace::FilePool pool_;
  WriteMethod variant_;
  const StepField* field_ = nullptr;
  Pattern pattern_;
  std::optional<Job> job_;
};

void add(std::vector<ServerVariant>& variants, const WriteMethod& variant,
         const std::string& name) {
  variants.push_back({name, "peer", false, false, [variant](const Arguments&) {
                        return std::make_unique<Synchronous>(variant);
                      }});
}

}  // namespace

std::vector<ServerVariant> file_variants() {
  std::vector<ServerVariant> variants;
  for (const auto& variant : hdf5_variants()) {
    if (variant.name == "hdf5 collective") add(variants, variant, "parallel HDF5, collective");
    if (variant.name == "hdf5 independent") add(variants, variant, "parallel HDF5, independent");
  }
  for (const auto& variant : posix_variants()) {
    if (variant.name == "posix file per rank") add(variants, variant, "POSIX, a file per rank");
  }
  return variants;
}

}  // namespace bench
