// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/method_info.hpp"
#include "tailrace/more/plan.hpp"

namespace tailrace {

/// What one run of a plan moves: `num_fields` arrays of items of `item_bytes`, all with the same
/// layouts and memory.
struct ExchangeShape {
  std::ptrdiff_t item_bytes = 8;
  int num_fields = 1;
  /// All sources lie in exposed `NodeArray`s: `node_direct` then needs no buffer at all.
  bool sources_in_node_arrays = false;
  /// A field's source and destination may be the same array (of the larger of the two sizes).
  bool in_place = false;
};

class NodeArray;

/// Items that can be moved as bytes, and are not the addresses of arrays.
template <class T>
concept MovedItem = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

/// An array of one field that an `Exchange` moves from; not owned.
struct SourceArray {
  const void* data = nullptr;
  std::ptrdiff_t num_items = 0;
  std::ptrdiff_t item_bytes = 0;
  template <MovedItem T, std::size_t N>
  SourceArray(std::span<T, N> array)
      : data(array.data()), num_items(std::ssize(array)), item_bytes(sizeof(T)) {}
};

/// An array of one field that an `Exchange` moves to; not owned.
struct DestinationArray {
  void* data = nullptr;
  std::ptrdiff_t num_items = 0;
  std::ptrdiff_t item_bytes = 0;
  template <MovedItem T, std::size_t N>
  requires(!std::is_const_v<T>) DestinationArray(std::span<T, N> array)
      : data(array.data()), num_items(std::ssize(array)), item_bytes(sizeof(T)) {}
};

/// Runs a plan by one method, again and again. Allocates everything it needs when made; `run`,
/// `start`, `progress`, `finish` do not allocate after their first use.
///
/// A transfer moves on in calls of its ranks: a rank that waits in `finish`, or calls `progress`,
/// of any `Exchange` or `Reduction` advances all that its thread has started, so ranks may end them
/// in different orders. A rank that is elsewhere (in calls of MPI, in blocking calls of this
/// library such as `run`, or in constructors) may hold up the others until it returns.
///
/// Errors of calls are found before anything is sent to others. They are thrown (`invalid_input`)
/// if all ranks that exchange have one, and the call may be made again; if only some have, the
/// others would wait for them, and after 10 s (`TAILRACE_PATIENCE_S`) the job ends with a line on
/// standard error.
class Exchange {
 public:
  /// `method` is a name of `move_methods()`, with settings if wanted ("pull:chunk=4k,depth=16");
  /// "auto": the tuner's choice (`tailrace/more/tune.hpp`), which may time methods on temporary
  /// arrays; or "untimed": its choice without timing, for what runs once. `from` and `to` describe
  /// this rank's arrays on the two sides, the same for all fields.
  ///
  /// Ranks of `comm` that exchange with each other, directly or through others, form a group, such
  /// as the rows of a pencil grid; each group runs by itself, on its own communicator, and
  /// "auto" chooses for each. So a row whose ranks share a node can use `node_direct` whatever the
  /// other ranks do. Throws on all ranks alike: `Errc::invalid_input` if the method is unknown or
  /// does not apply to a group, if plan, memory (which must hold the boxes) and communicator do not
  /// fit together, if an item has two sources, or if the ranks give different shapes, methods or
  /// layouts; `Errc::io` (ENOMEM) if one has no memory for the buffers. Collective, blocking.
  Exchange(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
           std::string_view method = "auto");
  /// From layout `from` to layout `to`, with this rank's boxes dense in memory on both sides
  /// (`Memory::dense`). Throws as above, and if the layouts' extents or numbers of ranks are not
  /// the same or not those of `comm`. Collective, blocking.
  Exchange(const Comm& comm, const Layout& from, const Layout& to, ExchangeShape shape,
           std::string_view method = "auto");
  /// Waits for a transfer in progress, so the arrays must outlive it. If an exception is on
  /// its way and the other ranks do not come within 10 s, the job ends with a line on standard
  /// error. Harmless after MPI_Finalize.
  ~Exchange();
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;

  /// Tells that sources may lie in `array`, which all ranks of `comm` made together; `node_direct`
  /// then lets the peers read them where they are (one pass, no packing), other methods ignore it.
  /// All ranks expose the same arrays in the same order, before `start`. Throws
  /// `Errc::invalid_input` on all ranks if other ranks, or these in another order, made it. Local.
  void expose(const NodeArray& array);

  /// Moves `sources[f]` to `destinations[f]` for each field f. Arrays are the caller's and must not
  /// overlap, unless the shape says `in_place`. Collective, blocking.
  void run(std::span<const void* const> sources, std::span<void* const> destinations);
  /// The same for one field. Throws `Errc::invalid_input`, as errors of calls are thrown, if the
  /// arrays do not have the sizes that the memory says (in place: or larger), or items of other
  /// sizes than the shape says. Collective, blocking.
  template <MovedItem S, std::size_t M, MovedItem D, std::size_t N>
  void run(std::span<S, M> source, std::span<D, N> destination) {
    require_same_items<S, D>();
    run({source}, {destination});
  }
  /// The same for several fields: `run({std::span(u), std::span(v)}, {std::span(a),
  /// std::span(b)})`. Collective, blocking.
  void run(std::initializer_list<SourceArray> sources,
           std::initializer_list<DestinationArray> destinations);
  /// Begins the same; sources must stay unchanged and destinations untouched until `finish`.
  /// Collective, does not wait for other ranks to deliver (it may wait for them to enter).
  void start(std::span<const void* const> sources, std::span<void* const> destinations);
  /// Begins the same for one field, and for several; checks as `run` does.
  template <MovedItem S, std::size_t M, MovedItem D, std::size_t N>
  void start(std::span<S, M> source, std::span<D, N> destination) {
    require_same_items<S, D>();
    start({source}, {destination});
  }
  void start(std::initializer_list<SourceArray> sources,
             std::initializer_list<DestinationArray> destinations);
  /// Lets the transfer advance; true when `finish` would not wait. Local.
  bool progress();
  /// Waits until the data has arrived and the sources may be changed. Collective, blocking.
  void finish();

  std::string_view method() const;
  /// Why "auto" took it, in a sentence; "" if it was asked for.
  std::string_view why() const;
  /// Ranks of this rank's group, itself included.
  int num_ranks_together() const;
  /// Bytes this object holds besides the caller's arrays.
  std::ptrdiff_t buffer_bytes() const;

  class Runner;  // one method's state; see src/move/method.hpp

 private:
  template <class S, class D>
  static constexpr void require_same_items() {
    static_assert(
        std::is_same_v<std::remove_cv_t<S>, D>,
        "source and destination must hold items of one type, the destination's not const");
  }
  class State;
  std::unique_ptr<State> state_;
};

using MoveMethodInfo = MethodInfo;
std::span<const MoveMethodInfo> move_methods();

/// The kinds of strided copies, of which exchanges and staging choose; `applies` says how much is
/// written at once. Local.
std::vector<MethodInfo> copy_methods();

/// Has the tuner choose how the ranks of `comm` exchange blocks of `bytes` each, as transforms do
/// (`fft::exchange_methods`), and remember it. Collective, blocking.
void tune_blocks(const Comm& comm, std::ptrdiff_t bytes);

}  // namespace tailrace
