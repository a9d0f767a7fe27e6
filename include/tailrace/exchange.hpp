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

/// What one run of a plan moves: `num_fields` arrays with items of `item_bytes` bytes, all with the
/// same layouts and memory.
struct ExchangeShape {
  std::ptrdiff_t item_bytes = 8;
  int num_fields = 1;
  /// All sources lie in exposed `NodeArray`s: `node_direct` then needs no buffer at all.
  bool sources_in_node_arrays = false;
  /// A field's source and destination may be the same array (of the larger of the two sizes).
  bool in_place = false;
};

class NodeArray;

/// Item types that can be moved as bytes; pointers are excluded.
template <class T>
concept MovedItem = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

/// The source array of one field of an `Exchange`; not owned.
struct SourceArray {
  const void* data = nullptr;
  std::ptrdiff_t num_items = 0;
  std::ptrdiff_t item_bytes = 0;
  template <MovedItem T, std::size_t N>
  SourceArray(std::span<T, N> array)
      : data(array.data()), num_items(std::ssize(array)), item_bytes(sizeof(T)) {}
};

/// The destination array of one field of an `Exchange`; not owned.
struct DestinationArray {
  void* data = nullptr;
  std::ptrdiff_t num_items = 0;
  std::ptrdiff_t item_bytes = 0;
  template <MovedItem T, std::size_t N>
  requires(!std::is_const_v<T>) DestinationArray(std::span<T, N> array)
      : data(array.data()), num_items(std::ssize(array)), item_bytes(sizeof(T)) {}
};

/// Runs a plan repeatedly by one method. The constructor allocates all memory; `run`, `start`,
/// `progress` and `finish` do not allocate after their first use.
///
/// Transfers make progress only inside calls: `finish` or `progress` of any `Exchange` or
/// `Reduction` advances all transfers that the calling thread has started, so ranks may finish them
/// in different orders. A rank inside an MPI call, another blocking call of this library (such as
/// `run`) or a constructor may delay the others until it returns.
///
/// Arguments of calls are checked before anything is sent. If the call is wrong on all ranks that
/// exchange, they throw `invalid_input`, and the call may be repeated. If it is wrong on only some
/// ranks, the others would wait for them: after 10 s (`TAILRACE_PATIENCE_S`) the job aborts with a
/// line on standard error.
class Exchange {
 public:
  /// `method` is a name from `move_methods()`, optionally with settings ("pull:chunk=4k,depth=16");
  /// "auto": the tuner's choice (`tailrace/more/tune.hpp`), which may time methods on temporary
  /// arrays; or "untimed": the choice without timing, for exchanges that run once. `from` and `to`
  /// describe this rank's arrays on the two sides, the same for all fields.
  ///
  /// Ranks of `comm` that exchange with each other, directly or through others, form a group, such
  /// as the rows of a pencil grid; each group runs independently on a separate communicator, and
  /// "auto" chooses for each. A row whose ranks share a node can therefore use `node_direct` even
  /// if other rows cannot. Throws on all ranks alike: `Errc::invalid_input` if the method is
  /// unknown or does not apply to a group, if plan, memory (which must contain the boxes) and
  /// communicator are inconsistent, if an item has two sources, or if the ranks give different
  /// shapes, methods or layouts; `Errc::io` (ENOMEM) if a rank has no memory for the buffers.
  /// Collective, blocking.
  Exchange(const Comm& comm, Plan plan, Memory from, Memory to, ExchangeShape shape,
           std::string_view method = "auto");
  /// From layout `from` to layout `to`, with this rank's boxes dense in memory on both sides
  /// (`Memory::dense`). Throws as above, and if the layouts have different extents or a number of
  /// ranks other than that of `comm`. Collective, blocking.
  Exchange(const Comm& comm, const Layout& from, const Layout& to, ExchangeShape shape,
           std::string_view method = "auto");
  /// Waits for a transfer in progress, so the arrays must outlive it. If an exception is being
  /// thrown and the other ranks do not arrive within 10 s, the job aborts with a line on standard
  /// error. Harmless after MPI_Finalize.
  ~Exchange();
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;

  /// Declares that sources may lie in `array`, which all ranks of `comm` created together. With
  /// `node_direct`, peers then read them in place (one pass, no packing); other methods ignore it.
  /// All ranks expose the same arrays in the same order, before `start`. Throws
  /// `Errc::invalid_input` on all ranks if `array` was created by other ranks or in another rank
  /// order. Local.
  void expose(const NodeArray& array);

  /// Moves `sources[f]` to `destinations[f]` for each field f. The arrays belong to the caller and
  /// must not overlap, unless the shape has `in_place`. Collective, blocking.
  void run(std::span<const void* const> sources, std::span<void* const> destinations);
  /// Moves one field. Throws `Errc::invalid_input` (as described for the class) if the sizes of the
  /// arrays differ from those in the memory (in place, they may be larger), or if the item size
  /// differs from that of the shape. Collective, blocking.
  template <MovedItem S, std::size_t M, MovedItem D, std::size_t N>
  void run(std::span<S, M> source, std::span<D, N> destination) {
    require_same_items<S, D>();
    run({source}, {destination});
  }
  /// Moves several fields: `run({std::span(u), std::span(v)}, {std::span(a), std::span(b)})`.
  /// Collective, blocking.
  void run(std::initializer_list<SourceArray> sources,
           std::initializer_list<DestinationArray> destinations);
  /// Begins to move `sources[f]` to `destinations[f]`; do not change sources or access destinations
  /// until `finish` returns. Collective; does not wait for the data of other ranks (but may wait
  /// for them to enter the call).
  void start(std::span<const void* const> sources, std::span<void* const> destinations);
  /// Begin to move one field, or several; check arguments as `run` does.
  template <MovedItem S, std::size_t M, MovedItem D, std::size_t N>
  void start(std::span<S, M> source, std::span<D, N> destination) {
    require_same_items<S, D>();
    start({source}, {destination});
  }
  void start(std::initializer_list<SourceArray> sources,
             std::initializer_list<DestinationArray> destinations);
  /// Advances the transfer; returns true when `finish` would not wait. Local.
  bool progress();
  /// Waits until the data has arrived and the sources may be changed. Collective, blocking.
  void finish();

  std::string_view method() const;
  /// Why "auto" chose the method, in a sentence; "" if the caller chose it.
  std::string_view why() const;
  /// Number of ranks in this rank's group, including itself.
  int num_ranks_together() const;
  /// Bytes that this object holds in addition to the caller's arrays.
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

/// The kinds of strided copy from which exchanges and staging choose; `applies` gives the unit of a
/// write. Local.
std::vector<MethodInfo> copy_methods();

/// Lets the tuner choose, and remember, how the ranks of `comm` exchange blocks of `bytes` each, as
/// transforms do (`fft::exchange_methods`). Collective, blocking.
void tune_blocks(const Comm& comm, std::ptrdiff_t bytes);

}  // namespace tailrace
