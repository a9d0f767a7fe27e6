// SPDX-License-Identifier: BSD-3-Clause
// What one writes in an afternoon: one more rank receives the parts of a step, each straight to its
// place, and writes the whole. A rank that computes has two buffers; before it fills one again it
// waits until that one has been sent.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "../servers_variant.hpp"
#include "io_variant.hpp"

namespace bench {

namespace {

using tailrace::check_mpi;
using tailrace::Comm;

constexpr int tag_describe = 1, tag_data = 2, tag_done = 3, tag_step = 4;
constexpr int all_written = -1, end = -2;  // in place of a step

std::string step_file(const std::string& folder, int step) {
  return folder + "/step_" + std::to_string(step) + ".raw";
}

void write_file(const std::string& path, const std::vector<double>& field) {
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) fail_errno("create", path);
  const char* bytes = reinterpret_cast<const char*>(field.data());
  for (std::size_t done = 0; done < field.size() * sizeof(double);) {
    const ssize_t now = ::write(file, bytes + done, field.size() * sizeof(double) - done);
    if (now < 0) fail_errno("write", path);
    done += static_cast<std::size_t>(now);
  }
  if (::fsync(file) != 0 || ::close(file) != 0) fail_errno("flush", path);
}

class Toy : public StepWriter {
 public:
  explicit Toy(const Arguments& args)
      : world_(MPI_COMM_WORLD),
        server_(world_.num_ranks() - 1),
        serves_(world_.rank() == server_),
        n_(args.number("n", 256)),
        folder_(args.text("folder", ".")) {
    auto split = world_.split(serves_ ? 1 : 0);
    if (!serves_) compute_.emplace(std::move(split));
  }
  const Comm* compute() const override { return compute_ ? &*compute_ : nullptr; }

  void serve() override {
    std::vector<MPI_Datatype> places;
    for (int rank = 0; rank < server_; ++rank) places.push_back(describe(rank));
    const auto n = static_cast<std::size_t>(n_);
    std::vector<double> field(n * n * n);
    std::vector<MPI_Request> parts(places.size());
    for (int step = next_step(); step != end; step = next_step()) {
      if (step == all_written) {
        check_mpi(MPI_Send(nullptr, 0, MPI_INT, 0, tag_done, world_.raw()));
        continue;
      }
      for (int rank = 0; rank < server_; ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        check_mpi(MPI_Irecv(field.data(), 1, places[i], rank, tag_data, world_.raw(), &parts[i]));
      }
      check_mpi(MPI_Waitall(server_, parts.data(), MPI_STATUSES_IGNORE));
      write_file(step_file(folder_, step), field);
    }
    for (auto& place : places) MPI_Type_free(&place);
  }

  void open(const StepField& field) override {
    field_ = &field;
    const auto& part = *field.pattern.array;
    std::array<int, 6> corner{};
    for (std::size_t d = 0; d < 3; ++d) {
      corner[d] = tailrace::to_int(part.start[d]);
      corner[d + 3] = tailrace::to_int(part.part[d]);
    }
    check_mpi(MPI_Send(corner.data(), 6, MPI_INT, server_, tag_describe, world_.raw()));
    for (auto& buffer : buffers_) buffer.resize(static_cast<std::size_t>(field.num_items));
  }
  void write(int step, const double* data) override {
    MPI_Request& sent = sent_[static_cast<std::size_t>(step % 2)];
    auto& buffer = buffers_[static_cast<std::size_t>(step % 2)];
    check_mpi(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    std::copy_n(data, buffer.size(), buffer.data());
    tell(step);
    check_mpi(MPI_Isend(buffer.data(), tailrace::to_int(field_->num_items), MPI_DOUBLE, server_,
                        tag_data, world_.raw(), &sent));
  }
  void progress() override {
    int done = 0;
    check_mpi(MPI_Testall(2, sent_.data(), &done, MPI_STATUSES_IGNORE));
  }
  void finish() override {
    check_mpi(MPI_Waitall(2, sent_.data(), MPI_STATUSES_IGNORE));
    tell(all_written);
    if (compute_->rank() == 0) {
      check_mpi(MPI_Recv(nullptr, 0, MPI_INT, server_, tag_done, world_.raw(), MPI_STATUS_IGNORE));
    }
    check_mpi(MPI_Barrier(compute_->raw()));
  }
  void close() override { tell(end); }
  void read(int step, double* data) override {
    Job job{*compute_,
            pool_ ? *pool_ : pool_.emplace(*compute_),
            field_->pattern,
            step_file(folder_, step),
            {}};
    posix_variants().front().make(job)->read(reinterpret_cast<std::byte*>(data));
  }

 private:
  MPI_Datatype describe(int rank) {
    std::array<int, 6> corner{};
    check_mpi(
        MPI_Recv(corner.data(), 6, MPI_INT, rank, tag_describe, world_.raw(), MPI_STATUS_IGNORE));
    const int extents[3] = {n_, n_, n_};
    MPI_Datatype place = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_create_subarray(3, extents, corner.data() + 3, corner.data(), MPI_ORDER_C,
                                       MPI_DOUBLE, &place));
    check_mpi(MPI_Type_commit(&place));
    return place;
  }
  void tell(int step) {
    if (compute_->rank() != 0) return;
    check_mpi(MPI_Send(&step, 1, MPI_INT, server_, tag_step, world_.raw()));
  }
  int next_step() {
    int step = end;
    check_mpi(MPI_Recv(&step, 1, MPI_INT, 0, tag_step, world_.raw(), MPI_STATUS_IGNORE));
    return step;
  }

  Comm world_;
  int server_;
  bool serves_;
  int n_;
  std::string folder_;
  std::optional<Comm> compute_;
  std::optional<tailrace::FilePool> pool_;
  const StepField* field_ = nullptr;
  std::array<std::vector<double>, 2> buffers_;
  std::array<MPI_Request, 2> sent_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace

std::vector<ServerVariant> toy_variants() {
  return {{"toy server", "peer", true, false,
           [](const Arguments& args) { return std::make_unique<Toy>(args); }}};
}

}  // namespace bench
