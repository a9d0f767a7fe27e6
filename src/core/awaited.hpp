// SPDX-License-Identifier: BSD-3-Clause
// How ranks that wait inside a call find out that others never come to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tailrace/comm.hpp"

namespace tailrace {

/// An object whose calls wait for the other ranks of a communicator, without a meeting before each
/// (`Meeting`): exchanges and reductions are too short for one.
///
/// A rank that has waited for some seconds tells the others in which call, by messages of a
/// communicator that all objects of these ranks have in common until MPI_Finalize. Hence:
///
/// - A rank inside MPI_Finalize that others wait for ends the job, with a line that names both.
/// - A rank that waits long for ranks that compute prints one line that names them.
///
/// A call that is short sends nothing. For objects that all ranks make in their main threads;
/// others wait as before, as do calls that MPI alone carries out.
class Awaited {
 public:
  /// Collective, blocking.
  Awaited(const Comm& comm, std::string who);
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  /// The next call begins on this rank. Local.
  void begin();

  /// While it lives, this thread may wait in the call that has begun last.
  class Wait {
   public:
    explicit Wait(Awaited& object);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Awaited* before_;
  };

 private:
  struct Group;
  struct Message;
  static Group* group_of(const Comm& comm);
  friend void tell_long_wait();
  friend void tell_end_of_mpi();

  void look();
  void tell();
  void hear();
  void say_late(double waited_s);

  Group* group_ = nullptr;
  std::string who_;
  std::size_t number_ = 0;  ///< of the objects of the group
  std::int64_t call_ = 0;
  // What follows is used in long waits alone.
  double start_s_ = 0, next_look_s_ = 0;
  int next_to_tell_ = 0;
  bool said_ = false;
};

/// For loops that wait: looks whether this thread's call takes too long. Local, cheap.
void tell_long_wait();
/// True if this thread waits in a call of an `Awaited`. Local.
bool waits_in_call();

/// Registers what a rank does in MPI_Finalize, when the process makes its first `Comm`: all that
/// other objects do there comes before. Local.
void watch_end_of_mpi();
/// What it does there. Collective, blocking.
void tell_end_of_mpi();

}  // namespace tailrace
