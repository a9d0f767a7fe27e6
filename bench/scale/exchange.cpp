// SPDX-License-Identifier: BSD-3-Clause
// All-to-all within the rows, then within the columns of a grid of ranks, as the two transposes of
// a pencil FFT do it, by any method of moving blocks. Prints a line of JSON with simulated seconds.
//   --grid RxC      rank r is in row r / C and column r % C
//   --method NAME   of the table of methods to move blocks, with settings; mpi: MPI_Alltoall (what
//                   that does is chosen with --cfg=smpi/alltoall:...); isend_all: everything at
//                   once
//   --bytes N       between two ranks; or --total N, of all blocks of a rank
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "move/block_exchange.hpp"
#include "simulated_driver.hpp"
#include "tailrace/more/buffer.hpp"

namespace {

using tailrace::Comm;

/// One all-to-all of equal blocks, ready to run.
class Variant {
 public:
  virtual ~Variant() = default;
  virtual void run() = 0;
};

class Blocks : public Variant {
 public:
  Blocks(const Comm& comm, std::ptrdiff_t bytes, const std::string& method)
      : blocks_(comm, shape(comm, bytes), method) {}
  void run() override {
    blocks_.acquire();
    blocks_.start(0);
    blocks_.wait(0);
    blocks_.release();
  }

 private:
  static tailrace::BlockShape shape(const Comm& comm, std::ptrdiff_t bytes) {
    const std::vector<std::vector<std::ptrdiff_t>> all(
        1, std::vector<std::ptrdiff_t>(static_cast<std::size_t>(comm.num_ranks()), bytes));
    return {.item_bytes = 1, .send = all, .receive = all};
  }
  tailrace::BlockExchange blocks_;
};

/// What MPI is asked for without us.
class Plain : public Variant {
 public:
  Plain(const Comm& comm, std::ptrdiff_t bytes)
      : comm_(comm), bytes_(bytes), buffer_(2 * bytes * comm.num_ranks()) {}
  void run() override {
    std::byte* const received = buffer_.data() + bytes_ * comm_.num_ranks();
    const int count = tailrace::to_int(bytes_);
    MPI_Alltoall(buffer_.data(), count, MPI_BYTE, received, count, MPI_BYTE, comm_.raw());
  }

 protected:
  std::byte* send_block(int peer) { return buffer_.data() + bytes_ * peer; }
  std::byte* receive_block(int peer) { return send_block(comm_.num_ranks() + peer); }
  const Comm& comm_;
  std::ptrdiff_t bytes_;
  tailrace::Buffer buffer_;
};

class IsendAll : public Plain {
 public:
  using Plain::Plain;
  void run() override {
    const int num_ranks = comm_.num_ranks(), count = tailrace::to_int(bytes_);
    std::vector<MPI_Request> requests;
    for (int i = 1; i < num_ranks; ++i) {
      const int source = (comm_.rank() - i + num_ranks) % num_ranks;
      MPI_Irecv(receive_block(source), count, MPI_BYTE, source, 0, comm_.raw(),
                &requests.emplace_back());
    }
    for (int i = 1; i < num_ranks; ++i) {
      const int peer = (comm_.rank() + i) % num_ranks;
      MPI_Isend(send_block(peer), count, MPI_BYTE, peer, 0, comm_.raw(), &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
};

std::unique_ptr<Variant> make_variant(const Comm& comm, std::ptrdiff_t bytes,
                                      const std::string& method) {
  if (method == "mpi") return std::make_unique<Plain>(comm, bytes);
  if (method == "isend_all") return std::make_unique<IsendAll>(comm, bytes);
  return std::make_unique<Blocks>(comm, bytes, method);
}

double time_run(const Comm& comm, std::ptrdiff_t bytes, const std::string& method) {
  const auto variant = make_variant(comm, bytes, method);
  return scale::time_run([&variant] { variant->run(); });
}

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Comm world(MPI_COMM_WORLD);
  int rows = 1, columns = world.num_ranks();
  const std::string grid = arguments.text("grid", "");
  if (!grid.empty() && (std::sscanf(grid.c_str(), "%dx%d", &rows, &columns) != 2 ||
                        rows * columns != world.num_ranks())) {
    std::fprintf(stderr, "--grid %s: expected RxC with R * C = %d ranks\n", grid.c_str(),
                 world.num_ranks());
    return 2;
  }
  const std::string method = arguments.text("method", "alltoallv");
  const auto total = static_cast<std::ptrdiff_t>(arguments.real("total", 0));
  const auto bytes = static_cast<std::ptrdiff_t>(arguments.real("bytes", 1 << 20));
  const auto time = [&](const Comm& comm) {
    return time_run(comm, total > 0 ? total / comm.num_ranks() : bytes, method);
  };
  const double row_s = columns == 1 ? 0 : time(world.split(world.rank() / columns));
  const double column_s = rows == 1 ? 0 : time(world.split(world.rank() % columns));
  if (world.rank() != 0) return 0;
  bench::JsonLine()
      .text("method", method)
      .number("ranks", world.num_ranks())
      .number("rows", rows)
      .number("columns", columns)
      .number("row_s", row_s)
      .number("column_s", column_s)
      .print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return scale::run_driver(argc, argv, run); }
