// SPDX-License-Identifier: BSD-3-Clause
// Synchronous peers: the ways of the bench of files, one new file a step.

#include <optional>

#include "../io_way.hpp"
#include "../servers_way.hpp"

namespace bench {

namespace {

class Synchronous : public StepWriter {
 public:
  explicit Synchronous(Way way) : comm_(MPI_COMM_WORLD), pool_(comm_), way_(std::move(way)) {}
  const tailrace::Comm* compute() const override { return &comm_; }
  void open(const StepField& field) override {
    field_ = &field;
    pattern_ = field.pattern;
    // A rank that has a file of its own writes its memory as it is, in one go.
    if (way_.family == "posix") pattern_.transfers = {{0, pattern_.bytes()}};
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
    return way_.make(*job_);
  }

  tailrace::Comm comm_;
  tailrace::FilePool pool_;
  Way way_;
  const StepField* field_ = nullptr;
  Pattern pattern_;
  std::optional<Job> job_;
};

void add(std::vector<ServerWay>& ways, const Way& way, const std::string& name) {
  ways.push_back({name, "peer", false, false,
                  [way](const Arguments&) { return std::make_unique<Synchronous>(way); }});
}

}  // namespace

std::vector<ServerWay> file_ways() {
  std::vector<ServerWay> ways;
  for (const auto& way : hdf5_ways()) {
    if (way.name == "hdf5 collective") add(ways, way, "parallel HDF5, collective");
    if (way.name == "hdf5 independent") add(ways, way, "parallel HDF5, independent");
  }
  for (const auto& way : posix_ways()) {
    if (way.name == "posix file a rank") add(ways, way, "POSIX, a file a rank");
  }
  return ways;
}

}  // namespace bench
