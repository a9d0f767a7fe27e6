// SPDX-License-Identifier: BSD-3-Clause
// How ranks that share an object find out that one of them does something else, or has left.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "tailrace/comm.hpp"

namespace tailrace {

/// How a rank stops using an object.
enum class Leaving { destroyed, finalized, failed };

/// Every collective call of an object begins with a meeting of its ranks: one reduction, in which
/// each rank says what it calls. A rank that leaves the object (by its destructor, by MPI_Finalize,
/// by an exception) comes to one more meeting, and says so there. Hence:
///
/// - If ranks make different calls, all of them throw the same error, which names the calls.
/// - If some ranks make a call and others have left, the job ends with a line that names one of
///   these: nobody waits for a rank that never comes.
/// - A rank that waits long for ranks that compute prints one line that names them.
///
/// Main thread only.
class Meeting {
 public:
  struct Settings {
    std::string who;                    ///< the object, in errors and lines
    double limit_s = 0;                 ///< a longer wait ends the job; 0: never
    std::function<void()> meanwhile{};  ///< called while it waits; may be empty; must not throw
    /// Advances what this rank has begun, and says whether all of it is safe: before it ends the
    /// job, a rank waits for that, some seconds at most. May be empty; must not throw.
    std::function<bool()> all_safe{};
  };
  /// `comm` must outlive it; what else is collective over it is part of a call, and so comes after
  /// a meeting. Local.
  Meeting(const Comm& comm, Settings settings);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  static constexpr std::size_t most_votes = 14;
  /// All ranks begin `call`; `votes` become the smallest of all ranks (`most_votes` at most).
  /// Throws `Errc::invalid_input` on all ranks alike if they make different calls. Collective,
  /// blocking.
  void begin(std::string_view call, std::span<std::int64_t> votes = {});
  /// As `begin` for the last call of the object, which ranks that leave take part in, too.
  void begin_last(std::string_view call);
  /// This rank leaves, and stays until all have left, whatever is still to be ended together. Ends
  /// the job if others still make calls, or if not all or none leave by an exception. Does nothing
  /// the second time, or once MPI has been finalized. Collective, blocking.
  void leave(Leaving how) noexcept;
  /// How a destructor leaves: by an exception, or as planned. Local.
  Leaving in_destructor() const {
    return std::uncaught_exceptions() > exceptions_when_made_ ? Leaving::failed
                                                              : Leaving::destroyed;
  }

 private:
  enum class Role { caller, ender, destroyed, finalized, failed };
  /// What a rank brings to a meeting: the smallest of all ranks counts.
  enum Own : std::size_t {
    digest,  ///< of the call
    minus_digest,
    failed_rank,  ///< this rank, if it leaves by an exception
    sound_rank,   ///< this rank, if it does not
    leaver,       ///< this rank and how it leaves, if it does
    caller,       ///< this rank, if it makes a call that needs all ranks afterwards
    num_own
  };
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t num_speakers = 4;

  void meet(std::string_view call, Role role, std::span<std::int64_t> votes);
  void judge(std::string_view call, Role role);
  void save(bool speaks) const;
  void watch(std::string_view call, Role role, double waited_s);
  bool may_speak(int rank) const;
  void tell();
  void hear();
  void note(int rank);
  std::string missing() const;

  const Comm& comm_;
  Settings settings_;
  int exceptions_when_made_ = std::uncaught_exceptions();
  bool left_ = false;
  std::array<std::int64_t, num_own + most_votes> own_{}, all_{};
  // What follows is used in long waits alone.
  std::int64_t number_ = 0;                        // of the meeting
  std::int64_t told_ = 0;                          // number of the last meeting told of
  bool said_ = false;                              // the line of this meeting
  std::array<int, num_speakers> speakers_{};       // ranks that hear who waits
  std::array<MPI_Request, num_speakers> tells_{};  // of `told_`
  std::vector<bool> here_;                         // ranks that wait in this meeting, too
};

}  // namespace tailrace
