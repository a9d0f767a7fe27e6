// SPDX-License-Identifier: BSD-3-Clause
// The ways of moving blocks that are packed already. Cost for p ranks and n bytes a rank:
//   alltoallv, alltoallw   (p - 1) alpha + n beta, scheduled by MPI
//   pairwise               the same, one partner after another in a staggered order
//   node_direct            two flags; the reader's loads are the transfer
#include "block_exchange.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace tailrace {

struct BlockExchange::Impl {
  Impl(const Comm& comm, const BlockShape& blocks)
      : rank(comm.rank()), num_ranks(comm.num_ranks()), shape(blocks) {}
  virtual ~Impl() = default;
  virtual void acquire() {}
  virtual std::byte* send_block(std::ptrdiff_t piece, int peer) const = 0;
  virtual std::byte* receive_block(std::ptrdiff_t piece, int peer) const = 0;
  virtual void start(std::ptrdiff_t piece) = 0;
  virtual void progress() {}
  virtual void wait(std::ptrdiff_t piece) = 0;
  virtual void release() {}
  virtual std::ptrdiff_t buffer_bytes() const = 0;

  int rank, num_ranks;
  const BlockShape& shape;
};

namespace {

using Table = std::vector<std::vector<std::ptrdiff_t>>;  // [piece][peer], in items

std::ptrdiff_t at(const Table& table, std::ptrdiff_t piece, int peer) {
  return table[static_cast<std::size_t>(piece)][static_cast<std::size_t>(peer)];
}

// Offsets of blocks laid one after another from `end` on, which is advanced; `skip` gets no room.
Table place_blocks(const Table& items, std::ptrdiff_t& end, int skip) {
  Table offsets(items.size());
  for (std::size_t p = 0; p < items.size(); ++p) {
    for (std::size_t peer = 0; peer < items[p].size(); ++peer) {
      offsets[p].push_back(end);
      if (static_cast<int>(peer) != skip) end += items[p][peer];
    }
  }
  return offsets;
}

// Buffers in private memory, moved by MPI. A rank's block for itself is not moved at all.
class MessageImpl : public BlockExchange::Impl {
 public:
  MessageImpl(const Comm& comm, const BlockShape& blocks) : Impl(comm, blocks), comm_(comm.raw()) {
    std::ptrdiff_t end = 0;
    send_offsets_ = place_blocks(shape.send, end, -1);
    receive_start_ = end;
    receive_offsets_ = place_blocks(shape.receive, end, rank);
    buffer_ = Buffer(end * shape.item_bytes);
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(to_int(shape.item_bytes), MPI_BYTE, &raw));
    check_mpi(MPI_Type_commit(&raw));
    item_ = OwnedType(raw);
  }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return buffer_.data() + at(send_offsets_, piece, peer) * shape.item_bytes;
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    if (peer == rank) return send_block(piece, peer);
    return buffer_.data() + at(receive_offsets_, piece, peer) * shape.item_bytes;
  }
  std::ptrdiff_t buffer_bytes() const override { return buffer_.bytes(); }

 protected:
  int count(const Table& items, std::ptrdiff_t piece, int peer) const {
    return peer == rank ? 0 : to_int(at(items, piece, peer));
  }
  MPI_Comm comm_;
  OwnedType item_;
  Buffer buffer_;
  Table send_offsets_, receive_offsets_;
  std::ptrdiff_t receive_start_ = 0;
};

// MPI's own non-blocking all-to-all; `WithTypes` is the variant with a datatype for each peer,
// whose displacements are 32-bit numbers of bytes (refused beyond that by to_int).
template <bool WithTypes>
class CollectiveImpl : public MessageImpl {
 public:
  CollectiveImpl(const Comm& comm, const BlockShape& blocks) : MessageImpl(comm, blocks) {
    requests_.assign(static_cast<std::size_t>(shape.num_pieces()), MPI_REQUEST_NULL);
    arguments_.resize(requests_.size());
    const std::ptrdiff_t scale = WithTypes ? shape.item_bytes : 1;
    for (std::ptrdiff_t p = 0; p < shape.num_pieces(); ++p) {
      auto& a = arguments_[static_cast<std::size_t>(p)];
      for (int peer = 0; peer < num_ranks; ++peer) {
        a.send_counts.push_back(count(shape.send, p, peer));
        a.receive_counts.push_back(count(shape.receive, p, peer));
        a.send_displs.push_back(to_int(at(send_offsets_, p, peer) * scale));
        a.receive_displs.push_back(
            to_int((at(receive_offsets_, p, peer) - receive_start_) * scale));
        a.types.push_back(item_.raw());
      }
    }
  }
  void start(std::ptrdiff_t piece) override {
    auto& a = arguments_[static_cast<std::size_t>(piece)];
    auto* request = &requests_[static_cast<std::size_t>(piece)];
    // Equal addresses would be taken for MPI_IN_PLACE by Open MPI.
    std::byte* received = buffer_.data() + receive_start_ * shape.item_bytes;
    if constexpr (WithTypes) {
      check_mpi(MPI_Ialltoallw(buffer_.data(), a.send_counts.data(), a.send_displs.data(),
                               a.types.data(), received, a.receive_counts.data(),
                               a.receive_displs.data(), a.types.data(), comm_, request));
    } else {
      check_mpi(MPI_Ialltoallv(buffer_.data(), a.send_counts.data(), a.send_displs.data(),
                               item_.raw(), received, a.receive_counts.data(),
                               a.receive_displs.data(), item_.raw(), comm_, request));
    }
  }
  void progress() override {
    int done = 0;
    for (auto& request : requests_) check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  }
  void wait(std::ptrdiff_t piece) override {
    check_mpi(MPI_Wait(&requests_[static_cast<std::size_t>(piece)], MPI_STATUS_IGNORE));
  }

