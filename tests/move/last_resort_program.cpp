// SPDX-License-Identifier: BSD-3-Clause
// What one rank does wrong alone: the job ends with a line that says what. The argument names it.
#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "first_kernel.hpp"
#include "mpi_program.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/reduction.hpp"

namespace {

using namespace tailrace;

fft::Options with_first_kernel() {
  fft::Options options;
  options.kernel = first_kernel();
  return options;
}

struct Transpose {
  Transpose(const Comm& comm, const char* method, bool exposed, std::ptrdiff_t columns = 11)
      : plan(slabs({13, columns}, 0, comm.num_ranks()), slabs({13, columns}, 1, comm.num_ranks()),
             comm.rank()),
        from(Memory::dense(plan.from_boxes())),
        to(Memory::dense(plan.to_boxes())),
        source(static_cast<std::size_t>(from.num_items)),
        arrived(static_cast<std::size_t>(to.num_items)),
        exchange(comm, plan, from, to, {8, 1, exposed}, method) {}

  Plan plan;
  Memory from, to;
  std::vector<double> source, arrived;
  std::array<const void*, 1> sources{source.data()};
  std::array<void*, 1> destinations{arrived.data()};
  Exchange exchange;
};

/// Rank 1 gives too few pointers.
void pointers(const Comm& comm, bool wrong) {
  Transpose t(comm, "node_direct", false);
  if (wrong) t.exchange.start({}, {});
  t.exchange.run(t.sources, t.destinations);
}

/// Its sources are not where all said they would be.
void unexposed(const Comm& comm, bool wrong) {
  const NodeArray array(comm, 1000);
  Transpose t(comm, "node_direct", true);
  if (!wrong) t.exchange.expose(array);
  const std::array<const void*, 1> sources{array.data()};
  t.exchange.run(wrong ? t.sources : sources, t.destinations);
}

void items(const Comm& comm, bool wrong) {
  Reduction reduction(comm, {NumberType::float64, 2});
  std::vector<double> values(wrong ? 3 : 2);
  reduction.allreduce(std::span(values));
}

void fields(const Comm& comm, bool wrong) {
  fft::Transform<double> transform(comm, {.extents = {8, 8, 8}}, with_first_kernel());
  std::vector<double> field(static_cast<std::size_t>(transform.physical_box().num_items()));
  std::vector<std::complex<double>> modes(static_cast<std::size_t>(transform.modes().num_modes()));
  const std::array<const double*, 1> in{field.data()};
  const std::array<std::complex<double>*, 2> out{modes.data(), modes.data()};
  transform.forward(in, std::span(out).first(wrong ? 2 : 1));
}

/// An exception of its own takes it out of an exchange that the others never enter.
void thrown(const Comm& comm, bool wrong) {
  Transpose t(comm, "bruck", false);
  if (wrong) {
    t.exchange.start(t.sources, t.destinations);
    throw std::runtime_error("of this rank alone");
  }
  MPI_Barrier(comm.raw());
}

/// The same with one that is not under way, whose memory all free together.
void thrown_idle(const Comm& comm, bool wrong) {
  const Transpose t(comm, "pull", false);
  if (wrong) throw std::runtime_error("of this rank alone");
  MPI_Barrier(comm.raw());
}

void thrown_reduction(const Comm& comm, bool wrong) {
  std::vector<double> values(1000);
  Reduction reduction(comm, {NumberType::float64, 1000}, "mpi");
  if (wrong) {
    reduction.start_allreduce(std::span(values));
    throw std::runtime_error("of this rank alone");
  }
  MPI_Barrier(comm.raw());
}

/// Rank 1 leaves for MPI_Finalize, while the others go on.
void ended(const Comm& comm, const char* method, bool wrong) {
  Transpose t(comm, method, false);
  for (int i = 0; i < (wrong ? 3 : 5); ++i) t.exchange.run(t.sources, t.destinations);
}
void ended_direct(const Comm& comm, bool wrong) { ended(comm, "node_direct", wrong); }
void ended_messages(const Comm& comm, bool wrong) { ended(comm, "pairwise", wrong); }
void ended_collective(const Comm& comm, bool wrong) { ended(comm, "alltoallv", wrong); }

void ended_reduction(const Comm& comm, bool wrong) {
  std::vector<double> values(1000);
  Reduction reduction(comm, {NumberType::float64, 1000}, "node_shared");
  for (int i = 0; i < (wrong ? 3 : 5); ++i) reduction.allreduce(std::span(values));
}

void ended_transform(const Comm& comm, bool wrong) {
  fft::Transform<double> transform(comm, {.extents = {8, 8, 8}}, with_first_kernel());
  std::vector<double> field(static_cast<std::size_t>(transform.physical_box().num_items()));
  std::vector<std::complex<double>> modes(static_cast<std::size_t>(transform.modes().num_modes()));
  const std::array<const double*, 1> in{field.data()};
  const std::array<std::complex<double>*, 1> out{modes.data()};
  for (int i = 0; i < (wrong ? 3 : 5); ++i) transform.forward(in, out);
}

/// Its exception is caught, and MPI_Finalize called.
void ended_by_exception(const Comm& comm, bool wrong) {
  try {
    Transpose t(comm, "bruck", false);
    t.exchange.run(t.sources, t.destinations);
    if (wrong) throw std::runtime_error("of this rank alone");
    t.exchange.run(t.sources, t.destinations);
  } catch (const std::runtime_error&) {
    return;
  }
}

/// Rank 1 transforms two fields, the others one: all wait for each other, in different calls.
void more_fields(const Comm& comm, bool wrong) {
  alarm(15);
  fft::Transform<double> transform(comm, {.extents = {8, 8, 8}, .max_fields = 2},
                                   with_first_kernel());
  std::vector<double> field(static_cast<std::size_t>(transform.physical_box().num_items()));
  std::vector<std::complex<double>> modes(static_cast<std::size_t>(transform.modes().num_modes()));
  std::vector<std::complex<double>> others(modes.size());
  const std::array<const double*, 2> in{field.data(), field.data()};
  const std::array<std::complex<double>*, 2> out{modes.data(), others.data()};
  const std::size_t num_fields = wrong ? 2 : 1;
  for (int i = 0; i < 5; ++i) {
    transform.forward(std::span(in).first(num_fields), std::span(out).first(num_fields));
  }
}

/// Rank 1 comes late to its second call: one line, and no end; nor from what was said of the call
/// once all call MPI_Finalize.
void late(const Comm& comm, bool wrong) {
  Transpose t(comm, "pairwise", false);
  t.exchange.run(t.sources, t.destinations);
  if (wrong) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  t.exchange.run(t.sources, t.destinations);
  MPI_Barrier(comm.raw());
  if (comm.rank() == 0) std::printf("all came\n");
}

/// From now on this process gets no more than 48 MiB.
void take_memory_away() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) std::abort();
  std::fclose(file);
  const rlimit limit{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (48 << 20),
                     RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

/// Says on how many of these occasions the rank heard that there is no memory.
void say_heard(const Comm& comm, int heard) {
  int least = heard;
  MPI_Allreduce(&heard, &least, 1, MPI_INT, MPI_MIN, comm.raw());
  if (comm.rank() == 0) std::printf("all ranks heard of %d\n", least);
}

/// No more memory for this rank; all hear of it.
void memory(const Comm& comm, bool wrong) {
  if (wrong) take_memory_away();
  int heard = 0;
  for (const char* method :
       {"alltoallv", "pairwise", "bruck", "pull", "node_direct", "node_aware"}) {
    constexpr std::ptrdiff_t columns = 1'600'000;  // 55 MB per rank and side
    const std::array<std::ptrdiff_t, 2> extents{13, columns};
    const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                    comm.rank());
    try {
      const Exchange exchange(comm, plan, Memory::dense(plan.from_boxes()),
                              Memory::dense(plan.to_boxes()), {8, 1}, method);
    } catch (const Error& error) {
      heard += std::string(error.what()).find("memory") != std::string::npos ? 1 : 0;
    }
  }
  say_heard(comm, heard);
}

