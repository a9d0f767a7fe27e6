// SPDX-License-Identifier: BSD-3-Clause
// Open MPI reads the variable when a communicator is made, so each candidate has a communicator of
// its own. MPICH reads it at each call, so each run sets it. Both is done for either.
#include "mpi_algorithms.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "mpi_control.hpp"

namespace tailrace::apps {

namespace {

/// Arrays that all candidates share: whole numbers, so that sums do not depend on their order.
struct Arrays {
  Arrays(const Comm& comm, Collective collective, std::ptrdiff_t bytes) {
    const auto num_ranks = static_cast<std::ptrdiff_t>(comm.num_ranks());
    count = to_int(std::max<std::ptrdiff_t>(1, bytes / 8));
    const auto items =
        static_cast<std::size_t>(collective == Collective::allreduce ? count : count * num_ranks);
    in.resize(items);
    out.resize(items);
    for (std::size_t i = 0; i < items; ++i) {
      in[i] = static_cast<double>((i * 31 + static_cast<std::size_t>(comm.rank()) * 17) % 1009);
    }
    counts.assign(static_cast<std::size_t>(num_ranks), count);
    for (int rank = 0; rank < comm.num_ranks(); ++rank)
      displs.push_back(to_int(rank * std::ptrdiff_t{count}));
  }

  int count = 1;
  std::vector<double> in, out;
  std::vector<int> counts, displs;
};

void call(Collective collective, Arrays& arrays, MPI_Comm comm) {
  const double* in = arrays.in.data();
  double* out = arrays.out.data();
  const int count = arrays.count;
  switch (collective) {
    case Collective::allreduce:
      check_mpi(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
      break;
    case Collective::alltoall:
      check_mpi(MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, comm));
      break;
    case Collective::alltoallv:
      check_mpi(MPI_Alltoallv(in, arrays.counts.data(), arrays.displs.data(), MPI_DOUBLE, out,
                              arrays.counts.data(), arrays.displs.data(), MPI_DOUBLE, comm));
      break;
  }
}

/// One algorithm; the variable is back at the library's own choice after each call.
class AlgorithmTrial : public tune::Trial {
 public:
  AlgorithmTrial(const Comm& comm, Collective collective, std::shared_ptr<MpiControl> control,
                 int number, std::shared_ptr<Arrays> arrays)
      : collective_(collective),
        control_(std::move(control)),
        number_(number),
        arrays_(std::move(arrays)),
        comm_([&] {
          control_->set(number_);
          return Comm(comm.raw());
        }()) {
    control_->set(0);
  }
  void run() override {
    control_->set(number_);
    call(collective_, *arrays_, comm_.raw());
    control_->set(0);
  }
  std::uint64_t checksum() override {
    const auto& out = arrays_->out;
    const std::string_view bytes(reinterpret_cast<const char*>(out.data()),
                                 out.size() * sizeof(double));
    const std::uint64_t sum = std::hash<std::string_view>{}(bytes);
    std::ranges::fill(arrays_->out, -1.0);  // who writes nothing is found out
    return sum;
  }

 private:
  Collective collective_;
  std::shared_ptr<MpiControl> control_;
  int number_;
  std::shared_ptr<Arrays> arrays_;
  Comm comm_;
};

std::shared_ptr<MpiControl> find_control(const std::string& collective) {
  std::string upper = collective;
  std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c & ~0x20); });
  for (const std::string& name : {fmt::format("coll_tuned_{}_algorithm", collective),
                                  fmt::format("MPIR_CVAR_{}_INTRA_ALGORITHM", upper)}) {
    if (auto found = MpiControl::find(name)) return std::make_shared<MpiControl>(std::move(*found));
  }
  return nullptr;
}

/// Algorithms that would fail or do something else here.
bool applies(const std::string& name, int num_ranks) {
  if (name == "two_proc") return num_ranks == 2;
  // Of MPICH: not blocking ones, or for MPI_IN_PLACE, or again a choice by node.
  return name != "nb" && name != "smp" && name != "pairwise_sendrecv_replace";
}

}  // namespace

std::string name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::alltoall:
      return "alltoall";
    case Collective::alltoallv:
      break;
  }
  return "alltoallv";
}

std::vector<tune::Candidate> mpi_algorithms(const Comm& comm, Collective collective,
                                            std::ptrdiff_t bytes) {
  const auto control = find_control(name_of(collective));
  require_all(comm.raw(), control != nullptr && control->values().size() > 1,
              fmt::format("this MPI library does not permit choosing the algorithm of {} (Open MPI "
                          "does with OMPI_MCA_coll_tuned_use_dynamic_rules=1, MPICH always)",
                          name_of(collective)));
  const auto arrays = std::make_shared<Arrays>(comm, collective, bytes);
  std::vector<tune::Candidate> candidates;
  for (const auto& [number, name] : control->values()) {
    if (!applies(name, comm.num_ranks())) continue;
    const std::string own = number == 0 ? "0 default" : fmt::format("{} {}", number, name);
    candidates.push_back({own, [&comm, collective, control, number = number, arrays] {
                            return std::make_unique<AlgorithmTrial>(comm, collective, control,
                                                                    number, arrays);
                          }});
  }
  return candidates;
}

}  // namespace tailrace::apps
