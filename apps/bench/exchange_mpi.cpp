// SPDX-License-Identifier: BSD-3-Clause
#include "exchange_mpi.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace bench {
namespace {

using tailrace::Box;
using tailrace::BoxMemory;
using tailrace::Memory;
using tailrace::Piece;

struct Item16 {
  std::uint64_t words[2];
};

/// Where a piece lies in an array: extents along the axes, first item, strides.
struct Strided {
  std::array<std::ptrdiff_t, 3> extents{1, 1, 1}, strides{0, 0, 0};
  std::ptrdiff_t offset = 0;
};

Strided place_of(const Piece& piece, const Box& local, const BoxMemory& memory) {
  Strided place;
  place.offset = memory.offset;
  const auto dims = static_cast<std::size_t>(local.num_dims);
  for (std::size_t d = 0; d < dims; ++d) {
    const std::size_t axis = 3 - dims + d;
    place.extents[axis] = piece.box.extents[d];
    place.strides[axis] = memory.strides[d];
    place.offset += (piece.box.start[d] - local.start[d]) * memory.strides[d];
  }
  return place;
}

std::ptrdiff_t items_of(const Strided& place) {
  return place.extents[0] * place.extents[1] * place.extents[2];
}

/// Rows of a row-major source into the buffer.
template <class Item>
void pack(const Strided& from, const Item* source, Item* buffer) {
  const auto [nz, ny, nx] = from.extents;
  for (std::ptrdiff_t z = 0; z < nz; ++z) {
    for (std::ptrdiff_t y = 0; y < ny; ++y) {
      std::memcpy(buffer, source + from.offset + z * from.strides[0] + y * from.strides[1],
                  static_cast<std::size_t>(nx) * sizeof(Item));
      buffer += nx;
    }
  }
}

/// A row-major buffer into an array of any order: the loops run in the order of the array.
template <class Item>
void unpack_in_order(const Strided& to, const Item* buffer, Item* target) {
  const std::array<std::ptrdiff_t, 3> steps{to.extents[1] * to.extents[2], to.extents[2], 1};
  std::array<std::size_t, 3> axes{0, 1, 2};
  std::sort(axes.begin(), axes.end(),
            [&](auto a, auto b) { return to.strides[a] > to.strides[b]; });
  const auto [a, b, c] = axes;
  for (std::ptrdiff_t i = 0; i < to.extents[a]; ++i) {
    for (std::ptrdiff_t j = 0; j < to.extents[b]; ++j) {
      Item* row = target + to.offset + i * to.strides[a] + j * to.strides[b];
      const Item* read = buffer + i * steps[a] + j * steps[b];
      for (std::ptrdiff_t k = 0; k < to.extents[c]; ++k)
        row[k * to.strides[c]] = read[k * steps[c]];
    }
  }
}

/// The same in tiles of y and x, which stay in the cache.
template <class Item>
void unpack_in_tiles(const Strided& to, const Item* buffer, Item* target) {
  constexpr std::ptrdiff_t tile = 16;
  const auto [nz, ny, nx] = to.extents;
  for (std::ptrdiff_t z = 0; z < nz; ++z) {
    for (std::ptrdiff_t x0 = 0; x0 < nx; x0 += tile) {
      for (std::ptrdiff_t y0 = 0; y0 < ny; y0 += tile) {
        for (std::ptrdiff_t x = x0; x < std::min(nx, x0 + tile); ++x) {
          Item* row = target + to.offset + z * to.strides[0] + x * to.strides[2];
          const Item* read = buffer + z * ny * nx + x;
          for (std::ptrdiff_t y = y0; y < std::min(ny, y0 + tile); ++y) {
            row[y * to.strides[1]] = read[y * nx];
          }
        }
      }
    }
  }
}

MPI_Datatype type_of(const Strided& place, std::ptrdiff_t item_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(item_bytes), MPI_BYTE, &type);
  for (std::size_t d = 3; d-- > 0;) {
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(static_cast<int>(place.extents[d]), 1, place.strides[d] * item_bytes,
                            type, &outer);
    MPI_Type_free(&type);
    type = outer;
  }
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

class MpiExchanges::State {
 public:
  State(const ExchangeProblem& problem, const std::uint64_t* source, std::uint64_t* target)
      : problem_(problem), source_(source), target_(target) {
    const int rank = problem.plan().rank();
    MPI_Comm_split(MPI_COMM_WORLD, rank / problem.group_size(), rank, &comm_);
    MPI_Type_contiguous(static_cast<int>(problem.item_bytes()), MPI_BYTE, &item_);
    MPI_Type_commit(&item_);
    const auto ranks = static_cast<std::size_t>(problem.group_size());
    for (auto* list : {&send_counts_, &send_starts_, &receive_counts_, &receive_starts_}) {
      list->assign(ranks, 0);
    }
    sends_.assign(ranks, Strided{{0, 1, 1}, {}, 0});
    receives_ = sends_;
    find(problem.plan().sends(), problem.plan().from_boxes(), problem.from_memory(), sends_,
         send_counts_, send_starts_);
    find(problem.plan().receives(), problem.plan().to_boxes(), problem.to_memory(), receives_,
         receive_counts_, receive_starts_);
    if (problem.is_transpose()) make_buffers_and_types();
  }
  ~State() {
    for (auto* list : {&send_types_, &receive_types_}) {
      for (auto& type : *list) MPI_Type_free(&type);
    }
    MPI_Type_free(&item_);
    MPI_Comm_free(&comm_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const ExchangeProblem& problem() const { return problem_; }
  void alltoall() {
    MPI_Alltoall(source_, send_counts_[0], item_, target_, receive_counts_[0], item_, comm_);
  }
  void alltoallv() { alltoallv(source_, target_); }
  void ialltoallv() { ialltoallv(source_, target_); }
  void messages();
  void in_turn();
  void packed(bool tiles, bool blocking);
  void alltoallw() {
    MPI_Alltoallw(source_, ones_.data(), send_bytes_.data(), send_types_.data(), target_,
                  ones_.data(), receive_bytes_.data(), receive_types_.data(), comm_);
  }
  std::ptrdiff_t buffer_bytes() const {
    return static_cast<std::ptrdiff_t>(packed_.size() + arrived_.size()) * 8;
  }

 private:
  void alltoallv(const void* from, void* to) {
    MPI_Alltoallv(from, send_counts_.data(), send_starts_.data(), item_, to, receive_counts_.data(),
                  receive_starts_.data(), item_, comm_);
  }
  void ialltoallv(const void* from, void* to) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoallv(from, send_counts_.data(), send_starts_.data(), item_, to,
                   receive_counts_.data(), receive_starts_.data(), item_, comm_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  void find(const std::vector<Piece>& pieces, const std::vector<Box>& boxes, const Memory& memory,
            std::vector<Strided>& places, std::vector<int>& counts, std::vector<int>& starts) const;
  void make_buffers_and_types();
  template <class Item>
  void unpack(bool tiles);

  const ExchangeProblem& problem_;
  const std::uint64_t* source_;
  std::uint64_t* target_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Datatype item_ = MPI_DATATYPE_NULL;
  std::vector<int> send_counts_, send_starts_, receive_counts_, receive_starts_;  // items
  std::vector<Strided> sends_, receives_;
  std::vector<MPI_Datatype> send_types_, receive_types_;
  std::vector<int> ones_, send_bytes_, receive_bytes_;
  std::vector<std::uint64_t> packed_, arrived_;
};

void MpiExchanges::State::find(const std::vector<Piece>& pieces, const std::vector<Box>& boxes,
                               const Memory& memory, std::vector<Strided>& places,
                               std::vector<int>& counts, std::vector<int>& starts) const {
  std::ptrdiff_t packed = 0;
  for (const Piece& piece : pieces) {
    const auto peer = static_cast<std::size_t>(piece.peer % problem_.group_size());
    const auto box = static_cast<std::size_t>(piece.local_box);
    places[peer] = place_of(piece, boxes[box], memory.boxes[box]);
    counts[peer] = static_cast<int>(items_of(places[peer]));
    starts[peer] = static_cast<int>(problem_.is_transpose() ? packed : places[peer].offset);
    packed += counts[peer];
  }
}

void MpiExchanges::State::make_buffers_and_types() {
  packed_.resize(static_cast<std::size_t>(problem_.source_bytes() / 8));
  arrived_.resize(static_cast<std::size_t>(problem_.target_bytes() / 8));
  for (const auto& place : sends_) send_types_.push_back(type_of(place, problem_.item_bytes()));
  for (const auto& place : receives_)
    receive_types_.push_back(type_of(place, problem_.item_bytes()));
  ones_.assign(sends_.size(), 1);
  for (const auto& place : sends_) {
    send_bytes_.push_back(static_cast<int>(place.offset * problem_.item_bytes()));
  }
  for (const auto& place : receives_) {
    receive_bytes_.push_back(static_cast<int>(place.offset * problem_.item_bytes()));
  }
}

void MpiExchanges::State::messages() {
  std::vector<MPI_Request> requests;
  const int own = problem_.plan().rank() % problem_.group_size();
  const std::ptrdiff_t words = problem_.item_bytes() / 8;
  for (int step = 0; step < problem_.group_size(); ++step) {
    const int from = (own + problem_.group_size() - step) % problem_.group_size();
    const auto i = static_cast<std::size_t>(from);
    if (receive_counts_[i] == 0) continue;
    MPI_Irecv(target_ + receive_starts_[i] * words, receive_counts_[i], item_, from, 0, comm_,
              &requests.emplace_back());
  }
  for (int step = 0; step < problem_.group_size(); ++step) {
    const int to = (own + step) % problem_.group_size();
    const auto i = static_cast<std::size_t>(to);
    if (send_counts_[i] == 0) continue;
    MPI_Isend(source_ + send_starts_[i] * words, send_counts_[i], item_, to, 0, comm_,
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void MpiExchanges::State::in_turn() {
  const int own = problem_.plan().rank() % problem_.group_size();
  const std::ptrdiff_t words = problem_.item_bytes() / 8;
  for (int step = 0; step < problem_.group_size(); ++step) {
    const int to = (own + step) % problem_.group_size();
    const int from = (own + problem_.group_size() - step) % problem_.group_size();
    const auto s = static_cast<std::size_t>(to);
    const auto r = static_cast<std::size_t>(from);
    MPI_Sendrecv(source_ + send_starts_[s] * words, send_counts_[s], item_, to, 0,
                 target_ + receive_starts_[r] * words, receive_counts_[r], item_, from, 0, comm_,
                 MPI_STATUS_IGNORE);
  }
}

template <class Item>
void MpiExchanges::State::unpack(bool tiles) {
  for (std::size_t peer = 0; peer < receives_.size(); ++peer) {
    if (receive_counts_[peer] == 0) continue;
    const auto* from = reinterpret_cast<const Item*>(arrived_.data()) + receive_starts_[peer];
    auto* to = reinterpret_cast<Item*>(target_);
    tiles ? unpack_in_tiles(receives_[peer], from, to) : unpack_in_order(receives_[peer], from, to);
  }
}

void MpiExchanges::State::packed(bool tiles, bool blocking) {
  for (std::size_t peer = 0; peer < sends_.size(); ++peer) {
    if (send_counts_[peer] == 0) continue;
    pack(sends_[peer], reinterpret_cast<const Item16*>(source_),
         reinterpret_cast<Item16*>(packed_.data()) + send_starts_[peer]);
  }
  blocking ? alltoallv(packed_.data(), arrived_.data())
           : ialltoallv(packed_.data(), arrived_.data());
  unpack<Item16>(tiles);
}

MpiExchanges::MpiExchanges(const ExchangeProblem& problem, const std::uint64_t* source,
                           std::uint64_t* target)
    : state_(std::make_unique<State>(problem, source, target)) {}
MpiExchanges::~MpiExchanges() = default;

std::vector<Contender> MpiExchanges::contenders() {
  State& s = *state_;
  std::vector<Contender> all;
  if (s.problem().is_transpose()) {
    const auto add = [&](const char* name, const char* family, bool tiles, bool blocking) {
      all.push_back({name, family, [&s, tiles, blocking] { s.packed(tiles, blocking); }});
      all.back().buffer_bytes = s.buffer_bytes();
    };
    add("MPI_Alltoallv, packed", "mpi", false, true);
    add("MPI_Alltoallv, packed, again", "null", false, true);
    add("MPI_Ialltoallv, packed", "mpi", false, false);
    if (s.problem().pattern() == "pencils") {
      add("MPI_Alltoallv, packed in tiles", "mpi", true, true);
    }
    all.push_back({"MPI_Alltoallw, derived types", "mpi", [&s] { s.alltoallw(); }});
    return all;
  }
  if (s.problem().uniform()) {
    all.push_back({"MPI_Alltoall", "mpi", [&s] { s.alltoall(); }});
    all.push_back({"MPI_Alltoall, again", "null", [&s] { s.alltoall(); }});
    all.push_back({"MPI_Alltoallv", "mpi", [&s] { s.alltoallv(); }});
  } else {
    all.push_back({"MPI_Alltoallv", "mpi", [&s] { s.alltoallv(); }});
    all.push_back({"MPI_Alltoallv, again", "null", [&s] { s.alltoallv(); }});
  }
  all.push_back({"MPI_Ialltoallv", "mpi", [&s] { s.ialltoallv(); }});
  all.push_back({"loop of MPI_Isend, MPI_Irecv", "mpi", [&s] { s.messages(); }});
  all.push_back({"loop of MPI_Sendrecv", "mpi", [&s] { s.in_turn(); }});
  return all;
}

}  // namespace bench
