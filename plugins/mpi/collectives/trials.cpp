// SPDX-License-Identifier: BSD-3-Clause
// Whether ours is faster: asked of the tuner (tailrace/more/tune.hpp), which remembers it.
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "collectives/program_comm.hpp"
#include "collectives/ways.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/log.hpp"
#include "tailrace/more/tune.hpp"

namespace tailrace::plugins {

namespace {

const tune::Settings& settings() {
  static const tune::Settings found = [] {
    try {
      return tune::Settings::from_environment();
    } catch (const Error& error) {
      say(LogLevel::warning, error.what());
      tune::Settings off;
      off.mode = tune::Mode::off;
      return off;
    }
  }();
  return found;
}

// Buffers of a call, and the call itself both ways. `bytes` are those of `ProgramComm::wants`.
class CallTrial : public tune::Trial {
 public:
  CallTrial(Engine& engine, Call call, std::int64_t bytes, bool ours)
      : engine_(engine), call_(call), ours_(ours), bytes_(bytes) {
    const int num_ranks = engine.comm.num_ranks();
    if (call == Call::alltoallv || call == Call::allgatherv) {
      bytes_ = std::max<std::int64_t>(1, bytes / num_ranks);
    }
    if (bytes_ < 8 && is_sum()) bytes_ = 8;
    const auto size = static_cast<std::size_t>(bytes_ * num_ranks + 8);
    in_.resize(size / 8 + 1);
    out_.resize(size / 8 + 1);
    // Whole numbers, whose sums are the same in every order.
    for (std::size_t i = 0; i < in_.size(); ++i) {
      in_[i] = static_cast<double>((static_cast<std::size_t>(engine.comm.rank()) + 3 * i) % 16);
    }
    for (int rank = 0; rank < num_ranks; ++rank) {
      counts_.push_back(static_cast<int>(bytes_));
      starts_.push_back(static_cast<int>(rank * bytes_));
    }
  }

  void run() override { ours_ ? run_ours() : run_mpi(); }

  std::uint64_t checksum() override {
    if (call_ == Call::barrier) return 0;
    std::uint64_t digest = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(out_.data());
    for (std::size_t i = 0; i < 8 * out_.size(); ++i) digest = 31 * digest + bytes[i];
    return digest;
  }

 private:
  bool is_sum() const { return call_ == Call::reduce || call_ == Call::allreduce; }

  void run_mpi() {
    const MPI_Comm comm = engine_.comm.raw();
    const int count = static_cast<int>(is_sum() ? bytes_ / 8 : bytes_);
    switch (call_) {
      case Call::barrier:
        return check_mpi(MPI_Barrier(comm));
      case Call::bcast:
        if (engine_.comm.rank() == 0) copy_bytes(out_.data(), in_.data(), bytes_);
        return check_mpi(MPI_Bcast(out_.data(), count, MPI_BYTE, 0, comm));
      case Call::reduce:
        return check_mpi(MPI_Reduce(in_.data(), out_.data(), count, MPI_DOUBLE, MPI_SUM, 0, comm));
      case Call::allreduce:
        return check_mpi(MPI_Allreduce(in_.data(), out_.data(), count, MPI_DOUBLE, MPI_SUM, comm));
      case Call::allgather:
        return check_mpi(
            MPI_Allgather(in_.data(), count, MPI_BYTE, out_.data(), count, MPI_BYTE, comm));
      case Call::allgatherv:
        return check_mpi(MPI_Allgatherv(in_.data(), count, MPI_BYTE, out_.data(), counts_.data(),
                                        starts_.data(), MPI_BYTE, comm));
      case Call::alltoall:
        return check_mpi(
            MPI_Alltoall(in_.data(), count, MPI_BYTE, out_.data(), count, MPI_BYTE, comm));
      case Call::alltoallv:
        return check_mpi(MPI_Alltoallv(in_.data(), counts_.data(), starts_.data(), MPI_BYTE,
                                       out_.data(), counts_.data(), starts_.data(), MPI_BYTE,
                                       comm));
    }
  }

  void run_ours() {
    const Sum sum{NumberType::float64, ReduceOp::sum, 8};
    const auto go = [](std::int64_t) { return Reason::none; };
    const auto sent = [this](int rank) { return Block{at(in_.data(), rank * bytes_), bytes_}; };
    const auto received = [this](int rank) {
      return Block{at(out_.data(), rank * bytes_), bytes_};
    };
    switch (call_) {
      case Call::barrier:
        return engine_.reduction->barrier();
      case Call::bcast:
        if (engine_.comm.rank() == 0) copy_bytes(out_.data(), in_.data(), bytes_);
        bcast(engine_, out_.data(), bytes_, 0, Reason::none, true, go);
        return;
      case Call::reduce:
        return reduce(engine_, sum, in_.data(), out_.data(), bytes_ / 8, 0);
      case Call::allreduce:
        return allreduce(engine_, sum, in_.data(), out_.data(), bytes_ / 8);
      case Call::allgather:
      case Call::allgatherv:
        allgather(engine_, in_.data(), bytes_, received, Reason::none);
        return;
      case Call::alltoall:
        alltoall(engine_, in_.data(), out_.data(), bytes_, Reason::none);
        return;
      case Call::alltoallv:
        alltoallv(engine_, sent, received, Reason::none, true, go);
        return;
    }
  }

  Engine& engine_;
  Call call_;
  bool ours_;
  std::int64_t bytes_;
  std::vector<double> in_, out_;
  std::vector<int> counts_, starts_;
};

}  // namespace

Measured find_faster(Engine& engine, Call call, std::int64_t bytes, bool may_measure) {
  tune::Problem problem;
  problem.operation = "collective call";
  problem.key =
      call == Call::barrier
          ? std::string("barrier")
          : fmt::format("{} up to {} bytes", call_names[static_cast<std::size_t>(call)], bytes);
  problem.fallback = "mpi";
  problem.fallback_why = "MPI's own";
  std::vector<tune::Candidate> candidates;
  for (const bool ours : {false, true}) {
    candidates.push_back({ours ? "node" : "mpi", [&engine, call, bytes, ours] {
                            return std::make_unique<CallTrial>(engine, call, bytes, ours);
                          }});
  }
  tune::Settings asked = settings();
  asked.budget_s = measuring_s;
  if (!may_measure && asked.mode == tune::Mode::first_use) asked.mode = tune::Mode::remembered;
  const tune::Choice choice = tune::choose(engine.comm, problem, candidates, asked);
  Measured found;
  found.known = may_measure || !choice.timings.empty();
  found.ours = choice.name == "node";
  if (found.ours) {
    for (const auto& timing : choice.timings) {
      found.gain_s += timing.name == "mpi" ? timing.median_s : -timing.median_s;
    }
  }
  return found;
}

}  // namespace tailrace::plugins