 private:
  struct Arguments {
    std::vector<int> send_counts, send_displs, receive_counts, receive_displs;
    std::vector<MPI_Datatype> types;
  };
  std::vector<Arguments> arguments_;
  std::vector<MPI_Request> requests_;
};

// One message a pair, to rank + 1, rank + 2, ..., so that no rank is everybody's first partner.
class PairwiseImpl : public MessageImpl {
 public:
  PairwiseImpl(const Comm& comm, const BlockShape& blocks) : MessageImpl(comm, blocks) {
    requests_.assign(static_cast<std::size_t>(shape.num_pieces()), {});
    for (auto& list : requests_) {
      list.assign(static_cast<std::size_t>(2 * (num_ranks - 1)), MPI_REQUEST_NULL);
    }
  }
  void start(std::ptrdiff_t piece) override {
    auto& list = requests_[static_cast<std::size_t>(piece)];
    const int tag = to_int(piece % 30000);
    for (int i = 1; i < num_ranks; ++i) {
      const int source = (rank - i + num_ranks) % num_ranks;
      check_mpi(MPI_Irecv(receive_block(piece, source), count(shape.receive, piece, source),
                          item_.raw(), source, tag, comm_,
                          &list[static_cast<std::size_t>(2 * i - 2)]));
    }
    for (int i = 1; i < num_ranks; ++i) {
      const int peer = (rank + i) % num_ranks;
      check_mpi(MPI_Isend(send_block(piece, peer), count(shape.send, piece, peer), item_.raw(),
                          peer, tag, comm_, &list[static_cast<std::size_t>(2 * i - 1)]));
    }
  }
  void progress() override {
    int done = 0;
    for (auto& list : requests_) {
      check_mpi(MPI_Testall(to_int(std::ssize(list)), list.data(), &done, MPI_STATUSES_IGNORE));
    }
  }
  void wait(std::ptrdiff_t piece) override {
    auto& list = requests_[static_cast<std::size_t>(piece)];
    check_mpi(MPI_Waitall(to_int(std::ssize(list)), list.data(), MPI_STATUSES_IGNORE));
  }

 private:
  std::vector<std::vector<MPI_Request>> requests_;
};