/// The same while methods are tried: none can be, and all ranks take the same one untried.
void memory_of_trials(const Comm& comm, bool wrong) {
  if (wrong) take_memory_away();
  constexpr std::ptrdiff_t columns = 1'600'000;  // 55 MB per rank and side
  const std::array<std::ptrdiff_t, 2> extents{13, columns};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                  comm.rank());
  int heard = 0;
  try {
    const Exchange exchange(comm, plan, Memory::dense(plan.from_boxes()),
                            Memory::dense(plan.to_boxes()), {8, 1});
  } catch (const Error& error) {
    if (std::string(error.what()).find("memory") != std::string::npos) ++heard;
  }
  // The method that is taken untried needs little.
  const Reduction reduction(comm, {NumberType::float64, 13 * columns});
  if (std::string(reduction.why()).find("none could be measured") != std::string::npos) ++heard;
  say_heard(comm, heard);
}

int run(int argc, char** argv) {
  const Comm comm(MPI_COMM_WORLD);
  const std::string what = argc > 1 ? argv[1] : "";
  using Case = std::pair<const char*, void (*)(const Comm&, bool)>;
  const std::vector<Case> cases{{"pointers", pointers},
                                {"unexposed", unexposed},
                                {"items", items},
                                {"fields", fields},
                                {"thrown", thrown},
                                {"thrown_idle", thrown_idle},
                                {"thrown_reduction", thrown_reduction},
                                {"ended_direct", ended_direct},
                                {"ended_messages", ended_messages},
                                {"ended_collective", ended_collective},
                                {"ended_reduction", ended_reduction},
                                {"ended_transform", ended_transform},
                                {"ended_by_exception", ended_by_exception},
                                {"more_fields", more_fields},
                                {"late", late},
                                {"memory", memory},
                                {"memory_of_trials", memory_of_trials}};
  for (const auto& [name, action] : cases) {
    if (what != name) continue;
    action(comm, comm.rank() == 1);
    return 0;
  }
  throw std::invalid_argument("unknown case " + what);
}

}  // namespace

int main(int argc, char** argv) {
  return tailrace::mpi_main("last_resort_program", argc, argv, run);
}