// Send blocks lie in a window of the node; receivers read them where they are.
class NodeDirectImpl : public BlockExchange::Impl {
 public:
  NodeDirectImpl(const Comm& comm, const BlockShape& blocks)
      : Impl(comm, blocks), comm_(comm.raw()) {
    std::ptrdiff_t end = 0;
    send_offsets_ = place_blocks(shape.send, end, -1);
    const auto num_flags = shape.num_pieces() + 1;
    flag_bytes_ = num_flags * static_cast<std::ptrdiff_t>(sizeof(SequenceFlag));
    bytes_ = flag_bytes_ + end * shape.item_bytes;
    // A lone rank needs no shared memory, and private memory can have huge pages.
    if (num_ranks == 1) {
      private_ = Buffer(bytes_);
      segments_.push_back(private_.data());
    } else {
      window_ = NodeWindow(comm, bytes_);
      for (int peer = 0; peer < num_ranks; ++peer) segments_.push_back(window_.segment(peer));
    }
    share_offsets(comm);
  }
  void acquire() override {
    for (int peer = 0; peer < num_ranks; ++peer) {
      wait_and_progress(*flag(peer, released), uses_, comm_);
    }
    ++uses_;
  }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return segments_[static_cast<std::size_t>(rank)] + flag_bytes_ +
           at(send_offsets_, piece, peer) * shape.item_bytes;
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    return segments_[static_cast<std::size_t>(peer)] + flag_bytes_ +
           at(peer_offsets_, piece, peer) * shape.item_bytes;
  }
  void start(std::ptrdiff_t piece) override { flag(rank, piece + 1)->publish(uses_); }
  void wait(std::ptrdiff_t piece) override {
    for (int peer = 0; peer < num_ranks; ++peer) {
      wait_and_progress(*flag(peer, piece + 1), uses_, comm_);
    }
  }
  void release() override { flag(rank, released)->publish(uses_); }
  std::ptrdiff_t buffer_bytes() const override { return bytes_; }

 private:
  static constexpr std::ptrdiff_t released = 0;  // flag 1 + p says that piece p is written

  SequenceFlag* flag(int peer, std::ptrdiff_t index) const {
    return reinterpret_cast<SequenceFlag*>(segments_[static_cast<std::size_t>(peer)]) + index;
  }
  // Where in each peer's segment the blocks for this rank start.
  void share_offsets(const Comm& comm) {
    std::vector<std::ptrdiff_t> theirs(static_cast<std::size_t>(num_ranks));
    for (const auto& mine : send_offsets_) {
      check_mpi(MPI_Alltoall(mine.data(), 1, MPI_AINT, theirs.data(), 1, MPI_AINT, comm.raw()));
      peer_offsets_.push_back(theirs);
    }
  }

  MPI_Comm comm_;
  NodeWindow window_;
  Buffer private_;
  std::vector<std::byte*> segments_;
  Table send_offsets_, peer_offsets_;
  std::ptrdiff_t flag_bytes_ = 0, bytes_ = 0;
  std::uint32_t uses_ = 0;
};

using Make = std::unique_ptr<BlockExchange::Impl> (*)(const Comm&, const BlockShape&);
template <class Method>
std::unique_ptr<BlockExchange::Impl> make(const Comm& comm, const BlockShape& shape) {
  return std::make_unique<Method>(comm, shape);
}

constexpr std::array<BlockMethodInfo, 4> infos{{
    {"alltoallv", "MPI_Ialltoallv; the reference", "always"},
    {"alltoallw", "MPI_Ialltoallw", "blocks of one rank below 2 GiB in all"},
    {"pairwise", "one message a pair, staggered", "always"},
    {"node_direct", "readers load from the writer's shared memory", "all ranks share a node"},
}};
constexpr std::array<Make, infos.size()> makers{make<CollectiveImpl<false>>,
                                                make<CollectiveImpl<true>>, make<PairwiseImpl>,
                                                make<NodeDirectImpl>};

bool share_a_node(const Comm& comm) { return comm.node().num_ranks() == comm.num_ranks(); }

std::size_t find_method(const Comm& comm, std::string_view name) {
  int one_node = share_a_node(comm) ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &one_node, 1, MPI_INT, MPI_MIN, comm.raw()));
  if (name == "auto") return one_node != 0 ? 3 : 0;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name != name) continue;
    require_all(
        comm.raw(), name != "node_direct" || one_node != 0,
        "exchange method node_direct needs all ranks of the exchange on one node; use auto");
    return i;
  }
  throw Error(
      Errc::invalid_input,
      fmt::format("unknown exchange method `{}`: use auto, alltoallv, alltoallw, pairwise or "
                  "node_direct",
                  name));
}

}  // namespace

BlockExchange::BlockExchange(const Comm& comm, BlockShape shape, std::string_view method)
    : shape_(std::move(shape)) {
  const std::size_t index = find_method(comm, method);
  impl_ = makers[index](comm, shape_);
  name_ = infos[index].name;
}
BlockExchange::~BlockExchange() = default;
void BlockExchange::acquire() { impl_->acquire(); }
std::byte* BlockExchange::send_block(std::ptrdiff_t piece, int peer) const {
  return impl_->send_block(piece, peer);
}
void BlockExchange::start(std::ptrdiff_t piece) { impl_->start(piece); }
void BlockExchange::progress() { impl_->progress(); }
void BlockExchange::wait(std::ptrdiff_t piece) { impl_->wait(piece); }
std::byte* BlockExchange::receive_block(std::ptrdiff_t piece, int peer) const {
  return impl_->receive_block(piece, peer);
}
void BlockExchange::release() { impl_->release(); }
std::ptrdiff_t BlockExchange::buffer_bytes() const { return impl_->buffer_bytes(); }

std::span<const BlockMethodInfo> block_methods() { return infos; }

}  // namespace tailrace
